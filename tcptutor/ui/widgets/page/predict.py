"""The prediction: a number, locked before the run, and answered after it."""

from __future__ import annotations

from typing import ClassVar

from textual.actions import SkipAction
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input

from tcptutor.course.activities.predict import Predict
from tcptutor.course.record import Given
from tcptutor.ui.study import MarkedResponse
from tcptutor.ui.widgets.page.box import EntryBox
from tcptutor.ui.widgets.page.text import paragraphs


class PredictBox(EntryBox[Predict]):
    """Asks until it is locked; then shows what was locked, and after the run what it is told."""

    TITLE: ClassVar[str] = "Predict"
    LABEL: ClassVar[str] = "Your prediction "
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "go_back", "go back", show=False, id="predict.go-back")
    ]

    def __init__(self, activity: Predict) -> None:
        super().__init__(activity)
        self._doubted = ""
        """What was asked about; Enter locks just that. Empty for nothing."""
        self._unanswered = False
        """Whether it was locked just now, and no run has answered it yet."""

    def ask(self) -> Content:
        return paragraphs(self.activity.ask)

    def unit(self) -> str:
        return self.activity.plain_unit

    def show(self, response: MarkedResponse, just_now: bool) -> None:
        self._doubted = ""
        answered = bool(response.mark and response.mark.feedback)
        # A run that has just ended scrolls on to what belongs after it: its answer is to be seen first.
        super().show(response, just_now=answered and self._unanswered)
        self._unanswered = not answered and (just_now or self._unanswered)

    def told(self, response: MarkedResponse) -> Content:
        if not isinstance(response.given, str) or not response.given:
            return Content("You ran this without a prediction.")
        written = self.activity.written(response.given)
        locked = Content.assemble("Your prediction  ", (written, "bold"), "  (locked)")
        feedback = response.mark.feedback if response.mark else ""
        return Content("\n").join([locked, *([paragraphs(feedback)] if feedback else [])])

    def enter(self) -> None:
        """The run was asked for before the prediction."""
        super().enter()
        self.say(Content("First your prediction: type it, Enter locks it. (Esc, then x, runs without one.)"))

    def complain(self, reason: str) -> None:
        self.query_one(Input).focus()
        super().complain(reason)

    def wonder(self, given: Given, doubt: str) -> None:
        self._doubted = str(given)
        self.query_one(Input).focus()
        self.say(Content.assemble(("? ", "$warning bold"), doubt, " Enter locks it as it is, Esc goes back."))

    def action_go_back(self) -> None:
        if not self._doubted:
            raise SkipAction  # out of the field
        self._forget()

    def on_input_changed(self) -> None:
        if self._doubted:
            self._forget()

    def submit(self, text: str) -> None:
        if text:
            self.respond(text, sure=text == self._doubted)
        else:
            self.enter()

    def _forget(self) -> None:
        self._doubted = ""
        self.say(Content(""))
