"""Quantities a sweep plots or a prediction is about, and the measured curve of a sweep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from tcptutor.base import units
from tcptutor.base.key_names import key_name
from tcptutor.run import Run, sum_or_none
from tcptutor.spec import Experiment

if TYPE_CHECKING:
    from tcptutor.analysis import Report, RunFigures


MeasureName = Literal["throughput", "rtt", "loss-rate", "jain", "cov", "share1", "udp-loss"]


class Measure(NamedTuple):
    """A quantity of a run."""

    kind: Literal["rate", "time", "ratio", "number"]
    label: str
    """Title over the chart."""
    compute: Callable[[Report | RunFigures], float | None]
    """Value in base units; None if the run lacks it."""
    is_cost: bool = False
    """True if lower is better, so that the knee is where it starts to rise."""
    is_share: bool = False
    """True for a share from 0 to 1."""
    is_jain: bool = False
    """True for Jain's index, which is at least 1/n for n flows."""

    def limits(self, flows: int) -> tuple[float, float] | None:
        """Return the possible range for `flows` flows, 0 for an unknown number; None if unbounded."""
        if self.is_jain:
            return (1 / flows if flows else 0.0), 1.0
        return (0.0, 1.0) if self.is_share else None

    def written(self, value: float) -> str:
        """Format `value` with its unit."""
        return units.write(float(f"{value:.3g}"), self.kind)


def _rtt(report: Report | RunFigures) -> float | None:
    return fmean(found) if (found := [flow.mean_rtt_s for flow in report.flows if flow.mean_rtt_s]) else None


def _cov(report: Report | RunFigures) -> float | None:
    return fmean(found) if (found := [flow.cov for flow in report.flows if flow.cov is not None]) else None


def _udp_loss(report: Report | RunFigures) -> float | None:
    sent = sum_or_none(flow.datagrams for flow in report.udp)
    lost = sum_or_none(flow.lost for flow in report.udp)
    return lost / sent if sent and lost is not None else None


MEASURES: dict[MeasureName, Measure] = {
    "throughput": Measure(
        "rate", "throughput", lambda report: report.throughput_bps if report.flows else None
    ),
    "rtt": Measure("time", "mean RTT", _rtt, is_cost=True),
    "loss-rate": Measure(
        "ratio",
        "loss events per segment",
        lambda report: report.loss_rate if report.flows else None,
        is_cost=True,
        is_share=True,
    ),
    "jain": Measure(
        "number", "Jain's index", lambda report: report.jain_index if report.flows else None, is_jain=True
    ),
    "cov": Measure("ratio", "variation of a flow's rate", _cov, is_cost=True),
    "share1": Measure(
        "ratio",
        "share of flow 1",
        lambda report: report.flows[0].share if report.flows else None,
        is_share=True,
    ),
    "udp-loss": Measure("ratio", "lost datagrams", _udp_loss, is_cost=True, is_share=True),
}


def measured(name: MeasureName, run: Run) -> float | None:
    """Return the quantity of `run` in base units, or None if the run lacks it."""
    from tcptutor.analysis import run_figures  # noqa: PLC0415  # the course loads without the analysis

    return MEASURES[name].compute(run_figures(run))


def expected(name: MeasureName, experiment: Experiment) -> float | None:
    """Return the models' value in base units, or None if no model covers the quantity."""
    from tcptutor.analysis import expect, expect_queue  # noqa: PLC0415

    match name:
        case "throughput":
            return expect(experiment).binding.throughput_bps
        case "rtt" | "loss-rate":
            queue = expect_queue(experiment)
            if queue is None:
                return None
            return queue.rtt_s if name == "rtt" else queue.loss_rate
        case _:
            return None


def answer_near(
    name: MeasureName, value: float, had: float, by_models: float | None, tolerance: float, whose: str
) -> str:
    """Return feedback on a prediction, which is right within the relative `tolerance`.

    Args:
        name: Predicted quantity.
        value: Prediction, in base units.
        had: Measured value, in base units.
        by_models: The models' value in base units, or None.
        tolerance: Relative difference that counts as right.
        whose: Subject of the sentence, "the run" or "your runs".
    """
    measure = MEASURES[name]
    written, comparison = measure.written(value), f"{whose} had {measure.written(had)}"
    if by_models is not None:
        comparison += f", the model {measure.written(by_models)}"
    if abs(value - had) <= tolerance * abs(had):
        return f"{written} is right within ±{units.percent(tolerance)}: {comparison}."
    return f"{written} is too {'much' if value > had else 'little'}: {comparison}."


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

    def mean_at(self, at: str) -> float | None:
        """Return the mean measured at a value of the axis, in base units; None without a reliable run."""
        return self.means[self.values.index(at)] if at in self.values else None

    def feedback_on(self, value: float, at: str, tolerance: float) -> str:
        """Return feedback on a predicted `value`.

        Args:
            value: The prediction, in base units.
            at: Axis value the prediction is about; empty if it is about the knee.
            tolerance: Relative difference that counts as right.
        """
        if at and at not in self.values:
            return f"The run at {at} is not reliable: press {key_name('lesson.run')} to run it again."
        if len(self.values) < _LEAST:
            return f"Most of these runs are not reliable: press {key_name('lesson.run')} to run them again."
        return self._answer_at(value, at, tolerance) if at else self._answer_knee(value)

    def _answer_knee(self, value: float) -> str:
        at, by_model = self.knee, self.expected_knee
        comparison = f"your runs have the knee at {self.values[at]}"
        if by_model is not None:
            comparison += f", the model at {self.values[by_model]}" if by_model != at else ", like the model"
        written = units.write(value, self.kind)
        if self._is_at(value, at):
            return f"{written} is right: {comparison}."
        if by_model is not None and self._is_at(value, by_model):
            return f"{written} matches the model: {comparison}."
        if value > self.xs[at]:
            late = (
                "the curve was already rising" if self._cost else f"more of it added less than {self._share}"
            )
            return f"{written} is too late: {comparison}. From there on {late}."
        here = max((n for n, x in enumerate(self.xs) if x <= value), default=0)
        change = self.means[at] / self.means[here] - 1 if self.means[here] else 0.0
        early = f" From {self.values[here]} to {self.values[at]} it still changed by {units.signed_percent(change)}."
        return f"{written} is too early: {comparison}.{early if not self._cost and here < at else ''}"

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
