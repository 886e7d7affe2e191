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
    """Place on the left, lab on the right. If both do not fit, the lab is cut first, then the place."""

    def __init__(self) -> None:
        super().__init__()
        self._place = self._short = self._count = ""
        self._lab = ""
        self.seen_at = math.inf
        """Monotonic time of the first drawing, s; a key pressed earlier was meant for the previous screen."""

    def show_place(self, place: str, short: str = "", count: str = "") -> None:
        """Show the current place, or `short` where it does not fit, and `count`, like "2/32"."""
        if (place, short, count) != (self._place, self._short, self._count):
            self._place, self._short, self._count = place, short, count
            self.refresh()

    def show_lab(self, lab: str) -> None:
        if lab != self._lab:
            self._lab = lab
            self.refresh()

    def render(self) -> Content:
        if self._place:
            self.seen_at = min(self.seen_at, time.monotonic())
        width = self.content_size.width
        count = Content(f"   {self._count}" if self._count else "")
        name = Content.styled("tcptutor", "bold")
        names = [Content.styled(each, "bold") for each in (self._place, self._short) if each]
        if not names:
            lefts = [name]
        elif self._count:
            lefts = [each + count for each in names]
        else:
            lefts = [name + f" · {self._place}", *names]
        labs = [Content(each) for each in (self._lab, self._lab.rpartition(" · ")[2])]
        fitting = (
            (left, lab) for left in lefts for lab in labs if left.cell_length + lab.cell_length + 2 <= width
        )
        left, lab = next(fitting, (lefts[-1], labs[-1]))
        if left.cell_length + lab.cell_length + 2 > width:
            left = lefts[-1] if not self._count else names[-1]
            room = max(width - lab.cell_length - 2 - count.cell_length, 8)
            left = left.truncate(room, ellipsis=True) + count
        return left + Content(" " * max(width - left.cell_length - lab.cell_length, 1)) + lab


class KeyBar(Widget):
    """Line of active keys, as currently bound; a click presses the key.

    Textual's own footer has a widget for each key; a single line costs a tenth of the bytes.
    """

    def __init__(self, *keys: FooterKey) -> None:
        super().__init__()
        self._keys = keys
        self._right = self._more = ""

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

    def show_more(self, text: str) -> None:
        """Show a text at the right end whenever `right` is empty."""
        if text != self._more:
            self._more = text
            self.refresh()

    def render(self) -> Content:
        width = self.content_size.width
        right = Content.styled(self._right or self._more, "bold" if self._right else "$text-muted")
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
        room = self.content_size.width - len(self._right or self._more) - GAP
        room -= sum(self._render_entry(entry).cell_length + GAP for entry in self._keys if entry.is_pinned)
        fitting: list[FooterKey] = []
        is_full = False
        for entry in self._keys:
            if not entry.is_pinned and not is_full:
                room -= self._render_entry(entry).cell_length + (GAP if fitting else 0)
                is_full = room < 0
            if entry.is_pinned or not is_full:
                fitting.append(entry)
        return fitting

    def _render_entry(self, entry: FooterKey) -> Content:
        shown = " ".join(shown for shown, _ in entry.keys)
        if entry.is_next:
            return Content.styled(f"{shown} {entry.word}", "bold $accent")
        return Content.assemble((shown, "bold"), f" {entry.word}")


def _key_at(entry: FooterKey, at: int) -> str:
    end = 0
    for shown, name in entry.keys:
        end += len(shown) + 1
        if at < end:
            return name
    return entry.keys[-1][1]
