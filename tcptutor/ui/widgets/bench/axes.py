"""The frame of the chart: both axes with their ticks and names, by plotext, for as long as they stay as they are.

plotext takes a sixth of a second to import: it comes in when a chart is first drawn, or by `preload`.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

GUTTER = 11
"""Columns left of all time axes, for scales and names; the last one is the axis itself, or a blank."""

MARGIN = 14
"""Columns right of them, for what is told of each line."""

_figure_in_use = threading.Lock()
"""plotext has one figure, and the chart of a page that was left may still be drawn."""

Ticks = tuple[tuple[int, str], ...]
"""(place in cells, what stands there)."""


def preload() -> None:
    """Import plotext now, say in a thread."""
    import plotext  # noqa: F401, PLC0415


def columns(width: int) -> int:
    """Of a time axis, in a panel of `width` columns."""
    return max(0, width - GUTTER - MARGIN)


@lru_cache(maxsize=16)
def frame(width: int, height: int, across: Ticks, up: Ticks, ruled: bool) -> tuple[str, ...]:
    """Lines of `GUTTER` + `width` columns: `height` of the chart, then the time axis, a line more if it is `ruled`.

    `across` are columns from the left, `up` lines from the bottom.
    """
    with _figure_in_use:
        names = [name[: GUTTER - 1] for _, name in up]
        blank = GUTTER - 1 - max(map(len, names), default=0)
        figure = _figure(GUTTER + width - blank, height + 1 + ruled, ruled)
        figure.ruler("x", "lower").lim(0, width - 1).ticks(
            [at for at, _ in across], [name for _, name in across]
        )
        figure.ruler("y", "left").lim(0, height - 1).ticks([at for at, _ in up], names)
        text: str = figure.build().string(colorless=True)
    whole = GUTTER + width
    return tuple(
        f"{'':{blank}}{line}".ljust(whole)[:whole] for line in text.split("\n")[: height + 1 + ruled]
    )


def _figure(width: int, height: int, ruled: bool) -> Any:
    import plotext  # noqa: PLC0415

    plotext.terminal.limit(False, False)  # our widget knows its size; plotext would ask the terminal
    figure = plotext.figure
    figure.clear()
    figure.theme("colorless")
    figure.plot_size(width, height)
    figure.axes(ruled, axis="x", side="lower")
    figure.axes(False, axis="x", side="upper")
    figure.axes(False, axis="y", side="right")
    return figure


def ticks(upper: float, number: int) -> list[float]:
    """Round positions from 0 to about `upper`, at most `number` steps."""
    candidates = [mantissa * 10**power for power in range(-4, 24) for mantissa in (1, 2, 2.5, 5)]
    step = next(step for step in candidates if upper / step <= max(number, 1))
    return [step * index for index in range(int(upper / step + 1e-9) + 1)]


def ratio_ticks(lower: float, upper: float, number: int) -> list[float]:
    """Return positions on an axis of equal ratios, at most `number` where decades alone are that few.

    The finest of these that is not more: 1, 2 and 5 times each power of ten, 1 and 3 times, every power.
    """
    powers = range(math.floor(math.log10(lower) + 1e-9), math.ceil(math.log10(upper) - 1e-9) + 1)
    found: list[float] = []
    for mantissas in ((1.0, 2.0, 5.0), (1.0, 3.0), (1.0,)):
        found = [mantissa * 10.0**power for power in powers for mantissa in mantissas]
        found = [value for value in found if lower * (1 - 1e-9) <= value <= upper * (1 + 1e-9)]
        if len(found) <= number:
            break
    return found


def times(seconds: float, width: int, start: float = 0.0) -> Ticks:
    """Of a time axis of `width` columns that shows `seconds` from `start` on; the last one has the unit."""
    values = ticks(seconds, max(width // 8, 2))
    if start and len(values) > 1:
        step = values[1]
        first = math.ceil(start / step - 1e-9)
        values = [step * at for at in range(first, math.floor((start + seconds) / step + 1e-9) + 1)]
    names = [f"{t:.6g}" for t in values]
    names[-1] += " s"
    return tuple(
        (round((t - start) / seconds * (width - 1)), name) for t, name in zip(values, names, strict=True)
    )


def free_rows(wanted: Sequence[tuple[int, str]], height: int) -> Ticks:
    """Names at their rows; one whose row is taken stands in the nearest free one, or not at all."""
    taken: dict[int, str] = {}
    for row, name in wanted:
        near = sorted(range(height), key=lambda at, row=row: (abs(at - row), at < row))  # type: ignore[misc]
        free = next((at for at in near if at not in taken and abs(at - row) <= 1), None)
        if free is not None:
            taken[free] = name
    return tuple(sorted(taken.items()))
