"""The choices of a question: a cursor, marks, and what each chosen one was told."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from tcptutor.course.model import Choice
from tcptutor.ui.widgets.page.inline import paragraphs

FREE, CHOSEN = "○", "●"
FREE_BOX, CHOSEN_BOX = "☐", "☑"


class ChoiceLine(Horizontal):
    """One choice: "› 2 ○ text". Shapes and words carry the meaning, colour repeats it."""

    def __init__(self, number: int, choice: Choice, many: bool) -> None:
        super().__init__(classes="choice")
        self._number, self._choice, self._many = number, choice, many

    def compose(self) -> ComposeResult:
        yield Static(classes="mark", markup=False)
        yield Static(paragraphs(self._choice.text), classes="text", markup=False)

    def show(self, cursor: bool, chosen: bool) -> None:
        free, taken = (FREE_BOX, CHOSEN_BOX) if self._many else (FREE, CHOSEN)
        mark = Content.assemble(
            ("›" if cursor else " ", "bold $primary"),
            f" {self._number} ",
            (taken if chosen else free, "bold"),
        )
        self.query_one(".mark", Static).update(mark, layout=False)
        self.set_class(chosen, "-chosen")
