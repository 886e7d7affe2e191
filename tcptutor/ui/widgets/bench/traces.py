"""Samples to what a chart of a given width can show: a few points a dot column, on a fixed time axis."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from tcptutor.run import Sample

if TYPE_CHECKING:
    from tcptutor.analysis import Expectation

Point = tuple[float, float]
"""Time in s, segments."""

Points = list[Point]


def traces(samples: Iterable[Sample], seconds: float, dots: int) -> dict[int, Points]:
    """The congestion window of each flow, thinned to at most four points a dot column.

    First, lowest, highest and last of a column are kept, so the chart looks as if every sample were drawn.
    """
    columns: dict[int, dict[int, Points]] = {}
    for sample in samples:
        column = int(sample.t / seconds * dots)
        columns.setdefault(sample.flow, {}).setdefault(column, []).append((sample.t, sample.cwnd))
    return {
        flow: [point for column in by_column.values() for point in _thin(column)]
        for flow, by_column in sorted(columns.items())
    }


def mean(flows: Sequence[Points], seconds: float, dots: int) -> Points:
    """The mean over the flows in each dot column, at the column's middle."""
    sums: dict[int, tuple[float, int]] = {}
    for points in flows:
        for t, cwnd in points:
            column = int(t / seconds * dots)
            total, number = sums.get(column, (0.0, 0))
            sums[column] = total + cwnd, number + 1
    return [
        ((column + 0.5) * seconds / dots, total / number) for column, (total, number) in sorted(sums.items())
    ]


def course(expectation: Expectation | None, seconds: float, dots: int) -> Points:
    """The window over time that the models expect of one flow, the mean over all of them; empty where they do not."""
    expected = expectation.trajectory if expectation else ()
    if len(set(expected)) < 2:
        return list(expected[0]) if expected else []
    return mean([list(each) for each in expected], seconds, dots)


def _thin(points: Points) -> Points:
    if len(points) <= 4:
        return points
    low = min(range(len(points)), key=lambda index: points[index][1])
    high = max(range(len(points)), key=lambda index: points[index][1])
    return [points[index] for index in sorted({0, low, high, len(points) - 1})]


def top(samples: Sequence[Sample], warmup: float, expected: float | None) -> int:
    """The upper end of the axis, segments: a round number that holds all that is measured.

    The overshoot of slow start in the warm-up may be twenty times the rest; it is cut off there, at two
    times the expected mean, so that the part that counts can be seen.
    """
    measured = max((sample.cwnd for sample in samples if sample.t >= warmup), default=0)
    early = max((sample.cwnd for sample in samples if sample.t < warmup), default=0)
    bound = 2 * expected if expected else max(4 * measured, 40) if measured else early
    return rounded_up(max(measured, min(early, bound), (expected or 0) * 1.5, 10))


def rounded_up(value: float) -> int:
    """The next round number that is not below `value`, from 10 on."""
    steps = (mantissa * 10**power for power in range(1, 15) for mantissa in (1, 1.5, 2, 3, 4, 6, 8))
    return int(next(step for step in steps if step >= value))


def ticks(upper: float, number: int, whole: bool = False) -> list[float]:
    """Round positions from 0 to about `upper`, at most `number` steps; `whole`: to `upper` itself."""
    candidates = [mantissa * 10**power for power in range(-1, 8) for mantissa in (1, 2, 2.5, 5)]
    fitting = [step for step in candidates if upper / step <= max(number, 1)]
    even = (step for step in fitting if step <= upper and (upper / step).is_integer())
    step = next(even, upper) if whole else fitting[0]
    return [step * index for index in range(int(upper / step + 1e-9) + 1)]
