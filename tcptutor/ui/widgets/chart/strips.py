"""Strips under the chart, sharing its time axis: events in the same column coincide.

Each has name and unit at the left, and a figure with its kind at the right.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from math import isnan

from tcptutor.figures import braille
from tcptutor.figures.lines import BAD, STRONG, TEXT, Line, Piece
from tcptutor.ui.widgets.chart import axes, margin, warmup
from tcptutor.ui.widgets.chart.scene import QUEUE_SERIES, Scene, Series

BLOCKS = " ▁▂▃▄▅▆▇█"

LOST, MARKED, DROPPED = "×", "◇", "▼"
"""Signs: a sender reduced its window after a loss, or after a mark; the queue dropped packets."""

_HYSTERESIS = 0.65
"""Hysteresis of a level, in steps of a strip's height."""

MARK, EARLIER = "mark", "before"

AREA = "-area"
"""Suffix of a quantity's style for its bars, which are dimmer than its figure."""


def render(scene: Scene, series: Series, width: int, height: int = 1) -> list[Line]:
    across = axes.columns(width)
    if series.aggregation == "signs":
        rows = [_signs(series, across)]
    elif series.earlier and height > 1:
        rows = _with_earlier_runs(scene, series, across, height)
    else:
        rows = _bars(series, across, height)
    lines = []
    summary_style = STRONG if series.aggregation in ("sum", "signs") else series.style
    for number, pieces in enumerate(rows):
        name = series.name if number == len(rows) - 1 else ""
        line = Line.of((name[: axes.GUTTER - 1].ljust(axes.GUTTER), TEXT), *pieces).fit(axes.GUTTER + across)
        line = warmup.add_ground(line, scene, across)
        if series.summary and number == len(rows) - 1:
            line = line.append_at(
                axes.GUTTER + across, margin.column_of(scene).line(series.summary, summary_style)
            )
        lines.append(line)
    return lines


def by_column(series: Series, across: int) -> list[float]:
    """Aggregate by column; NaN without samples. A column without its own step repeats its step's value."""
    values = []
    steps = len(series.values)
    for column in range(across):
        first = column * steps // across
        known = [
            v for v in series.values[first : max(first + 1, (column + 1) * steps // across)] if not isnan(v)
        ]
        if not known:
            values.append(math.nan)
        elif series.aggregation == "mean":
            values.append(sum(known) / len(known))
        else:
            values.append(max(known) if series.aggregation == "most" else sum(known))
    return values


def levels(series: Series, across: int, top: int) -> list[int]:
    """Return the level of each column, 0 to `top`; -1 without samples.

    A mean within `_HYSTERESIS` of its previous level keeps that level, so it does not flicker.
    """
    result: list[int] = []
    scale = top / (series.upper - series.lower)
    for value in by_column(series, across):
        if isnan(value):
            result.append(-1)
            continue
        exact = min(float(top), max(0.0, (value - series.lower) * scale))
        is_stable = (
            series.aggregation == "mean"
            and bool(result)
            and result[-1] >= 0
            and abs(exact - result[-1]) < _HYSTERESIS
        )
        result.append(result[-1] if is_stable else round(exact))
    return result


def _bars(series: Series, across: int, height: int) -> list[list[Piece]]:
    column_levels = levels(series, across, height * 8 - 1)
    rows = []
    for row in range(height - 1, -1, -1):
        text = "".join(
            _block(level - 8 * row, row == 0 and series.aggregation != "sum") for level in column_levels
        )
        rows.append([(text, f"{series.style}{AREA}")])
    if any(series.drops):
        # A queue drops when it is full: its highest row is free for the sign.
        cells = [(character, style) for text, style in rows[0] for character in text]
        has_events = _has_events(series.drops, across)
        rows[0] = [(DROPPED, BAD) if yes else cell for yes, cell in zip(has_events, cells, strict=True)]
    return rows


def _block(level: int, ground: bool) -> str:
    """Return a block; `ground` makes an empty value distinct from a missing value."""
    return BLOCKS[max(0 if level < 0 or not ground else 1, min(level, 8))]


def _signs(series: Series, across: int) -> list[Piece]:
    """Return a sign per column; a sender's reduction hides drops in the same column."""
    has_events = (_has_events(values, across) for values in (series.values, series.marks, series.drops))
    return [
        (LOST, BAD) if lost else (MARKED, MARK) if marked else (DROPPED if dropped else " ", BAD)
        for lost, marked, dropped in zip(*has_events, strict=True)
    ]


def _has_events(values: Sequence[float], across: int) -> list[bool]:
    if not values:
        return [False] * across
    return [value > 0 for value in by_column(Series("", values, 1.0, "", aggregation="sum"), across)]


def deduplicate_drops(shown: dict[str, Series]) -> dict[str, Series]:
    """Remove duplicate drops: show them in the queue's strip if present, otherwise among the losses."""
    if "losses" not in shown or not any(name in shown for name in QUEUE_SERIES):
        return shown
    return {**shown, "losses": replace(shown["losses"], drops=())}


def _with_earlier_runs(scene: Scene, series: Series, across: int, height: int) -> list[list[Piece]]:
    """Draw the run's line over the faint lines of earlier runs."""
    width, dots = braille.ACROSS * across, braille.DOWN * height
    scale = (dots - 1) / series.upper

    def layer(style: str, points: Sequence[tuple[float, float]]) -> braille.Layer:
        drawn = braille.Layer(style, width, dots)
        drawn.line([(scene.share(t) * (width - 1), min(dots - 1.0, value * scale)) for t, value in points])
        return drawn

    values = by_column(series, across)
    now = [
        (scene.start + (column + 0.5) / across * scene.seconds, value)
        for column, value in enumerate(values)
        if not isnan(value)
    ]
    cells = braille.compose(
        [layer(EARLIER, run) for run in series.earlier], [layer(series.style, now)], across, height
    )
    return [[cell or (" ", series.style) for cell in row] for row in cells]


def key(series: Sequence[Series]) -> str:
    """Explain full strips and signs."""
    upper = ", ".join(each.upper_text for each in series if each.upper_text)
    parts = [f"full strips: {upper}"] if upper else []
    if any(each.aggregation == "signs" for each in series):
        reduction = f"{LOST} a sender slows" + (
            f" ({MARKED} by a mark)" if any(each.marks for each in series) else ""
        )
        parts.append(f"{reduction}, {DROPPED} the queue drops")
    return "   ".join(parts)
