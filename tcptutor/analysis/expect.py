"""What every model that applies expects of an experiment, the binding one first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tcptutor.analysis import amounts, notes
from tcptutor.analysis.candidate import Candidate
from tcptutor.analysis.case import Case, case_of
from tcptutor.analysis.limits import limit_candidates
from tcptutor.analysis.lossy import loss_candidates
from tcptutor.analysis.merge import merged
from tcptutor.analysis.model import Expectation
from tcptutor.analysis.shares import own_limits, shares
from tcptutor.analysis.stretches import cases
from tcptutor.analysis.windows import mean_window, unsettled
from tcptutor.spec import Experiment

ENOUGH_LOSSES = notes.ENOUGH_LOSSES

NEAR = 0.25
"""Relative distance within which two limits act together."""

_CLIPPED = 0.16
"""What one Reno flow loses when its window, of coefficient of variation 0.4, is cut at its own mean."""

_LEAST = 1.0
"""Bit/s that is expected of a path that lets nothing through, so that a measurement can be compared with it."""


@dataclass(frozen=True)
class Stretch:
    """One case with its candidates: the believed ones by rising throughput, so the binding one first."""

    case: Case
    candidates: tuple[Candidate, ...]
    believed: tuple[Candidate, ...]

    @property
    def binding(self) -> Candidate:
        return self.believed[0]

    @property
    def near(self) -> list[Candidate]:
        """The other limits that are near enough to be felt, the nearest first; the same limit counts once."""
        found: dict[str, Candidate] = {}
        for other in self.believed[1:]:
            apart = other.limited_by != self.binding.limited_by
            if apart and self.binding.throughput > (1 - NEAR) * other.throughput:
                found.setdefault(other.limited_by, other)
        return list(found.values())


def expect(experiment: Experiment, mss: int | None = None, rto: float | None = None) -> Expectation:
    """Every model's prediction; `mss` in bytes and `rto` in seconds as measured, or what is usual.

    The binding prediction is the least of the models that we believe for these algorithms and this path. Where the
    path changes or flows come later, it is the mean over the time. Never raises for an experiment that `spec.build`
    made.
    """
    stretches = [stretch_of(case) for case in cases(experiment, mss, rto)]
    if not stretches:
        return _nothing(experiment)
    whole = stretches[0] if len(stretches) == 1 else merged_stretch(stretches)
    finishing, completion = amounts.amount_candidate(whole.case, whole.believed)
    if finishing is not None:
        whole = _with(whole, finishing)
    return _told(whole, stretches, completion, mss)


def stretch_of(case: Case) -> Stretch:
    """Every candidate of one case."""
    candidates = [*limit_candidates(case), *loss_candidates(case)]
    if case.down:
        candidates = [
            Candidate("link", "link", _LEAST, "the link is cut", {"model": 0.0}, "bottleneck"),
            *(
                replace(one, throughput=_LEAST, each=(), best=False)
                for one in candidates
                if one.model != "link"
            ),
        ]
    believed = [one for one in candidates if one.best and math.isfinite(one.throughput)]
    limits = own_limits(case, believed + [one for one in candidates if one.best and one not in believed])
    together = math.fsum(limits)
    if len(case.kinds) > 1 and together < 0.999 * min((one.throughput for one in believed), default=math.inf):
        lossy = any(one.limited_by == "random-loss" for one in candidates if one.best)
        sure = max(
            (one.sure for one in believed), key=lambda sure: sure.get("model", 0.0), default={"model": 0.3}
        )
        own = Candidate(
            "each", f"{case.times}own limit", together, "each flow's own least limit", sure,
            "random-loss" if lossy else believed[0].limited_by, each=limits,
        )  # fmt: skip
        candidates.append(own)
        believed.append(own)
    believed.sort(key=lambda one: one.throughput)
    return Stretch(case, tuple(candidates), tuple(believed))


def merged_stretch(stretches: Sequence[Stretch]) -> Stretch:
    """All of them as one, by the mean over time and the sum of both ways."""
    longest = max(stretches, key=lambda one: one.case.seconds * one.case.number)
    candidates = merged([(one.case, one.candidates, one.binding) for one in stretches])
    believed = sorted((one for one in candidates if one.best), key=lambda one: one.throughput)
    whole = case_of(longest.case.experiment, longest.case.mss, longest.case.given_rto)
    return Stretch(
        replace(whole, path=longest.case.path, backward=longest.case.backward),
        tuple(candidates),
        tuple(believed),
    )


def _with(stretch: Stretch, more: Candidate) -> Stretch:
    believed = [*stretch.believed, *([more] if more.best else [])]
    believed.sort(key=lambda one: one.throughput)
    return replace(stretch, candidates=(*stretch.candidates, more), believed=tuple(believed))


def _told(
    whole: Stretch, stretches: Sequence[Stretch], completion: float | None, mss: int | None
) -> Expectation:
    case, binding, near = whole.case, whole.binding, whole.near
    one_case = len(stretches) == 1
    link = case.room if one_case else None
    shown = replace(binding, sure=_sure(case, binding, near))
    others = (
        replace(one, sure=_settling(case, one)).prediction(link)
        for one in whole.candidates
        if one is not binding and math.isfinite(one.throughput)
    )
    predictions = (shown.prediction(link), *sorted(others, key=lambda one: one.throughput_bps))
    return Expectation(
        predictions=predictions,
        cwnd_segments=mean_window(case, binding, near) if one_case else None,
        loss_events=math.fsum(one.case.loss_events(one.binding.throughput) for one in stretches),
        note=notes.note(whole.case, [one.case for one in stretches], binding, near, completion),
        near=tuple(one.model for one in near),
        flows=_flows(stretches, binding),
        completion_s=completion,
        experiment=case.experiment,
        mss=mss,
    )


def _flows(stretches: Sequence[Stretch], binding: Candidate) -> tuple[float, ...]:
    """Each flow's mean over the time that it is there, bit/s."""
    if binding.model == "completion":
        return binding.each
    bits: dict[int, float] = {}
    seconds: dict[int, float] = {}
    for one in stretches:
        got = (
            (_LEAST,) * one.case.number
            if one.case.down
            else shares(one.case, [each for each in one.candidates if each.best], one.binding.throughput)
        )
        if not got:
            return ()
        for flow, rate in zip(one.case.flows, got, strict=True):
            bits[flow.number] = bits.get(flow.number, 0.0) + rate * one.case.seconds
            seconds[flow.number] = seconds.get(flow.number, 0.0) + one.case.seconds
    total = stretches[0].case.experiment.total_streams
    return tuple(bits[flow] / seconds[flow] for flow in range(total) if seconds.get(flow))


def _settling(case: Case, one: Candidate) -> dict[str, float]:
    """The candidate's own errors, and what the flows' start takes of the mean; losses end slow start early."""
    if one.limited_by in ("random-loss", "growing") or one.model == "completion":
        return dict(one.sure)
    share = unsettled(case, one.throughput)
    return {**one.sure, "slow start": share} if share > 0 else dict(one.sure)


def _sure(case: Case, binding: Candidate, near: Sequence[Candidate]) -> dict[str, float]:
    """The binding model's, wider where a sawtooth from random losses meets another limit."""
    sure = _settling(case, binding)
    lossy = next((one for one in near if "random-loss" in (binding.limited_by, one.limited_by)), None)
    if lossy is None:
        return sure
    apart = 1 - binding.throughput / lossy.throughput
    return {**sure, "a limit near": _CLIPPED / math.sqrt(case.number) * (1 - apart / NEAR)}


def _nothing(experiment: Experiment) -> Expectation:
    """Without a TCP flow there is nothing that a model speaks about; the link is still there."""
    case = case_of(experiment)
    rate = case.link or experiment.flows.udp_rate
    link = Candidate("link", "link", rate, "no TCP flow", {"model": 1.0}, "bottleneck")
    return Expectation(
        predictions=(link.prediction(None),),
        cwnd_segments=None,
        loss_events=0.0,
        note="no TCP flow: the models have nothing to say",
        experiment=experiment,
    )
