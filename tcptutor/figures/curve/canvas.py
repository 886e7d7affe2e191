"""Grid that places texts in free cells, next to the curves they name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tcptutor.figures import braille
from tcptutor.figures.grid import Grid

RULE = braille.RULE.glyph
"""Glyph of a level, over which a text may be written."""
NEAR = (0, -1, 1, -2, 2)
"""Rows, from that of a place, in which its text may stand."""
_SHIFTS = (0, 1, -1, 2, -2, 3, -3, 4, -4)
"""Columns by which the text of an area may move."""


class Canvas(Grid):
    """Grid that knows which cells are taken.

    Attributes:
        taken: Column and row of cells with dots or text.
        crowded: Texts without a free place.
        left: First column in which a text may stand.
        bottom: Last row in which a text may stand.
    """

    def __init__(self, width: int, height: int, left: int, bottom: int) -> None:
        super().__init__(width, height)
        self.left, self.bottom = left, bottom
        self.taken: set[tuple[int, int]] = set()
        self.crowded: list[str] = []

    def point(self, column: int, row: int, character: str, style: str) -> None:
        """Put a character that texts must leave free."""
        self.put(column, row, character, style)
        self.taken.add((column, row))

    def place(self, column: int, row: int, text: str, style: str, offsets: Iterable[int] = NEAR) -> None:
        """Write `text` right of a cell, left of it, or in a row nearby: at the first free place."""
        if not text:
            return
        candidates = [
            place
            for offset in offsets
            for place in (
                (column + 2, row + offset),
                (column - 1 - len(text), row + offset),
                *(((column - len(text) // 2, row + offset),) if offset else ()),
            )
        ]
        free = next((place for place in candidates if self._is_free(place, len(text))), None)
        if free is None:
            self.crowded.append(text)
            free = min(column + 2, self.width - len(text)), row
        self.write(free, text, style)

    def place_in(self, first: int, last: int, rows: Sequence[int], text: str) -> tuple[int, int]:
        """Return column and row of `text` between two columns: the first free place, from the middle on."""
        end = last + 1 - len(text)
        middle = (first + end) // 2
        places = [(min(max(middle + shift, first), end), row) for row in rows for shift in _SHIFTS]
        fitting = (place for gap in (1, 0) for place in places if self._is_free(place, len(text), gap))
        free = next(fitting, None)
        if free is None:
            self.crowded.append(text)
        return free or places[0]

    def write(self, place: tuple[int, int], text: str, style: str) -> None:
        """Write `text` from a column and row on, with a blank to levels at both ends."""
        column, row = place
        self.put(column, row, text, style)
        for edge in (column - 1, column + len(text)):
            if 0 <= edge < self.width and self.at(edge, row)[0] == RULE:
                self.put(edge, row, " ")
        self.taken.update((at, row) for at in range(column, column + len(text)))

    def _is_free(self, place: tuple[int, int], columns: int, gap: int = 1) -> bool:
        """Return whether a text fits into a row, with `gap` free cells at both ends."""
        column, row = place
        if not (0 <= row <= self.bottom and self.left <= column and column + columns <= self.width):
            return False
        return not any((at, row) in self.taken for at in range(column - gap, column + columns + gap))
