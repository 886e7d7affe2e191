"""Boxes of worked examples: solved step by step, or with a gap to fill in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widgets import Static

from tcptutor.course.activities.example import Example, ExampleStep
from tcptutor.course.page_record import Given
from tcptutor.study.marking import MarkedResponse
from tcptutor.ui.widgets.page.box import ActivityBox
from tcptutor.ui.widgets.page.entries import EntryBox
from tcptutor.ui.widgets.page.text import Offers, paragraphs


def example_box(example: Example) -> ActivityBox[Any]:
    """Return the box of a worked example."""
    return SolvedBox(example) if example.gap is None else GapBox(example)


class SolvedBox(ActivityBox[Example], can_focus=True):
    """Example that shows its next step on each key."""

    TITLE: ClassVar[str] = "Example"
    SIGN, HUE, KIND = "=", "$secondary", "example"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,enter", "next_step", "next step", show=False, priority=True, id="example.next-step"),
    ]
    takes_digits: ClassVar[bool] = False
    asks_sureness: ClassVar[bool] = False

    def __init__(self, activity: Example) -> None:
        super().__init__(activity)
        self._shown = 0

    def ask(self) -> Content:
        return paragraphs(self.activity.prompt)

    def compose_entry(self) -> ComposeResult:
        yield from _step_lines(self.activity.steps)

    def on_mount(self) -> None:
        super().on_mount()
        self._show_steps()

    def answer(self) -> None:
        if self._shown < len(self.activity.steps):
            self.respond((self.activity.entry_ids[self._shown],))

    def action_next_step(self) -> None:
        if self.is_folded:
            self.unfold()
            return
        if self._shown >= len(self.activity.steps):
            raise SkipAction  # the page scrolls instead
        self.answer()

    def show_answer(self, given: Given) -> None:
        shown = [number for number, id in enumerate(self.activity.entry_ids, 1) if id in tuple(given)]
        self._shown = max(shown, default=0)
        self._show_steps()

    def feedback(self, response: MarkedResponse) -> Content:  # noqa: ARG002  # the steps are the feedback
        return Content("")

    def _show_steps(self) -> None:
        for line in self.query(StepLine):
            line.display = line.number <= self._shown
        self._offer()

    def _offer(self) -> None:
        count = len(self.activity.steps)
        key = "Space" if self.is_active else "Tab, then Space"
        text = f"{key}: step {self._shown + 1} of {count}" if self._shown < count else ""
        for offers in self.query(Offers):
            offers.show(text, "")


class GapBox(EntryBox[Example]):
    """Example with a gap: the steps before it are given, the steps after it follow a right value."""

    TITLE: ClassVar[str] = "Example"
    SIGN, HUE, KIND = "=", "$secondary", "example"
    LABEL: ClassVar[str] = "    = "
    asks_sureness: ClassVar[bool] = False

    def ask(self) -> Content:
        return paragraphs(self.activity.prompt)

    def unit(self) -> str:
        return self.activity.gap.plain_unit if self.activity.gap else ""

    def compose_entry(self) -> ComposeResult:
        yield from _step_lines(self._given_steps)
        yield from super().compose_entry()

    def clear(self) -> None:
        super().clear()
        for line, step in zip(self.query(StepLine), self._given_steps, strict=True):
            line.show(step.text)

    @property
    def _given_steps(self) -> Sequence[ExampleStep]:
        return self.activity.steps[: (self.activity.gap_index or 0) + 1]


def _step_lines(steps: Sequence[ExampleStep]) -> ComposeResult:
    for number, step in enumerate(steps, start=1):
        yield StepLine(step.text, number)


class StepLine(Horizontal):
    """Numbered step of a calculation."""

    def __init__(self, text: str, number: int) -> None:
        super().__init__(classes="step")
        self.number = number
        self._text = Static(paragraphs(text), classes="text", markup=False)

    def compose(self) -> ComposeResult:
        yield Static(f"{self.number}", classes="mark")
        yield self._text

    def show(self, text: str) -> None:
        """Replace the text."""
        self._text.update(paragraphs(text))
