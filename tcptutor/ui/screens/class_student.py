"""Drill-down from a class: a student's pages or a page's students, answers and runs, and charts."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content

from tcptutor.base.errors import TutorError
from tcptutor.grading.drill_down import (
    ClassDetails,
    answers_view,
    numbers_on,
    pages_of,
    pages_view,
    rows_of,
    students_view,
)
from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.grade import ActivityMark
from tcptutor.grading.survey import Place
from tcptutor.grading.views import TableView
from tcptutor.run import Run
from tcptutor.study import background
from tcptutor.ui.screens.stored import StoredScreen
from tcptutor.ui.screens.table_screen import TableScreen
from tcptutor.ui.widgets.bars import TopBar
from tcptutor.ui.workers import start_worker

_FOOTER = (
    ("table.open", "open"),
    ("table.search", "search"),
    ("table.sort table.reverse", "sort"),
    ("table.back", "back"),
    ("app.keys", "keys"),
    ("app.quit", "quit"),
)


class StudentScreen(TableScreen):
    """The pages of a student; Esc returns to the class."""

    FOOTER: ClassVar[tuple[tuple[str, str], ...]] = _FOOTER

    def __init__(self, details: ClassDetails, number: int, name: str) -> None:
        """Show the student with that row number, under a name or number."""
        super().__init__()
        self._details, self._number, self._student = details, number, name
        self._grade = details.grades[number]
        self._view = pages_view(self._grade)

    @property
    def view(self) -> TableView:
        return self._view

    def on_mount(self) -> None:
        self.query_one(TopBar).show_place(f"the class · {self._student}", self._student)

    def show_lab(self) -> None:
        """Show the marks in place of the lab."""
        for bar in self.query(TopBar):
            bar.show_lab(f"{self._grade.total:.4g} of {self._grade.of:.4g} marks")

    def head(self) -> Content:
        return Content.styled(f"Pages of {self._student}", "bold")

    def open_row(self, row: int) -> None:
        _, marks = list(pages_of(self._grade).items())[row]
        self.app.push_screen(PageScreen(self._details, self._number, self._student, marks))


class StudentsScreen(TableScreen):
    """Work of each student on a page or question; Esc returns to the class."""

    FOOTER: ClassVar[tuple[tuple[str, str], ...]] = _FOOTER

    def __init__(
        self, details: ClassDetails, place: Place, activity: str, title: str, names: Mapping[int, str]
    ) -> None:
        """Show the page, or its activity if that isn't empty, under a title."""
        super().__init__()
        self._details, self._place, self._heading, self._names = details, place, title, names
        self._numbers = numbers_on(details, place)
        self._view = students_view(details, place, activity, names)

    @property
    def view(self) -> TableView:
        return self._view

    def on_mount(self) -> None:
        self.query_one(TopBar).show_place(f"the class · {'/'.join(self._place)}", self._place[1])

    def show_lab(self) -> None:
        """Show the number of students in place of the lab."""
        for bar in self.query(TopBar):
            bar.show_lab(f"{len(self._numbers)} hand-ins")

    def head(self) -> Content:
        return Content.styled(self._heading, "bold")

    def open_row(self, row: int) -> None:
        number = self._numbers[row]
        marks = pages_of(self._details.grades[number])[self._place]
        self.app.push_screen(PageScreen(self._details, number, self._names[number], marks))


class PageScreen(TableScreen):
    """The answers and runs of a student on a page; Esc returns to the student."""

    FOOTER: ClassVar[tuple[tuple[str, str], ...]] = _FOOTER

    def __init__(self, details: ClassDetails, number: int, name: str, marks: list[ActivityMark]) -> None:
        super().__init__()
        self._details, self._student, self._marks = details, name, marks
        self._rows = rows_of(marks)
        self._hand_ins = details.hand_ins.get(number, ())
        self._verdicts: dict[str, str] = {}
        self._runs: dict[str, Run] = {}

    @property
    def view(self) -> TableView:
        return answers_view(self._marks, self._details.prompts, self._verdicts)

    def on_mount(self) -> None:
        first = self._marks[0]
        self.query_one(TopBar).show_place(
            f"{self._student} · {first.module}/{first.page}", f"{self._student} · {first.page}"
        )
        start_worker(self, self._read_runs)

    def show_lab(self) -> None:
        """Show the page's marks in place of the lab."""
        counted = [mark for mark in self._marks if mark.counts]
        for bar in self.query(TopBar):
            bar.show_lab(f"{sum(m.marks for m in counted):.3g} of {sum(m.of for m in counted):.3g} marks")

    def head(self) -> Content:
        return Content.styled(self._marks[0].title, "bold")

    async def _read_runs(self) -> None:
        for id in dict.fromkeys(row.run for row in self._rows if row.run):
            self._verdicts[id] = await self._read_run(id)
            if self.is_attached:
                self.show_table(self.selected)

    async def _read_run(self, id: str) -> str:
        """Keep the run for its chart, and return its verdict, or why it cannot be read."""
        run = await background.in_thread(_run_in, self._hand_ins, id)
        if run is None:
            return "the hand-in has no file of this run"
        self._runs[id] = run
        report = await background.report(run)
        return report.verdict.sentence if report else "the run was too short to judge"

    def open_row(self, row: int) -> None:
        id = self._rows[row].run
        if run := self._runs.get(id):
            self.app.push_screen(HandInRunScreen(run, f"{self._student} · {run.experiment.name}"))
        elif id:
            self.notify(self._verdicts.get(id, "the run is being read"))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "open" and self.is_attached:
            row = self.selected
            return row is not None and bool(self._rows[row].run)
        return super().check_action(action, parameters)


class HandInRunScreen(StoredScreen):
    """A run from a hand-in; Esc returns to the page."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back", id="stored.back", tooltip="back to the student's page"),
    ]
    FOOTER = (("stored.back", "back"), *StoredScreen.FOOTER)

    def run_file(self, run: Run) -> Path | None:  # noqa: ARG002  # it is never written to disk
        return None

    def action_back(self) -> None:
        if self.has_cursor:
            self.action_close_cursor()
        else:
            self.dismiss()


def _run_in(hand_ins: Sequence[Path], id: str) -> Run | None:
    """Return a run from the student's hand-ins; None if it is missing or damaged."""
    for path in hand_ins:
        with contextlib.suppress(TutorError), open_hand_in(path) as opened:
            return opened.run(id)[0]
    return None
