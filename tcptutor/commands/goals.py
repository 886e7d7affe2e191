"""The goals of a page, for the commands that open its network and that ask how they stand."""

from __future__ import annotations

import asyncio
import textwrap
from collections.abc import Iterable

from tcptutor import places
from tcptutor.commands.output import toned, width
from tcptutor.conduct import ConductedSession
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.claimed import pages
from tcptutor.course.goals.board import GoalBoard
from tcptutor.course.goals.watch import GoalWatch
from tcptutor.course.load import read_course
from tcptutor.course.model import Module, Step
from tcptutor.course.record import Response
from tcptutor.errors import JournalError, UsageError
from tcptutor.journal import Journal
from tcptutor.journal.goals import GoalFile
from tcptutor.lab.protocol import Event, Finished


class ShellPage:
    """A page with a shell and goals."""

    def __init__(self, module: Module, step: Step, shell: ShellActivity) -> None:
        self.module, self.step, self.shell = module, step, shell

    @property
    def name(self) -> str:
        """MODULE/PAGE"""
        return f"{self.module.id}/{self.step.id}"


def shell_page(name: str) -> ShellPage:
    """The page MODULE/PAGE, by its id or its number. Raises UsageError for one that is not there or has no goals."""
    (module,) = pages(places.lessons(), name).modules if name.strip("/").count("/") == 1 else (None,)
    if module is None:
        raise UsageError(f"{name!r} is no page: give MODULE/PAGE")
    (step,) = module.steps
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


class WatchedPage:
    """A page's goals while its network is in somebody's hands. Owns the watch, and what is kept of it; `close` it."""

    def __init__(self, page: ShellPage) -> None:
        self.page = page
        self.trouble = ""
        """Why it could not be recorded that the page is done; empty while it is."""
        self._watch = GoalWatch(page.shell.asked, page.shell.in_order)
        self._file = GoalFile(page.module.id, page.step.id)
        self._recorded = False
        self._file.write(self._watch.board)

    @property
    def board(self) -> GoalBoard:
        return self._watch.board

    @property
    def lines(self) -> list[str]:
        """How the goals stand."""
        return board_lines(self.page.step.title, self.board)

    async def take(self, event: Event, conducted: ConductedSession) -> None:
        """What the session has told."""
        if isinstance(event, Finished):
            # What it measured is worked out; the shell goes on meanwhile.
            await asyncio.to_thread(self._watch.take, event, conducted.run)
        else:
            self._watch.take(event, conducted.run)
        self._changed()

    def printed(self, data: bytes) -> None:
        """What the terminal has shown."""
        self._watch.printed(self.page.name, data)
        self._file.write(self._watch.board)

    def _changed(self) -> None:
        board = self._watch.board
        if board.done and not self._recorded:
            self._recorded = True
            self._record(board)
        self._file.write(board)

    def _record(self, board: GoalBoard) -> None:
        """In the journal, before anybody is told."""
        module, step = self.page.module.id, self.page.step.id
        mark = self.page.shell.mark(board.reached)
        try:
            journal = Journal.open()
            try:
                journal.visit(module, step)
                journal.respond(module, step, self.page.shell.id, Response(board.reached, mark.correct))
            finally:
                journal.close()
        except JournalError as error:
            self.trouble = str(error)

    def close(self) -> None:
        """Nobody works on it any more."""
        self._file.close()
