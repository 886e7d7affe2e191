"""One prediction and what a run showed, side by side."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tcptutor.analysis.case import Case
from tcptutor.analysis.compared.explain import Verdict
from tcptutor.analysis.expected.prediction import Expectation, Prediction
from tcptutor.analysis.observed.evidence import Evidence
from tcptutor.analysis.observed.measured import Measured, between
from tcptutor.theory.models import LimitedBy, ThroughputModel

_LEFT = 1 / 3
"""Share of a difference that may be left for a reason to explain it."""

_LATER = 1.05
"""How much faster the end is than the beginning where the beginning is a start."""


@dataclass(frozen=True)
class Difference:
    """All that a reason for it may look at, and what it says by itself."""

    prediction: Prediction
    expectation: Expectation
    """All predictions, the binding one first."""
    measured: Measured
    case: Case
    verdict: Verdict

    @property
    def model(self) -> ThroughputModel:
        return self.prediction.model

    @property
    def ratio(self) -> float:
        """Measured over predicted."""
        return self.measured.throughput / self.prediction.throughput_bps

    @property
    def within(self) -> bool:
        """Whether the measurement is inside the model's tolerance."""
        return abs(self.ratio - 1) <= self.prediction.tolerance

    @property
    def binds(self) -> bool:
        """Whether this is the prediction that was expected to bind."""
        return self.prediction is self.expectation.binding

    @property
    def capped(self) -> bool:
        """Whether this is the link's rate in place of what the formula gives, beside the link's own."""
        return self.prediction.uncapped_bps is not None and not self.binds

    @property
    def of_others(self) -> bool:
        """Whether it is a model of another algorithm than that of all flows, and not believed for these either."""
        return (
            bool(self.model.algorithm) and not self.binds and self.case.algorithms != {self.model.algorithm}
        )

    def includes(self, limited_by: LimitedBy) -> bool:
        """Return whether a cause is one that the model counts, so that it is no other limit.

        Models of losses count timeouts; a transfer's has its start, and those that combine models have all of theirs.
        """
        counted = {self.prediction.limited_by}
        if self.model is ThroughputModel.COMPLETION:
            counted = {"growing", "random-loss", "bottleneck"}
        elif self.model in (ThroughputModel.MEETING, ThroughputModel.STRETCHES, ThroughputModel.OWN_LIMITS):
            counted |= {one.limited_by for one in self.expectation.predictions}
        return limited_by in counted or (limited_by == "timeout" and "random-loss" in counted)

    @property
    def seen(self) -> Evidence | None:
        return self.verdict.evidence

    @property
    def stalled(self) -> float:
        """Share of the time in timeouts, at most all but a hundredth of it."""
        return min(0.99, self.seen.stalled) if self.seen else 0.0

    @property
    def faster_later(self) -> bool:
        """Whether the last quarter of the measured time carried clearly more than the first."""
        start, end = self.measured.span
        quarter = (end - start) / 4
        parts = (between(self.measured, start, start + quarter), between(self.measured, end - quarter, end))
        first, last = (math.fsum(flow.throughput_bps for flow in part.flows) for part in parts)
        return last > _LATER * first

    def explained(self, factor: float) -> bool:
        """Whether `factor` times the prediction leaves at most a third of the difference, by its logarithm."""
        if self.ratio <= 0 or factor <= 0:
            return False
        return abs(math.log(self.ratio / factor)) < _LEFT * abs(math.log(self.ratio))
