"""Axes of the charts: frame with ticks and labels, drawn by plotext and cached; round numbers and units.

plotext takes a sixth of a second to import: it is imported at the first chart, or by `preload`.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

GUTTER = 11
"""Columns left of every time axis for scales and labels; the last column is the axis itself, or blank."""

MARGIN = 14
"""Columns right of every time axis for labels and figures."""

_figure_in_use = threading.Lock()
"""Lock for plotext's only figure: a chart of the previous page may still be drawing."""

Ticks = tuple[tuple[int, str], ...]
"""Positions in cells, with labels."""


def preload() -> None:
    """Import plotext, e.g. in a thread."""
    import plotext  # noqa: F401, PLC0415


def columns(width: int) -> int:
    """Return the width of a time axis in a panel of `width` columns."""
    return max(0, width - GUTTER - MARGIN)


@lru_cache(maxsize=16)
def frame(width: int, height: int, across: Ticks, up: Ticks, ruled: bool) -> tuple[str, ...]:
    """Return the frame of a chart as lines of `GUTTER` + `width` columns.

    Args:
        width: Columns of the chart.
        height: Lines of the chart; the time axis follows below.
        across: Ticks of the time axis, in columns from the left.
        up: Ticks of the vertical axis, in lines from the bottom.
        ruled: Whether the time axis has a ruler, which takes another line.
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
    full_width = GUTTER + width
    return tuple(
        f"{'':{blank}}{line}".ljust(full_width)[:full_width]
        for line in text.split("\n")[: height + 1 + ruled]
    )


def _figure(width: int, height: int, ruled: bool) -> Any:
    import plotext  # noqa: PLC0415

    plotext.terminal.limit(False, False)  # the widget knows its size; plotext would ask the terminal
    figure = plotext.figure
    figure.clear()
    figure.theme("colorless")
    figure.plot_size(width, height)
    figure.axes(ruled, axis="x", side="lower")
    figure.axes(False, axis="x", side="upper")
    figure.axes(False, axis="y", side="right")
    return figure


def ticks(upper: float, number: int) -> list[float]:
    """Return round positions from 0 to about `upper`, in at most `number` steps."""
    candidates = [mantissa * 10**power for power in range(-4, 24) for mantissa in (1, 2, 2.5, 5)]
    step = next(step for step in candidates if upper / step <= max(number, 1))
    return [step * index for index in range(int(upper / step + 1e-9) + 1)]


def time_ticks(seconds: float, width: int, start: float = 0.0) -> Ticks:
    """Return the ticks of a time axis of `width` columns, `seconds` long from `start`; the last has the unit."""
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


def rate_unit(bps: float) -> tuple[float, str]:
    steps = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"))
    return next(((scale, unit) for scale, unit in steps if bps >= scale * 0.999), (1.0, "bit/s"))


def size_unit(size: float) -> tuple[float, str]:
    return (1e6, "MB") if size >= 10e6 else (1e3, "kB")
