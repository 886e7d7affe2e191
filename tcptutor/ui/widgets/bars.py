"""The line at the top: where you are, and what the lab does. The line at the bottom: the keys that work now."""

from __future__ import annotations

import math
import time

from textual import events
from textual.content import Content
from textual.widget import Widget

from tcptutor.ui.bindings import FooterKey

GAP = 2
"""Blanks after an entry of the line at the bottom."""


class TopBar(Widget):
    """Place and pages on the left, lab on the right; the left gives way when both do not fit."""

    def __init__(self) -> None:
        super().__init__()
        self._place = self._pages = ""
        self._lab = ""
        self.seen_at = math.inf
        """When the place was first drawn, s of the monotonic clock: a key pressed earlier was meant for another."""

    def show_place(self, place: str, pages: str = "") -> None:
        """`pages`: a sign for each page, which says whether it is done."""
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
    """One line of keys, as they are bound now: a remapped key shows as remapped. A click presses the key.

    Textual's own footer has a widget for each key; one line costs a tenth of the bytes.
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: tuple[FooterKey, ...] = ()
        self._right = ""

    def show_keys(self, keys: tuple[FooterKey, ...]) -> None:
        """In order; the last ones give way when not all fit."""
        if keys != self._keys:
            self._keys = keys
            self.refresh()

    @property
    def right(self) -> str:
        """What stands at the right."""
        return self._right

    def show_right(self, text: str) -> None:
        if text != self._right:
            self._right = text
            self.refresh()

    def render(self) -> Content:
        width = self.content_size.width
        right = Content(self._right)
        left = Content(" " * GAP).join([self._drawn(entry) for entry in self._fitting()])
        return left + Content(" " * max(width - left.cell_length - right.cell_length, 1)) + right

    def on_click(self, event: events.Click) -> None:
        at, entries = event.get_content_offset(self), self._fitting()
        if at is None:
            return
        start = 0
        for entry in entries:
            end = start + self._drawn(entry).cell_length
            if start <= at.x < end:
                self.app.simulate_key(_pressed(entry, at.x - start))
                return
            start = end + GAP

    def _fitting(self) -> list[FooterKey]:
        room = self.content_size.width - len(self._right) - 1
        fitting: list[FooterKey] = []
        for entry in self._keys:
            room -= self._drawn(entry).cell_length + (GAP if fitting else 0)
            if room < 0:
                break
            fitting.append(entry)
        return fitting

    def _drawn(self, entry: FooterKey) -> Content:
        shown = " ".join(shown for shown, _ in entry.keys)
        return Content.assemble((shown, "bold"), f" {entry.word}")


def _pressed(entry: FooterKey, at: int) -> str:
    """The key of an entry that stands `at` so many cells from its beginning; the last one for its word."""
    end = 0
    for shown, name in entry.keys:
        end += len(shown) + 1
        if at < end:
            return name
    return entry.keys[-1][1]
