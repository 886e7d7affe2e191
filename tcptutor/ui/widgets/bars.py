"""Top and bottom lines: current place and lab status above, active keys below."""

from __future__ import annotations

import math
import time

from textual import events
from textual.content import Content
from textual.widget import Widget

from tcptutor.ui.bindings import FooterKey

GAP = 2
"""Blanks between entries of the key bar."""


class TopBar(Widget):
    """Place and pages on the left, lab on the right; the left part shrinks if both do not fit."""

    def __init__(self) -> None:
        super().__init__()
        self._place = self._pages = ""
        self._lab = ""
        self.seen_at = math.inf
        """Monotonic time of the first drawing, s; a key pressed earlier was meant for another screen."""

    def show_place(self, place: str, pages: str = "") -> None:
        """Show the current place; `pages` has a sign per page, done or not."""
        if (place, pages) != (self._place, self._pages):
            self._place, self._pages = place, pages
            self.refresh()

    def show_lab(self, lab: str) -> None:
        if lab != self._lab:
            self._lab = lab
            self.refresh()

    def render(self) -> Content:
        if self._place:
            self.seen_at = min(self.seen_at, time.monotonic())
        right = Content(self._lab)
        width = self.content_size.width
        room = max(width - right.cell_length - 2, 8)
        name = Content.styled("tcptutor", "bold")
        place = Content(f" · {self._place}" if self._place else "")
        pages = Content(f"  {self._pages}" if self._pages else "")
        wordings = (name + place + pages, Content(self._place) + pages, Content(self._place))
        fitting = (each for each in wordings if each.cell_length <= room)
        left = next(fitting, wordings[-1]).truncate(room, ellipsis=True)
        return left + Content(" " * max(width - left.cell_length - right.cell_length, 1)) + right


class KeyBar(Widget):
    """Line of active keys, as currently bound; a click presses the key.

    Textual's own footer has a widget for each key; a single line costs a tenth of the bytes.
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: tuple[FooterKey, ...] = ()
        self._right = ""

    def show_keys(self, keys: tuple[FooterKey, ...]) -> None:
        """Show keys in this order, without the last keys if they do not fit."""
        if keys != self._keys:
            self._keys = keys
            self.refresh()

    @property
    def right(self) -> str:
        """Text at the right end."""
        return self._right

    def show_right(self, text: str) -> None:
        if text != self._right:
            self._right = text
            self.refresh()

    def render(self) -> Content:
        width = self.content_size.width
        right = Content(self._right)
        left = Content(" " * GAP).join([self._render_entry(entry) for entry in self._visible_keys()])
        return left + Content(" " * max(width - left.cell_length - right.cell_length, 1)) + right

    def on_click(self, event: events.Click) -> None:
        at, entries = event.get_content_offset(self), self._visible_keys()
        if at is None:
            return
        start = 0
        for entry in entries:
            end = start + self._render_entry(entry).cell_length
            if start <= at.x < end:
                self.app.simulate_key(_key_at(entry, at.x - start))
                return
            start = end + GAP

    def _visible_keys(self) -> list[FooterKey]:
        room = self.content_size.width - len(self._right) - 1
        fitting: list[FooterKey] = []
        for entry in self._keys:
            room -= self._render_entry(entry).cell_length + (GAP if fitting else 0)
            if room < 0:
                break
            fitting.append(entry)
        return fitting

    def _render_entry(self, entry: FooterKey) -> Content:
        shown = " ".join(shown for shown, _ in entry.keys)
        return Content.assemble((shown, "bold"), f" {entry.word}")


def _key_at(entry: FooterKey, at: int) -> str:
    end = 0
    for shown, name in entry.keys:
        end += len(shown) + 1
        if at < end:
            return name
    return entry.keys[-1][1]
