"""The line at the top: where you are, and what the lab does. The line at the bottom: the keys that work now."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget


class TopBar(Widget):
    """Place on the left, lab on the right; the place gives way when both do not fit."""

    def __init__(self) -> None:
        super().__init__()
        self._place = ""
        self._lab = ""

    def show_place(self, place: str) -> None:
        self._place = place
        self.refresh()

    def show_lab(self, lab: str) -> None:
        if lab != self._lab:
            self._lab = lab
            self.refresh()

    def render(self) -> Content:
        left = Content.assemble(("tcptutor", "bold"), f" · {self._place}" if self._place else "")
        right = Content(self._lab)
        width = self.content_size.width
        left = left.truncate(max(width - right.cell_length - 2, 8), ellipsis=True)
        return left + Content(" " * max(width - left.cell_length - right.cell_length, 1)) + right


class KeyBar(Widget):
    """One line of keys, as they are bound now: a remapped key shows as remapped.

    Textual's own footer has a widget for each key; one line costs a tenth of the bytes.
    """

    def __init__(self) -> None:
        super().__init__()
        self._keys: tuple[tuple[str, str], ...] = ()
        self._right = ""

    def show_keys(self, keys: tuple[tuple[str, str], ...]) -> None:
        """(key, what it does), in order; the last ones give way when not all fit."""
        if keys != self._keys:
            self._keys = keys
            self.refresh()

    def show_right(self, text: str) -> None:
        if text != self._right:
            self._right = text
            self.refresh()

    def render(self) -> Content:
        width = self.content_size.width
        right = Content(self._right)
        left = Content("")
        for key, what in self._keys:
            one = Content.assemble((key, "bold"), f" {what}")
            longer = left + Content("   ") + one if left.cell_length else one
            if longer.cell_length + right.cell_length + 2 > width:
                break
            left = longer
        return left + Content(" " * max(width - left.cell_length - right.cell_length, 1)) + right
