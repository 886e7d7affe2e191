"""The prediction: a number, locked before the run, and answered after it."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.content import Content

from tcptutor.course.activities.predict import Predict
from tcptutor.course.activity import Activity
from tcptutor.course.page_record import Given
from tcptutor.ui.study import MarkedResponse
from tcptutor.ui.widgets.page.box import ActivityBox
from tcptutor.ui.widgets.page.entry import Entry
from tcptutor.ui.widgets.page.entry_box import EntryBox
from tcptutor.ui.widgets.page.text import paragraphs

A = TypeVar("A", bound=Activity)

LEFT_OUT = Content("You ran this without a prediction.")


class PredictionBox(ActivityBox[A]):
    """Asks until it is locked; then shows what was locked, and after the run what it is told."""

    TITLE: ClassVar[str] = "Predict"
    _unanswered = False
    """Whether it was locked just now, and no run has answered it yet."""

    def show(self, response: MarkedResponse, just_now: bool) -> None:
        answered = bool(response.mark and response.mark.feedback)
        # A run that has just ended scrolls on to what belongs after it: its answer is to be seen first.
        super().show(response, just_now=answered and self._unanswered)
        self._unanswered = not answered and (just_now or self._unanswered)


class PredictBox(PredictionBox[Predict], EntryBox[Predict]):
    """The number is typed with its unit."""

    LABEL: ClassVar[str] = "Your prediction "

    def __init__(self, activity: Predict) -> None:
        super().__init__(activity)
        self._doubted = ""
        """What was asked about; Enter locks just that. Empty for nothing."""

    def ask(self) -> Content:
        return paragraphs(self.activity.ask)

    def unit(self) -> str:
        return self.activity.plain_unit

    def show(self, response: MarkedResponse, just_now: bool) -> None:
        self._doubted = ""
        super().show(response, just_now)

    def told(self, response: MarkedResponse) -> Content:
        if not isinstance(response.given, str) or not response.given:
            return LEFT_OUT
        written = self.activity.written(response.given)
        how = "locked; u takes it back" if response.can_withdraw else "locked"
        understood = self.activity.interpret(response.given)
        how = f"{understood}; {how}" if understood else how
        locked = Content.assemble("Your prediction  ", (written, "bold"), f"  ({how})")
        feedback = response.mark.feedback if response.mark else ""
        return Content("\n").join([locked, *([paragraphs(feedback)] if feedback else [])])

    def enter(self) -> None:
        """The run was asked for before the prediction."""
        super().enter()
        self.say(Content("First your prediction: type it, Enter locks it. (Esc, then x, runs without one.)"))

    def complain(self, reason: str) -> None:
        super().enter()
        super().complain(reason)

    def wonder(self, given: Given, doubt: str) -> None:
        self._doubted = str(given)
        super().enter()
        self.say(Content.assemble(("? ", "$warning bold"), doubt, " Enter locks it as it is, Esc goes back."))

    def leave(self) -> None:
        if self._doubted:
            self._forget()
        else:
            super().leave()

    def on_input_changed(self) -> None:
        super().on_input_changed()
        # Of what was typed before Enter it may be told only now.
        if self._doubted and self.query_one(Entry).value.strip() != self._doubted:
            self._forget()

    def submit(self, text: str) -> None:
        if text:
            self.respond(text, sure=text == self._doubted)
        else:
            self.enter()

    def _forget(self) -> None:
        self._doubted = ""
        self.say(Content(""))
