"""Text folded below a title line, which a key or a click opens and closes."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

CLOSED, OPEN = "▸", "▾"


class FoldedText(Vertical):
    """A title line, and below it the text while it is open."""

    def __init__(self, title: str, key: str, *parts: Widget) -> None:
        super().__init__(classes="folded")
        self._title, self._key, self._parts = title, key, parts
        self._is_open = False
        self._line = FoldTitle(markup=False)

    def compose(self) -> ComposeResult:
        self._show_line()
        yield self._line
        for part in self._parts:
            part.display = self._is_open
            yield part

    def toggle(self) -> None:
        """Open the text and scroll to it, or close it."""
        self._is_open = not self._is_open
        for part in self._parts:
            part.display = self._is_open
        self._show_line()
        if self._is_open:
            self.call_after_refresh(self.scroll_visible, animate=False, top=True)

    def on_fold_title_clicked(self, message: FoldTitle.Clicked) -> None:
        message.stop()
        self.toggle()

    def _show_line(self) -> None:
        sign, does = (OPEN, "closes") if self._is_open else (CLOSED, "opens")
        self._line.update(
            Content.assemble((f"{sign} {self._title}", "bold"), (f"   {self._key} {does} it", "$text-muted"))
        )


class FoldTitle(Static):
    """Title line of a folded text."""

    class Clicked(Message):
        """The title was clicked."""

    def on_click(self) -> None:
        self.post_message(self.Clicked())
