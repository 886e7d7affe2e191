"""Expectation: the predictions of all applicable models, starting with the binding prediction."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from tcptutor.analysis.case import Case, case_of
from tcptutor.analysis.expected.blind import widen_tolerances
from tcptutor.analysis.expected.loss import loss_candidates
from tcptutor.analysis.expected.lossless import limit_candidates
from tcptutor.analysis.expected.meeting import meeting_candidate
from tcptutor.analysis.expected.notes import note
from tcptutor.analysis.expected.prediction import Candidate, Expectation
from tcptutor.analysis.expected.reordering import reordering_candidate
from tcptutor.analysis.expected.sharing import amount_candidate, own_limits, shares
from tcptutor.analysis.expected.stretches import Stretch, by_throughput, merge, stretch_cases
from tcptutor.analysis.expected.udp_expectation import udp_candidate
from tcptutor.analysis.expected.window import mean_window, startup_share
from tcptutor.spec import Experiment
from tcptutor.theory.models import ThroughputModel

_ROUGH = frozenset({ThroughputModel.WINDOW, ThroughputModel.RELATED})
"""Models that give only an upper bound next to a well-known limit."""

_LEAST = 1.0
"""Rate of a path that lets nothing through, bit/s; above 0 so that ratios exist."""


def expect(
    experiment: Experiment,
    mss: int | None = None,
    rto: float | None = None,
    on_virtual_clock: bool = False,
) -> Expectation:
    """Return the predictions of all applicable models for `experiment`.

    The binding prediction is the least among the models believed for these algorithms and this path. If the path
    changes or flows start late, it is the mean over the time. Never raises for an experiment from `spec.build`.

    Args:
        experiment: The experiment.
        mss: Measured segment size, bytes; by default the kernel's choice.
        rto: Measured retransmission timeout, s; by default the usual one.
        on_virtual_clock: True if the run is known to use the guest's virtual clock.
    """
    stretches = [stretch_of(case) for case in stretch_cases(experiment, mss, rto, on_virtual_clock)]
    if not stretches:
        return _nothing(experiment)
    is_single = len(stretches) == 1
    stretch = stretches[0] if is_single else merge(stretches)
    finishing, completion = amount_candidate(stretch.case, stretch.believed)
    if finishing is not None:
        finishing = widen_tolerances(stretch.case, [finishing])[0]
        # A short transfer may end before the losses reach their mean; its duration includes them.
        stretch = (stretch.without_losses() if finishing.is_expected else stretch).with_candidate(finishing)
    case, binding, near = stretch.case, stretch.binding, stretch.near
    link = case.tcp_capacity if is_single else None
    others = [
        replace(one, errors=_settling(case, one)).prediction(link)
        for one in stretch.candidates
        if one is not binding and math.isfinite(one.throughput)
    ]
    return Expectation(
        predictions=(
            replace(binding, errors=_sure(case, binding, stretch.believed)).prediction(link),
            *sorted(others, key=lambda one: one.throughput_bps),
        ),
        cwnd_segments=mean_window(case, binding, near) if is_single else None,
        loss_events=math.fsum(one.case.loss_events(one.binding.throughput) for one in stretches),
        note=note(case, [one.case for one in stretches], binding, near, completion),
        near=tuple(one.model for one in near),
        flows=_flows(stretches, binding),
        completion_s=completion,
    )


def expected_throughput(experiment: Experiment) -> float:
    """Return the predicted throughput of all TCP flows together, bit/s."""
    return expect(experiment).binding.throughput_bps


def stretch_of(case: Case) -> Stretch:
    """Return the candidates of a case."""
    candidates = [*limit_candidates(case), *loss_candidates(case)]
    if case.is_cut:
        cut = Candidate(ThroughputModel.LINK, "link", _LEAST, "the link is cut", {"model": 0.0}, "bottleneck")
        stopped = [replace(one, throughput=_LEAST, per_flow=(), is_expected=False) for one in candidates]
        candidates = [cut, *(one for one in stopped if one.model is not ThroughputModel.LINK)]
    if (combined := meeting_candidate(case, [one for one in candidates if one.is_expected])) is not None:
        candidates.append(combined)
    if (reordering := reordering_candidate(case)) is not None:
        candidates.append(reordering)
    candidates = widen_tolerances(case, candidates)
    best = [one for one in candidates if one.is_expected]
    believed = [one for one in best if math.isfinite(one.throughput)]
    stretch = Stretch(case, tuple(candidates), by_throughput(believed))
    limits = own_limits(case, best)
    total = math.fsum(limits)
    lowest = min((one.throughput for one in believed), default=math.inf)
    if len(case.kinds) == 1 or total >= 0.999 * lowest:
        return stretch
    # No single model limits all flows: each flow has its own limit.
    errors = max(
        (one.errors for one in believed), key=lambda errors: errors.get("model", 0.0), default={"model": 0.3}
    )
    limited_by = "random-loss" if any(one.is_lossy for one in best) else believed[0].limited_by
    model = ThroughputModel.OWN_LIMITS
    label, formula = f"{case.count_prefix}{model.label}", "each flow's own least limit"
    return stretch.with_candidate(
        Candidate(model, label, total, formula, errors, limited_by, per_flow=limits)
    )


def _flows(stretches: Sequence[Stretch], binding: Candidate) -> tuple[float, ...]:
    """Return each flow's mean over its lifetime, bit/s."""
    if binding.model is ThroughputModel.COMPLETION:
        return binding.per_flow
    bits: dict[int, float] = {}
    seconds: dict[int, float] = {}
    for one in stretches:
        case, rates = one.case, (_LEAST,) * one.case.flow_count
        if not case.is_cut:
            rates = shares(
                case, [each for each in one.candidates if each.is_expected], one.binding.throughput
            )
        if not rates:
            return ()
        for flow, rate in zip(case.flows, rates, strict=True):
            bits[flow.number] = bits.get(flow.number, 0.0) + rate * case.seconds
            seconds[flow.number] = seconds.get(flow.number, 0.0) + case.seconds
    return tuple(bits[flow] / seconds[flow] for flow in sorted(seconds) if seconds[flow])


def _settling(case: Case, one: Candidate) -> dict[str, float]:
    """Return the candidate's errors, plus the bias of the start; losses end slow start early."""
    share = 0.0 if one.is_lossy or one.model.has_start else startup_share(case, one.throughput)
    return {**one.errors, "slow start": share} if share > 0 else dict(one.errors)


def _sure(case: Case, binding: Candidate, believed: Sequence[Candidate]) -> dict[str, float]:
    """Return the binding candidate's errors, widened if a less certain limit may be the lower one.

    Less certain limits are a nearby window in full segments, and the rough law of an algorithm.
    """
    errors = _settling(case, binding)
    rough = [one for one in believed if one.model in _ROUGH and one is not binding]
    lowest = min((one.throughput * (1 - one.tolerance) for one in rough), default=math.inf)
    below = 1 - lowest / binding.throughput if binding.throughput > 0 else 0.0
    return {**errors, "a limit near": below} if below > binding.tolerance else errors


def _nothing(experiment: Experiment) -> Expectation:
    """Return the expectation without TCP flows: the UDP rate, or the link."""
    datagrams = udp_candidate(experiment)
    rate = case_of(experiment).capacity or experiment.flows.udp_rate
    link = Candidate(ThroughputModel.LINK, "link", rate, "no TCP flow", {"model": 1.0}, "bottleneck")
    return Expectation(
        predictions=((datagrams or link).prediction(None),),
        cwnd_segments=None,
        loss_events=0.0,
        note="" if datagrams else "no TCP flow: the models have nothing to say",
    )
