"""Chart of cwnd or throughput: flows over reference lines, between axes, with labels at the right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import isnan

from tcptutor.figures import braille
from tcptutor.figures.axes import Ticks, free_rows, round_ticks
from tcptutor.figures.braille import Layer, Pattern
from tcptutor.figures.lines import MUTED, STRONG, TEXT, Line, Piece
from tcptutor.ui.widgets.chart import axes, host_changes, margin, trace, warmup
from tcptutor.ui.widgets.chart.scene import FlowCurve, GuideLine, Kind, Scene

MIN_HEIGHT = 8
"""Minimum lines of a chart in which flows can be distinguished."""

AXIS, GRID, BAND, RANGE, FORECAST_RANGE = "axis", "grid", "band", "range", "forecast-range"

FLOW_PATTERNS: tuple[Pattern, ...] = (
    braille.SOLID, braille.DASHED, braille.DOTTED, braille.DASH_DOT,
    braille.thick(braille.SOLID), braille.thick(braille.DASHED), braille.thick(braille.DOTTED), braille.GAPPED,
)  # fmt: skip
"""Line pattern of each flow; pattern and color identify the flow."""

_PATTERNS: dict[Kind, Pattern] = {
    "limit": braille.RULE,
    "trajectory": braille.SPACED,
    "forecast": braille.SOLID,
    "you": braille.HEAVY,
}
"""Pattern of each kind of reference line across the chart, from the lowest layer to the highest."""

_SAMPLES: dict[Kind, str] = {
    "trajectory": "⠂⠐",
    "forecast": "⠤⠤⠤",
    "expected": "◃",
    "mean": "◂",
    "you": "◆",
    "now": "◂",
}

_FULL_WIDTH_KINDS = ("trajectory", "forecast")
"""Kinds drawn as curves over the full axis, wherever they end."""

_PEAK = "▲"
_FREE_SHARE = 0.7
"""Share of the chart's height below which a curve leaves its top row to the label of a peak."""

_MIN_TOOTH = (12, 12)
"""Minimum columns per sawtooth and lines of the chart for a readable expected trajectory."""


def flow_style(number: int) -> str:
    return f"flow-{number % len(FLOW_PATTERNS) + 1}"


ORIGINAL_STYLE = "before"
"""Style of the original run in a what-if."""


def _curve_style(curve: FlowCurve, number: int) -> str:
    return MUTED if curve.faint else flow_style(number)


def render(scene: Scene, width: int, height: int, ruled: bool) -> list[Line]:
    """Return `height` lines of chart, then the time axis, two lines if ruled."""
    across = axes.columns(width)
    layers = _background_layers(scene, across, height)
    layers += [_curve_layer(each, 0, scene.top, across, height, ORIGINAL_STYLE) for each in scene.original]
    if scene.hue:
        flows = [_curve_layer(scene.curves[0], 0, scene.top, across, height, scene.hue)]
    elif has_range(scene):
        curve, area = _range_layers(scene.curves[0], scene.top, across, height)
        layers, flows = [*layers, area], [curve]
    else:
        flows = [
            _curve_layer(each, number, scene.top, across, height) for number, each in enumerate(scene.curves)
        ]
    cells = braille.compose(layers, flows, across, height)
    frame = axes.frame(
        across,
        height,
        axes.time_ticks(scene.seconds, across, scene.start),
        _left_labels(scene, height),
        ruled,
    )
    _write_peak(cells, scene, across)
    warmup.write_name(cells, scene, across, GRID)
    host_changes.write_marks(cells, scene, across, GRID)
    labels = _right_labels(scene, height)
    lines = []
    for number, text in enumerate(frame):
        row = cells[number] if number < height else ()
        pieces: list[Piece] = [(text[: axes.GUTTER], AXIS)]
        style = AXIS
        for cell in row:
            style = cell[1] if cell else style
            pieces.append((cell[0] if cell else " ", style))
        if not row:
            pieces.append((text[axes.GUTTER :], AXIS))
        line = Line.of(*pieces)
        if row:
            line = warmup.add_ground(line, scene, across)
        lines.append(line.append_at(axes.GUTTER + across, labels[number]) if number in labels else line)
    return lines


def has_range(scene: Scene) -> bool:
    """Return True if fast swings are drawn as a range: after a run, for its only curve."""
    return scene.ended and len(scene.curves) == 1 and scene.band is None and not scene.hue


def simplify(scene: Scene, width: int, height: int) -> Scene:
    """Return the scene without an expected trajectory that would be a few loose dots."""
    trajectory = scene.reference("trajectory")
    falls = sum(later < value for (_, value), (_, later) in pairwise(trajectory.points)) if trajectory else 0
    if height >= _MIN_TOOTH[1] and axes.columns(width) >= _MIN_TOOTH[0] * (falls + 1):
        return scene
    return replace(scene, references=tuple(each for each in scene.references if each.kind != "trajectory"))


def title(scene: Scene, width: int, height: int = MIN_HEIGHT) -> Line:
    """Return the title of a chart of `height` lines: quantity, legend and cut-off values, if they fit."""
    head: list[Piece] = [(scene.quantity, STRONG)]
    lines: list[list[Piece]] = []
    if scene.original:
        lines.append([("   ", TEXT), ("⠤⠤", ORIGINAL_STYLE), (f" {scene.original[0].name}", TEXT)])
    # A single flow leaves room at the right for the names of the means.
    edge: tuple[Kind, ...] = () if scene.flows < 2 else margin.EDGE_KINDS
    for kind in (*edge, "trajectory", "forecast"):
        if (reference := scene.reference(kind)) and (
            kind in _FULL_WIDTH_KINDS or reference.value <= scene.top
        ):
            lines.append([("   ", TEXT), (_SAMPLES[kind], kind), (f" {reference.name}", TEXT)])
    if _is_dense(scene, axes.columns(width), height):
        lines.append([("   ", TEXT), ("⣿", RANGE), (" range", TEXT), (" ⠤⠤", flow_style(0)), (" mean", TEXT)])
    above = [
        f"{each.name} {axes.short_figure(each.value)}"
        for each in scene.references
        if each.kind in ("limit", "you") and each.value > scene.top
    ]
    peak: list[list[Piece]] = []
    if scene.peak and _peak_place(scene, axes.columns(width)) is None:
        peak = [[(f"   peak {scene.peak:.0f} {_PEAK}", MUTED)]]
    if above:
        peak.append([(f"   above: {', '.join(above)}", MUTED)])
    parts = [*lines, *peak] if scene.band is None else [
        [("   ", TEXT), ("⠶⠶", BAND), (f" {scene.band.name}", TEXT)],
        [("   ", TEXT), ("⠤⠤", flow_style(0)), (f" flow {scene.curves[0].name}", TEXT)],
        *lines, *peak,
    ]  # fmt: skip
    pieces = head
    for part in parts:
        extended = [*pieces, *part]
        if sum(len(text) for text, _ in extended) <= width:
            pieces = extended
    return Line.of(*pieces)


def _background_layers(scene: Scene, across: int, height: int) -> list[Layer]:
    """Return grid, reference lines and band, lowest layer first."""
    width, dots = braille.ACROSS * across, braille.DOWN * height
    grid = Layer(GRID, width, dots, braille.SPARSE)
    for row, _ in _ticks(scene, height):
        if row:
            for column in range(0, width, 4):
                grid.span(column, row * braille.DOWN + 1, row * braille.DOWN + 1)
    layers = [grid]
    has_data = bool(scene.curves or scene.band)
    for kind, pattern in _PATTERNS.items():
        for reference in scene.references:
            if reference.kind == kind and not (has_data and kind in margin.EDGE_KINDS):
                layer = Layer(kind, width, dots, pattern)
                layer.line(_to_dots(reference, scene, width, dots))
                if kind == "forecast":
                    area = Layer(FORECAST_RANGE, width, dots)
                    trace.thin_out(layer, area)
                    layers.append(area)
                layers.append(layer)
    if scene.band is not None:
        layers.append(_band_layer(scene.band, scene.top, width, dots))
    return layers


def _to_dots(reference: GuideLine, scene: Scene, width: int, dots: int) -> list[tuple[float, float]]:
    return [(scene.share(t) * (width - 1), value * ((dots - 1) / scene.top)) for t, value in reference.points]


def _curve_layer(
    curve: FlowCurve, number: int, top: float, across: int, height: int, style: str = ""
) -> Layer:
    width, dots = braille.ACROSS * across, braille.DOWN * height
    layer = Layer(
        style or _curve_style(curve, number), width, dots, FLOW_PATTERNS[number % len(FLOW_PATTERNS)]
    )
    trace.draw(layer, list(trace.spans_of(curve, top, width, dots)))
    return layer


def _range_layers(curve: FlowCurve, top: float, across: int, height: int) -> tuple[Layer, Layer]:
    """Return the line of a run's only curve, and the area of its range instead of a dense line."""
    width, dots = braille.ACROSS * across, braille.DOWN * height
    line, area = Layer(flow_style(0), width, dots), Layer(RANGE, width, dots)
    trace.draw_range(line, area, curve, top)
    return line, area


def _band_layer(band: FlowCurve, top: float, width: int, dots: int) -> Layer:
    layer = Layer(BAND, width, dots, braille.DOTTED)
    for column, low, high in trace.spans_of(band, top, width, dots):
        layer.span(column, low, high)
    return layer


def _row_from_bottom(value: float, scene: Scene, height: int) -> int:
    dots = braille.DOWN * height
    return min(height - 1, round(value * ((dots - 1) / scene.top)) // braille.DOWN)


def _ticks(scene: Scene, height: int) -> list[tuple[int, str]]:
    values = round_ticks(scene.top, max(2, height // 3))
    return [(_row_from_bottom(value, scene, height), f"{value:g}") for value in values]


def _left_labels(scene: Scene, height: int) -> Ticks:
    """Return labels of limits at their lines, and numbers where lines are free."""
    limits = [
        (
            _row_from_bottom(each.value, scene, height),
            f"{each.name} {axes.short_figure(each.value)}" if len(each.name) < 6 else each.name,
        )
        for each in scene.references
        if each.kind == "limit" and each.value <= scene.top
    ]
    named = free_rows(sorted(limits), height)
    taken = {row for row, _ in named}
    return tuple(sorted([*named, *(tick for tick in _ticks(scene, height) if tick[0] not in taken)]))


def _is_dense(scene: Scene, across: int, height: int) -> bool:
    """Return True if the chart shows a range around a mean."""
    if not has_range(scene):
        return False
    dots = braille.DOWN * height
    spans = list(trace.spans_of(scene.curves[0], scene.top, braille.ACROSS * across, dots))
    return bool(trace.dense_columns(spans, dots))


def _peak_place(scene: Scene, across: int) -> int | None:
    """Return the column for the label of a cut-off peak; None if curves are in the way."""
    if not scene.peak or scene.flows > 1 or len(scene.curves) != 1:
        return None
    dots = 100
    label = len(_peak_label(scene))
    highest = [0] * across
    for column, _, high in trace.spans_of(scene.curves[0], scene.top, braille.ACROSS * across, dots):
        highest[column // braille.ACROSS] = max(highest[column // braille.ACROSS], high)
    cut_off = [column for column, high in enumerate(highest) if high >= dots - 1]
    if not cut_off:
        return None
    last = next((at for at in cut_off if at + 1 not in cut_off), cut_off[-1])
    place = range(last + 1, last + 1 + label)
    is_free = place.stop <= across and all(highest[at] < _FREE_SHARE * dots for at in place[1:])
    return place.start if is_free else None


def _peak_label(scene: Scene) -> str:
    return f"{_PEAK} {axes.short_figure(scene.peak)} "


def _write_peak(cells: list[list[braille.Cell | None]], scene: Scene, across: int) -> None:
    place = _peak_place(scene, across)
    if place is not None and cells:
        label = _peak_label(scene)
        cells[0][place : place + len(label)] = [(letter, scene.hue or flow_style(0)) for letter in label]


def _right_labels(scene: Scene, height: int) -> dict[int, Line]:
    """Return labels right of the chart, by line from the top: flows at their lines' ends, ticks at values.

    With several flows the title shows the means with their values; a label off by a line would read as a different
    value.
    """
    flows = _flow_names(scene, height)
    taken, column = dict(_assign_rows(flows, height)), margin.column_of(scene)
    for reference in margin.edge_marks(scene):
        row = _row_from_bottom(reference.value, scene, height)
        sign = _SAMPLES[reference.kind]
        style = scene.hue or flow_style(0) if reference.kind == "now" else reference.kind
        if scene.flows > 1:
            pieces = taken.get(row, [(f" {reference.name.split()[0]}", style)])
            if pieces[0][0].startswith(" "):
                taken[row] = [(sign, style), (pieces[0][0][1:], pieces[0][1]), *pieces[1:]]
            continue
        free = next(
            (row + by for by in (0, -1, 1, -2, 2) if 0 <= row + by < height and row + by not in taken), None
        )
        if free is not None:
            figure = column.line(margin.tick_text(scene, reference), style, sign if free == row else "")
            taken[free] = [*figure.pieces()]
    return {height - 1 - row: Line.of(*pieces) for row, pieces in taken.items()}


def _flow_names(scene: Scene, height: int) -> list[tuple[int, list[Piece]]]:
    """Return the rows of flow labels from the bottom, with a heading above shares."""
    if scene.flows < 2:
        return []
    labels: list[tuple[int, list[Piece]]] = []
    shares = False
    for number, curve in enumerate(scene.curves):
        value = next((value for value in reversed(curve.last) if not isnan(value)), 0.0)
        name = f" {sample(number)} {curve.name}"
        figure = f" {curve.figure}" if curve.figure and len(f"{name} {curve.figure}") <= axes.MARGIN else ""
        shares = shares or bool(figure)
        # During a run, labels that follow their lines would be rewritten all the time.
        row = _row_from_bottom(value, scene, height) if scene.ended else height - 1 - number
        labels.append((row, [(name, _curve_style(curve, number)), (figure, TEXT)]))
    if shares and len(labels) < height:
        # In order of rows, the heading lands right above the highest label.
        labels.append((max(row for row, _ in labels) + 1, [(" flow, share", MUTED)]))
    return labels


def sample(number: int) -> str:
    """Return a piece of a flow's line for legends."""
    layer = Layer("", 3 * braille.ACROSS, braille.DOWN, FLOW_PATTERNS[number % len(FLOW_PATTERNS)])
    for column in range(layer.width):
        layer.span(column, 1, 1)
    (cells,) = braille.compose([], [layer], 3, 1)
    return "".join(cell[0] if cell else " " for cell in cells)


def _assign_rows(labels: Sequence[tuple[int, list[Piece]]], height: int) -> list[tuple[int, list[Piece]]]:
    """Assign each label its own line, as near as the order allows; drops the last labels if too many."""
    ordered = sorted(labels[:height], key=lambda each: each[0])
    rows = [row for row, _ in ordered]
    for at in range(1, len(rows)):
        rows[at] = max(rows[at], rows[at - 1] + 1)
    top = height - 1
    for at in range(len(rows) - 1, -1, -1):
        rows[at] = min(rows[at], top)
        top = rows[at] - 1
    return [(row, pieces) for row, (_, pieces) in zip(rows, ordered, strict=True)]
