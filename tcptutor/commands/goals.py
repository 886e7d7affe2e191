"""The goals of a page, for the commands that open its network and that ask how they stand."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from contextlib import closing

from tcptutor.base import places
from tcptutor.base.errors import JournalError, UsageError
from tcptutor.commands.output import toned, width
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.goals.board import GoalBoard
from tcptutor.course.goals.session_record import SessionRecord
from tcptutor.course.loader import read_course
from tcptutor.course.model import Module, Step
from tcptutor.course.page_record import Given, Response
from tcptutor.course.page_selection import pages
from tcptutor.journal import Journal


class ShellPage:
    """A page with a shell and goals."""

    def __init__(self, module: Module, step: Step, shell: ShellActivity) -> None:
        self.module, self.step, self.shell = module, step, shell

    @property
    def name(self) -> str:
        """MODULE/PAGE"""
        return f"{self.module.id}/{self.step.id}"


def page_of(name: str) -> tuple[Module, Step]:
    """The page MODULE/PAGE, by its id or its number. Raises UsageError for one that is not there."""
    (module,) = pages(places.lessons(), name).modules if name.strip("/").count("/") == 1 else (None,)
    if module is None:
        raise UsageError(f"{name!r} is no page: give MODULE/PAGE")
    (step,) = module.steps
    return module, step


def shell_page(name: str) -> ShellPage:
    """The page of that name. Raises UsageError for one that is not there or has no goals."""
    module, step = page_of(name)
    if step.shell is None:
        there = [f"{each.id}/{page.id}" for each, page in _with_goals()]
        some = f"pages with goals are {', '.join(there)}" if there else "no page of the course has any yet"
        raise UsageError(f"{module.id}/{step.id} has no goals: {some}")
    return ShellPage(module, step, step.shell)


def _with_goals() -> Iterable[tuple[Module, Step]]:
    course, _ = read_course(places.lessons())
    return [(module, step) for module in course.modules for step in module.steps if step.shell is not None]


def board_lines(title: str, board: GoalBoard) -> list[str]:
    """The goals as commands print them: each with a sign, and what is nearly right under it."""
    lines = [f"{toned(title, 'title')}  {len(board.reached)} of {len(board.goals)} goals"]
    for goal in board.goals:
        sign = toned("✓", "good") if goal.ticked else "○" if goal.due else toned("·", "faint")
        lines.append(
            f"  {sign} {goal.text}" + ("" if goal.due else " (its turn comes after those before it)")
        )
        if goal.near is not None:
            lines += _folded(f"→ {goal.near.text}", 4)
    if board.printed is not None:
        lines += _folded(f"the last message: {board.printed.text}", 2)
    return lines


def _folded(text: str, indent: int) -> list[str]:
    room, before = width(), " " * indent
    if room is None:
        return [before + text]
    return textwrap.wrap(text, room, initial_indent=before, subsequent_indent=before + "  ")


class PageRecorder:
    """Records in the journal that a page's goals were reached; `trouble` says why it could not, empty while it can."""

    def __init__(self, page: ShellPage) -> None:
        self._page = page
        self.trouble = ""

    def __call__(self, shell: ShellActivity, given: Given, session: SessionRecord) -> None:
        module, step = self._page.module.id, self._page.step.id
        try:
            with closing(Journal.open()) as journal:
                journal.visit(module, step)
                journal.record_goals(module, step, shell.id, session)
                journal.respond(module, step, shell.id, Response(given, shell.mark(given).correct))
                self.trouble = self.trouble or journal.notice
        except JournalError as error:
            self.trouble = str(error)
