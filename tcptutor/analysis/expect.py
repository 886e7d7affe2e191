"""What every model that applies expects of an experiment, the binding one first."""

from __future__ import annotations

import math
from dataclasses import replace

from tcptutor import units
from tcptutor.analysis.case import Candidate, Case, case_of
from tcptutor.analysis.limits import bursts_overflow, limit_candidates
from tcptutor.analysis.lossy import MODELLED, TIMEOUTS_COUNT, loss_candidates, timeout_share
from tcptutor.analysis.model import Expectation
from tcptutor.spec import ETHERNET_HEADER, Experiment

ENOUGH_LOSSES = 20
"""Loss events below which a comparison with a loss model says nothing."""

NEAR = 0.25
"""Relative distance within which two limits act together."""

_CLIPPED = 0.16
"""What one Reno flow loses when its window, of coefficient of variation 0.4, is cut at its own mean."""


def expect(experiment: Experiment, mss: int | None = None, rto: float | None = None) -> Expectation:
    """Every model's prediction; `mss` in bytes and `rto` in seconds as measured, or what is usual.

    The binding prediction is the least of the models that we believe for this algorithm and path. Never
    raises for an experiment that `spec.build` made.
    """
    case = case_of(experiment, mss, rto)
    candidates = [*limit_candidates(case), *loss_candidates(case)]
    believed = sorted((one for one in candidates if one.best), key=lambda one: one.throughput)
    binding = believed[0]
    near = _nearest(binding, believed[1:])
    shown = replace(binding, tolerance=_tolerance(case, binding, near))
    others = (one.prediction(case.link) for one in candidates if one is not binding)
    return Expectation(
        predictions=(shown.prediction(case.link), *sorted(others, key=lambda one: one.throughput_bps)),
        cwnd_segments=_mean_cwnd(case, binding),
        loss_events=case.loss_events(binding.throughput),
        note=_note(case, binding, near),
    )


def _nearest(binding: Candidate, others: list[Candidate]) -> Candidate | None:
    """The next limit of another kind, if it is near enough to be felt."""
    for other in others:
        if other.limited_by != binding.limited_by and binding.throughput > (1 - NEAR) * other.throughput:
            return other
    return None


def _tolerance(case: Case, binding: Candidate, near: Candidate | None) -> float:
    """The binding model's, wider where a sawtooth from random losses meets another limit."""
    if near is None or "random-loss" not in (binding.limited_by, near.limited_by):
        return binding.tolerance
    apart = 1 - binding.throughput / near.throughput
    clipped = _CLIPPED / math.sqrt(case.flows) * (1 - apart / NEAR)
    return math.hypot(binding.tolerance, clipped)


def _mean_cwnd(case: Case, binding: Candidate) -> float | None:
    """Segments of one flow's mean window: given by loss models, and by a sawtooth over a full link."""
    if not case.flows:
        return None
    if binding.limited_by == "random-loss":
        return binding.throughput * case.rtt / (8 * case.mss * case.flows)
    # Mean over peak of the sawtooth: (1 + beta) / 2 for Reno, (3 + beta) / 4 for CUBIC (RFC 8312, eq. 5).
    mean = {"reno": 0.75, "cubic": 0.925}.get(case.experiment.hosts.algorithm)
    if binding.limited_by != "bottleneck" or mean is None or case.link is None or case.loss > 0:
        return None
    queued = case.experiment.path.queue * case.link / (case.experiment.path.rate or case.link)
    return mean * (case.link * case.rtt / 8 + queued) / (case.mss * case.flows)


def _note(case: Case, binding: Candidate, near: Candidate | None) -> str:
    """The one thing to know first."""
    jitter = case.experiment.path.jitter
    if binding.model == "buffer":
        return "no rate is set: the kernel's buffers are an upper bound, and this computer may be slower"
    if binding.limited_by == "random-loss" and (note := _loss_note(case, binding)):
        return note
    if binding.limited_by == "bottleneck" and bursts_overflow(case):
        frames = case.experiment.path.queue // (case.experiment.hosts.mtu + ETHERNET_HEADER)
        return f"a queue of {frames} frames drops TCP's own bursts: expect less"
    if near is not None:
        return _near_note(binding, near)
    if jitter > 0:
        return f"jitter of {units.seconds(jitter)} reorders segments, which no model here counts"
    return ""


def _loss_note(case: Case, binding: Candidate) -> str:
    flows, losses = case.experiment.flows, case.loss_events(binding.throughput)
    if losses < ENOUGH_LOSSES:
        needed = 5 * math.ceil(flows.duration * ENOUGH_LOSSES / losses / 5)
        return f"too few losses ({math.floor(losses)} expected): run for {needed} s"
    if case.experiment.hosts.algorithm not in MODELLED:
        return f"no model of {case.experiment.hosts.algorithm} under loss here: compared with Reno's"
    if timeout_share(case) > TIMEOUTS_COUNT:
        return "timeouts count here: expect between Padhye and Mathis"
    return ""


def _near_note(binding: Candidate, near: Candidate) -> str:
    """Random losses blur the border between two regimes; without them the least one simply holds."""
    where = f"{near.label} ({units.rate(near.throughput)}) is near"
    if "random-loss" in (binding.limited_by, near.limited_by):
        return f"{where}: expect a little less than either alone"
    return f"{where}: a little more and it is the limit"
