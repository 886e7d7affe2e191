"""Where the names in a sweep's chart stand, so that none is cut: moved inwards, or shortened at a word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tcptutor.ui.widgets.bench import axes

INSIDE = 3
"""Columns of the chart that a name beside it may take."""


def shortened(name: str, room: int) -> str:
    """`name` where it has `room` columns; else its words before the first comma, as many as there is room for."""
    if len(name) <= room:
        return name
    first, *more = name.partition(",")[0].split()
    for word in more:
        if len(first) + 1 + len(word) > room:
            break
        first += f" {word}"
    return first if len(first) <= room else ""


def overhang(name: str) -> int:
    """Columns of the chart that it takes where it stands beside it."""
    return max(0, len(name) + 1 - axes.MARGIN)


def fits_beside(name: str, row: Sequence[tuple[str, str] | None]) -> bool:
    """Whether it stands right of that row of the chart, or begins in its last columns where they are free."""
    inside = overhang(name)
    return inside == 0 or (
        inside <= min(INSIDE, len(row))
        and all(cell is None or cell[1] in ("grid", "you") for cell in row[-inside:])
    )


class Tick(NamedTuple):
    """A value of the level axis; columns are those of the chart."""

    at: int
    name: str
    start: int
    """Where its name begins."""

    @property
    def drawn(self) -> str:
        """What plotext writes in the middle below the tick: nothing where the name is moved."""
        return self.name if self.start == self.at - len(self.name) // 2 else " "


def free_ticks(wanted: Sequence[tuple[int, str]], across: int) -> list[Tick]:
    """Those that do not run into each other: the last one first, then from the left.

    A name that would stand over an end of the axis is moved inwards, as far as it still stands below its tick.
    """
    kept: list[Tick] = []
    for column, name in [*wanted[-1:], *wanted[:-1]]:
        start = max(min(column - len(name) // 2, across - len(name)), 1 - axes.GUTTER)
        if start <= column < start + len(name) and all(
            start + len(name) + 1 <= other.start or other.start + len(other.name) + 1 <= start
            for other in kept
        ):
            kept.append(Tick(column, name, start))
    return sorted(kept)
