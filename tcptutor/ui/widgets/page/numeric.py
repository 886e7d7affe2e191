"""Boxes of questions answered with a number, calculated or read off a run."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from tcptutor.base import units
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.read_off import ReadOff
from tcptutor.course.page_record import Given
from tcptutor.run import Run
from tcptutor.ui.widgets.page.entry_box import EntryBox
from tcptutor.ui.widgets.page.text import paragraphs


class NumericBox(EntryBox[Numeric]):
    """Question answered with a number and its unit."""

    def ask(self) -> Content:
        return paragraphs(self.activity.prompt)

    def unit(self) -> str:
        return self.activity.plain_unit


class ReadOffBox(EntryBox[ReadOff]):
    """Question about a value of the student's own run; names the run it is marked against."""

    def __init__(self, activity: ReadOff) -> None:
        super().__init__(activity)
        # Held rather than queried: a run may finish loading while the page is being left.
        self._against = Static("", classes="against", markup=False)

    def ask(self) -> Content:
        return paragraphs(self.activity.prompt)

    def unit(self) -> str:
        return self.activity.plain_unit

    def compose_entry(self) -> ComposeResult:
        yield from super().compose_entry()
        yield self._against

    def show_run(self, run: Run) -> None:
        started, seconds = run.started[:16].replace("T", " "), units.seconds(run.experiment_s)
        self._against.update(
            Content.styled(f"Marked against your run of {started}, {seconds} long.", "$text-muted")
        )

    def show_answer(self, given: Given) -> None:
        super().show_answer(given)
        self._against.display = not self.is_locked
