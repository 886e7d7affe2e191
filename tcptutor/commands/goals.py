"""The goals of a page, for the commands `shell` and `check`."""

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
        """Return MODULE/PAGE."""
        return f"{self.module.id}/{self.step.id}"


def find_page(name: str) -> tuple[Module, Step]:
    """Return the page MODULE/PAGE, by id or number. Raises UsageError if it does not exist."""
    (module,) = pages(places.lessons(), name).modules if name.strip("/").count("/") == 1 else (None,)
    if module is None:
        raise UsageError(f"{name!r} is not a page: write MODULE/PAGE")
    (step,) = module.steps
    return module, step


def shell_page(name: str) -> ShellPage:
    """Return the page of that name. Raises UsageError if it does not exist or has no goals."""
    module, step = find_page(name)
    if step.shell is None:
        known = [f"{each.id}/{page.id}" for each, page in _pages_with_goals()]
        hint = f"pages with goals are {', '.join(known)}" if known else "no page of the course has goals"
        raise UsageError(f"{module.id}/{step.id} has no goals: {hint}")
    return ShellPage(module, step, step.shell)


def _pages_with_goals() -> Iterable[tuple[Module, Step]]:
    course, _ = read_course(places.lessons())
    return [(module, step) for module in course.modules for step in module.steps if step.shell is not None]


def board_lines(title: str, board: GoalBoard) -> list[str]:
    """Format the goals: each with a sign, and near misses below."""
    lines = [f"{toned(title, 'title')}  {len(board.reached)} of {len(board.goals)} goals"]
    for goal in board.goals:
        sign = toned("✓", "good") if goal.ticked else "○" if goal.due else toned("·", "faint")
        lines.append(f"  {sign} {goal.text}" + ("" if goal.due else " (after the goals before it)"))
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
    """Records reached goals in the journal; `trouble` has the error if that fails, otherwise it is empty."""

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
