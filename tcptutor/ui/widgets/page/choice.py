"""A question with choices: a cursor, marks, and what each chosen one was told."""

from __future__ import annotations

from typing import ClassVar

from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content

from tcptutor.course.activities.choice import ChoiceQuestion
from tcptutor.course.record import Given
from tcptutor.ui.widgets.page.box import ActivityBox, EntryLine
from tcptutor.ui.widgets.page.text import paragraphs

FREE, CHOSEN = "○", "●"
FREE_BOX, CHOSEN_BOX = "☐", "☑"


class ChoiceBox(ActivityBox[ChoiceQuestion], can_focus=True):
    """One may be chosen, or several."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", show=False, id="question.up"),
        Binding("down", "move(1)", "down", show=False, id="question.down"),
        Binding("space", "pick_here", "choose", show=False, id="question.choose"),
        Binding("enter", "submit", "answer", show=False, id="question.answer"),
    ]

    def __init__(self, activity: ChoiceQuestion) -> None:
        super().__init__(activity)
        self._cursor = 0
        self._chosen: set[int] = set()

    def ask(self) -> Content:
        return paragraphs(self.activity.ask) + ("  (choose all that hold)" if self.activity.several else "")

    def compose_entry(self) -> ComposeResult:
        for choice in self.activity.choices:
            yield EntryLine(choice.text)

    def on_mount(self) -> None:
        self._draw()

    def on_focus(self) -> None:
        self._draw()

    def on_blur(self) -> None:
        self._draw()

    def pick(self, number: int) -> None:
        """Choose that one, or for several take it back; Enter then answers."""
        self.enter()
        if not self.final and 1 <= number <= len(self.activity.choices):
            self._cursor = number - 1
            here = {self._cursor}
            self._chosen = self._chosen ^ here if self.activity.several else here
            self._draw()

    def action_move(self, by: int) -> None:
        target = self._cursor + by
        if self.final or not 0 <= target < len(self.activity.choices):
            raise SkipAction  # the page scrolls instead
        self._cursor = target
        self._draw()

    def action_pick_here(self) -> None:
        self.pick(self._cursor + 1)

    def action_submit(self) -> None:
        if self.final:
            return
        if not self._chosen and not self.activity.several:
            self._chosen = {self._cursor}
        if self._chosen:
            self._draw()
            self.respond(tuple(sorted(self._chosen)))
        else:
            self.say(Content("Choose with Space or the numbers, then press Enter."))

    def show_given(self, given: Given) -> None:
        self._chosen = {index for index in given if isinstance(index, int)}
        self._cursor = min(self._chosen, default=0)
        self._draw()

    def _draw(self) -> None:
        signs = (FREE_BOX, CHOSEN_BOX) if self.activity.several else (FREE, CHOSEN)
        for index, line in enumerate(self.query(EntryLine)):
            chosen = index in self._chosen
            here = self.has_focus and not self.final and index == self._cursor
            line.show(here, index + 1, signs[chosen], strong=chosen)
