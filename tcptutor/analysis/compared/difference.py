"""Comparison of a prediction with a run: whether the model applies, the difference, and the outcome."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import msgspec

from tcptutor.analysis.case import Case
from tcptutor.analysis.compared.verdict import Verdict
from tcptutor.analysis.expected.prediction import Expectation, Prediction
from tcptutor.analysis.observed.evidence import Evidence
from tcptutor.analysis.observed.facts import Observed
from tcptutor.analysis.observed.measured import Measured, is_parameter_known
from tcptutor.base.causes import LimitedBy
from tcptutor.theory.models import ThroughputModel

_LEFT = 1 / 3
"""Share of a difference that a reason may leave unexplained."""

_LATER = 1.05
"""Speedup from the first to the last quarter that shows a slow start-up."""

MAX_TOLERANCE = 0.4
"""Largest tolerance at which a model can explain a run; a wider tolerance spans rates of 1 to 2.3 and more."""

Judgement = Literal["explains", "misses", "undecided", "not-the-limit", "capped", "other-algorithm"]
"""Outcome of a comparison with one model.

- `explains`, `misses`: inside or outside the tolerance.
- `undecided`: chance or a wide tolerance leaves it open.
- `not-the-limit`: the model allows more, and a different cause was the limit.
- `capped`: the link's rate replaces the formula's value.
- `other-algorithm`: a model of an algorithm that these flows do not use.
"""


class ModelComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Prediction with its measurement."""

    prediction: Prediction
    ratio: float
    """Measured over predicted."""
    judgement: Judgement
    reason: str = ""
    """Short reason for the difference; empty if unknown."""

    @property
    def within(self) -> bool:
        """True if the model explains the run, shown as a tick."""
        return self.judgement == "explains"

    @property
    def difference(self) -> float:
        """Relative error of the measurement against the prediction."""
        return self.ratio - 1


@dataclass(frozen=True)
class Difference:
    """Inputs for the reasons behind a difference, and its basic properties."""

    prediction: Prediction
    expectation: Expectation
    """All predictions, starting with the binding prediction."""
    measured: Measured
    case: Case
    verdict: Verdict

    @property
    def model(self) -> ThroughputModel:
        return self.prediction.model

    @property
    def ratio(self) -> float:
        """Measured over predicted throughput."""
        return self.measured.throughput / self.prediction.throughput_bps

    @property
    def is_within_tolerance(self) -> bool:
        """True if the measurement is within the model's tolerance."""
        return abs(self.ratio - 1) <= self.prediction.tolerance

    @property
    def binds(self) -> bool:
        """True for the prediction that was expected to bind."""
        return self.prediction is self.expectation.binding

    @property
    def is_capped(self) -> bool:
        """True if the link's rate replaces the formula's value and the link is not the binding prediction."""
        return self.prediction.uncapped_bps is not None and not self.binds

    @property
    def is_other_algorithm(self) -> bool:
        """True for a non-binding model of an algorithm that not all flows use."""
        return (
            bool(self.model.algorithm) and not self.binds and self.case.algorithms != {self.model.algorithm}
        )

    def covers(self, limited_by: LimitedBy) -> bool:
        """Return whether the model already accounts for the cause.

        Loss models account for timeouts, the transfer model for its start, and combined models for all their parts.
        """
        counted = {self.prediction.limited_by}
        if self.model is ThroughputModel.COMPLETION:
            counted = {"growing", "random-loss", "bottleneck"}
        elif self.model in (ThroughputModel.MEETING, ThroughputModel.STRETCHES, ThroughputModel.OWN_LIMITS):
            counted |= {one.limited_by for one in self.expectation.predictions}
        return limited_by in counted or (limited_by == "timeout" and "random-loss" in counted)

    @property
    def evidence(self) -> Evidence | None:
        return self.verdict.evidence

    @property
    def stalled(self) -> float:
        """Share of the time in timeouts, at most 0.99."""
        return min(0.99, self.evidence.stalled) if self.evidence else 0.0

    @property
    def faster_later(self) -> bool:
        """True if the last quarter of the measured time was clearly faster than the first."""
        start, end = self.measured.span
        quarter = (end - start) / 4
        whole = self.measured
        parts = (whole.between(start, start + quarter), whole.between(end - quarter, end))
        first, last = (math.fsum(flow.throughput_bps for flow in part.flows) for part in parts)
        return last > _LATER * first

    def explains(self, factor: float) -> bool:
        """Return whether the prediction times `factor` leaves at most a third of the log difference."""
        if self.ratio <= 0 or factor <= 0:
            return False
        return abs(math.log(self.ratio / factor)) < _LEFT * abs(math.log(self.ratio))


def is_comparable(observed: Observed, prediction: Prediction) -> bool:
    """Return whether a model applies to the run: it has figures, is not invalid, and its path is known.

    An import needs its delay for RTT-based models.
    """
    measured, run = observed.measured, observed.measured.run
    if not (measured.flows or measured.udp) or run.fidelity.status == "invalid" or observed.path.doubt:
        return False
    by_round_trip = prediction.model.is_by_round_trip or prediction.model is ThroughputModel.WAY_BACK
    return not by_round_trip or is_parameter_known(run, "delay")


def outcome(diff: Difference) -> Judgement:
    """Return the outcome of a comparison; the only place that awards a tick."""
    prediction = diff.prediction
    if diff.is_capped:
        return "capped"
    if diff.is_other_algorithm:
        return "other-algorithm"
    limit = diff.verdict.limited_by
    other = limit != "unexplained" and not diff.covers(limit)
    if diff.ratio < 1 and other and not (diff.is_within_tolerance or diff.binds):
        return "not-the-limit"
    if prediction.tolerance > MAX_TOLERANCE or (diff.is_within_tolerance and not _speaks_for(diff)):
        return "undecided"
    return "explains" if diff.is_within_tolerance else "misses"


def _speaks_for(diff: Difference) -> bool:
    """Return whether a run within the tolerance confirms this prediction.

    A run that the lab did not find valid never confirms a loss model. Chance affects all models of one limit alike,
    so it cannot confirm a model that clearly differs from the binding one.
    """
    prediction, binding = diff.prediction, diff.expectation.binding
    if prediction.limited_by == "random-loss" and diff.measured.run.fidelity.status != "valid":
        return False
    distance = abs(prediction.throughput_bps / binding.throughput_bps - 1)
    return prediction.limited_by != binding.limited_by or distance <= _sure(binding)


def _sure(prediction: Prediction) -> float:
    """Return the tolerance without the part due to chance."""
    return math.hypot(*(value for name, value in prediction.tolerance_from.items() if name != "losses"))
