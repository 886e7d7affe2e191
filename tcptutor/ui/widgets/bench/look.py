"""The panel with a cursor in the run: chart and strips of the time that is shown, and what is told of the instant.

What does not move with the cursor is drawn once; a move marks another column of it and tells of another instant.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from tcptutor.run import SSTHRESH_INFINITE
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench import axes, causes, chart, sequence, strips
from tcptutor.ui.widgets.bench.build import flow_names, scene_of
from tcptutor.ui.widgets.bench.cursor import Cursor
from tcptutor.ui.widgets.bench.lines import MUTED, STRONG, TEXT, Line, spread
from tcptutor.ui.widgets.bench.looking import Drawn, Looking
from tcptutor.ui.widgets.bench.readout import InstantTold, height, readout
from tcptutor.ui.widgets.bench.scene import WINDOW, GuideLine, Scene, Series

if TYPE_CHECKING:
    from tcptutor.analysis import RoundTrip

TALL = 30
"""Lines of the panel from which on each flow has a line."""

_LEAST = 12
"""Lines that the chart and what is under it have beside such a table."""

_WORTH = ("throughput", "losses", "rtt", "causes", "queue", "udp0", "phases", "resent")
"""What is under the chart, in the order of what it is worth beside a cursor."""

_CLOSE = ("rounds", "phases", "losses", "throughput", "rtt", "queue", "udp0", "resent", "causes")
"""What is under it where a part of the run is shown: first what its round trips and losses are."""

_ORDER = (
    "title", "chart", "rounds", "throughput", "udp0", "rtt", "queue", "losses", "resent", "causes", "phases", "gap",
)  # fmt: skip
"""From top to bottom."""

_TALL = 12
"""Lines of the chart from which on there is a gap under it all."""

_RULE, CURSOR = "│", "cursor"
_FAINT = {chart.GRID, chart.AXIS, chart.BAND, "limit", "course", "expected", "mean", "you"}
"""Styles of what gives way to the cursor's line in the chart: it is told in words beside it."""


def picture(looking: Looking, cursor: Cursor, width: int, lines: int) -> list[Line]:
    """Exactly so many lines. Called in a thread."""
    live, instants = looking.live, looking.instants
    columns = axes.columns(width)
    span = cursor.span
    seen = instants.at(
        cursor.t, max(span.seconds / columns, looking.round_trip(cursor) if cursor.zoomed else 0.0)
    )
    told = InstantTold(
        instant=seen,
        insight=looking.insight,
        cursor=cursor,
        names=dict(zip(instants.flows, flow_names(live.run.experiment, instants.flows), strict=True)),
        round_trip=_round_trip(looking, cursor),
        until=instants.until,
        in_progress=live.in_progress,
    )
    tabled = lines >= TALL and lines - height(told, width, True) >= _LEAST
    room = lines - height(told, width, tabled)
    key = (
        width,
        room,
        span,
        cursor.flow,
        cursor.sequence,
        cursor.counted_from,
        looking.size,
        live.state,
        live.report is None,
    )
    drawn = looking.drawn.kept(key, lambda: _drawn(looking, cursor, width, room))
    marked = list(_marked(drawn, axes.GUTTER + cursor.column(columns)))
    return [*marked, *readout(told, width, tabled)][:lines]


def _round_trip(looking: Looking, cursor: Cursor) -> RoundTrip | None:
    """The one in which the cursor is; None where none are counted."""
    return next((each for each in _round_trips(looking, cursor) if each.start <= cursor.t < each.end), None)


def _round_trips(looking: Looking, cursor: Cursor) -> Sequence[RoundTrip]:
    from tcptutor.analysis import round_trips  # noqa: PLC0415

    trace, zero = looking.instants.traces.get(cursor.flow), cursor.counted_from
    if trace is None or zero is None or not cursor.zoomed:
        return ()
    return round_trips(trace, zero, cursor.span.start, cursor.span.end)


def _drawn(looking: Looking, cursor: Cursor, width: int, room: int) -> Drawn:
    """The chart and what there is room for under it, in exactly `room` lines."""
    live, span = looking.live, cursor.span
    scene = _scene(looking, cursor)
    parts: dict[str, list[Line]] = {"title": [_title(scene, live, cursor, width)]}
    tallest = room - len(parts) - 1
    for name in (*(_CLOSE if cursor.zoomed else _WORTH), "gap"):
        match name:
            case "rounds":
                line = _rounds(looking, cursor, width)
            case "causes":
                line = causes.causes(live, width, span)
            case "phases":
                line = causes.phases(live, width, span, cursor.flow)
            case "gap":
                line = Line.of((" " * (tallest > _TALL), TEXT))
            case _:
                line = _strip(scene.series.get(name), name, scene, width)
        if line.text and tallest > chart.LEAST:
            parts[name] = [line]
            tallest -= 1
    for name, series in strips.apart(
        {name: scene.series[name] for name in parts if name in scene.series}
    ).items():
        parts[name] = [_strip(series, name, scene, width)]
    if cursor.sequence:
        parts["title"], parts["chart"] = _sequence(looking, cursor, width, tallest)
    else:
        parts["chart"] = chart.drawn(chart.readable(scene, width, tallest), width, tallest, False)
    whole = [line for name in _ORDER for line in parts.get(name, ())]
    return Drawn(tuple(whole), range(1, 1 + tallest))


def _sequence(looking: Looking, cursor: Cursor, width: int, tallest: int) -> tuple[list[Line], list[Line]]:
    """Title and graph of the flow's bytes."""
    graph, flows = looking.sequence(cursor), looking.instants.flows
    names = dict(zip(flows, flow_names(looking.live.run.experiment, flows), strict=True))
    if graph is None or not (graph.sent or graph.retransmitted):
        said, *rest = sequence.nothing(width, tallest + 1)
        return [said], rest
    head = sequence.title(graph, names.get(cursor.flow, ""), width)
    if cursor.zoomed:
        head = sequence.title(
            graph, names.get(cursor.flow, ""), width - len(_shown(looking.live, cursor)) - 2
        )
        head = spread(head, Line.of((_shown(looking.live, cursor), STRONG)), width)
    return [head], sequence.drawn(graph, cursor.span, width, tallest)


def _shown(live: Live, cursor: Cursor) -> str:
    """Which part of the run."""
    span = cursor.span
    return f"{span.start:.2f} to {span.end:.2f} of {live.run.experiment.seconds:g} s"


def _scene(looking: Looking, cursor: Cursor) -> Scene:
    """Of the time that is shown, the cursor's flow before the others: eight hues cost twice the bytes.

    Closer, with its ssthresh, and without the means of all time.
    """
    scene, flows = scene_of(looking.live, looking.history(cursor), None, cursor.flow), looking.instants.flows
    if scene.band is None and len(scene.curves) == len(flows):
        curves = tuple(
            replace(curve, faint=flow != cursor.flow) for flow, curve in zip(flows, scene.curves, strict=True)
        )
        scene = replace(scene, curves=curves)
    if not cursor.zoomed or scene.quantity != WINDOW:
        return scene
    kept = tuple(each for each in scene.references if each.kind not in ("mean", "course"))
    return replace(scene, references=(*kept, *_ssthresh(looking, cursor)))


def _ssthresh(looking: Looking, cursor: Cursor) -> Iterator[GuideLine]:
    trace, span = looking.instants.traces.get(cursor.flow), cursor.span
    if trace is None:
        return
    steps = [
        (t, value)
        for t, value in zip(trace.column("t"), trace.column("ssthresh"), strict=True)
        if value < SSTHRESH_INFINITE and t <= span.end
    ]
    points = [(t, float(value)) for t, value in steps[:1]]
    for (_, before), (t, value) in pairwise(steps):
        points += [(t, float(before)), (t, float(value))]
    if points and points[-1][0] >= span.start:
        yield GuideLine("ssthresh", "limit", points)


def _title(scene: Scene, live: Live, cursor: Cursor, width: int) -> Line:
    """What the axis is, which line is which, and which part of the run is shown."""
    if not cursor.zoomed:
        return chart.title(scene, width)
    shown = _shown(live, cursor)
    return spread(chart.title(scene, width - len(shown) - 2), Line.of((shown, STRONG)), width)


def _strip(series: Series | None, name: str, scene: Scene, width: int) -> Line:
    """Beside it what it is at its highest: its value at the cursor is told below."""
    if series is None:
        return Line()
    said = f"≤ {series.scale}" if series.scale and name != "resent" else ""
    (line,) = strips.strip(scene, replace(series, said=said), width)
    return line


def _rounds(looking: Looking, cursor: Cursor, width: int) -> Line:
    """Where each round trip begins, numbered from the loss: "-2    -1    0    1"; a dot where there is no room."""
    columns, span = axes.columns(width), cursor.span
    cells, free = [" "] * columns, 0
    trips = _round_trips(looking, cursor)
    if not trips:
        return Line()
    for each in trips:
        if not span.start <= each.start <= span.end:
            continue
        at = span.column(each.start, columns)
        number = f"{each.number + (each.number >= 0):+d}"
        if at >= free and at + len(number) <= columns:
            cells[at : at + len(number)] = number
            free = at + len(number) + 1
        elif cells[at] == " ":
            cells[at] = "·"
    name = "round trip".ljust(axes.GUTTER)
    return Line.of((name, TEXT), ("".join(cells), chart.AXIS), (" from the loss", MUTED))


def _marked(drawn: Drawn, column: int) -> Iterator[Line]:
    for number, line in enumerate(drawn.lines):
        if number == 0 or column >= line.width:
            yield line
            continue
        (text, style), *_ = line.part(column, column + 1).cells()
        faint = number in drawn.ruled and (text == " " or style in _FAINT)
        cell = Line.of((_RULE, STRONG) if faint else (text, CURSOR))
        yield replace(
            line,
            text=line.text[:column] + cell.text + line.text[column + 1 :],
            styles=(*line.styles[:column], *cell.styles, *line.styles[column + 1 :]),
        )
