"""What the models expect, as frozen data: one model's answer for one case, as it is shown, and all of them together."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from tcptutor.analysis.case import Case
from tcptutor.base import units
from tcptutor.theory.models import LimitedBy, ThroughputModel

BIASES = frozenset({"slow start", "changes"})
"""Parts of a tolerance that pull one way, so that they add up; the others are independent of each other."""

WindowCourse = tuple[tuple[float, float], ...]
"""A flow's congestion window over time: (s since the traffic began, segments)."""


class Prediction(msgspec.Struct, frozen=True, kw_only=True):
    """What one model says about the aggregate throughput of an experiment."""

    model: ThroughputModel
    label: str
    """As it stands on the screen, at most 24 characters."""
    throughput_bps: float
    """Payload of all flows together, bit/s."""
    formula: str
    """The formula with this experiment's numbers in it, one line."""
    tolerance: float
    """Relative difference that the model's known error and the number of loss events justify."""
    limited_by: LimitedBy
    """What limits the flows if this model is right."""
    uncapped_bps: float | None = None
    """What the formula gives by itself, bit/s, where that is more than the link carries; else None."""
    tolerance_from: dict[str, float] = {}
    """What the tolerance is made of, relative: "model", "losses" (their number), "slow start" (a short warm-up) ..."""


class Expectation(msgspec.Struct, frozen=True, kw_only=True):
    """Every model that applies to an experiment, before it is run."""

    predictions: tuple[Prediction, ...]
    """The binding one first, the others by rising throughput."""
    cwnd_segments: float | None
    """Mean congestion window of one flow under the binding model, segments; None where no model gives it."""
    loss_events: float
    """Loss events to be expected in the measured time, all flows together."""
    note: str = ""
    """What the student should know: regimes near each other, too few losses; one sentence or empty."""
    near: tuple[ThroughputModel, ...] = ()
    """Models of other limits that allow less than a third more than the binding one, the nearest first."""
    flows: tuple[float, ...] = ()
    """What each flow gets while it is there, bit/s; empty where no closed form says how flows share a link."""
    completion_s: float | None = None
    """How long the slowest flow takes for a fixed amount, s from its start; None where flows send until the end."""
    trajectory: tuple[WindowCourse, ...] = ()
    """Each flow's window over time, by `window_courses`; empty until someone who draws it has put it in."""

    @property
    def binding(self) -> Prediction:
        """The model that gives the least, so the one that should be seen."""
        return self.predictions[0]


@dataclass(frozen=True)
class Candidate:
    """What a model gives for a case, and how far it may be trusted, before it is compared with the others'."""

    model: ThroughputModel
    label: str
    throughput: float
    """Of all flows, not capped by the link, bit/s; infinite where some flow has no such limit."""
    formula: str
    sure: Mapping[str, float]
    """Relative errors by where they come from: "model", "losses", "slow start" ..."""
    limited_by: LimitedBy
    best: bool = True
    """Whether this is the model of its kind that we believe for these flows and this path."""
    each: tuple[float, ...] = field(default=(), compare=False)
    """Of each flow, bit/s; empty for what all share."""

    @classmethod
    def of(
        cls,
        case: Case,
        model: ThroughputModel,
        throughput: float,
        formula: str,
        sure: Mapping[str, float],
        best: bool = True,
        each: tuple[float, ...] = (),
    ) -> Candidate:
        """With the model's own label, once for all flows of `case`, and its own limit."""
        assert model.limited_by is not None
        label = f"{case.times}{model.label}"
        return cls(model, label, throughput, formula, sure, model.limited_by, best, each)

    @property
    def is_lossy(self) -> bool:
        """Whether random loss is the limit: the flows end slow start early, and together get at most the link."""
        return self.limited_by == "random-loss"

    @property
    def tolerance(self) -> float:
        """All parts together: independent ones by the root of their squares, biases on top."""
        independent = (value for name, value in self.sure.items() if name not in BIASES)
        return math.hypot(*independent) + sum(value for name, value in self.sure.items() if name in BIASES)

    def prediction(self, link: float | None) -> Prediction:
        """As shown: many lossy flows together get at most `link` bit/s (Hacker 2001)."""
        cap = link if link is not None and self.is_lossy and self.throughput > link else None
        return Prediction(
            model=self.model,
            label=self.label,
            throughput_bps=cap or self.throughput,
            formula=f"min({units.rate(cap)}, {self.formula})" if cap else self.formula,
            tolerance=min(1.0, self.tolerance),
            tolerance_from={name: min(1.0, value) for name, value in self.sure.items()},
            limited_by=self.limited_by if cap is None else "bottleneck",
            uncapped_bps=None if cap is None else self.throughput,
        )
