"""Figures of pages for a room: as wide and as high as they can be, with thick curves."""

from __future__ import annotations

from typing import NamedTuple

from tcptutor.figures.figure import MIN_WIDTH, Figure
from tcptutor.figures.lines import Line
from tcptutor.ui.present.block_raster import QUADRANTS

_NARROWER = 4
"""Columns by which a figure that is too high is tried narrower."""
_BRAILLE = 0x2800
_QUARTERS = (0b0000_0011, 0b0001_1000, 0b0100_0100, 0b1010_0000)
"""Dots of a braille character in each quarter of its cell: upper left, upper right, lower left, lower right."""


class FittedFigure(NamedTuple):
    """A figure at the size at which it fills a slide."""

    figure: Figure
    columns: int

    def draw(self, t: float | None = None) -> list[Line]:
        """Return the lines at an instant of its motion; None for the most telling."""
        motion = self.figure.motion
        at = t if t is not None else motion.rest if motion else 0.0
        return [_thick(line) for line in self.figure.draw(self.columns, at)]


def fit(figure: Figure, width: int, rows: int) -> FittedFigure:
    """Return the widest form of a figure with at most `rows` lines, as high as they allow; too high if none has."""
    widths = range(max(MIN_WIDTH, width), MIN_WIDTH - 1, -_NARROWER)
    columns = next((each for each in widths if len(figure.draw(each)) <= rows), widths[0])
    return FittedFigure(figure.taller(rows - len(figure.draw(columns))), columns)


def _thick(line: Line) -> Line:
    """Return a line with quadrant blocks in place of braille dots."""
    return Line("".join(map(_block, line.text)), line.styles)


def _block(character: str) -> str:
    dots = ord(character) - _BRAILLE
    if not 0 <= dots < 256:
        return character
    return QUADRANTS[sum(1 << at for at, quarter in enumerate(_QUARTERS) if dots & quarter)]
