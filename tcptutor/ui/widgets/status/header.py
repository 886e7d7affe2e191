"""The line at the top: where you are, and what the lab does."""

from __future__ import annotations

from textual.content import Content
from textual.widget import Widget


class Header(Widget):
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
