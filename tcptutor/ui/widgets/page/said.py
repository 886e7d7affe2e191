"""What an entry was told: empty until there is something to say, and then in view."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static


class Said(Static):
    """One paragraph under a question or a prediction."""

    def __init__(self) -> None:
        super().__init__(classes="line", markup=False)
        self.display = False
        self._go_there = False

    def say(self, content: Content, go_there: bool = True) -> None:
        """Show it; `go_there` scrolls the page so that it can be read."""
        self.update(content)
        if go_there:
            # One that is already there can be scrolled to now; a new one has no place before the next layout.
            self._go_there = not self.display
            self.call_after_refresh(self.scroll_visible, animate=False)
        self.display = True

    def on_resize(self) -> None:
        if self._go_there and self.size.height:
            self._go_there = False
            self.scroll_visible(animate=False)
