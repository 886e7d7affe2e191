"""Cell grid of a terminal screen: pyte's `Screen`, corrected to behave as xterm does.

It differs from pyte in double-width characters at the right edge and under other characters, in the color of
erased cells, in untouched lines, and in cursor movement outside a scrolling region.
"""

from __future__ import annotations

import unicodedata
from collections import deque
from functools import lru_cache

import pyte
from pyte import modes
from pyte.screens import Char, Margins, StaticDefaultDict
from wcwidth import wcwidth

SCROLLBACK_LINES = 1000

_MAX_COMBINING_MARKS = 4
"""Combining characters accepted per cell."""

_NO_CHARACTERS = ("Cc", "Cf", "Cs", "Zl", "Zp", "Co", "Cn")
"""Unicode categories that are not drawn: some of them would reverse the text of the real terminal."""

Row = StaticDefaultDict[int, Char]
"""Cells by column; untouched columns are missing."""

BLANK = Char(" ")


@lru_cache(maxsize=4096)
def _cell_width(character: str) -> int:
    if unicodedata.category(character) in _NO_CHARACTERS:
        return -1
    return wcwidth(character)


@lru_cache(maxsize=8192)
def _with_character(look: Char, character: str) -> Char:
    return look._replace(data=character)


class CellGrid(pyte.Screen):
    """Visible cells and scrollback."""

    def __init__(self, columns: int, lines: int) -> None:
        self.history: deque[Row] = deque(maxlen=SCROLLBACK_LINES)
        self.scrolled = 0
        """Lines scrolled off since the start, including lines already dropped from `history`."""
        self._last = ""
        super().__init__(columns, lines)

    @property
    def alternate(self) -> bool:
        """Whether the alternate screen is shown, e.g. by `less`: it has no scrollback."""
        return False

    # Text

    def draw(self, data: str) -> None:
        """Write text without control characters at the cursor."""
        charset = self.g1_charset if self.charset else self.g0_charset
        data = data.translate(charset)
        cursor, look, width = self.cursor, self.cursor.attrs, self.columns
        insert, wraps = modes.IRM in self.mode, modes.DECAWM in self.mode
        self.dirty.add(cursor.y)
        row = self.buffer[cursor.y]
        for character in data:
            cells = 1 if " " <= character <= "~" else _cell_width(character)
            if cells <= 0:
                if cells == 0:
                    self._combine(character)
                continue
            if cursor.x + cells > width:
                if wraps:
                    cursor.x = 0
                    self.index()
                    self.dirty.add(cursor.y)
                    row = self.buffer[cursor.y]
                else:
                    cursor.x = max(0, width - cells)
            if insert:
                self.insert_characters(cells)
            x = cursor.x
            if x in row and row[x].data == "" and x:
                self._blank_left_half(row, x - 1)
            if cells == 2:
                if x + 1 < width and row[x + 1].data != "":
                    self._blank_right_half(row, x + 1)
                row[x] = _with_character(look, character)
                row[x + 1] = _with_character(look, "")
            else:
                self._blank_right_half(row, x)
                row[x] = _with_character(look, character)
            cursor.x = x + cells if wraps else min(x + cells, width - 1)
            self._last = character

    def _blank_left_half(self, row: Row, x: int) -> None:
        if row[x].data and row[x + 1].data == "":
            row[x] = row[x]._replace(data=" ")

    def _blank_right_half(self, row: Row, x: int) -> None:
        right = row.get(x + 1)
        if right is not None and right.data == "" and row[x].data != "":
            row[x + 1] = right._replace(data=" ")

    def _combine(self, character: str) -> None:
        x = self.cursor.x - 1
        row = self.buffer[self.cursor.y]
        if x > 0 and row[x].data == "":
            x -= 1
        if x >= 0 and 0 < len(row[x].data) <= _MAX_COMBINING_MARKS:
            row[x] = row[x]._replace(data=row[x].data + character)

    def index(self) -> None:
        """Move the cursor down, scrolling at the bottom of the region (IND)."""
        top, bottom = self._region
        if self.cursor.y == bottom:
            self._scroll_up(top, bottom)
        elif self.cursor.y < self.lines - 1:
            self.cursor.y += 1

    def reverse_index(self) -> None:
        """Move the cursor up, scrolling at the top of the region (RI)."""
        top, bottom = self._region
        if self.cursor.y == top:
            self._scroll_down(top, bottom)
        elif self.cursor.y > 0:
            self.cursor.y -= 1

    @property
    def _region(self) -> Margins:
        return self.margins or Margins(0, self.lines - 1)

    def _scroll_up(self, top: int, bottom: int, keep: bool = True) -> None:
        buffer = self.buffer
        if keep and top == 0 and not self.alternate:
            self.history.append(buffer[0])
            self.scrolled += 1
        for y in range(top, bottom):
            buffer[y] = buffer[y + 1]
        buffer[bottom] = self._new_row()
        self.dirty.update(range(top, bottom + 1))

    def _scroll_down(self, top: int, bottom: int) -> None:
        buffer = self.buffer
        for y in range(bottom, top, -1):
            buffer[y] = buffer[y - 1]
        buffer[top] = self._new_row()
        self.dirty.update(range(top, bottom + 1))

    def _new_row(self) -> Row:
        row = Row(BLANK)
        if self.cursor.attrs.bg != "default":
            row.update(dict.fromkeys(range(self.columns), self._erased))
        return row

    @property
    def default_char(self) -> Char:
        """Default cell; the name is pyte's."""
        return BLANK

    @property
    def _erased(self) -> Char:
        """A blank in the current background color, without any other attribute."""
        return BLANK._replace(bg=self.cursor.attrs.bg)

    # Erasing, inserting, deleting

    def erase_in_line(self, how: int = 0, private: bool = False) -> None:  # noqa: ARG002  # as pyte has it
        """Erase in the cursor's line (EL): 0 from the cursor, 1 up to the cursor, 2 all."""
        at = min(self.cursor.x, self.columns - 1)
        cells = {0: range(at, self.columns), 1: range(at + 1), 2: range(self.columns)}.get(how, range(0))
        self._erase(self.cursor.y, cells)

    def erase_characters(self, count: int | None = None) -> None:
        at = min(self.cursor.x, self.columns - 1)
        self._erase(self.cursor.y, range(at, min(at + (count or 1), self.columns)))

    def _erase(self, y: int, cells: range) -> None:
        if not cells:
            return
        row, erased = self.buffer[y], self._erased
        if cells[0] and row[cells[0]].data == "":
            self._blank_left_half(row, cells[0] - 1)
        self._blank_right_half(row, cells[-1])
        if erased == BLANK and len(cells) == self.columns:
            row.clear()
        else:
            row.update(dict.fromkeys(cells, erased))
        self.dirty.add(y)

    def erase_in_display(self, how: int = 0, *_: object, **__: object) -> None:
        """Erase in the display (ED): 0 below the cursor, 1 above, 2 all, 3 the scrollback."""
        if how == 3:
            self.history.clear()
            return
        lines = {0: range(self.cursor.y + 1, self.lines), 1: range(self.cursor.y), 2: range(self.lines)}
        for y in lines.get(how, range(0)):
            self._erase(y, range(self.columns))
        if how < 2:
            self.erase_in_line(how)

    def insert_lines(self, count: int | None = None) -> None:
        top, bottom = self._region
        if top <= self.cursor.y <= bottom:
            for _ in range(min(count or 1, bottom - self.cursor.y + 1)):
                self._scroll_down(self.cursor.y, bottom)
            self.carriage_return()

    def delete_lines(self, count: int | None = None) -> None:
        top, bottom = self._region
        if top <= self.cursor.y <= bottom:
            for _ in range(min(count or 1, bottom - self.cursor.y + 1)):
                self._scroll_up(self.cursor.y, bottom, keep=False)
            self.carriage_return()

    def insert_characters(self, count: int | None = None) -> None:
        self._shift(count or 1, insert=True)

    def delete_characters(self, count: int | None = None) -> None:
        self._shift(count or 1, insert=False)

    def _shift(self, count: int, insert: bool) -> None:
        row, at = self.buffer[self.cursor.y], min(self.cursor.x, self.columns - 1)
        cells = [row[x] for x in range(at, self.columns)]
        if cells[0].data == "" and at:
            self._blank_left_half(row, at - 1)
            cells[0] = cells[0]._replace(data=" ")
        count = min(count, len(cells))
        blanks = [self._erased] * count
        if insert:
            cells = (blanks + cells)[: len(cells)]
        else:
            if count < len(cells) and cells[count].data == "":
                cells[count] = cells[count]._replace(data=" ")
            cells = cells[count:] + blanks
        row.update(zip(range(at, self.columns), cells, strict=True))
        self._blank_right_half(row, self.columns - 1)
        self.dirty.add(self.cursor.y)

    # The cursor

    def cursor_up(self, count: int | None = None) -> None:
        top = self._region.top if self.cursor.y >= self._region.top else 0
        self.cursor.y = max(self.cursor.y - (count or 1), top)
        self.ensure_hbounds()

    def cursor_down(self, count: int | None = None) -> None:
        bottom = self._region.bottom if self.cursor.y <= self._region.bottom else self.lines - 1
        self.cursor.y = min(self.cursor.y + (count or 1), bottom)
        self.ensure_hbounds()

    def cursor_to_line(self, line: int | None = None) -> None:
        self.cursor_position(line, min(self.cursor.x, self.columns - 1) + 1)

    def cursor_position(self, line: int | None = None, column: int | None = None) -> None:
        top, bottom = self._region if modes.DECOM in self.mode else (0, self.lines - 1)
        self.cursor.y = min(top + (line or 1) - 1, bottom)
        self.cursor.x = min((column or 1) - 1, self.columns - 1)

    def tab(self) -> None:
        self._move_by_tabs(1)

    def _move_by_tabs(self, count: int) -> None:
        stops = sorted(self.tabstops)
        x = self.cursor.x
        after = [stop for stop in stops if stop > x] + [self.columns - 1] * count
        before = [stop for stop in reversed(stops) if stop < x] + [0] * -count
        self.cursor.x = min(after[count - 1] if count > 0 else before[-count - 1], self.columns - 1)
