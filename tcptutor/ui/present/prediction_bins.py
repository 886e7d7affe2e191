"""Bins of numeric predictions on a logarithmic axis, aligned to columns."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median

import msgspec

_PER_DECADE = (40, 20, 10, 5, 3, 2, 1)
"""Bins per decade, the finest first. Ten center on 1, 1.25, 1.6, 2, 2.5, 3.15, 4, 5, 6.3 and 8, where people guess."""

_FAR = 100.0
"""Ratio to the median beyond which a prediction is counted at the end of the axis instead of stretching it."""
_FAR_MARK = 1e4
"""Ratio to the median beyond which a model or the measurement does not stretch the axis."""

_LEAST_COLUMNS = 4
"""Columns of a bin, the gap on its right included."""
_MOST_COLUMNS = 9
_LEAST_RATIO = 3.0
"""Smallest ratio of the axis's ends."""

_TICKS = (
    (1.0, 1.2, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0),
    (1.0, 1.5, 2.0, 3.0, 5.0, 7.0),
    (1.0, 2.0, 5.0),
    (1.0, 3.0),
    (1.0,),
)
"""Mantissas of ticks, the densest first."""


class PredictionBins(msgspec.Struct, frozen=True, kw_only=True):
    """A logarithmic axis in columns, with bins of equal width."""

    first: int
    """The first bin is around 10 ** (first / per_decade)."""
    count: int
    per_decade: int
    bin_columns: int

    @property
    def columns(self) -> int:
        return self.count * self.bin_columns

    def position(self, value: float) -> float:
        """Return the position of `value` in bins; the first bin spans 0 to 1. Minus infinity for 0."""
        return math.log10(value) * self.per_decade - self.first + 0.5 if value > 0 else -math.inf

    def column(self, value: float) -> int | None:
        """Return the column of `value`; None beyond the axis."""
        at = self.position(value)
        return self.nearest_column(value) if 0 <= at < self.count else None

    def nearest_column(self, value: float) -> int:
        """Return the column of `value`, or the end of the axis that is nearest to it."""
        at = self.position(value)
        return int(min(max(at, 0), self.count) * self.bin_columns)

    def counted(self, values: Sequence[float]) -> tuple[list[int], int, int]:
        """Return the number of `values` in each bin, below the axis, and above it."""
        counts, below, above = [0] * self.count, 0, 0
        for value in values:
            at = self.position(value)
            if at < 0:
                below += 1
            elif at >= self.count:
                above += 1
            else:
                counts[int(at)] += 1
        return counts, below, above

    def ticks(self, scale: float, label_columns: int) -> list[tuple[int, str]]:
        """Return columns and labels of ticks, as dense as labels allow.

        Args:
            scale: Base units per unit of the labels.
            label_columns: Columns of a character of a label, its gap included.
        """
        found: list[tuple[int, str]] = []
        for mantissas in _TICKS:
            found = list(self._ticks(mantissas, scale))
            ends = [
                (at - len(text) * label_columns / 2, at + len(text) * label_columns / 2) for at, text in found
            ]
            if all(left[1] + 2 * label_columns <= right[0] for left, right in pairwise(ends)):
                return found
        return found[:: math.ceil(len(found) * 8 * label_columns / self.columns)]

    def _ticks(self, mantissas: Sequence[float], scale: float) -> Iterator[tuple[int, str]]:
        low = (self.first - 0.5) / self.per_decade - math.log10(scale)
        high = low + self.count / self.per_decade
        for power in range(math.floor(low), math.ceil(high) + 1):
            for mantissa in mantissas:
                value = float(f"{mantissa}e{power}")
                column = self.column(value * scale)
                if column is not None:
                    yield column, f"{value:.6f}".rstrip("0").rstrip(".") if power < 6 else f"{value:g}"


def bins_for(values: Sequence[float], marked: Sequence[float], columns: int) -> PredictionBins | None:
    """Return the bins of `values` in at most `columns` columns; None without a positive value.

    Args:
        values: Predictions, in any order.
        marked: Values that lie on the axis too: models and the measurement.
        columns: Room for the axis.
    """
    positive = [value for value in values if 0 < value < math.inf]
    others = [value for value in marked if 0 < value < math.inf]
    if not positive and not others:
        return None
    center = median(positive or others)
    inside = [value for value in positive if center / _FAR <= value <= center * _FAR]
    inside += [value for value in others if center / _FAR_MARK <= value <= center * _FAR_MARK]
    low, high = min(inside), max(inside)
    if high < _LEAST_RATIO * low:
        widen = math.sqrt(_LEAST_RATIO * low / high)
        low, high = low / widen, high * widen
    most = max(16, round(4 * math.sqrt(len(positive))))
    for per_decade in _PER_DECADE:
        # A bin remains free at each end.
        first = round(math.log10(low) * per_decade) - 1
        count = round(math.log10(high) * per_decade) + 1 - first + 1
        if (count <= most and columns // count >= _LEAST_COLUMNS) or per_decade == _PER_DECADE[-1]:
            break
    bin_columns = max(1, min(_MOST_COLUMNS, columns // count))
    spare = columns // bin_columns - count
    return PredictionBins(
        first=first - spare // 2, count=count + max(0, spare), per_decade=per_decade, bin_columns=bin_columns
    )


def count_within(values: Sequence[float], measured: float, tolerance: float) -> int:
    """Return how many of the sorted `values` are within the relative `tolerance` of `measured`."""
    low, high = measured * (1 - tolerance), measured * (1 + tolerance)
    return bisect_left(values, math.nextafter(high, math.inf)) - bisect_left(values, low)
