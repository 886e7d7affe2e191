"""A terminal's screen: fed with what a program writes, it knows what is to be seen, and what the program wants of keys.

pyte keeps cells, looks, character sets, tab stops and modes; `cells` and `modes` have what is otherwise there.
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
    TwoScreens,
)
from tcptutor.ui.terminal.parser import Parser

_MOST_ANSWERS = 512
"""Bytes of answers that wait to be taken: who asks faster gets none."""

_MOUSE = (9, 1000, 1002, 1003)


class StyledText(NamedTuple):
    """Characters in a row that look alike."""

    text: str
    look: Char
    """How: pyte's Char, whose `data` is empty."""


class TerminalScreen(TwoScreens):
    """`feed` takes bytes, `row` gives what is to be seen. Never raises, whatever the bytes are."""

    def __init__(self, columns: int, lines: int) -> None:
        self._answers = bytearray()
        super().__init__(columns, lines)
        self._parser = Parser(self)

    # For who shows it

    def feed(self, data: bytes) -> None:
        """The program has written this."""
        self._parser.feed(data)

    def skim(self, data: bytes) -> None:
        """The program has written this, and nobody is to see it: looks and modes are afterwards as after `feed`."""
        self._parser.feed(data, skim=True)
        self.carriage_return()
        self.linefeed()
        self.draw(f"[{len(data)} bytes are not drawn]")
        self.carriage_return()
        self.linefeed()

    def answers(self) -> bytes:
        """What the terminal says to the program since the last call."""
        said = bytes(self._answers)
        self._answers.clear()
        return said

    @property
    def application_keys(self) -> bool:
        """Whether the arrows are sent as for an application."""
        return APPLICATION_KEYS in self.mode

    @property
    def bracketed_paste(self) -> bool:
        """Whether the program wants to know what was pasted."""
        return BRACKETED_PASTE in self.mode

    @property
    def mouse(self) -> bool:
        """Whether the program wants to know of the mouse."""
        return any(mode << 5 in self.mode for mode in _MOUSE)

    @property
    def sgr_mouse(self) -> bool:
        """Whether it wants the mouse in decimal numbers."""
        return SGR_MOUSE in self.mode

    @property
    def wheel_is_arrows(self) -> bool:
        """Whether the wheel moves the program's text, which has nothing that scrolled off."""
        return self.alternate and WHEEL_IS_ARROWS in self.mode

    @property
    def inverse(self) -> bool:
        """Whether the whole screen is shown with its two colours exchanged."""
        return modes.DECSCNM in self.mode

    def row(self, line: int, back: int = 0) -> tuple[StyledText, ...]:
        """Line `line` from the top of what is seen, scrolled `back` lines into the history; `columns` cells."""
        at = line - back
        if at >= 0:
            return self._styled(self.buffer[at])
        return self._styled(self.history[at]) if -at <= len(self.history) else self._styled({})

    def _styled(self, row: dict[int, Char]) -> tuple[StyledText, ...]:
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
        """A control character."""
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
        """ESC and what follows it."""
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
        """A control sequence."""
        known = _SEQUENCES.get((private, kind))
        if known is not None:
            known(self, list(parameters))
        elif kind in _MOVES and not private:
            wanted = [number or None for number in parameters]
            getattr(self, _MOVES[kind])(*wanted[: 2 if kind in "Hf" else 1])

    def scroll(self, lines: int) -> None:
        """The region's text up, or down for a negative number."""
        top, bottom = self._region
        for _ in range(min(abs(lines), bottom - top + 1)):
            if lines > 0:
                self._scroll_up(top, bottom)
            else:
                self._scroll_down(top, bottom)

    def repeat(self, count: int) -> None:
        """The character that was drawn last, so many times more."""
        self.draw(self._last * min(count, self.columns * self.lines))

    def tab_stops(self, count: int) -> None:
        """So many tab stops on; back for a negative number."""
        self._tab(max(-self.columns, min(count, self.columns)))

    def select_graphic_rendition(self, *attrs: int, private: bool = False) -> None:  # noqa: ARG002
        """As pyte does it; none of 256 colours that do not exist."""
        known = [each for each in attrs if each <= 255]
        super().select_graphic_rendition(*(known if len(known) == len(attrs) else [0]))
        if self.cursor.attrs.bg == "bfightmagenta":
            self.cursor.attrs = self.cursor.attrs._replace(bg="brightmagenta")

    def report_device_status(self, mode: int) -> None:
        """The cursor's place is asked for before it wraps."""
        x, self.cursor.x = self.cursor.x, min(self.cursor.x, self.columns - 1)
        if mode != 6 or modes.DECOM not in self.mode or self.margins is not None:
            super().report_device_status(mode)
        else:
            self.answer(f"\x1b[{self.cursor.y + 1};{self.cursor.x + 1}R")
        self.cursor.x = x

    def write_process_input(self, data: str) -> None:
        """What pyte answers."""
        self.answer(data)

    def answer(self, text: str) -> None:
        if len(self._answers) + len(text) <= _MOST_ANSWERS:
            self._answers += text.encode()

    def answer_to(self, question: int | None, text: str) -> None:
        """Who is there: only the plain question is answered."""
        if not question:
            self.answer(text)


_MOVES = {
    "@": "insert_characters", "A": "cursor_up", "B": "cursor_down", "C": "cursor_forward", "D": "cursor_back",
    "E": "cursor_down1", "F": "cursor_up1", "G": "cursor_to_column", "H": "cursor_position", "L": "insert_lines",
    "M": "delete_lines", "P": "delete_characters", "X": "erase_characters", "`": "cursor_to_column",
    "a": "cursor_forward", "d": "cursor_to_line", "e": "cursor_down", "f": "cursor_position",
}  # fmt: skip
"""What is done with one number, or two."""


def _first(numbers: list[int | None]) -> int:
    return (numbers[0] if numbers else 0) or 0


def _given(numbers: list[int | None]) -> list[int]:
    return [number or 0 for number in numbers]


def _two(numbers: list[int | None]) -> tuple[int | None, int | None]:
    first, second, *_ = (*numbers, None, None)
    return first, second


_SEQUENCES: dict[tuple[str, str], Callable[[TerminalScreen, list[int | None]], None]] = {
    ("", "m"): lambda screen, numbers: screen.select_graphic_rendition(*_given(numbers)),
    ("", "b"): lambda screen, numbers: screen.repeat(_first(numbers) or 1),
    ("", "S"): lambda screen, numbers: screen.scroll(_first(numbers) or 1),
    ("", "T"): lambda screen, numbers: screen.scroll(-(_first(numbers) or 1)) if len(numbers) < 2 else None,
    ("", "I"): lambda screen, numbers: screen.tab_stops(_first(numbers) or 1),
    ("", "Z"): lambda screen, numbers: screen.tab_stops(-(_first(numbers) or 1)),
    ("", "s"): lambda screen, _: screen.save_cursor(),
    ("", "u"): lambda screen, _: screen.restore_cursor(),
    ("", "r"): lambda screen, numbers: screen.set_region(*_two(numbers)),
    ("", "!p"): lambda screen, _: screen.soft_reset(),
    ("", "h"): lambda screen, numbers: screen.set_mode(*_given(numbers)),
    ("?", "h"): lambda screen, numbers: screen.set_mode(*_given(numbers), private=True),
    ("", "l"): lambda screen, numbers: screen.reset_mode(*_given(numbers)),
    ("?", "l"): lambda screen, numbers: screen.reset_mode(*_given(numbers), private=True),
    ("", "J"): lambda screen, numbers: screen.erase_in_display(_first(numbers)),
    ("?", "J"): lambda screen, numbers: screen.erase_in_display(_first(numbers)),
    ("", "K"): lambda screen, numbers: screen.erase_in_line(_first(numbers)),
    ("?", "K"): lambda screen, numbers: screen.erase_in_line(_first(numbers)),
    ("", "c"): lambda screen, numbers: screen.answer_to(_first(numbers), "\x1b[?1;2c"),
    (">", "c"): lambda screen, numbers: screen.answer_to(_first(numbers), "\x1b[>0;0;0c"),
    ("", "n"): lambda screen, numbers: screen.report_device_status(_first(numbers)),
    ("", "g"): lambda screen, numbers: screen.clear_tab_stop(_first(numbers)),
}
"""What is done with the numbers of a sequence, by its private character and its kind."""
