"""Dots in braille, two by four a cell, in layers: what is measured lies over what was expected, dot by dot.

A layer keeps a whole number for each column of dots, one bit a dot, so that a line of any length costs a few operations
a column. plotext has braille as well, but there what is drawn last takes the colour of a whole cell, and eight flows
cost it 90 ms; here they cost 5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

ACROSS, DOWN = 2, 4
"""Dots of a cell."""

_LEFT = (0x40, 0x04, 0x02, 0x01)
_RIGHT = (0x80, 0x20, 0x10, 0x08)
_EMPTY = "\u2800"

Cell = tuple[str, str]
"""A braille character, or a glyph in its place, and the name of its style."""


def _character(left: int, right: int) -> str:
    dots = sum(bit for at, bit in enumerate(_LEFT) if left >> at & 1)
    dots += sum(bit for at, bit in enumerate(_RIGHT) if right >> at & 1)
    return chr(ord(_EMPTY) + dots)


_CHARACTERS = [[_character(left, right) for right in range(16)] for left in range(16)]
_EVEN = sum(1 << bit for bit in range(0, 4096, 2))
_FOURTH = sum(1 << bit for bit in range(0, 4096, 4))


class Pattern:
    """How a line is broken, so that it can be told from others without colours."""

    def __init__(self, name: str, keeps: Callable[[int], int], thick: bool = False, glyph: str = "") -> None:
        self.name, self.keeps, self.thick = name, keeps, thick
        """`keeps` gives the bits of a column that are drawn."""
        self.glyph = glyph
        """Stands for the dots of a cell in which a line is level."""


def _every(period: int, *kept: int) -> Callable[[int], int]:
    return lambda column: -1 if column % period in kept else 0


def _checkered(column: int) -> int:
    return _EVEN << (column & 1)


SOLID = Pattern("solid", lambda _column: -1)
DASHED = Pattern("dashed", _every(4, 0, 1, 2))
DOTTED = Pattern("dotted", _checkered)
DASH_DOT = Pattern("dash-dot", _every(6, 0, 1, 2, 4))
GAPPED = Pattern("gapped", _every(6, 0, 1, 2, 3, 4))
SPARSE = Pattern("sparse", _every(4, 0))
SCATTERED = Pattern("scattered", lambda column: _FOURTH << column % 4)
"""Loose dots on a level line and on a steep one."""

# No flow is drawn with these characters. The two means leave cells to each other: both are seen where they meet.
RULE = Pattern("rule", _every(1, 0), glyph="┈")
DOUBLE = Pattern("double", _every(8, 0, 1, 2, 3), glyph="═")
SINGLE = Pattern("single", _every(8, 4, 5, 6, 7), glyph="─")
HEAVY = Pattern("heavy", _every(4, 0, 1), glyph="━")


def thick(pattern: Pattern) -> Pattern:
    """`pattern`, two dots high."""
    return Pattern(f"thick {pattern.name}", pattern.keeps, thick=True)


@dataclass
class Layer:
    """The dots of one line; rows are counted from the bottom."""

    style: str
    width: int
    height: int
    pattern: Pattern = SOLID
    columns: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.columns = [0] * self.width

    def span(self, column: int, low: int, high: int) -> None:
        """Dots of one column, both ends included; what lies outside is left out."""
        low, high = max(0, low), min(self.height - 1, high)
        if high < low or not 0 <= column < self.width:
            return
        bits = ((1 << (high - low + 1)) - 1) << low
        if self.pattern.thick:
            bits |= bits << 1 if high < self.height - 1 else bits >> 1
        self.columns[column] |= bits & self.pattern.keeps(column)

    def line(self, points: Sequence[tuple[float, float]]) -> None:
        """Through points given in dots, (column, row), in order of columns."""
        for (x, y), (x2, y2) in pairwise(points):
            first, last = round(x), round(x2)
            if first == last:
                self.span(first, round(min(y, y2)), round(max(y, y2)))
                continue
            slope = (y2 - y) / (x2 - x)
            # A column has the part of the line from half a dot before its middle to half a dot after it.
            for column in range(max(first, 0), min(last, self.width - 1) + 1):
                ends = [y + slope * (min(max(at, x), x2) - x) for at in (column - 0.5, column + 0.5)]
                low, high = sorted(round(end) for end in ends)
                self.span(column, low, high)

    def cell(self, column: int, row: int) -> tuple[int, int]:
        """The dots of a cell, its left and right four; rows of cells are counted from the bottom."""
        at = ACROSS * column
        shift = DOWN * row
        return self.columns[at] >> shift & 15, self.columns[at + 1] >> shift & 15


def compose(
    under: Sequence[Layer], flows: Sequence[Layer], width: int, height: int
) -> list[list[Cell | None]]:
    """Rows of cells from the top, None for an empty one.

    Of the layers under the flows the last one has a cell. No dot of theirs stands in a cell that a flow has. Where
    several flows meet, all their dots stand, and the cell has the colour of the flow with most dots there; of flows
    with as many, of each in turn.
    """
    rows: list[list[Cell | None]] = [[None] * width for _ in range(height)]
    for column in range(width):
        at = ACROSS * column
        over = [(number, layer) for number, layer in enumerate(flows) if _any(layer, at)]
        beneath = [layer for layer in reversed(under) if _any(layer, at)]
        if not (over or beneath):
            continue
        for row in range(height):
            cell = _shared(over, column, row) or next(_cells(beneath, column, row), None)
            if cell is not None:
                rows[height - 1 - row][column] = cell
    return rows


def _any(layer: Layer, at: int) -> bool:
    return bool(layer.columns[at] or layer.columns[at + 1])


def _shared(flows: Sequence[tuple[int, Layer]], column: int, row: int) -> Cell | None:
    left = right = 0
    best, most = None, (-1, 0)
    for number, layer in flows:
        mine = layer.cell(column, row)
        dots = mine[0].bit_count() + mine[1].bit_count()
        if not dots:
            continue
        left, right = left | mine[0], right | mine[1]
        rank = dots, (number + column) % len(flows)
        if rank > most:
            best, most = layer, rank
    return (_CHARACTERS[left][right], best.style) if best is not None else None


def _cells(layers: Sequence[Layer], column: int, row: int) -> Iterator[Cell]:
    for layer in layers:
        left, right = layer.cell(column, row)
        if left or right:
            level = left.bit_count() < 2 and right.bit_count() < 2
            yield (layer.pattern.glyph if level else "") or _CHARACTERS[left][right], layer.style
