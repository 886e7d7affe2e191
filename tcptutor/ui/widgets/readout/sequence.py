"""Sequence graph of a flow: bytes sent, retransmitted, acknowledged and SACKed over time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tcptutor.base import units
from tcptutor.figures import braille
from tcptutor.figures.axes import Ticks, round_ticks
from tcptutor.figures.braille import Cell, Layer
from tcptutor.figures.lines import MUTED, STRONG, TEXT, Line, Piece
from tcptutor.ui.widgets.chart import axes
from tcptutor.ui.widgets.chart.chart import AXIS, flow_style
from tcptutor.ui.widgets.readout.cursor import TimeSpan

if TYPE_CHECKING:
    from tcptutor.analysis import SequenceGraph

_SENT, _RETRANSMITTED, _SACKED, _ACKED, _ALLOWED = flow_style(0), "bad", "warn", flow_style(2), "limit"
RETRANSMITTED, SACKED = "R", "S"
"""Signs of retransmitted and SACKed segments, as in tcptrace's graphs."""


def title(graph: SequenceGraph, name: str, width: int) -> Line:
    """Return the quantity, and the entries of the legend that fit."""
    _, unit = units.axis_unit(graph.end, "size")
    pieces: list[Piece] = [(f"bytes of flow {name}, {unit}", STRONG)]
    keys = [[("⣶⣶", _SENT), (" sent", TEXT)], [("⠤⠤", _ACKED), (" acknowledged", TEXT)]]
    letters = ((SACKED, _SACKED, graph.sacked), (RETRANSMITTED, _RETRANSMITTED, graph.retransmitted))
    for letter, style, spans in letters:
        if spans:
            keys.insert(1, [(letter, style), (" SACKed" if letter == SACKED else " retransmitted", TEXT)])
    if any(end <= graph.end for _, end in graph.window_end):
        keys.append([("⠢⠢", _ALLOWED), (" allowed by the window", TEXT)])
    elif graph.window_end:
        keys.append([("the receiver's window ends above", MUTED)])
    elif graph.source == "packets":
        keys.append([("no window: its scale was in a SYN that is missing", MUTED)])
    for key in keys:
        longer = [*pieces, ("  ", TEXT), *key]
        if sum(len(text) for text, _ in longer) <= width:
            pieces = longer
    return Line.of(*pieces)


def render(graph: SequenceGraph, span: TimeSpan, width: int, height: int) -> list[Line]:
    """Return `height` lines of graph, then the time axis; `graph` covers just the visible span."""
    across = axes.columns(width)
    low, high = _byte_range(graph)
    scale, _ = units.axis_unit(graph.end, "size")
    up = _ticks(low / scale, high / scale, height)
    frame = axes.frame(across, height, axes.time_ticks(span.seconds, across, span.start), up, False)
    cells = _cells(graph, span, across, height, low, high)
    lines = []
    for number, text in enumerate(frame):
        if number >= height:
            lines.append(Line.of((text, AXIS)))
            continue
        pieces: list[Piece] = [(text[: axes.GUTTER], AXIS)]
        pieces += [(cell[0], cell[1]) if cell else (" ", AXIS) for cell in cells[number]]
        lines.append(Line.of(*pieces))
    return lines


def render_empty(width: int, height: int) -> list[Line]:
    """Return `height` + 1 lines that say the flow sends no data."""
    message = Line.of(("the flow sends nothing here", MUTED)).fit(width)
    return [message, *([Line()] * height)]


def _byte_range(graph: SequenceGraph) -> tuple[float, float]:
    lowest = [span.first for span in (*graph.sent, *graph.retransmitted)] + [
        value for _, value in graph.acked[:1]
    ]
    low, high = min(lowest), max(graph.end, *(value for _, value in graph.acked[-1:]), 1)
    return float(low), float(max(high, low + 1))


def _ticks(low: float, high: float, height: int) -> Ticks:
    step = next(iter(round_ticks(high - low, max(2, height // 3))[1:]), high - low)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    values = [step * at for at in range(first, last + 1)]
    return tuple((round((value - low) / (high - low) * (height - 1)), f"{value:.6g}") for value in values)


def _cells(
    graph: SequenceGraph, span: TimeSpan, across: int, height: int, low: float, high: float
) -> list[list[Cell | None]]:
    width, dots = braille.ACROSS * across, braille.DOWN * height

    def column(t: float) -> int:
        return span.column(t, width)

    def row(value: float) -> int:
        return round((value - low) / (high - low) * (dots - 1))

    def steps(layer: Layer, points: tuple[tuple[float, int], ...]) -> Layer:
        before: tuple[int, int] | None = None
        for t, value in points:
            point = column(t), row(value)
            if before is not None:
                for at in range(before[0], point[0]):
                    layer.span(at, before[1], before[1])
                layer.span(point[0], *sorted((before[1], point[1])))
            before = point
        return layer

    sent = Layer(_SENT, width, dots)
    for each in graph.sent:
        sent.span(column(each.t), row(each.first), row(each.last))
    allowed = steps(Layer(_ALLOWED, width, dots, braille.DOTTED), graph.window_end)
    acked = steps(Layer(_ACKED, width, dots), graph.acked)
    rows = braille.compose([allowed], [acked, sent], across, height)
    for letter, style, spans in (
        (SACKED, _SACKED, graph.sacked),
        (RETRANSMITTED, _RETRANSMITTED, graph.retransmitted),
    ):
        for each in spans:
            middle = min(dots - 1, max(0, row((each.first + each.last) / 2)))
            rows[height - 1 - middle // braille.DOWN][column(each.t) // braille.ACROSS] = (letter, style)
    return rows
