"""Measured against expected, over many cells: medians, worst cells, where a model stops, the knee, the paired test."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from tcptutor.base.confidence import t_quantile
from tests.validation.kept import Result
from tests.validation.models import SPREAD, Model

GOAL = 0.10
MORE = 0.10
"""What further sockets must bring together, relative, to be worth it: the knee is the least number without."""
CONGESTED = 1.5
"""Loss over that of few sockets from which on it is congestion's."""


@dataclass(frozen=True)
class Error:
    """One cell beside one model."""

    result: Result
    relative: float
    """Measured over predicted, less 1."""
    chance: float
    """Standard error of the measurement by its number of loss events, relative."""


@dataclass(frozen=True)
class Excluded:
    result: Result
    reason: str


@dataclass(frozen=True)
class Comparison:
    """A model over the cells of its regime."""

    model: Model
    errors: tuple[Error, ...]
    beyond: tuple[Error, ...]
    """Cells outside of the regime."""
    excluded: tuple[Excluded, ...]

    @property
    def median(self) -> float:
        """Of the absolute relative errors."""
        return statistics.median(abs(error.relative) for error in self.errors)

    @property
    def bias(self) -> float:
        """Median of the signed ones."""
        return statistics.median(error.relative for error in self.errors)

    @property
    def worst(self) -> Error:
        return max(self.errors, key=lambda error: abs(error.relative))

    @property
    def within_chance(self) -> int:
        """Cells whose error is at most two standard errors of the measurement."""
        return sum(abs(error.relative) <= 2 * error.chance for error in self.errors)


def compare(model: Model, results: Iterable[Result]) -> Comparison | None:
    """`model` over those of its studies; None when there is none in its regime."""
    errors: list[Error] = []
    beyond: list[Error] = []
    excluded: list[Excluded] = []
    for result in results:
        if result.study not in model.studies:
            continue
        reason = why_not(model, result)
        if reason:
            excluded.append(Excluded(result, reason))
            continue
        error = Error(result, result.throughput / model.predict(result) - 1, chance(result))
        (errors if model.holds(result) else beyond).append(error)
    return Comparison(model, tuple(errors), tuple(beyond), tuple(excluded)) if errors else None


def why_not(model: Model, result: Result) -> str:
    """Why `result` says nothing about `model`; empty when it does."""
    if result.row.fidelity == "invalid":
        return f"invalid: {result.row.reasons[0]}" if result.row.reasons else "invalid"
    other = next(
        (reason for reason in result.row.reasons if reason.startswith("the receiver advertised")), ""
    )
    if model.name == "window" and other:
        return other
    if model.limits and result.row.limited_by not in model.limits:
        return f"limited by {result.row.limited_by}"
    return ""


def chance(result: Result) -> float:
    """Relative standard error of a cell's throughput, by its loss events; 0 where none are random."""
    if not result.experiment.path.loss or not result.events:
        return 0.0
    return SPREAD[result.experiment.hosts.algorithm] / math.sqrt(result.events)


def by(errors: Sequence[Error], key: Callable[[Result], float]) -> dict[float, float]:
    """Median absolute error at each value of `key`, rising."""
    values = sorted({key(error.result) for error in errors})
    return {
        value: statistics.median(abs(one.relative) for one in errors if key(one.result) == value)
        for value in values
    }


def stops(comparison: Comparison, key: Callable[[Result], float]) -> float | None:
    """The least value of `key` from which on the median error is above GOAL all the way; None when it never is."""
    medians = by((*comparison.errors, *comparison.beyond), key)
    last = None
    for value in reversed(medians):
        if medians[value] <= GOAL:
            break
        last = value
    return last


def knee(throughputs: dict[int, float]) -> int:
    """The least number of sockets beyond which no number brings more than MORE more."""
    return min(
        number
        for number, got in throughputs.items()
        if all(more <= (1 + MORE) * got for other, more in throughputs.items() if other > number)
    )


def loss_knee(losses: dict[int, float]) -> int | None:
    """The largest number of sockets up to which the loss is that of few; None when it never rises for good."""
    numbers = sorted(losses)
    few = statistics.median(losses[number] for number in numbers[:3])
    last = None
    for number in reversed(numbers):
        if losses[number] <= CONGESTED * few:
            return last and number
        last = number
    return None


@dataclass(frozen=True)
class Paired:
    """Jain's test of paired observations: is the mean difference zero?"""

    n: int
    mean: float
    low: float
    high: float
    """Ends of the 90 % confidence interval."""
    t: float
    p: float
    """Probability of such a t or a larger one, to either side, if there were no difference."""


def paired(differences: Sequence[float], level: float = 0.90) -> Paired:
    """The test of two observations or more (Jain, The Art of Computer Systems Performance Analysis, section 13.4.1)."""
    n, mean = len(differences), statistics.fmean(differences)
    error = statistics.stdev(differences) / math.sqrt(n)
    half = t_quantile(n - 1, level) * error
    t = mean / error
    return Paired(n, mean, mean - half, mean + half, t, _tail(abs(t), n - 1))


def _tail(t: float, freedom: int) -> float:
    """By bisection over the levels of Student's distribution; below 1e-9 it is 0."""
    low, high = 0.0, 1.0
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if middle > 0 and t_quantile(freedom, middle) < t else (low, middle)
    return 1 - high
