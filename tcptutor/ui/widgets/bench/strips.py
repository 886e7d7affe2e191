"""Strips under the chart, on its time axis: what stands above something happened with it.

Each has its name and unit on the left and, on the right, one number with the word that says which one it is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from math import isnan

from tcptutor.ui.widgets.bench import axes, canvas
from tcptutor.ui.widgets.bench.lines import STRONG, TEXT, Line, Piece
from tcptutor.ui.widgets.bench.scene import Scene, Series

BLOCKS = " ▁▂▃▄▅▆▇█"

LOST, MARKED, DROPPED = "×", "◇", "▼"
"""A sender answered a loss; a mark; the queue dropped packets."""

_STAYS = 0.65
"""Steps of a strip's height."""

BLOCK, MARK, BEFORE = "block", "mark", "before"


def strip(scene: Scene, series: Series, width: int, height: int = 1) -> list[Line]:
    """In `height` lines."""
    across = axes.columns(width)
    if series.how == "signs":
        rows = [_signs(series, across)]
    elif series.before and height > 1:
        rows = _over_runs_before(scene, series, across, height)
    else:
        rows = _bars(series, across, height)
    lines = []
    for number, pieces in enumerate(rows):
        name = series.name if number == len(rows) - 1 else ""
        line = Line.of((name[: axes.GUTTER - 1].ljust(axes.GUTTER), TEXT), *pieces)
        said = series.said[: axes.MARGIN - 1] if number == len(rows) - 1 else ""
        lines.append(
            line.fitted(axes.GUTTER + across).and_at(
                axes.GUTTER + across, Line.of((" ", TEXT), (said, STRONG))
            )
        )
    return lines


def by_column(series: Series, across: int) -> list[float]:
    """A value for each column, NaN where nothing was measured; one that has none of its own has that of its step."""
    found = []
    steps = len(series.values)
    for column in range(across):
        first = column * steps // across
        known = [
            v for v in series.values[first : max(first + 1, (column + 1) * steps // across)] if not isnan(v)
        ]
        if not known:
            found.append(math.nan)
        elif series.how == "mean":
            found.append(sum(known) / len(known))
        else:
            found.append(max(known) if series.how == "most" else sum(known))
    return found


def levels(series: Series, across: int, most: int) -> list[int]:
    """Return the level of each column, 0 to `most`; -1 where nothing was measured.

    A mean that stays within `_STAYS` of a level keeps it: a value between two levels does not flicker.
    """
    found: list[int] = []
    scale = most / (series.full - series.base)
    for value in by_column(series, across):
        if isnan(value):
            found.append(-1)
            continue
        exact = min(float(most), max(0.0, (value - series.base) * scale))
        stays = series.how == "mean" and bool(found) and found[-1] >= 0 and abs(exact - found[-1]) < _STAYS
        found.append(found[-1] if stays else round(exact))
    return found


def _bars(series: Series, across: int, height: int) -> list[list[Piece]]:
    filled = levels(series, across, height * 8 - 1)
    rows = []
    for row in range(height - 1, -1, -1):
        text = "".join(_block(level - 8 * row, row == 0 and series.how != "sum") for level in filled)
        rows.append([(text, BLOCK)])
    if any(series.over):
        # A queue drops when it is full: its highest row has nothing else to say there.
        cells = [(character, style) for text, style in rows[0] for character in text]
        happened = _happened(series.over, across)
        rows[0] = [(DROPPED, "bad") if yes else cell for yes, cell in zip(happened, cells, strict=True)]
    return rows


def _block(level: int, ground: bool) -> str:
    """`ground`: whether an empty one shows that it was measured."""
    return BLOCKS[max(0 if level < 0 or not ground else 1, min(level, 8))]


def _signs(series: Series, across: int) -> list[Piece]:
    """A sender's answer hides what the queue dropped in the same column, never the other way round."""
    happened = (_happened(values, across) for values in (series.values, series.marked, series.over))
    return [
        (LOST, MARK) if lost else (MARKED, MARK) if marked else (DROPPED if dropped else " ", "bad")
        for lost, marked, dropped in zip(*happened, strict=True)
    ]


def _happened(values: Sequence[float], across: int) -> list[bool]:
    if not values:
        return [False] * across
    return [value > 0 for value in by_column(Series("", values, 1.0, "", how="sum"), across)]


def apart(shown: dict[str, Series]) -> dict[str, Series]:
    """Return the strips that are shown with drops in one place: above the queue, else among the losses."""
    if "queue" not in shown or "losses" not in shown:
        return shown
    return {**shown, "losses": replace(shown["losses"], over=())}


def _over_runs_before(scene: Scene, series: Series, across: int, height: int) -> list[list[Piece]]:
    """A line over those of earlier runs, which are faint."""
    width, dots = canvas.ACROSS * across, canvas.DOWN * height
    scale = (dots - 1) / series.full

    def layer(style: str, points: Sequence[tuple[float, float]]) -> canvas.Layer:
        made = canvas.Layer(style, width, dots)
        made.line([(scene.share(t) * (width - 1), min(dots - 1.0, value * scale)) for t, value in points])
        return made

    values = by_column(series, across)
    now = [
        (scene.start + (column + 0.5) / across * scene.seconds, value)
        for column, value in enumerate(values)
        if not isnan(value)
    ]
    cells = canvas.compose([layer(BEFORE, run) for run in series.before], [layer(BLOCK, now)], across, height)
    return [[cell or (" ", BLOCK) for cell in row] for row in cells]


def key(series: Sequence[Series]) -> str:
    """What the strips' full height stands for, and the marks."""
    full = ", ".join(each.scale for each in series if each.scale)
    told = [f"full strips: {full}"] if full else []
    if any(each.how == "signs" for each in series):
        slows = f"{LOST} a sender slows" + (
            f" ({MARKED} by a mark)" if any(each.marked for each in series) else ""
        )
        told.append(f"{slows}, {DROPPED} the queue drops")
    return "   ".join(told)
