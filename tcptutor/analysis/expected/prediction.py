"""Predictions: a model's candidate for a case, the candidates of a stretch, and an experiment's expectation."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import msgspec

from tcptutor.analysis.case import Case
from tcptutor.base import units
from tcptutor.base.causes import LimitedBy
from tcptutor.theory.models import ThroughputModel

BIASES = frozenset({"slow start", "changes"})
"""Parts of a tolerance with the same sign, which add up; the other parts are independent."""

WindowTrajectory = tuple[tuple[float, float], ...]
"""Trajectory of cwnd: pairs of (seconds since the traffic began, segments)."""

LEAST_RATE = 1.0
"""Rate of a path that lets nothing through, bit/s; above 0 so that ratios exist."""

NEAR = 0.25
"""Relative distance within which two limits interact."""


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
