"""Shared state of the dialogue: console, journal, course and lab."""

from __future__ import annotations

from typing import NamedTuple

from tcptutor.course.activity import Activity
from tcptutor.course.outline import Course
from tcptutor.course.paths import PRETEST
from tcptutor.course.rules import activity_rule
from tcptutor.course.step import Step
from tcptutor.journal import Journal
from tcptutor.plain.console import Console
from tcptutor.plain.runs import Runs
from tcptutor.study.own_course import OwnCourse
from tcptutor.study.pages import ModulePage


class Destination(NamedTuple):
    """Destination of a command: a page, or home without a page."""

    page: ModulePage | None = None


class Sitting:
    """Shared state of a student's session in the dialogue."""

    def __init__(self, own: OwnCourse, journal: Journal, console: Console, runs: Runs) -> None:
        self.own, self.journal, self.console, self.runs = own, journal, console, runs

    @property
    def course(self) -> Course:
        """Course as the student sees it now."""
        return self.own.course

    @property
    def farewell(self) -> str:
        """Closing sentence, which reports any unsaved work."""
        unsaved = self.journal.unsaved
        return f"Some of your work is not saved: {unsaved}." if unsaved else "Everything is saved."

    def rule(self, activity: Activity, step: Step) -> str:
        """Return the marking rule of an activity of the page; empty if it earns no marks."""
        counts = step.id != PRETEST and step.is_on(self.course.marks.path)
        return activity_rule(self.course.marks, activity.table) if counts else ""
