"""Grid of styled characters on which a figure is drawn, row by row from the top."""

from __future__ import annotations

from tcptutor.figures.lines import TEXT, Line

BLANK = (" ", TEXT)


class Grid:
    """Rectangle of cells, initially blank; writes outside it are cut off."""

    def __init__(self, width: int, height: int) -> None:
        self.width, self.height = width, height
        self._rows = [[BLANK] * width for _ in range(height)]

    def put(self, column: int, row: int, text: str, style: str = TEXT) -> None:
        """Write `text` from `column` on, replacing the cells."""
        if not 0 <= row < self.height:
            return
        for at, character in enumerate(text, start=column):
            if 0 <= at < self.width:
                self._rows[row][at] = character, style

    def put_right(self, end: int, row: int, text: str, style: str = TEXT) -> None:
        """Write `text` so that it ends before the column `end`."""
        self.put(end - len(text), row, text, style)

    def put_center(self, column: int, width: int, row: int, text: str, style: str = TEXT) -> None:
        """Write `text` in the middle of `width` columns from `column` on."""
        self.put(column + (width - len(text)) // 2, row, text, style)

    def column_of(self, column: int, top: int, bottom: int, character: str, style: str = TEXT) -> None:
        """Write a character into each row from `top` to `bottom`, both included."""
        for row in range(top, bottom + 1):
            self.put(column, row, character, style)

    def box(self, column: int, row: int, width: int, height: int, style: str = TEXT) -> None:
        """Draw the outline of a box of `width` by `height` cells, at least 2 by 2."""
        inner = "─" * (width - 2)
        self.put(column, row, f"┌{inner}┐", style)
        self.put(column, row + height - 1, f"└{inner}┘", style)
        for edge in (column, column + width - 1):
            self.column_of(edge, row + 1, row + height - 2, "│", style)

    def at(self, column: int, row: int) -> tuple[str, str]:
        """Return character and style of a cell."""
        return self._rows[row][column]

    def lines(self) -> list[Line]:
        """Return the rows as lines, without trailing blanks; other blanks take the style to their left."""
        lines = []
        for row in self._rows:
            cells = list(row)
            while cells and cells[-1][0] == " ":
                cells.pop()
            for at, (character, _) in enumerate(cells):
                if character == " " and at:
                    cells[at] = " ", cells[at - 1][1]
            lines.append(Line.of(*cells))
        return lines
