"""Predictions: a model's candidate for a case, the stretches of an experiment, and the expectation they add up to.

A stretch is a time without changes of path or flows. `merge` joins the candidates of all stretches.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import msgspec

from tcptutor.analysis.case import Case, case_of
from tcptutor.base import units
from tcptutor.base.causes import LimitedBy
from tcptutor.theory import sawtooth_mean
from tcptutor.theory.models import LOSS_BLIND, ThroughputModel

BIASES = frozenset({"slow start", "changes"})
"""Parts of a tolerance with the same sign, which add up; the other parts are independent."""

WindowTrajectory = tuple[tuple[float, float], ...]
"""Trajectory of cwnd: pairs of (seconds since the traffic began, segments)."""

LEAST_RATE = 1.0
"""Rate of a path that lets nothing through, bit/s; above 0 so that ratios exist."""

CHANGE_ROUNDS = 20
"""Round trips that flows need to settle after a change of the path."""

NEAR = 0.25
"""Relative distance within which two limits interact."""

_TERMS = 4
"""Most stretches in a formula."""

_BRIEF = 0.01
"""Least share of the time for a stretch in a formula."""


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """Aggregate throughput of an experiment according to a model."""

    model: ThroughputModel
    label: str
    """Text on the screen, at most 24 characters."""
    throughput_bps: float
    """Aggregate payload, bit/s."""
    formula: str
    """Formula with this experiment's numbers, on a single line."""
    tolerance: float
    """Relative difference justified by the model's error and the number of loss events."""
    limited_by: LimitedBy
    """Limiting cause if this model is right."""
    uncapped_bps: float | None = None
    """Value of the formula, bit/s, if it exceeds the link's capacity; otherwise None."""
    tolerance_from: dict[str, float] = {}
    """Parts of the tolerance, relative: "model", "losses" (their number), "slow start" (a short warm-up) ..."""


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """Predictions of all models for an experiment."""

    predictions: tuple[Prediction, ...]
    """Binding prediction first, then by rising throughput."""
    cwnd_segments: float | None
    """Mean cwnd per flow under the binding model, segments; None without a model for it."""
    loss_events: float
    """Loss events expected in the measured time over all flows."""
    note: str = ""
    """Sentence of advice for the student, e.g. on neighboring regimes or too few losses; may be empty."""
    near: tuple[ThroughputModel, ...] = ()
    """Models of other limits up to a third above the binding limit, the nearest first."""
    flows: tuple[float, ...] = ()
    """Mean of each flow over its lifetime, bit/s; empty if no closed form exists."""
    completion_s: float | None = None
    """Transfer time of the slowest flow, s from its start; None without a fixed amount."""
    trajectory: tuple[WindowTrajectory, ...] = ()
    """Trajectories of the flows by `window_trajectories`; empty until a caller that draws them adds them."""

    @property
    def binding(self) -> Prediction:
        """Prediction with the least throughput, which a run should confirm."""
        return self.predictions[0]


@dataclass(frozen=True)
class Candidate:
    """Value of a model for a case, with its errors, before the comparison with other models."""

    model: ThroughputModel
    label: str
    throughput: float
    """Aggregate without the link's cap, bit/s; infinite if some flow has no such limit."""
    formula: str
    errors: Mapping[str, float]
    """Relative errors by source: "model", "losses", "slow start" ..."""
    limited_by: LimitedBy
    is_expected: bool = True
    """True for the model of its kind that is believed for these flows and this path."""
    per_flow: tuple[float, ...] = field(default=(), compare=False)
    """Throughput of each flow, bit/s; empty for a shared limit."""

    @classmethod
    def of(
        cls,
        case: Case,
        model: ThroughputModel,
        throughput: float,
        formula: str,
        errors: Mapping[str, float],
        is_expected: bool = True,
        per_flow: tuple[float, ...] = (),
    ) -> Candidate:
        """Return a candidate with the model's label and limiting cause."""
        assert model.limited_by is not None
        label = f"{case.count_prefix}{model.label}"
        return cls(model, label, throughput, formula, errors, model.limited_by, is_expected, per_flow)

    @property
    def is_lossy(self) -> bool:
        """True if random loss is the limit: slow start ends early, and the link caps the aggregate."""
        return self.limited_by == "random-loss"

    @property
    def tolerance(self) -> float:
        """Total tolerance: independent parts by root sum of squares, plus biases."""
        independent = (value for name, value in self.errors.items() if name not in BIASES)
        return math.hypot(*independent) + sum(value for name, value in self.errors.items() if name in BIASES)

    def prediction(self, link: float | None) -> Prediction:
        """Return the prediction, with an aggregate under loss capped at `link`, bit/s (Hacker 2001)."""
        cap = link if link is not None and self.is_lossy and self.throughput > link else None
        return Prediction(
            model=self.model,
            label=self.label,
            throughput_bps=cap or self.throughput,
            formula=f"min({units.rate(cap)}, {self.formula})" if cap else self.formula,
            tolerance=min(1.0, self.tolerance),
            tolerance_from={name: min(1.0, value) for name, value in self.errors.items()},
            limited_by=self.limited_by if cap is None else "bottleneck",
            uncapped_bps=None if cap is None else self.throughput,
        )


@dataclass(frozen=True)
class Stretch:
    """Case with its candidates; the believed candidates by rising throughput, starting with the binding candidate."""

    case: Case
    candidates: tuple[Candidate, ...]
    believed: tuple[Candidate, ...]

    @classmethod
    def of(cls, case: Case, candidates: Iterable[Candidate]) -> Stretch:
        """Return the stretch with `candidates`; believed ones with the same throughput keep their order."""
        found = tuple(candidates)
        believed = (one for one in found if one.is_expected and math.isfinite(one.throughput))
        return cls(case, found, tuple(sorted(believed, key=lambda one: one.throughput)))

    @property
    def binding(self) -> Candidate:
        return self.believed[0]

    @property
    def near(self) -> list[Candidate]:
        """Other limits close enough to matter, one per cause, the nearest first.

        Distances refer to the least single limit; several close limits leave less.
        """
        found: dict[str, Candidate] = {}
        single = [one for one in self.believed if one.model is not ThroughputModel.MEETING]
        for other in single[1:]:
            has_other_cause = other.limited_by != self.binding.limited_by
            if has_other_cause and single[0].throughput > (1 - NEAR) * other.throughput:
                found.setdefault(other.limited_by, other)
        return list(found.values())

    def without_losses(self) -> Stretch:
        """Return this stretch with its random loss models for comparison only."""

        def has_losses(one: Candidate) -> bool:
            return one.is_lossy or (one.model is ThroughputModel.MEETING and self.case.loss_rate > 0)

        # Candidates without losses stay the same objects, because the binding one is compared by identity.
        return Stretch.of(
            self.case,
            (replace(one, is_expected=False) if has_losses(one) else one for one in self.candidates),
        )

    def with_candidate(self, more: Candidate) -> Stretch:
        """Return this stretch with `more` as a further candidate."""
        return Stretch.of(self.case, (*self.candidates, more))


def merge(stretches: Sequence[Stretch]) -> Stretch:
    """Return the merged stretch: means weighted by time, summed over both directions."""
    longest = max(stretches, key=lambda one: one.case.seconds * one.case.flow_count).case
    whole = case_of(
        longest.experiment,
        longest.mss,
        longest.measured_rto,
        longest.on_virtual_clock,
        path=longest.path,
        is_reverse=longest.is_reverse,
    )
    return Stretch.of(whole, _candidates(stretches))


def _candidates(parts: Sequence[Stretch]) -> list[Candidate]:
    """Return each model's mean over the time, with the binding one in stretches that lack the model.

    If the binding model changes, only models in every stretch are used, and the mean of the binding ones is added.
    """
    weights = [part.case.seconds / _span(parts) for part in parts]
    models = dict.fromkeys(one.model for part in parts for one in part.candidates)
    bindings = [part.binding for part in parts]
    differ = len({one.model for one in bindings}) > 1
    found = []
    for model in models:
        candidates = [next((one for one in part.candidates if one.model is model), None) for part in parts]
        if differ and not all(candidates):
            continue  # mixed with a different model's figures it would be neither
        answers = [one or binding for one, binding in zip(candidates, bindings, strict=True)]
        if all(math.isfinite(one.throughput) for one in answers):
            largest = max((one for one in candidates if one), key=lambda one: one.throughput)
            mean = _mean(parts, weights, answers, largest)
            found.append(replace(mean, is_expected=all(one.is_expected for one in answers)))
    if differ:
        longest = max(range(len(parts)), key=lambda place: weights[place] * bindings[place].throughput)
        combined = replace(bindings[longest], model=ThroughputModel.STRETCHES, label=_label(parts))
        found.append(replace(_mean(parts, weights, bindings, combined), is_expected=True))
    return found


def _mean(
    parts: Sequence[Stretch], weights: Sequence[float], answers: Sequence[Candidate], own: Candidate
) -> Candidate:
    weighted = list(zip(weights, answers, strict=True))
    total = math.fsum(weight * one.throughput for weight, one in weighted)
    errors = {
        name: math.fsum(weight * one.throughput * one.errors.get(name, 0.0) for weight, one in weighted)
        / total
        for name in dict.fromkeys(name for one in answers for name in one.errors)
    }
    if "losses" in errors:
        # Losses of all stretches count as one sample.
        events = [part.case.loss_events(one.throughput) for part, one in zip(parts, answers, strict=True)]
        single = max(
            one.errors.get("losses", 0.0) * math.sqrt(max(number, 1e-9))
            for number, one in zip(events, answers, strict=True)
        )
        errors["losses"] = single / math.sqrt(max(math.fsum(events), 1e-9))
    if (changing := _settling(parts)) > 0:
        errors["changes"] = changing
    formula = own.formula
    if len({one.formula for one in answers}) > 1 or not math.isclose(sum(weights), 1):
        # The rate of a cut link is slightly above 0 so that ratios exist.
        rates = [
            0.0 if part.case.is_cut else one.throughput for part, one in zip(parts, answers, strict=True)
        ]
        formula = _sum_of(list(zip(weights, rates, strict=True)))
    return replace(own, throughput=total, formula=formula, errors=errors, per_flow=())


def _sum_of(terms: Sequence[tuple[float, float]]) -> str:
    """Return shares of the time times rates as text; the longest terms only, without very short stretches."""
    listed = [term for term in terms if term[0] >= _BRIEF] or terms
    if len(listed) > _TERMS:
        listed = sorted(listed, key=lambda term: -term[0])[:_TERMS]
    text = " + ".join(f"{weight:.3g} × {units.rate(rate)}" for weight, rate in listed)
    return text + (" + …" if len(listed) < len(terms) else "")


def _settling(parts: Sequence[Stretch]) -> float:
    """Return the share of the time in which flows settle after changes of the path.

    After a cut the sender waits for a timeout that has doubled, so up to the length of the cut again.
    """
    seconds = 0.0
    cases = [part.case for part in parts]
    for before, after in pairwise([case for case in cases if not case.is_reverse] or cases):
        if before.is_cut and not after.is_cut:
            seconds += min(after.seconds, before.seconds + before.rto)
        elif before.path != after.path:
            seconds += max(min(after.seconds, CHANGE_ROUNDS * after.rtt) / 2, _missed(before, after))
    return min(1.0, seconds / _span(parts))


def _missed(before: Case, after: Case) -> float:
    """Return the most that flows miss while growing to a larger path, in seconds of the full rate.

    Without losses they grow like Reno by a segment per RTT, from about the mean of a sawtooth on the old path.
    """
    if (
        before.tcp_capacity is None
        or after.tcp_capacity is None
        or after.loss_rate > 0
        or after.algorithms <= LOSS_BLIND
    ):
        return 0.0
    held = before.tcp_capacity * before.rtt / 8 + before.buffer * before.payload_ratio
    start = sawtooth_mean(0) * held / (before.mss * max(1, before.flow_count))
    needed = after.window_at(after.tcp_capacity)
    most = after.max_in_flight
    if most is not None:
        needed = min(needed, most / after.mss)
    if start >= needed:
        return 0.0
    seconds = min(after.seconds, (needed - start) * after.rtt)
    reached = start + seconds / after.rtt
    return seconds * (1 - (start + reached) / 2 / needed)


def _span(parts: Sequence[Stretch]) -> float:
    """Return the length of all stretches, s; both directions overlap."""
    return max(
        math.fsum(part.case.seconds for part in parts if part.case.is_reverse == backward)
        for backward in (False, True)
    )


def _label(parts: Sequence[Stretch]) -> str:
    ways = {part.case.is_reverse for part in parts}
    return "both ways together" if len(ways) == 2 else f"mean of {len(parts)} stretches"
