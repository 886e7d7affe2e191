"""The prediction: a number with its unit, locked before the run."""

from __future__ import annotations

from typing import ClassVar

from textual.content import Content
from textual.widgets import Input

from tcptutor import units
from tcptutor.course.activities.predict import Predict
from tcptutor.ui.study import MarkedResponse
from tcptutor.ui.widgets.page.box import EntryBox
from tcptutor.ui.widgets.page.text import paragraphs


class PredictBox(EntryBox[Predict]):
    """Asks until it is locked; then shows what was locked."""

    TITLE: ClassVar[str] = "Predict"
    LABEL: ClassVar[str] = "Your prediction "

    def ask(self) -> Content:
        return paragraphs(self.activity.ask)

    def example(self) -> str:
        return units.EXAMPLES[self.activity.unit]

    def show(self, response: MarkedResponse, just_now: bool) -> None:  # noqa: ARG002
        super().show(response, just_now=False)

    def told(self, response: MarkedResponse) -> Content:
        if not response.given:
            return Content("You ran this without a prediction.")
        return Content.assemble("Your prediction  ", (str(response.given), "bold"), "  (locked)")

    def enter(self) -> None:
        """The run was asked for before the prediction."""
        super().enter()
        self.say(Content("First your prediction: type it, Enter locks it. (Esc, then x, runs without one.)"))

    def complain(self, reason: str) -> None:
        self.query_one(Input).focus()
        super().complain(reason)

    def submit(self, text: str) -> None:
        super().submit(text)
        if not text:
            self.enter()
