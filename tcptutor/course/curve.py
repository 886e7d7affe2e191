"""A measured curve: what a sweep's runs say together, where its knee is, and what a prediction of it is told."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import msgspec

from tcptutor.base import units
from tcptutor.course.measures import MEASURES, MeasureName, answer_near
from tcptutor.run import Run

_LEAST = 2
"""Values in which a curve can have a knee."""


def knee(values: Sequence[float], share: float, cost: bool = False) -> int:
    """The index of the knee of a curve over rising settings.

    It is the first value after which none is larger by more than `share` of it: more of the setting adds no more than
    that. Of a `cost`, such as a loss rate, it is the last value before the first that is more than `share` above the
    least one that came before: from there on it rises.
    """
    if not values:
        raise ValueError("a curve without values has no knee")
    if cost:
        least = values[0]
        for at, value in enumerate(values):
            if value > least * (1 + share):
                return at - 1
            least = min(least, value)
        return len(values) - 1
    return next(at for at, value in enumerate(values) if max(values[at:]) <= value * (1 + share))


def expected_knee(values: Sequence[float], share: float, cost: bool = False) -> int | None:
    """The knee of a model's line; None for a line that is level, or of which there is none."""
    if not values or max(values) <= min(values) * (1 + share):
        return None
    return knee(values, share, cost)


class MeasuredCurve(msgspec.Struct, frozen=True, kw_only=True):
    """A sweep with something measured at each value."""

    kind: units.Kind
    """Of the axis."""
    values: tuple[str, ...]
    """As the page writes them."""
    xs: tuple[float, ...]
    """In base units; the numbers 0, 1 ... where the values are names."""
    measure: MeasureName
    share: float
    """What more of the axis has to add, relative, to be worth it."""
    measured: tuple[tuple[float, ...], ...]
    """At each value, one number a run."""
    expected: tuple[float, ...] = ()
    """What the leading model has at each value; empty where there is none of this measure."""
    runs: dict[str, Run] = {}
    """A run at a value, for those that were asked about."""

    @property
    def means(self) -> tuple[float, ...]:
        return tuple(map(fmean, self.measured))

    @property
    def knee(self) -> int:
        """The index of the measured knee."""
        return knee(self.means, self.share, MEASURES[self.measure].is_cost)

    @property
    def expected_knee(self) -> int | None:
        """The index of the leading model's knee; None without a model, and where its line is level."""
        return expected_knee(self.expected, self.share, MEASURES[self.measure].is_cost)

    def answer(self, value: float, at: str, tolerance: float) -> str:
        """What a prediction is told: of the knee, or where `at` is given of what was measured there."""
        if at and at not in self.values:
            return f"The lab doubts its own run at {at}: press r to run it again."
        if len(self.values) < _LEAST:
            return "The lab doubts most of these runs: press r to run them again."
        return self._answer_at(value, at, tolerance) if at else self._answer_knee(value)

    def _answer_knee(self, value: float) -> str:
        """What the prediction of a knee at `value`, in base units of the axis, is told."""
        at, by_model = self.knee, self.expected_knee
        said = f"your runs have the knee at {self.values[at]}"
        if by_model is not None:
            said += f", the model at {self.values[by_model]}" if by_model != at else ", and so has the model"
        written = units.write(value, self.kind)
        if self._is_at(value, at):
            return f"{written} is right: {said}."
        if by_model is not None and self._is_at(value, by_model):
            return f"{written} is what the model says: {said}."
        if value > self.xs[at]:
            late = "it was rising already" if self._cost else f"more of it added less than {self._share}"
            return f"{written} is too late: {said}. From there on {late}."
        here = max((n for n, x in enumerate(self.xs) if x <= value), default=0)
        change = self.means[at] / self.means[here] - 1 if self.means[here] else 0.0
        early = (
            f" From {self.values[here]} to {self.values[at]} there was still {units.signed_percent(change)}."
        )
        return f"{written} is too early: {said}.{early if not self._cost and here < at else ''}"

    def _answer_at(self, value: float, at: str, tolerance: float) -> str:
        """What the prediction of `value` at the axis' value `at` is told; right within ± `tolerance`."""
        here = self.values.index(at)
        if self.measure == "throughput" and (run := self.runs.get(at)) is not None:
            from tcptutor.analysis import answered  # noqa: PLC0415  # the course loads without the analysis

            return answered(value, run, tolerance)
        by_models = self.expected[here] if self.expected else None
        return answer_near(self.measure, value, self.means[here], by_models, tolerance, "your runs")

    @property
    def _cost(self) -> bool:
        return MEASURES[self.measure].is_cost

    @property
    def _share(self) -> str:
        return units.percent(self.share)

    def _is_at(self, value: float, knee: int) -> bool:
        """Whether it is that knee, or in the gap in which nothing was measured and the curve turns.

        What grows up to its knee may turn in the gap before it; a cost, which rises from there on, in the gap after it.
        """
        if self._cost:
            after = self.xs[knee + 1] if knee + 1 < len(self.xs) else float("inf")
            return self.xs[knee] <= value < after
        return (self.xs[knee - 1] if knee else float("-inf")) < value <= self.xs[knee]
