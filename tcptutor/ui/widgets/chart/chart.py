"""Chart of cwnd or throughput: flows over reference lines, between axes, with labels at the right."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import isnan

from tcptutor.figures import braille
from tcptutor.figures.axes import Ticks, free_rows, round_ticks
from tcptutor.figures.braille import Layer, Pattern
from tcptutor.figures.lines import MUTED, STRONG, TEXT, Line, Piece
from tcptutor.ui.widgets.chart import axes
from tcptutor.ui.widgets.chart.history import STEPS
from tcptutor.ui.widgets.chart.scene import FlowCurve, GuideLine, Kind, Scene

MIN_HEIGHT = 8
"""Minimum lines of a chart in which flows can be distinguished."""

AXIS, GRID, BAND = "axis", "grid", "band"

FLOW_PATTERNS: tuple[Pattern, ...] = (
    braille.SOLID, braille.DASHED, braille.DOTTED, braille.DASH_DOT,
    braille.thick(braille.SOLID), braille.thick(braille.DASHED), braille.thick(braille.DOTTED), braille.GAPPED,
)  # fmt: skip
"""Line pattern of each flow; pattern and color identify the flow."""

_PATTERNS: dict[Kind, Pattern] = {
    "limit": braille.RULE,
    "trajectory": braille.SCATTERED,
    "forecast": braille.SOLID,
    "expected": braille.DOUBLE,
    "mean": braille.SINGLE,
    "you": braille.HEAVY,
}
"""Pattern of each kind of reference line, from the lowest layer to the highest."""

_SAMPLES: dict[Kind, str] = {
    "limit": "┈┈", "trajectory": "⠠ ⠠", "forecast": "⠤⠤⠤", "expected": "══", "mean": "──", "you": "━ ━",
}  # fmt: skip

_FULL_WIDTH_KINDS = ("trajectory", "forecast")
"""Kinds drawn as curves over the full axis, wherever they end."""

_EDGE_KINDS: tuple[Kind, ...] = ("expected", "mean")
"""Kinds drawn only at the right edge: through the data, the measured curves would hide them."""

_EDGE_CELLS = 3
"""Cells of such a line at the right edge."""

_WARMUP = "warm-up"

_MIN_TOOTH = (12, 12)
"""Minimum columns per sawtooth and lines of the chart for a readable expected trajectory."""


def flow_style(number: int) -> str:
    return f"flow-{number % len(FLOW_PATTERNS) + 1}"


ORIGINAL_STYLE = "before"
"""Style of the original run in a what-if."""


def _curve_style(curve: FlowCurve, number: int) -> str:
    return MUTED if curve.faint else flow_style(number)


def render(scene: Scene, width: int, height: int, ruled: bool) -> list[Line]:
    """Return `height` lines of chart, then one or two lines of time axis."""
    across = axes.columns(width)
    layers = _background_layers(scene, across, height)
    layers += [_curve_layer(each, 0, scene.top, across, height, ORIGINAL_STYLE) for each in scene.original]
    flows = [
        _curve_layer(curve, number, scene.top, across, height) for number, curve in enumerate(scene.curves)
    ]
    cells = braille.compose(layers, flows, across, height)
    frame = axes.frame(
        across,
        height,
        axes.time_ticks(scene.seconds, across, scene.start),
        _left_labels(scene, height),
        ruled,
    )
    _name_warmup(cells, scene, across)
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
        lines.append(line.append_at(axes.GUTTER + across, labels[number]) if number in labels else line)
    return lines


def simplify(scene: Scene, width: int, height: int) -> Scene:
    """Return the scene without an expected trajectory that would be a few loose dots."""
    trajectory = scene.reference("trajectory")
    falls = sum(later < value for (_, value), (_, later) in pairwise(trajectory.points)) if trajectory else 0
    if height >= _MIN_TOOTH[1] and axes.columns(width) >= _MIN_TOOTH[0] * (falls + 1):
        return scene
    return replace(scene, references=tuple(each for each in scene.references if each.kind != "trajectory"))


def title(scene: Scene, width: int) -> Line:
    """Return the title: quantity, legend, and values cut off above; entries that do not fit are dropped."""
    head: list[Piece] = [(scene.quantity, STRONG)]
    lines: list[list[Piece]] = []
    if scene.original:
        lines.append([("   ", TEXT), ("⠤⠤", ORIGINAL_STYLE), (f" {scene.original[0].name}", TEXT)])
    # A single flow leaves room at the right for the names of the means.
    means: tuple[Kind, ...] = () if scene.flows < 2 else _EDGE_KINDS
    if scene.flows < 2 and (end := scene.reference("mean") or scene.reference("expected")):
        lines.append([("   ", TEXT), (_SAMPLES[end.kind], end.kind), (" means", TEXT)])
    for kind in (*means, "you", "trajectory", "forecast"):
        if (reference := scene.reference(kind)) and (
            kind in _FULL_WIDTH_KINDS or reference.value <= scene.top
        ):
            lines.append([("   ", TEXT), (_SAMPLES[kind], kind), (f" {reference.name}", TEXT)])
    above = [
        f"{each.name} {_short_figure(each.value)}"
        for each in scene.references
        if each.kind in ("limit", "you") and each.value > scene.top
    ]
    peak: list[list[Piece]] = []
    if scene.peak:
        peak = [[(f"   peak {scene.peak:.0f} ▲", MUTED)]]
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
    """Return grid, warm-up line, reference lines and band, lowest layer first."""
    width, dots = braille.ACROSS * across, braille.DOWN * height
    grid = Layer(GRID, width, dots, braille.SPARSE)
    for row, _ in _ticks(scene, height):
        if row:
            grid.span(0, row * braille.DOWN, row * braille.DOWN)
            for column in range(0, width, 4):
                grid.span(column, row * braille.DOWN + 1, row * braille.DOWN + 1)
    layers = [grid]
    if 0 < scene.share(scene.warmup) < 1 and scene.warmup:
        # Start of the measured time.
        start = Layer(GRID, width, dots, braille.DOTTED)
        start.span(round(scene.share(scene.warmup) * (width - 1)), 0, dots - 1)
        layers.append(start)
    for kind, pattern in _PATTERNS.items():
        for reference in scene.references:
            if reference.kind == kind:
                layer = Layer(kind, width, dots, pattern)
                layer.line(_to_dots(reference, scene, width, dots))
                layers.append(layer)
    if scene.band is not None:
        layers.append(_band_layer(scene.band, scene.top, width, dots))
    return layers


def _to_dots(reference: GuideLine, scene: Scene, width: int, dots: int) -> list[tuple[float, float]]:
    points = [
        (scene.share(t) * (width - 1), value * ((dots - 1) / scene.top)) for t, value in reference.points
    ]
    if reference.kind not in _EDGE_KINDS:
        return points
    height = points[-1][1]
    return [(max(0.0, width - _EDGE_CELLS * braille.ACROSS), height), (width - 1, height)]


def _curve_layer(
    curve: FlowCurve, number: int, top: float, across: int, height: int, style: str = ""
) -> Layer:
    width, dots = braille.ACROSS * across, braille.DOWN * height
    layer = Layer(
        style or _curve_style(curve, number), width, dots, FLOW_PATTERNS[number % len(FLOW_PATTERNS)]
    )
    before: tuple[int, int, int] | None = None
    for column, low, high in _spans(curve, top, width, dots):
        first, last = low, high
        if before is not None:
            at, lowest, highest = before
            if column - at > 1:
                layer.line([(at, (lowest + highest) / 2), (column, (low + high) / 2)])
            else:
                first = min(low, highest + 1)
                last = max(high, lowest - 1)
        layer.span(column, first, last)
        before = column, low, high
    return layer


def _band_layer(band: FlowCurve, top: float, width: int, dots: int) -> Layer:
    layer = Layer(BAND, width, dots, braille.DOTTED)
    for column, low, high in _spans(band, top, width, dots):
        layer.span(column, low, high)
    return layer


def _spans(curve: FlowCurve, top: float, width: int, dots: int) -> Iterator[tuple[int, int, int]]:
    """Yield (column, lowest dot, highest dot) for each column with measurements."""
    scale = (dots - 1) / top
    for column in range(width):
        first = column * STEPS // width
        steps = slice(first, max(first + 1, (column + 1) * STEPS // width))
        low = min((value for value in curve.low[steps] if not isnan(value)), default=math.inf)
        if low < math.inf:
            high = max(value for value in curve.high[steps] if not isnan(value))
            yield column, min(dots - 1, round(low * scale)), min(dots - 1, round(high * scale))


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
            f"{each.name} {_short_figure(each.value)}" if len(each.name) < 6 else each.name,
        )
        for each in scene.references
        if each.kind == "limit" and each.value <= scene.top
    ]
    named = free_rows(sorted(limits), height)
    taken = {row for row, _ in named}
    return tuple(sorted([*named, *(tick for tick in _ticks(scene, height) if tick[0] not in taken)]))


def _name_warmup(cells: list[list[braille.Cell | None]], scene: Scene, across: int) -> None:
    """Write "warm-up" left or right of the end of the warm-up, in a row without curves."""
    share = scene.share(scene.warmup)
    if not (scene.warmup and 0 < share < 1):
        return
    column = round(share * (braille.ACROSS * across - 1)) // braille.ACROSS
    for start, name in ((column - len(_WARMUP), _WARMUP), (column + 1, f"◂{_WARMUP}")):
        if start < 0 or start + len(name) > across:
            continue
        for row in cells[: len(cells) // 2]:
            if all(cell is None or cell[1] == GRID for cell in row[start : start + len(name)]):
                row[start : start + len(name)] = [(letter, MUTED) for letter in name]
                return


def _right_labels(scene: Scene, height: int) -> dict[int, Line]:
    """Return labels right of the chart by line from the top: flows near the ends of their lines, then references.

    With several flows the title shows the means with their values; a label one line off would read as another
    value.
    """
    flows = _flow_names(scene, height)
    taken = dict(_assign_rows(flows, height))
    labels = [
        each for kind in ("you", *_EDGE_KINDS) if (each := scene.reference(kind)) and each.value <= scene.top
    ]
    for reference in sorted(labels, key=lambda each: -each.value):
        valued = scene.flows < 2 and reference.kind in _EDGE_KINDS
        row = _row_from_bottom(reference.value, scene, height)
        rows = (row, row - 1, row + 1) if valued or reference.kind not in _EDGE_KINDS else (row,)
        free = next((at for at in rows if 0 <= at < height and at not in taken), None)
        if free is not None:
            name = reference.name.split()[0]
            taken[free] = [
                (f" {_short_figure(reference.value)} {name}" if valued else f" {name}", reference.kind)
            ]
    return {height - 1 - row: Line.of(*pieces) for row, pieces in taken.items()}


def _short_figure(value: float) -> str:
    """Format in at most four characters below a million, without exponent."""
    if value < 1:
        return f"{value:.2f}"
    if value >= 10_000:
        return f"{value / 1000:.0f}k"
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


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
