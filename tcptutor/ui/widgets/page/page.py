"""The page of a step: prose, prediction, what was to be seen, questions; it scrolls."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input, Markdown, Static

from tcptutor.course.record import PREDICT
from tcptutor.ui.study import Study
from tcptutor.ui.widgets.page.predict import PredictBox
from tcptutor.ui.widgets.page.question import QuestionBox


class Page(VerticalScroll, inherit_bindings=False):
    """One step. A new step is a new page."""

    # Without the base's own left and right: they turn pages here.
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "scroll_up", show=False),
        Binding("down", "scroll_down", show=False),
        Binding("pageup", "page_up", show=False),
        Binding("pagedown,space", "page_down", show=False),
        Binding("home", "scroll_home", show=False),
        Binding("end", "scroll_end", show=False),
    ]

    def __init__(self, study: Study, onward: str) -> None:
        super().__init__()
        self._study, self._onward = study, onward
        self._after = After(study.step.after)

    def compose(self) -> ComposeResult:
        step = self._study.step
        yield Markdown(f"# {step.title}\n\n{step.prose}")
        if step.predict:
            yield PredictBox(step.predict, self._study.prediction, self._study.page.activity(PREDICT).hints)
        yield self._after
        for question in step.questions:
            yield QuestionBox(question, self._study.page.activity(question.id).hints)
        yield Static(Content(self._onward), id="onward")

    @property
    def predict_box(self) -> PredictBox | None:
        return next(iter(self.query(PredictBox)), None)

    def questions(self) -> Iterator[QuestionBox]:
        yield from self.query(QuestionBox)

    def question(self, id: str) -> QuestionBox:
        return next(box for box in self.questions() if box.question.id == id)

    def focused_question(self) -> QuestionBox | None:
        """The question that has the focus."""
        return next((box for box in self.questions() if box.has_focus or box.has_focus_within), None)

    def open_question(self) -> QuestionBox | None:
        """The question that has the focus, else the first that is not yet right."""
        return self.focused_question() or next((box for box in self.questions() if not box.right), None)

    def show_after(self, scroll: bool) -> None:
        """The run is there: say what was to be seen; go there unless the student is busy elsewhere, or has left."""
        if self._study.step.after and self.is_attached:
            busy = isinstance(self.screen.focused, Input | QuestionBox)
            self._after.appear(go_there=scroll and not busy)


class After(Markdown):
    """What was to be seen, once the run is there."""

    def __init__(self, text: str) -> None:
        super().__init__(text, id="after")
        self.display = False
        self._go_there = False

    def appear(self, go_there: bool) -> None:
        if not self.display:
            self.display = True
            self._go_there = go_there

    def on_resize(self) -> None:
        # Only now has it a place that can be scrolled to.
        if self._go_there and self.size.height:
            self._go_there = False
            self.scroll_visible(animate=False, top=True)
