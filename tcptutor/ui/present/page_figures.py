"""Figures of pages for a room: as wide and as high as they can be, with thick curves."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from tcptutor.figures.figure import MIN_WIDTH, Figure
from tcptutor.figures.lettering import PLAIN, Lettering
from tcptutor.figures.lines import Line
from tcptutor.ui.present import large_text
from tcptutor.ui.present.block_raster import QUADRANTS

_NARROWER = 4
"""Columns by which to narrow a figure that is too high."""
_ROOMY, _WIDE_FROM = 96, 150
"""Columns from which axis labels use large letters, narrow and wide."""
_NARROW, _WIDE = (
    Lettering(
        large_text.height(size),
        partial(large_text.width, size=size),
        partial(large_text.draw, size=size),
    )
    for size in large_text.OF_AXES
)
_BRAILLE = 0x2800
_QUARTERS = (0b0000_0011, 0b0001_1000, 0b0100_0100, 0b1010_0000)
"""Dots of a braille character in each quarter of its cell: upper left, upper right, lower left, lower right."""


class FittedFigure(NamedTuple):
    """A figure at the size at which it fills a slide."""

    figure: Figure
    columns: int
    letters: Lettering = PLAIN

    def draw(self, t: float | None = None) -> list[Line]:
        """Return the lines at an instant of its motion; None for the most telling."""
        motion = self.figure.motion
        at = t if t is not None else motion.rest if motion else 0.0
        return [_thick(line) for line in self.figure.draw_large(self.columns, at, self.letters)]


def fit(figure: Figure, width: int, rows: int) -> FittedFigure:
    """Return the widest form of a figure in at most `rows` lines, stretched to fit; too high if no form fits."""
    widths = range(max(MIN_WIDTH, width), MIN_WIDTH - 1, -_NARROWER)
    columns = next((each for each in widths if len(figure.draw(each)) <= rows), widths[0])
    spare = rows - len(figure.draw(columns))
    for letters in (_WIDE, _NARROW) if columns >= _ROOMY else ():
        larger = FittedFigure(figure.taller(spare - letters.height + 1), columns, letters)
        is_wide_enough = letters is _NARROW or columns >= _WIDE_FROM
        if spare >= letters.height - 1 and is_wide_enough and len(larger.draw()) <= rows:
            return larger
    return FittedFigure(figure.taller(spare), columns)


def _thick(line: Line) -> Line:
    """Return a line with quadrant blocks in place of braille dots."""
    return Line("".join(map(_block, line.text)), line.styles)


def _block(character: str) -> str:
    dots = ord(character) - _BRAILLE
    if not 0 <= dots < 256:
        return character
    return QUADRANTS[sum(1 << at for at, quarter in enumerate(_QUARTERS) if dots & quarter)]
