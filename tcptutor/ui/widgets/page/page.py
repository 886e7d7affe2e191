"""The page of a step: prose, prediction, what was to be seen, questions; it scrolls."""

from __future__ import annotations

from collections.abc import Iterator

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input, Markdown, Static

from tcptutor.ui.study import PREDICT, Study
from tcptutor.ui.widgets.page.predict import PredictBox
from tcptutor.ui.widgets.page.question import QuestionBox


class Page(VerticalScroll):
    """One step. A new step is a new page."""

    def __init__(self, study: Study, onward: str) -> None:
        super().__init__()
        self._study, self._onward = study, onward

    def compose(self) -> ComposeResult:
        step = self._study.step
        yield Markdown(f"# {step.title}\n\n{step.prose}")
        if step.predict:
            yield PredictBox(step.predict, self._study.prediction, self._study.hints.get(PREDICT, 0))
        after = Markdown(step.after, id="after")
        after.display = False
        yield after
        for question in step.questions:
            yield QuestionBox(question, self._study.hints.get(question.id, 0))
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
        """The run is there: say what was to be seen; go there unless the student is busy elsewhere."""
        after = self.query_one("#after", Markdown)
        if not self._study.step.after or after.display:
            return
        after.display = True
        if scroll and not isinstance(self.screen.focused, Input | QuestionBox):
            self.call_after_refresh(self.scroll_to_widget, after, animate=False, top=True)
