"""Line below the header: a cell per page of the module, in its state, with the current page marked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual import events
from textual.content import Content
from textual.message import Message
from textual.widget import Widget

from tcptutor.study.pages import PageState

_WIDEST = 5
"""Columns of a page at most."""


class Sign(NamedTuple):
    """Look of a page: a character for each column, and its style."""

    full: str
    plain: str
    """The same for fonts with few characters."""
    style: str


SIGNS: dict[PageState, Sign] = {
    "done": Sign("━", "■", "$success"),
    "known": Sign("┅", "=", "$success"),
    "wrong": Sign("╍", "x", "$error"),
    "open": Sign("─", "·", "$border"),
}
HERE = Sign("●", "O", "$accent bold")
"""Mark of the current page, over its cell."""
LEGEND = (
    ("━ ╍ ─", "line of pages: done, with a wrong answer, open"),
    ("● ┅", "line of pages: this page, known or skipped"),
)
"""(signs, meaning) for the list of keys."""


class PageTrack(Widget):
    """Line of pages. A click opens a page."""

    class Chosen(Message):
        """A page was clicked."""

        def __init__(self, number: int) -> None:
            self.number = number
            """Index of the page, from 0."""
            super().__init__()

    def __init__(self) -> None:
        super().__init__()
        self.states: tuple[PageState, ...] = ()
        self.here: int | None = None
        """Index of the current page, from 0; None on the pre-test."""
        self._is_plain = False

    def show(self, states: Sequence[PageState], here: int | None, *, is_plain: bool) -> None:
        """Show the pages; `here` is the current page from 0, None on the pre-test."""
        shown = tuple(states), here, is_plain
        if shown != (self.states, self.here, self._is_plain):
            self.states, self.here, self._is_plain = shown
            self.refresh()

    def render(self) -> Content:
        columns, first = self._columns, self._first
        parts: list[Content] = []
        for at in range(first, min(len(self.states), first + self.content_size.width // columns)):
            sign = SIGNS[self.states[at]]
            gap = 1 if columns > 1 else 0
            line = (sign.plain if self._is_plain else sign.full) * (columns - gap)
            if at == self.here:
                mark = HERE.plain if self._is_plain else HERE.full
                cell = Content.assemble((mark, HERE.style), (line[1:], sign.style))
            else:
                cell = Content.styled(line, sign.style)
            parts.append(cell + " " * gap)
        return Content("").join(parts)

    @property
    def _columns(self) -> int:
        """Columns of a page, with a blank after it if space permits."""
        return max(1, min(_WIDEST, self.content_size.width // max(1, len(self.states))))

    @property
    def _first(self) -> int:
        """First page shown; above 0 if the pages exceed the columns."""
        width = self.content_size.width
        if len(self.states) <= width:
            return 0
        return max(0, min((self.here or 0) - width // 2, len(self.states) - width))

    def on_click(self, event: events.Click) -> None:
        at = event.get_content_offset(self)
        if at is not None and (number := self._first + at.x // self._columns) < len(self.states):
            self.post_message(self.Chosen(number))
