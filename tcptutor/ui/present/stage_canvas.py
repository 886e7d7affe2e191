"""Grid of a slide with text in several sizes: as block letters, or scaled by the terminal itself."""

from __future__ import annotations

from typing import NamedTuple

from tcptutor.figures.grid import Grid
from tcptutor.figures.lines import TEXT, Line
from tcptutor.ui.present import large_text
from tcptutor.ui.present.large_text import Size

_WIDE = 100
"""Columns from which a terminal that scales text draws labels in two cells."""


class ScaledText(NamedTuple):
    """Text that the terminal draws larger over blank cells of the grid."""

    column: int
    row: int
    text: str
    style: str
    scale: int
    """Cells that a character is high and wide."""

    @property
    def width(self) -> int:
        """Columns of the text."""
        return self.scale * len(self.text)


class StageCanvas(Grid):
    """Cells of a slide; `is_scaled` if the terminal can scale text."""

    def __init__(self, width: int, height: int, *, is_scaled: bool = False) -> None:
        super().__init__(width, height)
        self.is_scaled = is_scaled
        self.scaled: list[ScaledText] = []

    def text_width(self, text: str, size: Size) -> int:
        """Return the width of a single-line text, columns."""
        scale = self._scale(size)
        return len(text) * scale if scale > 1 else large_text.width(text, size)

    def text_height(self, size: Size) -> int:
        """Return the lines of a text of this size, with descenders."""
        scale = self._scale(size)
        return scale if scale > 1 else large_text.height(size)

    def wrap(self, text: str, columns: int, size: Size) -> list[str]:
        """Break a text into lines of limited width, columns."""
        scale = self._scale(size)
        if scale > 1:
            return large_text.wrap(text, columns // scale, 1)
        return large_text.wrap(text, columns, size)

    def write(self, column: int, row: int, text: str, style: str = TEXT, size: Size = 1) -> None:
        """Write a text of `size` with its upper left corner at a cell."""
        scale = self._scale(size)
        if scale > 1:
            fitting = text[: max(0, (self.width - column) // scale)]
            if fitting and row >= 0 and column >= 0 and row + scale <= self.height:
                self.scaled.append(ScaledText(column, row, fitting, style, scale))
            return
        for at, line in enumerate(large_text.draw(text, size)):
            self.put(column, row + at, line, style)

    def write_lines(self, column: int, row: int, lines: list[Line]) -> None:
        """Write lines of ordinary cells."""
        for at, line in enumerate(lines):
            start = column
            for text, style in line.pieces():
                self.put(start, row + at, text, style)
                start += len(text)

    def blank(self) -> StageCanvas:
        """Return an empty canvas of the same size and kind."""
        return StageCanvas(self.width, self.height, is_scaled=self.is_scaled)

    def place(self, other: StageCanvas, column: int, row: int) -> None:
        """Copy `other` to a place on this canvas."""
        self.write_lines(column, row, other.lines())
        self.scaled += [
            each._replace(column=each.column + column, row=each.row + row) for each in other.scaled
        ]

    def _scale(self, size: Size) -> int:
        """Return the cells that the terminal makes a character high; 1 for cells and block letters."""
        if not self.is_scaled:
            return 1
        # Labels of two cells are readable from the back row.
        return size if size > 1 else 1 + (self.width >= _WIDE)
