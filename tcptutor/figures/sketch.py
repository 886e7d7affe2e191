"""Sketches of a shape: a curve over two axes without numbers, or bars of shares."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tcptutor.figures import braille
from tcptutor.figures.braille import DOTTED, SOLID, Layer
from tcptutor.figures.grid import Grid
from tcptutor.figures.lines import DATA, FRAME, MUTED, TEXT, Line

Points = Sequence[tuple[float, float]]
"""Corners of a line from left to right; both coordinates from 0 to 1."""

HEIGHT = 5
"""Rows of a curve with its axis."""


def curve(points: Points, reference: Points, width: int) -> list[Line]:
    """Draw a line, with a dotted `reference` to compare it with, in `width` columns."""
    across, down = width - 1, HEIGHT - 1
    grid = Grid(width, HEIGHT)
    grid.column_of(0, 0, down - 1, "│", FRAME)
    grid.put(0, down, "└" + "─" * across, FRAME)
    layers = [
        _layer(line, style, pattern, across, down)
        for line, style, pattern in ((reference, MUTED, DOTTED), (points, DATA, SOLID))
    ]
    for row, cells in enumerate(braille.compose(layers[:1], layers[1:], across, down)):
        for column, cell in enumerate(cells, start=1):
            if cell is not None:
                grid.put(column, row, *cell)
    return grid.lines()


def _layer(points: Points, style: str, pattern: braille.Pattern, across: int, down: int) -> Layer:
    layer = Layer(style, braille.ACROSS * across, braille.DOWN * down, pattern)
    layer.line([(x * (layer.width - 1), y * (layer.height - 1)) for x, y in points])
    return layer


def bars(shares: Mapping[str, float], width: int) -> list[Line]:
    """Draw a bar for each share, from 0 to 1; the largest reaches the right edge only if it is everything."""
    names = max(map(len, shares)) + 1
    return [
        Line.of((name.ljust(names), TEXT), ("█" * max(1, round(share * (width - names))), DATA))
        for name, share in shares.items()
    ]
