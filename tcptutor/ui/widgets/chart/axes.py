"""Axes of the charts: frame with ticks and labels; round numbers and units."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

GUTTER = 11
"""Columns left of every time axis for scales and labels; the last column is the axis itself, or blank."""

MARGIN = 14
"""Columns right of every time axis for labels and figures."""

Ticks = tuple[tuple[int, str], ...]
"""Positions in cells, with labels."""


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
    names = {height - 1 - at: name[: GUTTER - 1] for at, name in up}
    lines = [
        f"{names.get(row, ''):>{GUTTER - 1}}{'┤' if row in names else '│'}{'':{width}}"
        for row in range(height)
    ]
    ruler, labels = ["─"] * width, [" "] * width
    for at, name in across:
        place = slice(start := max(0, min(at - (len(name) - 1) // 2, width - len(name))), start + len(name))
        if not "".join(labels[max(0, place.start - 1) : place.stop + 1]).strip():
            labels[place] = name
            ruler[at] = "┬"
    if ruled:
        lines.append(f"{'└':>{GUTTER}}{''.join(ruler)}")
    return (*lines, f"{'':{GUTTER}}{''.join(labels)[:width]}")


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
