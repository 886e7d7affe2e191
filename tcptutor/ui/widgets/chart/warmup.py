"""Warm-up of a run: the time excluded from means, as a labeled, dim background of chart and strips."""

from __future__ import annotations

from tcptutor.figures import braille
from tcptutor.figures.lines import MUTED, Line
from tcptutor.ui.widgets.chart import axes
from tcptutor.ui.widgets.chart.scene import Scene

GROUND = ":warm-up"
"""Suffix of a style on the ground of the warm-up."""

_NAME = "warm-up"


def base_style(style: str) -> str:
    """Return the style without its ground."""
    return style.removesuffix(GROUND)


def columns(scene: Scene, across: int) -> int:
    """Return the columns of the time axis that belong to the warm-up."""
    share = min(1.0, max(0.0, scene.share(scene.warmup)))
    return max(1, round(share * across)) if share and scene.warmup else 0


def add_ground(line: Line, scene: Scene, across: int) -> Line:
    """Return a line of the chart or of a strip with the ground under the warm-up."""
    end = axes.GUTTER + columns(scene, across)
    if end == axes.GUTTER:
        return line
    ground = tuple(f"{style}{GROUND}" for style in line.styles[axes.GUTTER : end])
    return Line(line.text, (*line.styles[: axes.GUTTER], *ground, *line.styles[end:]))


def write_name(cells: list[list[braille.Cell | None]], scene: Scene, across: int, covered: str) -> None:
    """Write "warm-up" on the background, or right of it if it is narrow, in a row without curves.

    An arrow points at the end of the warm-up, since a terminal's own colors have no dim background.

    Args:
        cells: Rows of the chart from the top, changed in place.
        scene: The scene.
        across: Columns of the chart.
        covered: Style of cells that the name may cover.
    """
    end = columns(scene, across)
    if not 0 < end < across:
        return
    for start, name in ((end - len(_NAME) - 2, f"{_NAME} ▸"), (end, f"◂ {_NAME}")):
        if start < 0 or start + len(name) > across:
            continue
        for row in cells:
            if all(
                cell is None or cell[1] == covered for cell in row[max(0, start - 1) : start + len(name) + 1]
            ):
                row[start : start + len(name)] = [(letter, MUTED) for letter in name]
                return
