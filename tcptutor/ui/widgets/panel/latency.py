"""View of a run's delays: their percentiles, on a common scale, with the samples behind them."""

from __future__ import annotations

from collections.abc import Sequence

from tcptutor.analysis import DelayFigures, DelayRow, Latency, delay_rows, load_text
from tcptutor.base.columns import wrapped
from tcptutor.figures.lines import FRAME, MUTED, QUEUE, RTT, STRONG, TEXT, Line

_HEAD = ("p50", "p95", "p99")
_CELL = 9
"""Columns of a percentile."""
_MARKS = "●▲■"
"""Marks of the percentiles on a scale."""
_LEAST_SCALE = 20
_MEANING = "p95: 95 % of the samples, weighted by time, are no longer; – : too few samples for it"


def latency_table(found: Latency, warmup: float, width: int, room: int) -> list[Line]:
    """Return a table with a row and a scale for each delay, at most `room` lines; remarks go first."""
    rows = delay_rows(found)
    name = max([len("latency"), *(len(each.name) for each in rows)])
    titles = "".join(f"{mark} {text}".rjust(_CELL) for mark, text in zip(_MARKS, _HEAD, strict=True))
    head = Line.of(
        ("latency".ljust(name), STRONG), (titles, MUTED), ("  after the warm-up" if warmup else "", MUTED)
    )
    blocks = [_block(each, _longest(rows, each), name, width) for each in rows]
    loaded = load_text(found)
    below = [Line.of((text, TEXT)) for text in wrapped(f"under load: {loaded}", width)] if loaded else []
    below += [Line.of((text, MUTED)) for text in wrapped(_MEANING, width)]
    for lines in (3, 2, 1):
        shown = [head, *(line for block in blocks for line in block[:lines])]
        if len(shown) + len(below) <= room:
            break
    return [line.fit(min(width, line.width)) for line in [*shown, *below][:room]]


def _longest(rows: Sequence[DelayRow], row: DelayRow) -> float:
    """Return the end of a row's scale, s; RTT and queueing delay, with similar values, share a scale."""
    alike = [
        each for each in rows if (each.figures.source == "transfers") == (row.figures.source == "transfers")
    ]
    return max((each.figures.max_s or 0.0 for each in alike), default=0.0)


def _block(row: DelayRow, longest: float, name: int, width: int) -> list[Line]:
    percentiles = "".join(text.rjust(_CELL) for text in row.percentiles)
    lines = [Line.of((row.name.ljust(name), TEXT), (percentiles, STRONG))]
    scale = _scale(row.figures, longest, width)
    if scale is not None:
        lines.append(scale)
    return [*lines, *(Line.of((text, MUTED)) for text in wrapped(row.remark, width, "  "))]


def _scale(figures: DelayFigures, longest: float, width: int) -> Line | None:
    """Return a rule from 0 to `longest` with the percentiles' marks; None without room or values."""
    cells = width - 2
    if cells < _LEAST_SCALE or longest <= 0:
        return None
    style = QUEUE if figures.source == "queue" else RTT
    pieces = [("─", FRAME)] * cells
    marked = zip(_MARKS, (figures.p50_s, figures.p95_s, figures.p99_s), strict=True)
    for mark, value in marked:
        if value is not None:
            pieces[min(cells - 1, round(value / longest * (cells - 1)))] = (mark, style)
    return Line.of(("  ", TEXT), *pieces)
