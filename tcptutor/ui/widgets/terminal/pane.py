"""Terminal widget: the cells of a shell, and the keys typed into it."""

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

BYTES_PER_SECOND, BURST_BYTES = 30_000, 8_000
"""Bytes per second and burst size that drawing may send to the real terminal, estimated by `_cost`.

With a chart drawn at the same time, the total stays below 60 kB/s.
"""

_MIN_INTERVAL = 1 / 60
"""Minimum seconds between drawings: Textual's own limit."""

_LINE_BYTES, _STYLE_BYTES = 12, 44
"""Estimated bytes per line and per change of style, without the text."""

_RICH_NAMES = {"brown": "yellow", "brightbrown": "bright_yellow"}

Row = tuple[StyledText, ...]


class TerminalPane(Widget, can_focus=True):
    """View of a `Shell`, or of a text before a shell is open; with focus, all keys go to the shell."""

    ALLOW_SELECT = False
    takes_all_keys = True

    def __init__(self, type_ahead: Callable[[bytes], object]) -> None:
        """Build an empty pane; `type_ahead` is called with keys typed before a shell is open."""
        super().__init__()
        self._type_ahead = type_ahead
        self._shell: Shell | None = None
        self._text = ""
        self._rows: list[Row] = []
        self._scroll_offset = 0
        """Lines that the view is scrolled into the history."""
        self._scrolled = 0
        self._next = self._last = 0.0
        """Earliest time of the next drawing, and time of the last, monotonic seconds."""
        self._credit = float(BURST_BYTES)
        """Bytes that may be sent at once."""
        self._waiting: Timer | None = None

    @property
    def shell(self) -> Shell | None:
        return self._shell

    def show(self, shell: Shell | None, text: str = "") -> None:
        """Show a shell, or a text before a shell is open."""
        if shell is not self._shell or text != self._text:
            self._shell, self._text, self._scroll_offset = shell, text, 0
            self._rows = []
            self._fit()
            self.refresh()

    def redraw_changes(self) -> None:
        """Draw the shell's changes as soon as the byte rate allows."""
        if self._waiting is None:
            remaining = self._next - time.monotonic()
            if remaining <= 0:
                self._draw()
            else:
                self._waiting = self.set_timer(remaining, self._draw)

    # Drawing

    def _draw(self) -> None:
        if self._waiting is not None:
            self._waiting.stop()
            self._waiting = None
        shell = self._shell
        if shell is None:
            return
        screen = shell.screen
        if self._scroll_offset:  # text being read stays in place
            self._scroll_offset = min(
                self._scroll_offset + screen.scrolled - self._scrolled, len(screen.history)
            )
        self._scrolled = screen.scrolled
        before, cost = self._rows, 0
        self._rows = [self._row(y) for y in range(self.content_size.height)]
        for y, (now, old) in enumerate(zip_longest(self._rows, before)):
            if now is not None and now != old:
                self.refresh(Region(0, y, self.content_size.width, 1))
                cost += _cost(now)
        now = time.monotonic()
        self._credit = min(BURST_BYTES, self._credit + (now - self._last) * BYTES_PER_SECOND) - cost
        self._last, self._next = now, now + max(_MIN_INTERVAL, -self._credit / BYTES_PER_SECOND)

    def _row(self, y: int) -> Row:
        assert self._shell is not None
        screen = self._shell.screen
        row = screen.row(y, self._scroll_offset) if y < screen.lines else ()
        column = min(screen.cursor.x, screen.columns - 1)
        if screen.cursor.hidden or y != screen.cursor.y + self._scroll_offset:
            return row
        return _with_cursor(row, column, self.has_focus)

    def render_line(self, y: int) -> Strip:
        width = self.content_size.width
        if self._shell is None:
            return Strip([Segment(self._text if y == 0 else "", self.rich_style)]).adjust_cell_length(
                width, self.rich_style
            )
        row = self._rows[y] if y < len(self._rows) else self._row(y)
        inverse = self._shell.screen.inverse
        segments = [Segment(text, self.rich_style + _rich_style(look, inverse)) for text, look in row]
        return Strip(segments).adjust_cell_length(width, self.rich_style)

    def _fit(self) -> None:
        if self._shell is not None and self.content_size:
            self._shell.resize(self.content_size.height, self.content_size.width)

    def on_resize(self) -> None:
        self._fit()
        self._rows = []
        self.refresh()
        self.redraw_changes()

    def on_focus(self) -> None:
        self.redraw_changes()

    def on_blur(self) -> None:
        self.redraw_changes()

    # Keys and mouse

    def on_key(self, event: events.Key) -> None:
        event.stop()
        event.prevent_default()
        application = self._shell is not None and self._shell.screen.application_keys
        self._send(keys.encode_key(event.key, event.character, application=application))

    def on_paste(self, event: events.Paste) -> None:
        event.stop()
        bracketed = self._shell is not None and self._shell.screen.bracketed_paste
        self._send(keys.encode_paste(event.text, bracketed=bracketed))

    def _send(self, data: bytes) -> None:
        if not data:
            return
        if self._shell is None:
            self._type_ahead(data)
            return
        self._shell.write(data)
        if self._scroll_offset:
            self._scroll_offset = 0
            self.redraw_changes()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        self._wheel(event, up=True)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        self._wheel(event, up=False)

    def _wheel(self, event: events.MouseEvent, up: bool) -> None:
        """Scroll the history, or send the wheel to a program that uses it."""
        event.stop()
        event.prevent_default()
        if self._shell is None:
            return
        screen = self._shell.screen
        if screen.mouse:
            self._shell.write(keys.encode_wheel(up, event.x, event.y, sgr=screen.sgr_mouse))
        elif screen.wheel_is_arrows:
            self._shell.write(keys.encode_wheel_as_arrows(up, application=screen.application_keys))
        elif not screen.alternate:
            by = keys.WHEEL_LINES if up else -keys.WHEEL_LINES
            self._scrolled = screen.scrolled
            self._scroll_offset = max(0, min(self._scroll_offset + by, len(screen.history)))
            self.redraw_changes()


def _cost(row: Row) -> int:
    return _LINE_BYTES + sum(len(text) + _STYLE_BYTES for text, _ in row)


def _with_cursor(row: Row, column: int, focused: bool) -> Row:
    """Return the row with the cell in `column` as cursor: reversed with focus, underlined without."""
    pieces: list[StyledText] = []
    x = 0
    for text, look in row:
        width = cell_len(text)
        if not x <= column < x + width:
            pieces.append(StyledText(text, look))
        else:
            before = 0
            while x + cell_len(text[: before + 1]) <= column:
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
def _rich_style(char: Char, inverse: bool) -> Style:
    return Style(
        color=_rich_color(char.fg),
        bgcolor=_rich_color(char.bg),
        bold=char.bold or None,
        italic=char.italics or None,
        underline=char.underscore or None,
        strike=char.strikethrough or None,
        reverse=char.reverse != inverse or None,
    )


def _rich_color(name: str) -> str | None:
    if name == "default":
        return None
    if len(name) == 6 and set(name) <= set("0123456789abcdef"):
        return f"#{name}"
    return _RICH_NAMES.get(name) or name.replace("bright", "bright_")
