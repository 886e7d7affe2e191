"""Axes of the charts: frame with ticks and labels; round numbers and units."""

from __future__ import annotations

import math
from functools import lru_cache

from tcptutor.figures.axes import Ticks, round_ticks

GUTTER = 11
"""Columns left of every time axis for scales and labels; the last column is the axis itself, or blank."""

MARGIN = 17
"""Columns right of every time axis for labels and figures."""


def columns(width: int) -> int:
    """Return the width of a time axis in a panel of `width` columns."""
    return max(0, width - GUTTER - MARGIN)


@lru_cache(maxsize=16)
def frame(width: int, height: int, across: Ticks, up: Ticks, ruled: bool) -> tuple[str, ...]:
    """Return the frame of a chart as lines of `GUTTER` + `width` columns.

    Args:
        width: Columns of the chart.
        height: Lines of the chart; the time axis follows below.
        across: Ticks of the time axis, in columns from the left; without a label if it is blank.
        up: Ticks of the vertical axis, in lines from the bottom.
        ruled: Whether the time axis has a ruler, which takes an extra line.
    """
    names = {height - 1 - at: name[: GUTTER - 1] for at, name in up}
    lines = [
        f"{names.get(row, ''):>{GUTTER - 1}}{'┤' if row in names else '│'}{'':{width}}"
        for row in range(height)
    ]
    ruler, labels = ["─"] * width, [" "] * width
    for at, name in across:
        if not name.strip():  # its label is elsewhere, or has no room
            ruler[at] = "┬"
            continue
        place = slice(start := max(0, min(at - (len(name) - 1) // 2, width - len(name))), start + len(name))
        if not "".join(labels[max(0, place.start - 1) : place.stop + 1]).strip():
            labels[place] = name
            ruler[at] = "┬"
    if ruled:
        lines.append(f"{'└':>{GUTTER}}{''.join(ruler)}")
    return (*lines, f"{'':{GUTTER}}{''.join(labels)[:width]}")


def time_ticks(seconds: float, width: int, start: float = 0.0) -> Ticks:
    """Return the ticks of a time axis of `width` columns, `seconds` long from `start`; the last has the unit."""
    values = round_ticks(seconds, max(width // 8, 2))
    if start and len(values) > 1:
        step = values[1]
        first = math.ceil(start / step - 1e-9)
        values = [step * at for at in range(first, math.floor((start + seconds) / step + 1e-9) + 1)]
    names = [f"{t:.6g}" for t in values]
    names[-1] += " s"
    return tuple(
        (round((t - start) / seconds * (width - 1)), name) for t, name in zip(values, names, strict=True)
    )


def short_figure(value: float) -> str:
    """Format in at most four characters below a million, without exponent."""
    if value < 1:
        return f"{value:.2f}"
    if value >= 10_000:
        return f"{value / 1000:.0f}k"
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def rate_unit(bps: float) -> tuple[float, str]:
    steps = ((1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s"))
    return next(((scale, unit) for scale, unit in steps if bps >= scale * 0.999), (1.0, "bit/s"))


def size_unit(size: float) -> tuple[float, str]:
    return (1e6, "MB") if size >= 10e6 else (1e3, "kB")
