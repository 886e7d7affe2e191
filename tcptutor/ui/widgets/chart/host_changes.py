"""Marks of the instants at which the algorithm, the MTU or the number of streams changes during a run."""

from __future__ import annotations

from tcptutor.figures import braille
from tcptutor.figures.lines import MUTED
from tcptutor.ui.widgets.chart.scene import Scene

_LINE = "│"


def write_marks(cells: list[list[braille.Cell | None]], scene: Scene, across: int, covered: str) -> None:
    """Draw a line at each change, behind curves, and write its text next to it in a free row.

    Args:
        cells: Rows of the chart from the top, changed in place.
        scene: The scene.
        across: Columns of the chart.
        covered: Style of cells that the mark may cover.
    """
    for t, text in scene.host_changes:
        column = round(scene.share(t) * across)
        if not 0 <= column < across:
            continue
        for row in cells:
            if _is_free(row[column], covered):
                row[column] = (_LINE, MUTED)
        for start in (column + 1, column - len(text)):
            end = start + len(text)
            if start < 0 or end > across:
                continue
            free = [row for row in cells if all(_is_free(cell, covered) for cell in row[start:end])]
            if free:
                free[0][start:end] = [(letter, MUTED) for letter in text]
                break


def _is_free(cell: braille.Cell | None, covered: str) -> bool:
    return cell is None or cell[1] == covered
