"""Hints, shown one level at a time."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from tcptutor.ui.widgets.page.inline import paragraphs


class Hints(Static):
    """The levels asked for so far; nothing when there are none."""

    def __init__(self, hints: tuple[str, ...], level: int) -> None:
        super().__init__(classes="hints", markup=False)
        self._hints = hints
        self.show(level)

    def show(self, level: int) -> None:
        """The first `level` hints."""
        total = len(self._hints)
        shown = [
            Content.assemble((f"hint {number} of {total}: ", "bold"), paragraphs(text))
            for number, text in enumerate(self._hints[:level], start=1)
        ]
        self.display = bool(shown)
        self.update(Content("\n").join(shown))
