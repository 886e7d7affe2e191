"""Modes of a terminal screen: alternate screen, saved cursor, size, scrolling region."""

from __future__ import annotations

from pyte import modes
from pyte.screens import Cursor, Margins, Savepoint

from tcptutor.ui.terminal.cells import BLANK, CellGrid, Row

APPLICATION_KEYS, BRACKETED_PASTE = 1 << 5, 2004 << 5
WHEEL_IS_ARROWS, SGR_MOUSE = 1007 << 5, 1006 << 5
"""Private modes in pyte's encoding, shifted left by five bits."""

_ALTERNATE, _ALTERNATE_CLEARED, _SAVED_CURSOR, _ALTERNATE_AND_CURSOR = 47, 1047, 1048, 1049
_COLUMNS_132, _REVERSE_VIDEO = 3, 5


class DualScreen(CellGrid):
    """Cell grid with a primary and an alternate screen."""

    def __init__(self, columns: int, lines: int) -> None:
        self._primary: dict[int, Row] | None = None
        """Lines of the primary screen while the alternate screen is visible."""
        self._saved: dict[bool, Savepoint] = {}
        """Saved cursors, keyed by whether the alternate screen was shown."""
        super().__init__(columns, lines)
        self.mode.add(WHEEL_IS_ARROWS)

    @property
    def alternate(self) -> bool:
        return self._primary is not None

    def save_cursor(self) -> None:
        """Save the cursor of the current screen: xterm has a cursor per screen where pyte has a stack."""
        super().save_cursor()
        self._saved[self.alternate] = self.savepoints.pop()

    def restore_cursor(self) -> None:
        savepoint = self._saved.get(self.alternate)
        if savepoint is not None:
            self.mode.discard(modes.DECOM)
            self.savepoints = [savepoint._replace(cursor=_copy_cursor(savepoint.cursor))]
        super().restore_cursor()

    def set_mode(self, *numbers: int, **options: object) -> None:
        for number in numbers:
            self._set(number, bool(options.get("private")), True)

    def reset_mode(self, *numbers: int, **options: object) -> None:
        for number in numbers:
            self._set(number, bool(options.get("private")), False)

    def _set(self, number: int, private: bool, on: bool) -> None:
        if private and number in (_ALTERNATE, _ALTERNATE_CLEARED, _SAVED_CURSOR, _ALTERNATE_AND_CURSOR):
            self._switch(number, on)
        elif private and number == _COLUMNS_132:
            # DECCOLM: 132 columns are not supported, but its side effects are.
            self.erase_in_display(2)
            self.cursor_position()
        elif private and number == _REVERSE_VIDEO:
            (self.mode.add if on else self.mode.discard)(modes.DECSCNM)
            self.dirty.update(range(self.lines))
        elif on:
            super().set_mode(number, private=private)
        else:
            super().reset_mode(number, private=private)

    def _switch(self, number: int, on: bool) -> None:
        """Enter or leave the alternate screen; mode 1048 is the cursor only, 1049 both."""
        if number in (_SAVED_CURSOR, _ALTERNATE_AND_CURSOR) and on:
            self.save_cursor()
        if number != _SAVED_CURSOR and on != self.alternate:
            if on:
                self._primary = dict(self.buffer)
                self.buffer.clear()
            elif self._primary is not None:
                primary, self._primary = self._primary, None
                self.buffer.clear()
                self.buffer.update(primary)
            self.dirty.update(range(self.lines))
        if number in (_SAVED_CURSOR, _ALTERNATE_AND_CURSOR) and not on:
            self.restore_cursor()

    def reset(self) -> None:
        """Return to the initial state (RIS); scrollback stays."""
        self._primary = None
        self._saved.clear()
        super().reset()
        self.mode.add(WHEEL_IS_ARROWS)

    def soft_reset(self) -> None:
        """Reset modes and attributes, but not the contents (DECSTR)."""
        self.mode -= {modes.IRM, modes.DECOM, APPLICATION_KEYS}
        self.mode |= {modes.DECAWM, modes.DECTCEM}
        self.margins = None
        self.cursor.attrs, self.cursor.hidden = BLANK, False
        self.charset = 0

    def resize(self, lines: int | None = None, columns: int | None = None) -> None:
        """Resize both screens: blank lines at the bottom go first, then top lines move into scrollback."""
        lines, columns = lines or self.lines, columns or self.columns
        if (lines, columns) == (self.lines, self.columns):
            return
        self.margins = None
        away = max(0, self.cursor.y - lines + 1)
        if self._primary is not None:
            # The shell's cursor is the one saved when the program started.
            saved = self._saved.get(False)
            moved = max(0, (saved.cursor.y if saved else 0) - lines + 1)
            self.history.extend(_remove_top_rows(self._primary, moved, lines))
            self.scrolled += moved
            if saved:
                saved.cursor.y -= moved
        removed = _remove_top_rows(self.buffer, away, lines)
        if not self.alternate:
            self.history.extend(removed)
            self.scrolled += away
        self.cursor.y -= away
        for row in [*self.buffer.values(), *(self._primary or {}).values()]:
            for x in [x for x in row if x >= columns]:
                del row[x]
        if columns > self.columns:
            self.tabstops |= set(range(8 * (self.columns // 8 + 1), columns, 8))
        self.lines, self.columns = lines, columns
        self.cursor.x = min(self.cursor.x, columns)
        self.dirty = set(range(lines))

    def set_region(self, top: int | None, bottom: int | None) -> None:
        first, last = (top or 1) - 1, min(bottom or self.lines, self.lines) - 1
        if first < last:
            self.margins = Margins(first, last) if (first, last) != (0, self.lines - 1) else None
            self.cursor_position()


def _copy_cursor(cursor: Cursor) -> Cursor:
    copy = Cursor(cursor.x, cursor.y, cursor.attrs)
    copy.hidden = cursor.hidden
    return copy


def _remove_top_rows(rows: dict[int, Row], away: int, lines: int) -> list[Row]:
    """Remove `away` rows at the top, shift the next `lines` rows up, and return the removed rows."""
    removed = [rows.pop(y, Row(BLANK)) for y in range(away)]
    for y in range(lines):
        row = rows.pop(y + away, None)
        if row is not None:
            rows[y] = row
    for y in [y for y in rows if y >= lines]:
        del rows[y]
    return removed
