"""The measured curve of a sweep for a room: large points over the model's line, few but large labels."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from tcptutor.base.chart import ratio_ticks
from tcptutor.course.activities.predict import Predict
from tcptutor.course.page_sweep import PageCell, models
from tcptutor.course.step import Step
from tcptutor.figures.axes import round_ticks
from tcptutor.figures.lines import DATA, MUTED, STRONG
from tcptutor.room.prepared import PreparedRuns
from tcptutor.study.live_sweep import LiveSweep
from tcptutor.ui.present.block_raster import ACROSS, DOWN, BlockRaster
from tcptutor.ui.present.large_text import Size
from tcptutor.ui.present.stage_canvas import StageCanvas
from tcptutor.ui.present.stage_figures import write_label
from tcptutor.ui.widgets.sweep.scene import CurveScene, scene_of

_LARGE_FROM = (96, 20)
"""Columns and lines from which labels are block letters."""
_LINES = {"formula": "expected", "models": "expected", "link": "limit"}
"""Style by kind of line."""
_DASH = 6
"""Pixels of a dash and its gap."""
_POINT = 2
"""Cells that a point is wide, and twice as many as it is high; doubled on a large canvas."""
_ENOUGH_NUMBERS = 0.6
"""Share of the values that is enough below the axis."""
AXIS = "axis"


def measure(module: str, page: Step, prepared: PreparedRuns) -> CurveScene | None:
    """Return the curve of a page's sweep from its prepared runs; None without any. Blocks for a second."""
    sweep = page.sweep
    if sweep is None:
        return None
    cells: list[PageCell] = prepared.points(sweep)
    if not cells:
        return None
    live = LiveSweep(module, page.id, sweep, cells=cells, models=models(sweep), state="ended")
    predict = next(iter(page.activities_of(Predict)), None)
    return scene_of(live, predict, None)


def draw(canvas: StageCanvas, scene: CurveScene) -> None:
    """Draw a curve as large as the canvas."""
    size: Size = 3 if (canvas.width, canvas.height) >= _LARGE_FROM and canvas.height >= _LARGE_FROM[1] else 1
    tall, small = canvas.text_height(size), canvas.text_height(1)
    top, lines = small + 1, canvas.height - 2 * small - tall - 2
    ticks = _vertical_ticks(scene, max(2, lines // (tall + 2)))
    names = [f"{value:.4g}" for value in ticks]
    gutter = max(canvas.text_width(name, size) for name in names) + 2
    margin = max((canvas.text_width(line.name, 1) for line in scene.lines), default=0) + 2
    across = canvas.width - gutter - margin
    if across < 8 or lines < 4:
        return
    canvas.write(0, 0, scene.quantity, STRONG)
    write_label(canvas, 0, "prepared")
    raster = BlockRaster(across, lines)
    _draw_lines(raster, scene)
    _draw_points(raster, scene, 2 if size > 1 else 1)
    canvas.write_lines(gutter, top, raster.lines())
    canvas.column_of(gutter - 1, top, top + lines - 1, "│", AXIS)
    for value, name in zip(ticks, names, strict=True):
        at = top + lines - 1 - round(scene.height(value) * (lines - 1))
        canvas.put(gutter - 1, at, "┤", AXIS)
        place = min(max(at - tall // 2, top), top + lines - tall)
        canvas.write(gutter - 2 - canvas.text_width(name, size), place, name, MUTED, size)
    _write_line_names(canvas, scene, gutter + across + 1, top, lines)
    _draw_axis(canvas, scene, gutter, top + lines, across, size)


def _vertical_ticks(scene: CurveScene, number: int) -> list[float]:
    if scene.bottom:
        return list(ratio_ticks(scene.bottom, scene.top, number))
    return list(round_ticks(scene.top, number))


def _draw_lines(raster: BlockRaster, scene: CurveScene) -> None:
    for line in reversed(scene.lines):
        points = scene.trajectory(line, raster.width)
        spans: list[tuple[float, float] | None] = [None] * raster.width
        for (left, low), (right, high) in pairwise(points):
            first, last = round(left * (raster.width - 1)), round(right * (raster.width - 1))
            for x in range(max(0, first), min(raster.width - 1, last) + 1):
                share = (x - first) / (last - first) if last > first else 1.0
                row = scene.height(low + share * (high - low)) * (raster.height - 1)
                spans[x] = row, row
        if line.kind == "link":
            spans = [span if x % _DASH < _DASH - ACROSS else None for x, span in enumerate(spans)]
            for x, span in enumerate(spans):
                if span is not None:
                    raster.span(x, *span, _LINES[line.kind])
        else:
            raster.thick_line(spans, _LINES[line.kind])


def _draw_points(raster: BlockRaster, scene: CurveScene, scale: int) -> None:
    wide, tall = ACROSS * _POINT * scale, DOWN * scale
    for number, (place, figures) in enumerate(zip(scene.places, scene.measured, strict=True)):
        if figures is None:
            continue
        style = MUTED if number in scene.suspect else DATA
        low, mean, high = (scene.height(value) * (raster.height - 1) for value in figures)
        x = round(place * (raster.width - 1))
        raster.span(x, low, high, style)
        # On whole cells, so that no point is torn by the line behind it.
        left = _on_cell(x - (wide - 1) / 2, ACROSS, raster.width - wide)
        # A line covers its row and the one above.
        bottom = _on_cell(mean + 0.5 - (tall - 1) / 2, DOWN, raster.height - tall)
        for each in range(left, left + wide):
            raster.span(each, bottom, bottom + tall - 1, style)


def _on_cell(pixel: float, cell: int, most: int) -> int:
    return min(max(0, round(pixel / cell) * cell), most)


def _write_line_names(canvas: StageCanvas, scene: CurveScene, column: int, top: int, lines: int) -> None:
    taken: set[int] = set()
    tall = canvas.text_height(1)
    for line in scene.lines:
        at = top + lines - 1 - round(scene.height(line.values[-1]) * (lines - 1))
        rows = (set(range(place, place + tall)) for place in (at, at - tall, at + tall))
        free = next((each for each in rows if not each & taken and min(each) >= top - 1), None)
        if free is not None:
            taken |= free
            canvas.write(column, min(free), line.name, _LINES[line.kind])


def _draw_axis(
    canvas: StageCanvas, scene: CurveScene, column: int, row: int, across: int, size: Size
) -> None:
    """Draw the horizontal axis with the values of the runs, its name, and the knee."""
    canvas.put(column - 1, row, "└" + "─" * across, AXIS)
    centers = [column + round(place * (across - 1)) for place in scene.places]
    for center in centers:
        canvas.put(center, row, "┬", AXIS)
    placed = _place_names(canvas, scene, centers, size)
    # Numbers in a row explain each other, but every name has to be read.
    are_numbers = all(name.replace(".", "").isdigit() for name in scene.ticks)
    if size > 1 and len(placed) < (_ENOUGH_NUMBERS if are_numbers else 1) * len(scene.ticks):
        size = 1
        placed = _place_names(canvas, scene, centers, size)
    for start, name in placed:
        canvas.write(start, row + 1, name, MUTED, size)
    below = row + 1 + canvas.text_height(size)
    canvas.write(canvas.width - canvas.text_width(scene.axis, 1), below, scene.axis, MUTED)
    if scene.knee is not None:
        knee = f"knee of the runs at {scene.ticks[scene.knee]}"
        if scene.expected_knee is not None:
            knee += f", of the model at {scene.ticks[scene.expected_knee]}"
        canvas.write(column, below, knee, STRONG)


def _place_names(
    canvas: StageCanvas, scene: CurveScene, centers: Sequence[int], size: Size
) -> list[tuple[int, str]]:
    """Return the first columns of the axis' values that have room, from the left."""
    placed: list[tuple[int, str]] = []
    end = -1
    for center, name in zip(centers, scene.ticks, strict=True):
        wide = canvas.text_width(name, size)
        start = max(0, min(center - wide // 2, canvas.width - wide))
        if start > end:
            placed.append((start, name))
            end = start + wide
    return placed
