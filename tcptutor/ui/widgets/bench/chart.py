"""The chart as lines: flows over limits and expectations, dot by dot, between axes, with each line's name beside it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from math import isnan

from tcptutor.ui.widgets.bench import axes, canvas
from tcptutor.ui.widgets.bench.canvas import Layer, Pattern
from tcptutor.ui.widgets.bench.history import STEPS
from tcptutor.ui.widgets.bench.lines import MUTED, STRONG, TEXT, Line, Piece
from tcptutor.ui.widgets.bench.scene import FlowCurve, GuideLine, Kind, Scene

LEAST = 8
"""Lines of a chart in which flows can be told apart."""

AXIS, GRID, BAND = "axis", "grid", "band"

FLOW_PATTERNS: tuple[Pattern, ...] = (
    canvas.SOLID, canvas.DASHED, canvas.DOTTED, canvas.DASH_DOT,
    canvas.thick(canvas.SOLID), canvas.thick(canvas.DASHED), canvas.thick(canvas.DOTTED), canvas.GAPPED,
)  # fmt: skip
"""One for each flow; with its hue it says which one it is."""

_PATTERNS: dict[Kind, Pattern] = {
    "limit": canvas.RULE,
    "course": canvas.SCATTERED,
    "forecast": canvas.SOLID,
    "expected": canvas.DOUBLE,
    "mean": canvas.SINGLE,
    "you": canvas.HEAVY,
}
"""From the lowest layer to the highest."""

_SAMPLES: dict[Kind, str] = {
    "limit": "┈┈", "course": "⠠ ⠠", "forecast": "⠤⠤⠤", "expected": "══", "mean": "──", "you": "━ ━",
}  # fmt: skip

_COURSES = ("course", "forecast")
"""They are shown as far as the axis goes, wherever they end."""

_ENDS: tuple[Kind, ...] = ("expected", "mean")
"""Of these only the end is drawn, at the right edge: a mean through the data hides them."""

_END = 3
"""Cells of such an end."""

_WARMUP = "warm-up"

_TOOTH = (12, 12)
"""Columns of each tooth and lines of the chart from which on an expected course can be told from noise."""


def flow_style(number: int) -> str:
    """The name of a flow's hue."""
    return f"flow-{number % len(FLOW_PATTERNS) + 1}"


BEFORE = "before"
"""The style of a run that this one was changed from."""


def _style(curve: FlowCurve, number: int) -> str:
    return MUTED if curve.faint else flow_style(number)


def drawn(scene: Scene, width: int, height: int, ruled: bool) -> list[Line]:
    """`height` lines of the chart itself, then the time axis in one or two."""
    across = axes.columns(width)
    layers = _under(scene, across, height)
    layers += [_curve(each, 0, scene.top, across, height, BEFORE) for each in scene.earlier]
    flows = [_curve(curve, number, scene.top, across, height) for number, curve in enumerate(scene.curves)]
    cells = canvas.compose(layers, flows, across, height)
    frame = axes.frame(
        across, height, axes.times(scene.seconds, across, scene.start), _names(scene, height), ruled
    )
    _name_warmup(cells, scene, across)
    beside = _beside(scene, height)
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
        lines.append(line.and_at(axes.GUTTER + across, beside[number]) if number in beside else line)
    return lines


def readable(scene: Scene, width: int, height: int) -> Scene:
    """Without the course that is expected where it would be a few loose dots."""
    course = scene.reference("course")
    falls = sum(later < value for (_, value), (_, later) in pairwise(course.points)) if course else 0
    if height >= _TOOTH[1] and axes.columns(width) >= _TOOTH[0] * (falls + 1):
        return scene
    return replace(scene, references=tuple(each for each in scene.references if each.kind != "course"))


def title(scene: Scene, width: int) -> Line:
    """What the axis is, which line is which, and what is cut off."""
    head: list[Piece] = [(scene.quantity, STRONG)]
    lines: list[list[Piece]] = []
    if scene.earlier:
        lines.append([("   ", TEXT), ("⠤⠤", BEFORE), (f" {scene.earlier[0].name}", TEXT)])
    # A single flow leaves room beside the chart for the names of the means.
    means: tuple[Kind, ...] = () if scene.flows < 2 else _ENDS
    if scene.flows < 2 and (end := scene.reference("mean") or scene.reference("expected")):
        lines.append([("   ", TEXT), (_SAMPLES[end.kind], end.kind), (" means", TEXT)])
    for kind in (*means, "you", "course", "forecast"):
        if (found := scene.reference(kind)) and (kind in _COURSES or found.value <= scene.top):
            lines.append([("   ", TEXT), (_SAMPLES[kind], kind), (f" {found.name}", TEXT)])
    above = [
        f"{each.name} {_short(each.value)}"
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
        longer = [*pieces, *part]
        if sum(len(text) for text, _ in longer) <= width:
            pieces = longer
    return Line.of(*pieces)


def _under(scene: Scene, across: int, height: int) -> list[Layer]:
    """From the lowest to the highest."""
    width, dots = canvas.ACROSS * across, canvas.DOWN * height
    grid = Layer(GRID, width, dots, canvas.SPARSE)
    for row, _ in _ticks(scene, height):
        if row:
            grid.span(0, row * canvas.DOWN, row * canvas.DOWN)
            for column in range(0, width, 4):
                grid.span(column, row * canvas.DOWN + 1, row * canvas.DOWN + 1)
    layers = [grid]
    if 0 < scene.share(scene.warmup) < 1 and scene.warmup:
        # Where the measured time begins.
        start = Layer(GRID, width, dots, canvas.DOTTED)
        start.span(round(scene.share(scene.warmup) * (width - 1)), 0, dots - 1)
        layers.append(start)
    for kind, pattern in _PATTERNS.items():
        for reference in scene.references:
            if reference.kind == kind:
                layer = Layer(kind, width, dots, pattern)
                layer.line(_in_dots(reference, scene, width, dots))
                layers.append(layer)
    if scene.band is not None:
        layers.append(_filled(scene.band, scene.top, width, dots))
    return layers


def _in_dots(reference: GuideLine, scene: Scene, width: int, dots: int) -> list[tuple[float, float]]:
    points = [
        (scene.share(t) * (width - 1), value * ((dots - 1) / scene.top)) for t, value in reference.points
    ]
    if reference.kind not in _ENDS:
        return points
    height = points[-1][1]
    return [(max(0.0, width - _END * canvas.ACROSS), height), (width - 1, height)]


def _curve(curve: FlowCurve, number: int, top: float, across: int, height: int, style: str = "") -> Layer:
    width, dots = canvas.ACROSS * across, canvas.DOWN * height
    layer = Layer(style or _style(curve, number), width, dots, FLOW_PATTERNS[number % len(FLOW_PATTERNS)])
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


def _filled(band: FlowCurve, top: float, width: int, dots: int) -> Layer:
    layer = Layer(BAND, width, dots, canvas.DOTTED)
    for column, low, high in _spans(band, top, width, dots):
        layer.span(column, low, high)
    return layer


def _spans(curve: FlowCurve, top: float, width: int, dots: int) -> Iterator[tuple[int, int, int]]:
    """(column, lowest dot, highest dot) of the columns in which something was measured."""
    scale = (dots - 1) / top
    for column in range(width):
        first = column * STEPS // width
        steps = slice(first, max(first + 1, (column + 1) * STEPS // width))
        low = min((value for value in curve.low[steps] if not isnan(value)), default=math.inf)
        if low < math.inf:
            high = max(value for value in curve.high[steps] if not isnan(value))
            yield column, min(dots - 1, round(low * scale)), min(dots - 1, round(high * scale))


def _row(value: float, scene: Scene, height: int) -> int:
    """The line of a value, from the bottom."""
    dots = canvas.DOWN * height
    return min(height - 1, round(value * ((dots - 1) / scene.top)) // canvas.DOWN)


def _ticks(scene: Scene, height: int) -> list[tuple[int, str]]:
    values = axes.ticks(scene.top, max(2, height // 3))
    return [(_row(value, scene, height), f"{value:g}") for value in values]


def _names(scene: Scene, height: int) -> axes.Ticks:
    """Limits at their places, then numbers where there is room."""
    limits = [
        (
            _row(each.value, scene, height),
            f"{each.name} {_short(each.value)}" if len(each.name) < 6 else each.name,
        )
        for each in scene.references
        if each.kind == "limit" and each.value <= scene.top
    ]
    named = axes.free_rows(sorted(limits), height)
    taken = {row for row, _ in named}
    return tuple(sorted([*named, *(tick for tick in _ticks(scene, height) if tick[0] not in taken)]))


def _name_warmup(cells: list[list[canvas.Cell | None]], scene: Scene, across: int) -> None:
    """Write the word left of the line at which the measured time begins, else right of it, where nothing is drawn."""
    share = scene.share(scene.warmup)
    if not (scene.warmup and 0 < share < 1):
        return
    column = round(share * (canvas.ACROSS * across - 1)) // canvas.ACROSS
    for start, name in ((column - len(_WARMUP), _WARMUP), (column + 1, f"◂{_WARMUP}")):
        if start < 0 or start + len(name) > across:
            continue
        for row in cells[: len(cells) // 2]:
            if all(cell is None or cell[1] == GRID for cell in row[start : start + len(name)]):
                row[start : start + len(name)] = [(letter, MUTED) for letter in name]
                return


def _beside(scene: Scene, height: int) -> dict[int, Line]:
    """Names right of the chart, by line from the top: flows near the ends of their lines, then what was not measured.

    With several flows the title names the means with their values; a name one line off would be read as another value.
    """
    flows = _flow_names(scene, height)
    taken = dict(_placed(flows, height))
    wanted = [each for kind in ("you", *_ENDS) if (each := scene.reference(kind)) and each.value <= scene.top]
    for found in sorted(wanted, key=lambda each: -each.value):
        valued = scene.flows < 2 and found.kind in _ENDS
        row = _row(found.value, scene, height)
        rows = (row, row - 1, row + 1) if valued or found.kind not in _ENDS else (row,)
        free = next((at for at in rows if 0 <= at < height and at not in taken), None)
        if free is not None:
            name = found.name.split()[0]
            taken[free] = [(f" {_short(found.value)} {name}" if valued else f" {name}", found.kind)]
    return {height - 1 - row: Line.of(*pieces) for row, pieces in taken.items()}


def _short(value: float) -> str:
    """In at most four characters below a million, never as a power of ten."""
    if value < 1:
        return f"{value:.2f}"
    if value >= 10_000:
        return f"{value / 1000:.0f}k"
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _flow_names(scene: Scene, height: int) -> list[tuple[int, list[Piece]]]:
    """Wanted rows from the bottom; over those that have a share stands that word."""
    if scene.flows < 2:
        return []
    wanted: list[tuple[int, list[Piece]]] = []
    shares = False
    for number, curve in enumerate(scene.curves):
        value = next((value for value in reversed(curve.last) if not isnan(value)), 0.0)
        name = f" {sample(number)} {curve.name}"
        figure = f" {curve.figure}" if curve.figure and len(f"{name} {curve.figure}") <= axes.MARGIN else ""
        shares = shares or bool(figure)
        # While a run goes on, names that follow their lines would be written again all the time.
        row = _row(value, scene, height) if scene.ended else height - 1 - number
        wanted.append((row, [(name, _style(curve, number)), (figure, TEXT)]))
    if shares and len(wanted) < height:
        # Placed in order, it comes right above the highest of them.
        wanted.append((max(row for row, _ in wanted) + 1, [(" flow, share", MUTED)]))
    return wanted


def sample(number: int) -> str:
    """A piece of a flow's line."""
    layer = Layer("", 3 * canvas.ACROSS, canvas.DOWN, FLOW_PATTERNS[number % len(FLOW_PATTERNS)])
    for column in range(layer.width):
        layer.span(column, 1, 1)
    (cells,) = canvas.compose([], [layer], 3, 1)
    return "".join(cell[0] if cell else " " for cell in cells)


def _placed(wanted: Sequence[tuple[int, list[Piece]]], height: int) -> list[tuple[int, list[Piece]]]:
    """Each in a line of its own, as near to its place as the order allows; the first ones where not all fit."""
    kept = sorted(wanted[:height], key=lambda each: each[0])
    rows = [row for row, _ in kept]
    for at in range(1, len(rows)):
        rows[at] = max(rows[at], rows[at - 1] + 1)
    top = height - 1
    for at in range(len(rows) - 1, -1, -1):
        rows[at] = min(rows[at], top)
        top = rows[at] - 1
    return [(row, pieces) for row, (_, pieces) in zip(rows, kept, strict=True)]
