"""The one thing that a student should know of an expectation, in a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tcptutor import units
from tcptutor.analysis.case import ENOUGH_LOSSES, Case
from tcptutor.analysis.expected.limits import KERNEL_BUFFER_ERROR
from tcptutor.analysis.expected.loss import TIMEOUTS_COUNT, timeouts
from tcptutor.analysis.expected.prediction import Candidate
from tcptutor.analysis.models import MODELLED, ThroughputModel
from tcptutor.theory import BBR_LOSS_LIMIT


def note(
    case: Case,
    stretches: Sequence[Case],
    binding: Candidate,
    near: Sequence[Candidate],
    completion: float | None,
) -> str:
    """What to know first; empty when there is nothing."""
    rules = (
        _unlimited(binding),
        _unfinished(case, completion),
        _changes(stretches),
        _losses(stretches, binding) if binding.is_lossy else "",
        _bursts(case, binding),
        _near(binding, near),
        _netem(case),
        _bbr(case),
        _unknown_shares(case, binding),
    )
    return next((sentence for sentence in rules if sentence), "")


def _unlimited(binding: Candidate) -> str:
    unsized = binding.model is ThroughputModel.KERNEL_BUFFER and binding.sure["model"] >= KERNEL_BUFFER_ERROR
    if not unsized:
        return ""
    return "no rate is set: the kernel's buffers are an upper bound, and this computer may be slower"


def _unfinished(case: Case, completion: float | None) -> str:
    seconds = case.experiment.seconds
    if completion is None or completion + min(flow.start for flow in case.flows) <= seconds:
        return ""
    size = units.size(case.experiment.flows.bytes or 0)
    return f"{size} take {units.seconds(completion)}: not done after {seconds:g} s"


def _changes(stretches: Sequence[Case]) -> str:
    down = math.fsum(case.seconds for case in stretches if case.down and not case.backward)
    if down:
        return f"the link is cut for {units.seconds(down)}, and the sender notices its return up to as long after it"
    if len({(case.path.rate, case.path.delay, case.path.loss, case.path.queue) for case in stretches}) > 1:
        return "the path changes while it runs: expected is the mean over the time, no constant"
    return ""


def _losses(stretches: Sequence[Case], binding: Candidate) -> str:
    seconds = math.fsum(case.seconds for case in stretches if case.loss_rate)
    losses = math.fsum(case.loss_events(binding.throughput) for case in stretches)
    flows = stretches[0].experiment.flows
    if losses < ENOUGH_LOSSES and seconds > 0:
        needed = 5 * math.ceil(flows.duration * ENOUGH_LOSSES / losses / 5)
        return f"too few losses ({math.floor(losses)} expected): run for {needed} s"
    unknown = sorted({name for case in stretches for name in case.algorithms} - MODELLED)
    if unknown:
        return f"no model of {unknown[0]} under loss here: compared with Reno's"
    if max(timeouts(case) for case in stretches) > TIMEOUTS_COUNT:
        return "timeouts count here: expect between Padhye and Mathis"
    return ""


def _bursts(case: Case, binding: Candidate) -> str:
    if binding.limited_by != "bottleneck" or not case.bursts_overflow:
        return ""
    return f"a queue of {case.queue // case.frame} frames drops TCP's own bursts: expect less"


def _near(binding: Candidate, near: Sequence[Candidate]) -> str:
    """Random losses blur the border between two regimes; without them the least one simply holds."""
    if not near:
        return ""
    where = f"{near[0].label} ({units.rate(near[0].throughput)}) is near"
    if len(near) > 1:
        where = f"{near[0].label} and {near[1].label} are near"
    if binding.is_lossy or any(one.is_lossy for one in near):
        return f"{where}: expect a little less than either alone"
    return f"{where}: a little more and it is the limit"


def _netem(case: Case) -> str:
    """What netem does beside delay and loss, which no model here counts."""
    path = case.path
    if path.loss and path.loss_correlation:
        return "netem's correlated losses are rarer than their rate says: expect more"
    if path.jitter > 0:
        return f"jitter of {units.seconds(path.jitter)} reorders segments, which no model here counts"
    if path.reorder > 0:
        return f"{units.percent(path.reorder)} of segments overtake others, which no model here counts"
    return ""


def _bbr(case: Case) -> str:
    if "bbr" in case.algorithms and case.loss > BBR_LOSS_LIMIT:
        return f"no model of BBR above {units.percent(BBR_LOSS_LIMIT)} loss: its estimate of the rate falls"
    return ""


def _unknown_shares(case: Case, binding: Candidate) -> str:
    if binding.limited_by == "bottleneck" and len(case.algorithms) > 1 and not case.fair:
        return "how these algorithms share the link has no closed form: see the expected windows"
    return ""
