"""Panel with a cursor in the run: chart and strips of the visible span, and a readout of the instant.

Parts that do not move with the cursor are drawn once; a move marks a new column and updates the readout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

from tcptutor.figures.lines import MUTED, STRONG, TEXT, Line, spread
from tcptutor.run import SSTHRESH_INFINITE
from tcptutor.study.live import Live
from tcptutor.ui.widgets.chart import axes, chart, margin, strips, warmup
from tcptutor.ui.widgets.chart.build import scene_of
from tcptutor.ui.widgets.chart.flows import flow_names
from tcptutor.ui.widgets.chart.scene import QUEUE_SERIES, WINDOW, GuideLine, Scene, Series
from tcptutor.ui.widgets.readout import causes, sequence
from tcptutor.ui.widgets.readout.cursor import Cursor
from tcptutor.ui.widgets.readout.inspection import Backdrop, Inspection
from tcptutor.ui.widgets.readout.readout import InstantFacts, height, readout

if TYPE_CHECKING:
    from tcptutor.analysis import RoundTrip

TABLE_HEIGHT = 30
"""Lines of the panel from which the readout lists each flow."""

_MIN_REST = 12
"""Minimum lines left for chart and strips next to such a list."""

_BY_IMPORTANCE = ("throughput", "losses", "rtt", "causes", *QUEUE_SERIES, "udp0", "phases", "retransmits")
"""Parts under the chart by importance, without zoom."""

_BY_IMPORTANCE_ZOOMED = (
    "rounds",
    "phases",
    "losses",
    "throughput",
    "rtt",
    *QUEUE_SERIES,
    "udp0",
    "retransmits",
    "causes",
)
"""Parts under the chart by importance, for a zoom: round trips and losses first."""

_ORDER = (
    "title", "chart", "rounds", "throughput", "udp0", "rtt", *QUEUE_SERIES, "losses", "retransmits", "causes",
    "phases",    "gap",
)  # fmt: skip
"""From top to bottom."""

_GAP_HEIGHT = 12
"""Lines of the chart from which a gap follows all parts."""

_RULE, CURSOR = "│", "cursor"
_COVERED_STYLES = {chart.GRID, chart.AXIS, chart.BAND, "limit", "trajectory", "expected", "mean", "you"}
"""Styles that the cursor's line covers in the chart: the readout gives their values in words."""


def render(inspection: Inspection, cursor: Cursor, width: int, lines: int) -> list[Line]:
    """Return at most `lines` lines; called in a thread."""
    live, instants = inspection.live, inspection.instants
    columns = axes.columns(width)
    span = cursor.span
    instant = instants.at(
        cursor.t, max(span.seconds / columns, inspection.round_trip(cursor) if cursor.is_zoomed else 0.0)
    )
    facts = InstantFacts(
        instant=instant,
        insight=inspection.insight,
        cursor=cursor,
        names=dict(zip(instants.flows, flow_names(live.run.experiment, instants.flows), strict=True)),
        round_trip=_round_trip_at_cursor(inspection, cursor),
        until=instants.until,
        in_progress=live.in_progress,
    )
    has_table = lines >= TABLE_HEIGHT and lines - height(facts, width, True) >= _MIN_REST
    height_left = lines - height(facts, width, has_table)
    key = (
        width,
        height_left,
        span,
        cursor.flow,
        cursor.shows_sequence,
        cursor.loss_origin,
        inspection.row_counts,
        live.state,
        live.report is None,
    )
    backdrop = inspection.backdrops.get_or_make(
        key, lambda: _render_backdrop(inspection, cursor, width, height_left)
    )
    lines_with_cursor = list(_mark_column(backdrop, axes.GUTTER + cursor.column(columns)))
    return [*lines_with_cursor, *readout(facts, width, has_table)][:lines]


def _round_trip_at_cursor(inspection: Inspection, cursor: Cursor) -> RoundTrip | None:
    return next(
        (each for each in _round_trips(inspection, cursor) if each.start <= cursor.t < each.end), None
    )


def _round_trips(inspection: Inspection, cursor: Cursor) -> Sequence[RoundTrip]:
    from tcptutor.analysis import round_trips  # noqa: PLC0415

    trace, zero = inspection.instants.traces.get(cursor.flow), cursor.loss_origin
    if trace is None or zero is None or not cursor.is_zoomed:
        return ()
    return round_trips(trace, zero, cursor.span.start, cursor.span.end)


def _render_backdrop(inspection: Inspection, cursor: Cursor, width: int, height_left: int) -> Backdrop:
    """Return the chart and the parts that fit under it, in exactly `height_left` lines."""
    live, span = inspection.live, cursor.span
    scene = _scene(inspection, cursor)
    parts: dict[str, list[Line]] = {"title": [_title(scene, live, cursor, width)]}
    tallest = height_left - len(parts) - 1
    for name in (*(_BY_IMPORTANCE_ZOOMED if cursor.is_zoomed else _BY_IMPORTANCE), "gap"):
        match name:
            case "rounds":
                line = _round_trip_line(inspection, cursor, width)
            case "causes":
                line = causes.causes(live, width, span, margin.column_of(scene))
            case "phases":
                line = causes.phases(live, width, span, cursor.flow)
            case "gap":
                line = Line.of((" " * (tallest > _GAP_HEIGHT), TEXT))
            case _:
                line = _render_strip(scene.series.get(name), name, scene, width)
        if line.text and tallest > chart.MIN_HEIGHT:
            parts[name] = [line]
            tallest -= 1
    for name, series in strips.deduplicate_drops(
        {name: scene.series[name] for name in parts if name in scene.series}
    ).items():
        parts[name] = [_render_strip(series, name, scene, width)]
    if cursor.shows_sequence:
        parts["title"], parts["chart"] = _sequence(inspection, cursor, width, tallest)
    else:
        parts["title"] = [_title(scene, live, cursor, width, tallest)]
        parts["chart"] = chart.render(chart.simplify(scene, width, tallest), width, tallest, False)
    ordered = [line for name in _ORDER for line in parts.get(name, ())]
    return Backdrop(tuple(ordered), range(1, 1 + tallest))


def _sequence(
    inspection: Inspection, cursor: Cursor, width: int, tallest: int
) -> tuple[list[Line], list[Line]]:
    """Return title and sequence graph of the flow."""
    graph, flows = inspection.sequence(cursor), inspection.instants.flows
    names = dict(zip(flows, flow_names(inspection.live.run.experiment, flows), strict=True))
    if graph is None or not (graph.sent or graph.retransmitted):
        message, *rest = sequence.render_empty(width, tallest + 1)
        return [message], rest
    head = sequence.title(graph, names.get(cursor.flow, ""), width)
    if cursor.is_zoomed:
        head = sequence.title(
            graph, names.get(cursor.flow, ""), width - len(_span_text(inspection.live, cursor)) - 2
        )
        head = spread(head, Line.of((_span_text(inspection.live, cursor), STRONG)), width)
    return [head], sequence.render(graph, cursor.span, width, tallest)


def _span_text(live: Live, cursor: Cursor) -> str:
    span = cursor.span
    return f"{span.start:.2f} to {span.end:.2f} of {live.run.experiment.seconds:g} s"


def _scene(inspection: Inspection, cursor: Cursor) -> Scene:
    """Return the scene of the visible span, with the cursor's flow in color and the others faint.

    Eight colors would cost twice the output. A zoom adds ssthresh and omits means over all measured time.
    """
    scene, flows = (
        scene_of(inspection.live, inspection.history(cursor), None, cursor.flow),
        inspection.instants.flows,
    )
    if scene.band is None and len(scene.curves) == len(flows):
        curves = tuple(
            replace(curve, faint=flow != cursor.flow) for flow, curve in zip(flows, scene.curves, strict=True)
        )
        scene = replace(scene, curves=curves)
    if not cursor.is_zoomed or scene.quantity != WINDOW:
        return scene
    guides = tuple(each for each in scene.references if each.kind not in ("mean", "trajectory"))
    return replace(scene, references=(*guides, *_ssthresh(inspection, cursor)))


def _ssthresh(inspection: Inspection, cursor: Cursor) -> Iterator[GuideLine]:
    trace, span = inspection.instants.traces.get(cursor.flow), cursor.span
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


def _title(scene: Scene, live: Live, cursor: Cursor, width: int, tallest: int = chart.MIN_HEIGHT) -> Line:
    if not cursor.is_zoomed:
        return chart.title(scene, width, tallest)
    span_text = _span_text(live, cursor)
    return spread(
        chart.title(scene, width - len(span_text) - 2, tallest), Line.of((span_text, STRONG)), width
    )


def _render_strip(series: Series | None, name: str, scene: Scene, width: int) -> Line:
    """Render a strip with its maximum at the right: its value at the cursor is in the readout."""
    if series is None:
        return Line()
    summary = f"≤ {series.upper_text}" if series.upper_text and name != "retransmits" else ""
    (line,) = strips.render(scene, replace(series, summary=summary), width)
    return line


def _round_trip_line(inspection: Inspection, cursor: Cursor, width: int) -> Line:
    """Return the starts of round trips, numbered from the loss event; dots where numbers do not fit."""
    columns, span = axes.columns(width), cursor.span
    cells, free = [" "] * columns, 0
    trips = _round_trips(inspection, cursor)
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


def _mark_column(backdrop: Backdrop, column: int) -> Iterator[Line]:
    for number, line in enumerate(backdrop.lines):
        if number == 0 or column >= line.width:
            yield line
            continue
        (text, style), *_ = line.part(column, column + 1).cells()
        faint = number in backdrop.ruled and (text == " " or warmup.base_style(style) in _COVERED_STYLES)
        cell = Line.of((_RULE, STRONG) if faint else (text, CURSOR))
        yield replace(
            line,
            text=line.text[:column] + cell.text + line.text[column + 1 :],
            styles=(*line.styles[:column], *cell.styles, *line.styles[column + 1 :]),
        )
