"""Axes of figures and charts: round numbers, and labels that do not overlap."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

Ticks = tuple[tuple[int, str], ...]
"""Positions in cells, with labels."""


def round_ticks(upper: float, number: int) -> list[float]:
    """Return round positions from 0 to about `upper`, in at most `number` steps."""
    candidates = [mantissa * 10**power for power in range(-4, 24) for mantissa in (1, 2, 2.5, 5)]
    step = next(step for step in candidates if upper / step <= max(number, 1))
    return [step * index for index in range(int(upper / step + 1e-9) + 1)]


class Tick(NamedTuple):
    """Tick of the horizontal axis, in columns of the chart."""

    at: int
    name: str
    start: int

    @property
    def centered_label(self) -> str:
        """Label to center below the tick; blank if the label is moved."""
        return self.name if self.start == self.at - len(self.name) // 2 else " "


def free_ticks(
    labels: Sequence[tuple[int, str]], across: int, left: int, width: Callable[[str], int] = len
) -> list[Tick]:
    """Return ticks without overlapping labels; the last tick has priority, then from the left.

    A label beyond an end of the axis moves inward while it stays below its tick.

    Args:
        labels: Columns of the axis, and names.
        across: Columns of the axis.
        left: Free columns left of the axis.
        width: Columns of a name.
    """
    accepted: list[Tick] = []
    for column, name in [*labels[-1:], *labels[:-1]]:
        wide = width(name)
        start = max(min(column - wide // 2, across - wide), -left)
        if start <= column < start + wide and all(
            start + wide + 1 <= other.start or other.start + width(other.name) + 1 <= start
            for other in accepted
        ):
            accepted.append(Tick(column, name, start))
    return sorted(accepted)


def free_rows(labels: Sequence[tuple[int, str]], height: int) -> Ticks:
    """Return labels at their rows, or in the nearest free neighboring row; others are dropped."""
    taken: dict[int, str] = {}
    for row, name in labels:
        near = sorted(range(height), key=lambda at, row=row: (abs(at - row), at < row))  # type: ignore[misc]
        free = next((at for at in near if at not in taken and abs(at - row) <= 1), None)
        if free is not None:
            taken[free] = name
    return tuple(sorted(taken.items()))


def rounded_up(value: float) -> float:
    """Return the smallest round number that is not below `value`."""
    power = 10.0 ** math.floor(math.log10(value))
    steps = (mantissa * power for mantissa in (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10))
    return next(step for step in steps if step >= value * (1 - 1e-9))


def rounded_down(value: float) -> float:
    """Return the greatest of 1, 2 and 5 times a power of ten that is not above `value`."""
    power = 10.0 ** math.floor(math.log10(value))
    return max(mantissa * power for mantissa in (1, 2, 5) if mantissa * power <= value * (1 + 1e-9))
