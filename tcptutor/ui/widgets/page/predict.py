"""Boxes of predictions: locked before the run, compared with it afterwards."""

from __future__ import annotations

from typing import ClassVar, TypeVar

from textual.content import Content

from tcptutor.course.activities.predict import Predict
from tcptutor.course.activity import Activity
from tcptutor.course.page_record import Given
from tcptutor.ui.study import MarkedResponse
from tcptutor.ui.widgets.page.box import ActivityBox
from tcptutor.ui.widgets.page.entry_box import Entry, EntryBox
from tcptutor.ui.widgets.page.text import paragraphs

A = TypeVar("A", bound=Activity)

NO_PREDICTION = Content("You ran this without a prediction.")


class PredictionBox(ActivityBox[A]):
    """Prediction: editable until locked, with feedback after the run."""

    TITLE: ClassVar[str] = "Predict"
    _awaits_run = False
    """Whether the prediction was locked just now, with no run since."""

    def show(self, response: MarkedResponse, just_now: bool) -> None:
        answered = bool(response.mark and response.mark.feedback)
        # After a run the page scrolls to the text after it: the feedback must be seen first.
        super().show(response, just_now=answered and self._awaits_run)
        self._awaits_run = not answered and (just_now or self._awaits_run)


class PredictBox(PredictionBox[Predict], EntryBox[Predict]):
    """Prediction of a number with its unit."""

    LABEL: ClassVar[str] = "Your prediction "

    def __init__(self, activity: Predict) -> None:
        super().__init__(activity)
        self._doubted = ""
        """Doubtful input awaiting confirmation by Enter; empty for none."""

    def ask(self) -> Content:
        return paragraphs(self.activity.prompt)

    def unit(self) -> str:
        return self.activity.plain_unit

    def show(self, response: MarkedResponse, just_now: bool) -> None:
        self._doubted = ""
        super().show(response, just_now)

    def feedback(self, response: MarkedResponse) -> Content:
        if not isinstance(response.answer, str) or not response.answer:
            return NO_PREDICTION
        written = self.activity.written(response.answer)
        how = "locked; u takes it back" if response.can_withdraw else "locked"
        understood = self.activity.interpret(response.answer)
        how = f"{understood}; {how}" if understood else how
        locked = Content.assemble("Your prediction  ", (written, "bold"), f"  ({how})")
        lesson_feedback = response.mark.feedback if response.mark else ""
        return Content("\n").join([locked, *([paragraphs(lesson_feedback)] if lesson_feedback else [])])

    def demand_response(self) -> None:
        """Demand a prediction before the run."""
        super().demand_response()
        self.show_feedback(
            Content("First your prediction: type it, Enter locks it. (Esc, then x, runs without one.)")
        )

    def show_error(self, reason: str) -> None:
        super().demand_response()
        super().show_error(reason)

    def ask_confirmation(self, given: Given, doubt: str) -> None:
        self._doubted = str(given)
        super().demand_response()
        self.show_feedback(
            Content.assemble(("? ", "$warning bold"), doubt, " Enter locks it as it is, Esc goes back.")
        )

    def leave(self) -> None:
        if self._doubted:
            self._clear_doubt()
        else:
            super().leave()

    def on_input_changed(self) -> None:
        super().on_input_changed()
        # The change may be that of text typed before Enter, reported only now.
        if self._doubted and self.query_one(Entry).value.strip() != self._doubted:
            self._clear_doubt()

    def submit(self, text: str) -> None:
        if text:
            self.respond(text, sure=text == self._doubted)
        else:
            self.demand_response()

    def _clear_doubt(self) -> None:
        self._doubted = ""
        self.show_feedback(Content(""))
