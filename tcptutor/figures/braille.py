"""Braille canvas of layers, two by four dots per cell: measured lines cover expected ones, dot by dot.

A layer stores an integer per column of dots, one bit per dot, so a line costs a few operations per column.
plotext, which draws the charts of commands, lets the last line color the whole cell and takes 18 times as long.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

ACROSS, DOWN = 2, 4
"""Dots per cell."""

_STEEP = 2
"""Dots that a line climbs or falls within a column from which it is steep."""

_LEFT = (0x40, 0x04, 0x02, 0x01)
_RIGHT = (0x80, 0x20, 0x10, 0x08)
_EMPTY = "\u2800"

Cell = tuple[str, str]
"""Braille character, or a glyph in its place, and its style."""


def _character(left: int, right: int) -> str:
    dots = sum(bit for at, bit in enumerate(_LEFT) if left >> at & 1)
    dots += sum(bit for at, bit in enumerate(_RIGHT) if right >> at & 1)
    return chr(ord(_EMPTY) + dots)


_CHARACTERS = [[_character(left, right) for right in range(16)] for left in range(16)]
_EVEN = sum(1 << bit for bit in range(0, 4096, 2))


class Pattern:
    """Dash pattern of a line, to distinguish lines without colors."""

    def __init__(
        self,
        name: str,
        keeps: Callable[[int], int],
        thick: bool = False,
        glyph: str = "",
        steep: bool = False,
    ) -> None:
        self.name, self.keeps, self.thick, self.steep = name, keeps, thick, steep
        """`keeps` returns the mask of the dots drawn in a column; `steep` draws steep parts whole."""
        self.glyph = glyph
        """Character in place of the dots of a level line."""
        self.density = (1 + thick) * sum((keeps(column) & 3).bit_count() for column in range(12)) / 24
        """Share of a line's dots that are drawn; 2 for a line of two rows without gaps."""


def _periodic(period: int, *kept: int) -> Callable[[int], int]:
    return lambda column: -1 if column % period in kept else 0


def _checkerboard(column: int) -> int:
    return _EVEN << (column & 1)


SOLID = Pattern("solid", lambda _column: -1)
DASHED = Pattern("dashed", _periodic(4, 0, 1, 2))
DOTTED = Pattern("dotted", _checkerboard)
DASH_DOT = Pattern("dash-dot", _periodic(6, 0, 1, 2, 4))
GAPPED = Pattern("gapped", _periodic(6, 0, 1, 2, 3, 4))
SPARSE = Pattern("sparse", _periodic(4, 0))
SPACED = Pattern("spaced", _periodic(3, 0), steep=True)
"""A line at a third of the density."""

# No flow uses these characters.
RULE = Pattern("rule", _periodic(1, 0), glyph="┈")
HEAVY = Pattern("heavy", _periodic(4, 0, 1), glyph="━")


def thick(pattern: Pattern) -> Pattern:
    return Pattern(f"thick {pattern.name}", pattern.keeps, thick=True)


@dataclass
class Layer:
    """Dots of a line; rows count from the bottom."""

    style: str
    width: int
    height: int
    pattern: Pattern = SOLID
    columns: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.columns = [0] * self.width

    def span(self, column: int, low: int, high: int) -> None:
        """Set the dots of a column from `low` to `high`, both included, clipped to the layer."""
        low, high = max(0, low), min(self.height - 1, high)
        if high < low or not 0 <= column < self.width:
            return
        bits = ((1 << (high - low + 1)) - 1) << low
        if self.pattern.thick:
            bits |= bits << 1 if high < self.height - 1 else bits >> 1
        is_whole = self.pattern.steep and high - low >= _STEEP
        self.columns[column] |= bits if is_whole else bits & self.pattern.keeps(column)

    def line(self, points: Sequence[tuple[float, float]]) -> None:
        """Draw a polyline through (column, row) points in dots, ordered by column."""
        for (x, y), (x2, y2) in pairwise(points):
            first, last = round(x), round(x2)
            if first == last:
                self.span(first, round(min(y, y2)), round(max(y, y2)))
                continue
            slope = (y2 - y) / (x2 - x)
            # Each column shows the line from half a dot left to half a dot right of its middle.
            for column in range(max(first, 0), min(last, self.width - 1) + 1):
                ends = [y + slope * (min(max(at, x), x2) - x) for at in (column - 0.5, column + 0.5)]
                low, high = sorted(round(end) for end in ends)
                self.span(column, low, high)

    def cell(self, column: int, row: int) -> tuple[int, int]:
        """Return the left and right four dots of a cell; rows of cells count from the bottom."""
        at = ACROSS * column
        shift = DOWN * row
        return self.columns[at] >> shift & 15, self.columns[at + 1] >> shift & 15


def compose(
    background: Sequence[Layer], flows: Sequence[Layer], width: int, height: int
) -> list[list[Cell | None]]:
    """Return rows of cells from the top, None for an empty cell.

    The topmost layer with dots fills a cell, unless a flow has dots there. Where flows overlap, the cell has
    the dots of all, in the color of the flow with the longest line in it, alternating among equals.
    """
    rows: list[list[Cell | None]] = [[None] * width for _ in range(height)]
    for column in range(width):
        at = ACROSS * column
        above = [(number, layer) for number, layer in enumerate(flows) if _has_dots(layer, at)]
        below = [layer for layer in reversed(background) if _has_dots(layer, at)]
        if not (above or below):
            continue
        for row in range(height):
            cell = _flow_cell(above, column, row) or next(_background_cells(below, column, row), None)
            if cell is not None:
                rows[height - 1 - row][column] = cell
    return rows


def _has_dots(layer: Layer, at: int) -> bool:
    return bool(layer.columns[at] or layer.columns[at + 1])


def _flow_cell(flows: Sequence[tuple[int, Layer]], column: int, row: int) -> Cell | None:
    left = right = 0
    best, best_rank = None, (0.0, 0)
    for number, layer in flows:
        own = layer.cell(column, row)
        dots = own[0].bit_count() + own[1].bit_count()
        if not dots:
            continue
        left, right = left | own[0], right | own[1]
        # A dotted line is as long as a solid one with twice its dots.
        rank = dots / layer.pattern.density, (number + column) % len(flows)
        if rank > best_rank:
            best, best_rank = layer, rank
    return (_CHARACTERS[left][right], best.style) if best is not None else None


def _background_cells(layers: Sequence[Layer], column: int, row: int) -> Iterator[Cell]:
    for layer in layers:
        left, right = layer.cell(column, row)
        if left or right:
            level = left.bit_count() < 2 and right.bit_count() < 2
            yield (layer.pattern.glyph if level else "") or _CHARACTERS[left][right], layer.style
