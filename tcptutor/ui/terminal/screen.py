"""Terminal screen: takes a program's output, provides styled rows and the program's input modes.

pyte implements cells, attributes, character sets, tab stops and modes; `cells` and `modes` override it where
xterm differs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from pyte import modes
from pyte.screens import Char

from tcptutor.ui.terminal.cells import BLANK
from tcptutor.ui.terminal.modes import (
    APPLICATION_KEYS,
    BRACKETED_PASTE,
    SGR_MOUSE,
    WHEEL_IS_ARROWS,
    DualScreen,
)
from tcptutor.ui.terminal.parser import Parser

_MAX_REPLY_BYTES = 512
"""Maximum bytes of unread replies; further replies are dropped."""

_MOUSE = (9, 1000, 1002, 1003)


class StyledText(NamedTuple):
    """Run of characters with the same attributes."""

    text: str
    look: Char
    """Attributes, as a pyte `Char` with empty `data`."""


class TerminalScreen(DualScreen):
    """Terminal emulator without a display; never raises on any input."""

    def __init__(self, columns: int, lines: int) -> None:
        self._replies = bytearray()
        super().__init__(columns, lines)
        self._parser = Parser(self)

    # For who shows it

    def feed(self, data: bytes) -> None:
        """Process output of the program."""
        self._parser.feed(data)

    def skim(self, data: bytes) -> None:
        """Process output without drawing its text; attributes and modes change as in `feed`."""
        self._parser.feed(data, skim=True)
        self.carriage_return()
        self.linefeed()
        self.draw(f"[{len(data)} bytes are not drawn]")
        self.carriage_return()
        self.linefeed()

    def take_replies(self) -> bytes:
        """Return the replies to the program since the last call."""
        replies = bytes(self._replies)
        self._replies.clear()
        return replies

    @property
    def application_keys(self) -> bool:
        """Whether the program has set application cursor keys (DECCKM)."""
        return APPLICATION_KEYS in self.mode

    @property
    def bracketed_paste(self) -> bool:
        return BRACKETED_PASTE in self.mode

    @property
    def mouse(self) -> bool:
        """Whether the program wants mouse reports."""
        return any(mode << 5 in self.mode for mode in _MOUSE)

    @property
    def sgr_mouse(self) -> bool:
        """Whether mouse reports use SGR encoding (mode 1006)."""
        return SGR_MOUSE in self.mode

    @property
    def wheel_is_arrows(self) -> bool:
        """Whether the wheel sends arrow keys: the alternate screen has no scrollback."""
        return self.alternate and WHEEL_IS_ARROWS in self.mode

    @property
    def inverse(self) -> bool:
        """Whether the screen is in reverse video (DECSCNM)."""
        return modes.DECSCNM in self.mode

    def row(self, line: int, back: int = 0) -> tuple[StyledText, ...]:
        """Return a row of the view, `columns` cells wide.

        Args:
            line: Row from the top of the view.
            back: Lines that the view is scrolled into the history.
        """
        at = line - back
        if at >= 0:
            return self._style_runs(self.buffer[at])
        return self._style_runs(self.history[at]) if -at <= len(self.history) else self._style_runs({})

    def _style_runs(self, row: dict[int, Char]) -> tuple[StyledText, ...]:
        runs: list[StyledText] = []
        text: list[str] = []
        look, width, x = BLANK, self.columns, 0
        get = row.get
        while x < width:
            cell = get(x, BLANK)
            step = 1
            data = cell.data
            if not data:  # the right half of one whose left half is gone
                data = " "
            elif data > "\u02ff" and (get(x + 1, BLANK).data == ""):
                if x + 1 < width:
                    step = 2
                else:
                    data = " "
            if cell[1:] != look[1:]:
                if text:
                    runs.append(StyledText("".join(text), look))
                    text = []
                look = cell._replace(data="")
            text.append(data)
            x += step
        if text:
            runs.append(StyledText("".join(text), look))
        return tuple(runs)

    # What the parser finds

    def control(self, character: str) -> None:
        """Execute a C0 control character."""
        match character:
            case "\r":
                self.carriage_return()
            case "\n" | "\x0b" | "\x0c":
                self.linefeed()
            case "\b":
                self.cursor_back()
            case "\t":
                self.tab()
            case "\x0e":
                self.shift_out()
            case "\x0f":
                self.shift_in()
            case _:
                pass

    def escape(self, intermediates: str, final: str) -> None:
        """Execute an escape sequence."""
        match intermediates, final:
            case "", "7":
                self.save_cursor()
            case "", "8":
                self.restore_cursor()
            case "", "D":
                self.index()
            case "", "E":
                self.carriage_return()
                self.index()
            case "", "H":
                self.set_tab_stop()
            case "", "M":
                self.reverse_index()
            case "", "c":
                self.reset()
            case "#", "8":
                self.alignment_display()
            case "(" | ")", _:
                self.define_charset(final, intermediates)
            case _:
                pass

    def sequence(self, private: str, parameters: Sequence[int | None], kind: str) -> None:
        """Execute a control sequence (CSI)."""
        handler = _HANDLERS.get((private, kind))
        if handler is not None:
            handler(self, list(parameters))
        elif kind in _METHODS and not private:
            arguments = [number or None for number in parameters]
            getattr(self, _METHODS[kind])(*arguments[: 2 if kind in "Hf" else 1])

    def scroll(self, lines: int) -> None:
        """Scroll the region up by `lines`, or down if negative (SU, SD)."""
        top, bottom = self._region
        for _ in range(min(abs(lines), bottom - top + 1)):
            if lines > 0:
                self._scroll_up(top, bottom)
            else:
                self._scroll_down(top, bottom)

    def repeat(self, count: int) -> None:
        """Draw the last character `count` more times (REP)."""
        self.draw(self._last * min(count, self.columns * self.lines))

    def tab_stops(self, count: int) -> None:
        """Move by `count` tab stops, backward if negative (CHT, CBT)."""
        self._move_by_tabs(max(-self.columns, min(count, self.columns)))

    def select_graphic_rendition(self, *attrs: int, private: bool = False) -> None:  # noqa: ARG002
        """Set attributes (SGR), ignoring sequences with color numbers above 255."""
        valid = [each for each in attrs if each <= 255]
        super().select_graphic_rendition(*(valid if len(valid) == len(attrs) else [0]))
        if self.cursor.attrs.bg == "bfightmagenta":
            self.cursor.attrs = self.cursor.attrs._replace(bg="brightmagenta")

    def report_device_status(self, mode: int) -> None:
        """Reply to a status request (DSR) with the cursor's position inside the screen."""
        x, self.cursor.x = self.cursor.x, min(self.cursor.x, self.columns - 1)
        if mode != 6 or modes.DECOM not in self.mode or self.margins is not None:
            super().report_device_status(mode)
        else:
            self.reply(f"\x1b[{self.cursor.y + 1};{self.cursor.x + 1}R")
        self.cursor.x = x

    def write_process_input(self, data: str) -> None:
        """Queue a reply from pyte."""
        self.reply(data)

    def reply(self, text: str) -> None:
        if len(self._replies) + len(text) <= _MAX_REPLY_BYTES:
            self._replies += text.encode()

    def reply_to_attributes(self, question: int | None, text: str) -> None:
        """Reply to a plain device attributes request (DA); ignore any other."""
        if not question:
            self.reply(text)


_METHODS = {
    "@": "insert_characters", "A": "cursor_up", "B": "cursor_down", "C": "cursor_forward", "D": "cursor_back",
    "E": "cursor_down1", "F": "cursor_up1", "G": "cursor_to_column", "H": "cursor_position", "L": "insert_lines",
    "M": "delete_lines", "P": "delete_characters", "X": "erase_characters", "`": "cursor_to_column",
    "a": "cursor_forward", "d": "cursor_to_line", "e": "cursor_down", "f": "cursor_position",
}  # fmt: skip
"""Method for each final character with at most two numbers."""


def _first(numbers: list[int | None]) -> int:
    return (numbers[0] if numbers else 0) or 0


def _zero_for_missing(numbers: list[int | None]) -> list[int]:
    return [number or 0 for number in numbers]


def _first_two(numbers: list[int | None]) -> tuple[int | None, int | None]:
    first, second, *_ = (*numbers, None, None)
    return first, second


_HANDLERS: dict[tuple[str, str], Callable[[TerminalScreen, list[int | None]], None]] = {
    ("", "m"): lambda screen, numbers: screen.select_graphic_rendition(*_zero_for_missing(numbers)),
    ("", "b"): lambda screen, numbers: screen.repeat(_first(numbers) or 1),
    ("", "S"): lambda screen, numbers: screen.scroll(_first(numbers) or 1),
    ("", "T"): lambda screen, numbers: screen.scroll(-(_first(numbers) or 1)) if len(numbers) < 2 else None,
    ("", "I"): lambda screen, numbers: screen.tab_stops(_first(numbers) or 1),
    ("", "Z"): lambda screen, numbers: screen.tab_stops(-(_first(numbers) or 1)),
    ("", "s"): lambda screen, _: screen.save_cursor(),
    ("", "u"): lambda screen, _: screen.restore_cursor(),
    ("", "r"): lambda screen, numbers: screen.set_region(*_first_two(numbers)),
    ("", "!p"): lambda screen, _: screen.soft_reset(),
    ("", "h"): lambda screen, numbers: screen.set_mode(*_zero_for_missing(numbers)),
    ("?", "h"): lambda screen, numbers: screen.set_mode(*_zero_for_missing(numbers), private=True),
    ("", "l"): lambda screen, numbers: screen.reset_mode(*_zero_for_missing(numbers)),
    ("?", "l"): lambda screen, numbers: screen.reset_mode(*_zero_for_missing(numbers), private=True),
    ("", "J"): lambda screen, numbers: screen.erase_in_display(_first(numbers)),
    ("?", "J"): lambda screen, numbers: screen.erase_in_display(_first(numbers)),
    ("", "K"): lambda screen, numbers: screen.erase_in_line(_first(numbers)),
    ("?", "K"): lambda screen, numbers: screen.erase_in_line(_first(numbers)),
    ("", "c"): lambda screen, numbers: screen.reply_to_attributes(_first(numbers), "\x1b[?1;2c"),
    (">", "c"): lambda screen, numbers: screen.reply_to_attributes(_first(numbers), "\x1b[>0;0;0c"),
    ("", "n"): lambda screen, numbers: screen.report_device_status(_first(numbers)),
    ("", "g"): lambda screen, numbers: screen.clear_tab_stop(_first(numbers)),
}
"""Handler for each private prefix and final character."""
