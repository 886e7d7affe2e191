"""Text and boxes folded to a title line, which a key or a click opens."""

from __future__ import annotations

from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.message import Message
from textual.widget import Widget
from textual.widgets import Static

from tcptutor.ui.widgets.page.scrolling import ScrollingBox

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


class FoldingBox(ScrollingBox):
    """Box that folds to a line, its `FoldTitle` of class `summary`, once it is done."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "unfold", "unfold", show=False, priority=True, id="box.unfold")
    ]

    def __init__(self, *, classes: str) -> None:
        super().__init__(classes=classes)
        self._is_touched = False
        """True once the student used the box on this visit: then it stays open."""
        self.is_folded = False
        """True while only a line is shown."""
        self._could_focus = self.can_focus

    def _fold(self, title: str, summary: Content) -> None:
        if not self.is_folded:
            self._could_focus, self.can_focus, self.is_folded = self.can_focus, True, True
            self.set_class(True, "-folded")
        line = Content.assemble(("✓ ", "bold $success"), (f"{title}  ", "bold"), summary)
        self.query_one(".summary", FoldTitle).update(Content(line.plain.replace("\n", " "), list(line.spans)))

    def unfold(self) -> None:
        """Show all of a folded box."""
        if self.is_folded:
            self.can_focus, self.is_folded, self._is_touched = self._could_focus, False, True
            self.set_class(False, "-folded")
            self.scroll_into_view()

    def action_unfold(self) -> None:
        self.unfold()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "unfold":
            return self.is_folded
        return super().check_action(action, parameters)

    @on(FoldTitle.Clicked)
    def _summary_clicked(self, message: FoldTitle.Clicked) -> None:
        message.stop()
        self.unfold()
