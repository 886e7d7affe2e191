"""What every model that applies expects of an experiment, the binding one first."""

from __future__ import annotations

import math
from dataclasses import replace

from tcptutor import units
from tcptutor.analysis.case import Candidate, Case, case_of
from tcptutor.analysis.limits import limit_candidates
from tcptutor.analysis.lossy import MODELLED, TIMEOUTS_COUNT, loss_candidates
from tcptutor.analysis.model import Expectation
from tcptutor.spec import Experiment

ENOUGH_LOSSES = 20
"""Loss events below which a comparison with a loss model says nothing."""

NEAR = 0.25
"""Relative distance within which two limits act together."""

_CLIPPED = 0.16
"""What one Reno flow loses when its sawtooth is cut at its own mean: 0.4 times its coefficient of variation, 0.4."""


def expect(experiment: Experiment, mss: int | None = None, rto: float | None = None) -> Expectation:
    """Every model's prediction for `experiment`; `mss` (bytes) and `rto` (s) as measured, or the kernel's usual.

    The binding prediction is the least of the models that we believe for this algorithm and path. Never raises for
    an experiment that `spec.build` made.
    """
    case = case_of(experiment, mss, rto)
    candidates = [*limit_candidates(case), *loss_candidates(case)]
    believed = sorted((one for one in candidates if one.best), key=lambda one: one.throughput)
    binding = believed[0]
    near = _nearest(binding, believed[1:])
    shown = replace(binding, tolerance=_tolerance(case, binding, near))
    others = sorted((one for one in candidates if one is not binding), key=lambda one: one.throughput)
    return Expectation(
        predictions=tuple(one.prediction(case.link) for one in (shown, *others)),
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
    """Segments of one flow's mean window: given by loss models, and by a full link with a sawtooth over it."""
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
    experiment = case.experiment
    losses = case.loss_events(binding.throughput)
    if binding.model == "buffer":
        return "nothing limits this path but the computer itself: this is only an upper bound"
    if binding.limited_by == "random-loss":
        if experiment.hosts.algorithm not in MODELLED:
            return f"no model of {experiment.hosts.algorithm} under loss here: compared with Reno's"
        if losses < ENOUGH_LOSSES:
            needed = 5 * math.ceil(experiment.flows.duration * ENOUGH_LOSSES / losses / 5)
            return f"too few losses ({losses:.0f} expected): run for {needed} s"
        if case.loss > TIMEOUTS_COUNT:
            return (
                f"above {units.percent(TIMEOUTS_COUNT)} loss timeouts count: expect between Mathis and Padhye"
            )
    if near is not None:
        return f"{near.label} ({units.rate(near.throughput)}) is near: expect a little less than either alone"
    if experiment.path.jitter > 0:
        return (
            f"jitter of {units.seconds(experiment.path.jitter)} reorders segments, which no model here counts"
        )
    return ""
