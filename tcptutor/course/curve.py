"""Measured curve of a sweep: its means, its knee, and feedback on predictions of them."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import msgspec

from tcptutor.base import units
from tcptutor.course.measures import MEASURES, MeasureName, answer_near
from tcptutor.run import Run

_LEAST = 2
"""Fewest points of a curve with a knee."""


def knee(values: Sequence[float], share: float, cost: bool = False) -> int:
    """Return the index of the knee of a curve over rising settings.

    For a benefit, such as throughput: the first value that no later value exceeds by more than `share`. For a
    `cost`, such as a loss rate: the last value before the curve first rises more than `share` above its
    minimum so far.

    Args:
        values: The curve, in the order of the settings.
        share: Relative difference that counts as a change.
        cost: Whether a lower value is better.
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
    """Return the knee of a model's curve, or None if the curve is missing or flat."""
    if not values or max(values) <= min(values) * (1 + share):
        return None
    return knee(values, share, cost)


class MeasuredCurve(msgspec.Struct, frozen=True, kw_only=True):
    """Measurements of a sweep at each value of its axis."""

    kind: units.Kind
    """Kind of quantity on the axis."""
    values: tuple[str, ...]
    """Axis values as written on the page."""
    xs: tuple[float, ...]
    """Axis values in base units; 0, 1 ... if the values are names."""
    measure: MeasureName
    share: float
    """Relative gain below which a larger axis value is not worth it."""
    measured: tuple[tuple[float, ...], ...]
    """Measured numbers by axis value, a number per run."""
    expected: tuple[float, ...] = ()
    """Leading model's value at each axis value; empty without a model of this measure."""
    runs: dict[str, Run] = {}
    """Runs by axis value, for the values that predictions ask about."""

    @property
    def means(self) -> tuple[float, ...]:
        return tuple(map(fmean, self.measured))

    @property
    def knee(self) -> int:
        """Index of the measured knee."""
        return knee(self.means, self.share, MEASURES[self.measure].is_cost)

    @property
    def expected_knee(self) -> int | None:
        """Index of the leading model's knee; None without a model, or with a flat curve."""
        return expected_knee(self.expected, self.share, MEASURES[self.measure].is_cost)

    def feedback_on(self, value: float, at: str, tolerance: float) -> str:
        """Return feedback on a predicted `value`.

        Args:
            value: The prediction, in base units.
            at: Axis value the prediction is about; empty if it is about the knee.
            tolerance: Relative difference that counts as right.
        """
        if at and at not in self.values:
            return f"The run at {at} is not reliable: press r to run it again."
        if len(self.values) < _LEAST:
            return "Most of these runs are not reliable: press r to run them again."
        return self._answer_at(value, at, tolerance) if at else self._answer_knee(value)

    def _answer_knee(self, value: float) -> str:
        at, by_model = self.knee, self.expected_knee
        said = f"your runs have the knee at {self.values[at]}"
        if by_model is not None:
            said += f", the model at {self.values[by_model]}" if by_model != at else ", like the model"
        written = units.write(value, self.kind)
        if self._is_at(value, at):
            return f"{written} is right: {said}."
        if by_model is not None and self._is_at(value, by_model):
            return f"{written} matches the model: {said}."
        if value > self.xs[at]:
            late = (
                "the curve was already rising" if self._cost else f"more of it added less than {self._share}"
            )
            return f"{written} is too late: {said}. From there on {late}."
        here = max((n for n, x in enumerate(self.xs) if x <= value), default=0)
        change = self.means[at] / self.means[here] - 1 if self.means[here] else 0.0
        early = f" From {self.values[here]} to {self.values[at]} it still changed by {units.signed_percent(change)}."
        return f"{written} is too early: {said}.{early if not self._cost and here < at else ''}"

    def _answer_at(self, value: float, at: str, tolerance: float) -> str:
        here = self.values.index(at)
        if self.measure == "throughput" and (run := self.runs.get(at)) is not None:
            from tcptutor.analysis import feedback_text  # noqa: PLC0415  # the course loads without the analysis

            return feedback_text(value, run, tolerance)
        by_models = self.expected[here] if self.expected else None
        return answer_near(self.measure, value, self.means[here], by_models, tolerance, "your runs")

    @property
    def _cost(self) -> bool:
        return MEASURES[self.measure].is_cost

    @property
    def _share(self) -> str:
        return units.percent(self.share)

    def _is_at(self, value: float, knee: int) -> bool:
        """Return True if `value` is at that knee, or in the unmeasured gap where the curve turns.

        A benefit may turn in the gap before its knee, a cost in the gap after it.
        """
        if self._cost:
            after = self.xs[knee + 1] if knee + 1 < len(self.xs) else float("inf")
            return self.xs[knee] <= value < after
        return (self.xs[knee - 1] if knee else float("-inf")) < value <= self.xs[knee]
