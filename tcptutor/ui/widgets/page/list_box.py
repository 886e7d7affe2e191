"""Base of boxes with a list of entries to choose from."""

from __future__ import annotations

from typing import ClassVar

from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.message import Message
from textual.widgets import Static

from tcptutor.ui.widgets.page.box import A, ActivityBox
from tcptutor.ui.widgets.page.text import paragraphs


class ListBox(ActivityBox[A], can_focus=True):
    """List of entries: arrows move a cursor, Space and digits choose, Enter submits."""

    BINDINGS: ClassVar[list[BindingType]] = [
        # All have priority, like the screen's own: fast typing keeps its order.
        Binding("up", "move(-1)", "up", show=False, priority=True, id="question.up"),
        Binding("down", "move(1)", "down", show=False, priority=True, id="question.down"),
        Binding("space", "pick_here", "choose", show=False, priority=True, id="question.choose"),
        Binding("enter", "submit", "answer", show=False, priority=True, id="question.answer"),
    ]

    def __init__(self, activity: A) -> None:
        super().__init__(activity)
        self.cursor = 0
        """Index of the entry at the cursor."""

    # For subclasses

    def lines(self) -> list[tuple[str, str, bool]]:
        """Return sign, text and whether it is chosen, for each entry."""
        raise NotImplementedError

    HOW: ClassVar[str] = "Space or a number chooses, Enter answers"

    def take(self) -> None:
        """Choose the entry at the cursor."""
        raise NotImplementedError

    def move(self, target: int) -> None:
        """Move the cursor to an entry."""
        self.cursor = target

    def submit(self) -> None:
        """Submit the response, on Enter."""
        raise NotImplementedError

    # Shared

    def compose_entry(self) -> ComposeResult:
        for number, (_sign, text, _chosen) in enumerate(self.lines(), start=1):
            yield EntryLine(text, number)

    def on_mount(self) -> None:
        super().on_mount()
        self.draw()

    def on_entry_line_clicked(self, event: EntryLine.Clicked) -> None:
        event.stop()
        self.pick(event.number)

    def answer(self) -> None:
        self.action_submit()

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self.draw()

    def reveal(self, revealed: bool) -> None:
        self.can_focus = revealed
        super().reveal(revealed)

    def pick(self, number: int) -> None:
        if number < 1:
            return
        self.demand_response()
        if not self.is_locked and number <= len(self.lines()):
            self.move(number - 1)
            self.take()
            self.draw()
            self.post_message(self.DraftChanged())

    def action_move(self, by: int) -> None:
        target = self.cursor + by
        if self.is_locked or not 0 <= target < len(self.lines()):
            raise SkipAction  # the page scrolls instead
        self.move(target)
        self.draw()
        self.post_message(self.DraftChanged())

    def action_pick_here(self) -> None:
        self.pick(self.cursor + 1)

    def action_submit(self) -> None:
        if not self.is_locked:
            self.submit()

    def draw(self) -> None:
        for index, (line, entry) in enumerate(zip(self.query(EntryLine), self.lines(), strict=True)):
            line.show(self.has_focus and not self.is_locked and index == self.cursor, index + 1, *entry)


class EntryLine(Horizontal):
    """Entry of a list: "› 2 ○ text". Shapes and words carry the meaning, color repeats it."""

    class Clicked(Message):
        def __init__(self, number: int) -> None:
            self.number = number
            super().__init__()

    def __init__(self, text: str, number: int) -> None:
        super().__init__(classes="choice")
        self._text, self._number = text, number

    def on_click(self) -> None:
        self.post_message(self.Clicked(self._number))

    def compose(self) -> ComposeResult:
        yield Static(classes="mark", markup=False)
        yield Static(paragraphs(self._text), classes="text", markup=False)

    def show(self, cursor: bool, number: int, sign: str, text: str, chosen: bool) -> None:
        """Update the entry; `sign` shows its state."""
        mark = Content.assemble(("›" if cursor else " ", "bold $primary"), f" {number} ", (sign, "bold"))
        self.query_one(".mark", Static).update(mark, layout=False)
        self.set_class(chosen, "-chosen")
        if text != self._text:
            self._text = text
            self.query_one(".text", Static).update(paragraphs(text))
