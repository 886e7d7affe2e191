"""Placement of labels in a sweep's chart: moved inward, or shortened at a word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tcptutor.ui.widgets.bench import axes

MAX_OVERHANG = 3
"""Columns of the chart that a label at the right may cover."""


def shorten(name: str, room: int) -> str:
    """Return `name` if it fits, otherwise as many words before the first comma as fit."""
    if len(name) <= room:
        return name
    first, *further = name.partition(",")[0].split()
    for word in further:
        if len(first) + 1 + len(word) > room:
            break
        first += f" {word}"
    return first if len(first) <= room else ""


def overhang(name: str) -> int:
    """Return the columns of the chart that a label at the right covers."""
    return max(0, len(name) + 1 - axes.MARGIN)


def fits_right(name: str, row: Sequence[tuple[str, str] | None]) -> bool:
    """Return whether a label fits right of a row of the chart, or covers only free columns at its end."""
    inside = overhang(name)
    return inside == 0 or (
        inside <= min(MAX_OVERHANG, len(row))
        and all(cell is None or cell[1] in ("grid", "you") for cell in row[-inside:])
    )


class Tick(NamedTuple):
    """Tick of the horizontal axis, in columns of the chart."""

    at: int
    name: str
    start: int

    @property
    def centered_label(self) -> str:
        """Label to center below the tick; blank if the label is moved."""
        return self.name if self.start == self.at - len(self.name) // 2 else " "


def free_ticks(labels: Sequence[tuple[int, str]], across: int) -> list[Tick]:
    """Return ticks without overlapping labels; the last tick has priority, then from the left.

    A label beyond an end of the axis moves inward while it stays below its tick.
    """
    accepted: list[Tick] = []
    for column, name in [*labels[-1:], *labels[:-1]]:
        start = max(min(column - len(name) // 2, across - len(name)), 1 - axes.GUTTER)
        if start <= column < start + len(name) and all(
            start + len(name) + 1 <= other.start or other.start + len(other.name) + 1 <= start
            for other in accepted
        ):
            accepted.append(Tick(column, name, start))
    return sorted(accepted)
