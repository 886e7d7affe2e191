"""Chart of a run for a room: thick lines, few but large labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import ceil, floor, isnan

from tcptutor.figures.axes import round_ticks
from tcptutor.figures.lines import MUTED, STRONG
from tcptutor.ui.present.block_raster import ACROSS, BlockRaster
from tcptutor.ui.present.large_text import Size
from tcptutor.ui.present.stage_canvas import StageCanvas
from tcptutor.ui.widgets.chart import axes
from tcptutor.ui.widgets.chart.chart import flow_style
from tcptutor.ui.widgets.chart.scene import FlowCurve, GuideLine, Kind, Scene

_LARGE_FROM = (96, 16)
"""Columns and lines from which the labels of the vertical axis are block letters."""
_GUIDES: tuple[Kind, ...] = ("limit", "expected", "you")
"""Kinds of reference lines to show if they are within the axis."""
_DASH = 6
"""Pixels of a dash and its gap."""
BAND = "band"
AXIS = "axis"


def draw(canvas: StageCanvas, scene: Scene, column: int, row: int, width: int, height: int) -> None:
    """Draw a scene into a rectangle of the canvas: title, chart, time axis."""
    size: Size = 3 if (width, height) >= _LARGE_FROM and height >= _LARGE_FROM[1] else 1
    label_height = canvas.text_height(1)
    top, lines = row + label_height, height - 2 * label_height - 1
    ticks = round_ticks(scene.top, max(1, lines // (2 + canvas.text_height(size))))
    names = [f"{value:.4g}" for value in ticks]
    gutter = max(canvas.text_width(name, size) for name in names) + 2
    guides = _guides(scene)
    margin = max((canvas.text_width(guide.name, 1) for guide in guides), default=0) + 2 if guides else 1
    across = width - gutter - margin
    if across < 8 or lines < 4:
        return
    peak = f"   ▲ {axes.short_figure(scene.peak)}" if scene.peak else ""
    canvas.write(column, row, scene.quantity + peak, STRONG)
    raster = BlockRaster(across, lines)
    _draw_curves(raster, scene, guides)
    canvas.write_lines(column + gutter, top, raster.lines())
    canvas.column_of(column + gutter - 1, top, top + lines - 1, "│", AXIS)
    for value, name in zip(ticks, names, strict=True):
        at = top + lines - 1 - round(value / scene.top * (lines - 1))
        canvas.put(column + gutter - 1, at, "┤", AXIS)
        tall = canvas.text_height(size)
        place = min(max(at - tall // 2, top), top + lines - tall)
        canvas.write(column + gutter - 2 - canvas.text_width(name, size), place, name, MUTED, size)
    _write_guide_names(canvas, scene, guides, column + gutter + across + 1, top, lines)
    _draw_time_axis(canvas, scene, column + gutter, top + lines, across)


def _draw_curves(raster: BlockRaster, scene: Scene, guides: Sequence[GuideLine]) -> None:
    if scene.band is not None:
        for x, span in enumerate(_spans(scene.band, scene, raster)):
            if span is not None:
                raster.span(x, *span, BAND)
    for guide in guides:
        _draw_guide(raster, scene, guide)
    for curve in scene.original:
        raster.thick_line(_spans(curve, scene, raster), MUTED)
    for number, curve in enumerate(scene.curves):
        style = scene.hue or (MUTED if curve.faint else flow_style(number))
        raster.thick_line(_spans(curve, scene, raster), style)


def _guides(scene: Scene) -> list[GuideLine]:
    shown = [each for each in scene.references if each.kind in _GUIDES and each.value <= scene.top]
    return shown if scene.flows == 1 else [each for each in shown if each.kind == "limit"]


def _draw_guide(raster: BlockRaster, scene: Scene, guide: GuideLine) -> None:
    for (start, low), (end, high) in pairwise(guide.points):
        first = max(0, round(scene.share(start) * (raster.width - 1)))
        last = min(raster.width - 1, round(scene.share(end) * (raster.width - 1)))
        for x in range(first, last + 1):
            share = (x - first) / (last - first) if last > first else 1.0
            if x % _DASH < _DASH - ACROSS:
                y = (low + share * (high - low)) / scene.top * (raster.height - 1)
                raster.span(x, y, y, guide.kind)


def _spans(curve: FlowCurve, scene: Scene, raster: BlockRaster) -> list[tuple[float, float] | None]:
    """Return the rows that a curve covers in each column of pixels, interpolated between its samples."""
    steps, scale = len(curve.last), (raster.height - 1) / scene.top
    found: list[tuple[float, float] | None] = []
    for x in range(raster.width):
        part = slice(floor(x * steps / raster.width), ceil((x + 1) * steps / raster.width))
        low = [value for value in curve.low[part] if not isnan(value)]
        high = [value for value in curve.high[part] if not isnan(value)]
        found.append((min(low) * scale, max(high) * scale) if low and high else None)
    known = [x for x, span in enumerate(found) if span is not None]
    for left, right in pairwise(known):
        start, end = found[left], found[right]
        assert start is not None and end is not None
        for x in range(left + 1, right):
            share = (x - left) / (right - left)
            middle = (1 - share) * sum(start) / 2 + share * sum(end) / 2
            found[x] = middle, middle
    return found


def _write_guide_names(
    canvas: StageCanvas, scene: Scene, guides: Sequence[GuideLine], column: int, top: int, lines: int
) -> None:
    taken: set[int] = set()
    tall = canvas.text_height(1)
    for guide in sorted(guides, key=lambda each: each.value):
        at = top + lines - 1 - round(guide.value / scene.top * (lines - 1))
        rows = (set(range(place, place + tall)) for place in (at, at - tall, at + tall))
        free = next((each for each in rows if not each & taken and min(each) >= top - 1), None)
        if free is not None and max(free) < top + lines:
            taken |= free
            canvas.write(column, min(free), guide.name, guide.kind)


def _draw_time_axis(canvas: StageCanvas, scene: Scene, column: int, row: int, across: int) -> None:
    canvas.put(column - 1, row, "└" + "─" * across, AXIS)
    ticks = axes.time_ticks(scene.seconds, across, scene.start)
    wide = max(canvas.text_width(name, 1) for _, name in ticks) + 2
    apart = ticks[1][0] - ticks[0][0] if len(ticks) > 1 else across
    shown = ticks[:: ceil(wide / apart)]
    for at, name in shown:
        label = f"{name.removesuffix(' s')} s" if at == shown[-1][0] else name
        left = column + at - canvas.text_width(name, 1) // 2
        canvas.put(column + at, row, "┬", AXIS)
        canvas.write(min(left, canvas.width - canvas.text_width(label, 1)), row + 1, label, MUTED)
