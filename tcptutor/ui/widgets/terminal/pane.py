"""The pane: the cells of one shell, and the keys that are typed into it."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import lru_cache
from itertools import zip_longest

from pyte.screens import Char
from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.timer import Timer
from textual.widget import Widget

from tcptutor.ui.host_shell import Shell
from tcptutor.ui.terminal import keys
from tcptutor.ui.terminal.screen import StyledText

BYTES_A_SECOND, AT_ONCE = 30_000, 8_000
"""What drawing may send to the real terminal, by `_cost`: in the long run, and after a while without any.

With a chart that is drawn beside it, it stays below 60 kB/s.
"""

_SHORTEST = 1 / 60
"""Seconds between two drawings: Textual draws no more often."""

_LINE, _PIECE = 12, 44
"""Bytes that a line costs beside its text, and each change of its look."""

_NAMES = {"brown": "yellow", "brightbrown": "bright_yellow"}

Row = tuple[StyledText, ...]


class TerminalPane(Widget, can_focus=True):
    """Shows one `Shell`, or a text while there is none. While it has the focus all keys are the shell's."""

    ALLOW_SELECT = False
    takes_all_keys = True

    def __init__(self, type_ahead: Callable[[bytes], object]) -> None:
        """type_ahead: called with keys that are typed while there is no shell."""
        super().__init__()
        self._type_ahead = type_ahead
        self._shell: Shell | None = None
        self._text = ""
        self._rows: list[Row] = []
        """As they were drawn last."""
        self._back = 0
        """Lines that the view is scrolled into the history."""
        self._scrolled = 0
        self._next = self._last = 0.0
        """When it may be drawn again, and when it was drawn."""
        self._credit = float(AT_ONCE)
        """Bytes that may be sent at once."""
        self._waiting: Timer | None = None

    @property
    def shell(self) -> Shell | None:
        return self._shell

    def show(self, shell: Shell | None, text: str = "") -> None:
        """This shell from now on, or `text`."""
        if shell is not self._shell or text != self._text:
            self._shell, self._text, self._back = shell, text, 0
            self._rows = []
            self._fit()
            self.refresh()

    def moved(self) -> None:
        """The shell shows something else: draw it as soon as the rate allows."""
        if self._waiting is None:
            rest = self._next - time.monotonic()
            if rest <= 0:
                self._draw()
            else:
                self._waiting = self.set_timer(rest, self._draw)

    # Drawing

    def _draw(self) -> None:
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None
        shell = self._shell
        if shell is None:
            return
        screen = shell.screen
        if self._back:  # the text that is being read stays where it is
            self._back = min(self._back + screen.scrolled - self._scrolled, len(screen.history))
        self._scrolled = screen.scrolled
        before, cost = self._rows, 0
        self._rows = [self._row(y) for y in range(self.content_size.height)]
        for y, (now, old) in enumerate(zip_longest(self._rows, before)):
            if now is not None and now != old:
                self.refresh(Region(0, y, self.content_size.width, 1))
                cost += _cost(now)
        now = time.monotonic()
        self._credit = min(AT_ONCE, self._credit + (now - self._last) * BYTES_A_SECOND) - cost
        self._last, self._next = now, now + max(_SHORTEST, -self._credit / BYTES_A_SECOND)

    def _row(self, y: int) -> Row:
        """A line of the view, with the cursor in it."""
        assert self._shell is not None
        screen = self._shell.screen
        row = screen.row(y, self._back) if y < screen.lines else ()
        at = min(screen.cursor.x, screen.columns - 1)
        if screen.cursor.hidden or y != screen.cursor.y + self._back:
            return row
        return _with_cursor(row, at, self.has_focus)

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        if self._shell is None:
            return Strip([Segment(self._text if y == 0 else "", self.rich_style)]).adjust_cell_length(
                width, self.rich_style
            )
        row = self._rows[y] if y < len(self._rows) else self._row(y)
        inverse = self._shell.screen.inverse
        segments = [Segment(text, self.rich_style + _style(look, inverse)) for text, look in row]
        return Strip(segments).adjust_cell_length(width, self.rich_style)

    def _fit(self) -> None:
        if self._shell is not None and self.content_size:
            self._shell.resize(self.content_size.height, self.content_size.width)

    def on_resize(self) -> None:
        self._fit()
        self._rows = []
        self.refresh()
        self.moved()

    def on_focus(self) -> None:
        self.moved()

    def on_blur(self) -> None:
        self.moved()

    # Keys and mouse

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        application = self._shell is not None and self._shell.screen.application_keys
        self._type(keys.typed(event.key, event.character, application=application))

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        bracketed = self._shell is not None and self._shell.screen.bracketed_paste
        self._type(keys.pasted(event.text, bracketed=bracketed))

    def _type(self, data: bytes) -> None:
        if not data:
            return
        if self._shell is None:
            self._type_ahead(data)
            return
        self._shell.write(data)
        if self._back:
            self._back = 0
            self.moved()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, up=True)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, up=False)

    def _wheel(self, event: events.MouseEvent, up: bool) -> None:
        """Into what scrolled off; a program that has the screen for itself gets it."""
        event.stop()
        event.prevent_default()
        if self._shell is None:
            return
        screen = self._shell.screen
        if screen.mouse:
            self._shell.write(keys.wheel(up, event.x, event.y, sgr=screen.sgr_mouse))
        elif screen.wheel_is_arrows:
            self._shell.write(keys.wheel_as_arrows(up, application=screen.application_keys))
        elif not screen.alternate:
            by = keys.WHEEL_LINES if up else -keys.WHEEL_LINES
            self._scrolled = screen.scrolled
            self._back = max(0, min(self._back + by, len(screen.history)))
            self.moved()


def _cost(row: Row) -> int:
    """About how many bytes a line takes on its way to the terminal."""
    return _LINE + sum(len(text) + _PIECE for text, _ in row)


def _with_cursor(row: Row, at: int, focused: bool) -> Row:
    """`row` with the cell of column `at` as the cursor; underlined in a pane that keys do not go to."""
    pieces: list[StyledText] = []
    x = 0
    for text, look in row:
        width = cell_len(text)
        if not x <= at < x + width:
            pieces.append(StyledText(text, look))
        else:
            before = 0
            while x + cell_len(text[: before + 1]) <= at:
                before += 1
            end = before + 1
            while end < len(text) and cell_len(text[end]) == 0:
                end += 1
            marked = look._replace(reverse=not look.reverse) if focused else look._replace(underscore=True)
            parts = ((text[:before], look), (text[before:end], marked), (text[end:], look))
            pieces += [StyledText(part, how) for part, how in parts if part]
        x += width
    return tuple(pieces)


@lru_cache(maxsize=2048)
def _style(char: Char, inverse: bool) -> Style:
    """Of cells that look like that; where it says nothing, the pane's own."""
    return Style(
        color=_colour(char.fg),
        bgcolor=_colour(char.bg),
        bold=char.bold or None,
        italic=char.italics or None,
        underline=char.underscore or None,
        strike=char.strikethrough or None,
        reverse=char.reverse != inverse or None,
    )


def _colour(name: str) -> str | None:
    """Rich's name of one of pyte's colours."""
    if name == "default":
        return None
    if len(name) == 6 and set(name) <= set("0123456789abcdef"):
        return f"#{name}"
    return _NAMES.get(name) or name.replace("bright", "bright_")
