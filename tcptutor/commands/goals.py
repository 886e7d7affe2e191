"""`tcptutor check`: show the goals of a page, or its challenge; goals for the command `shell`."""

from __future__ import annotations

import textwrap
from contextlib import closing

import msgspec

from tcptutor.base.errors import JournalError, UsageError
from tcptutor.commands.names import all_pages, find_page, page_numbers
from tcptutor.commands.output import count, print_json, print_lines, toned, warn, width
from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.goals.goal import GoalBoard, GoalState
from tcptutor.course.goals.session_record import SessionRecord
from tcptutor.course.known_courses import course_option
from tcptutor.course.outline import Module
from tcptutor.course.page_record import Given, Response
from tcptutor.course.step import Step
from tcptutor.journal import Journal, opened_journal
from tcptutor.journal.goals import OpenPage, open_pages


def check_goals(name: str | None, as_json: bool) -> int:
    """Print the goals and return the exit code: 0 when all goals, or the challenge, are reached.

    Raises UsageError for a page without goals or a challenge.
    """
    if name is not None:
        module, step = find_page(name)
        if step.challenge is not None:
            return _check_challenge(module, step, step.challenge, as_json)
    running = list(open_pages())
    if name is None:
        if not running:
            raise UsageError(
                "no page's network is open: open one with `tcptutor shell MODULE/PAGE`, or name a page"
            )
        page = shell_page(f"{running[0].module}/{running[0].step}")
    else:
        page = shell_page(name)
    open_page = next(
        (each for each in running if (each.module, each.step) == (page.module.id, page.step.id)), None
    )
    done = _was_completed(page)
    board = open_page.board if open_page is not None else _closed_board(page, done)
    if as_json:
        print_json(_document(page, open_page, board, done))
    else:
        print_lines([*board_lines(page.step.title, board), *_remarks(page, open_page, done)])
    return 0 if board.done else 1


def _was_completed(page: ShellPage) -> bool:
    with opened_journal(warn) as journal:
        return page.shell.is_done(journal.page(page.module.id, page.step.id))


def _closed_board(page: ShellPage, done: bool) -> GoalBoard:
    return GoalBoard(
        goals=tuple(GoalState(id=goal.id, text=goal.text, ticked=done) for goal in page.shell.goals)
    )


def _remarks(page: ShellPage, open_page: OpenPage | None, done: bool) -> list[str]:
    if open_page is None:
        how = "all goals were reached earlier" if done else "the network is not open"
        return [f"  {how}: `tcptutor shell {page.name}` opens it"]
    return ["  all goals were reached before"] if done and not open_page.board.done else []


def _document(page: ShellPage, open_page: OpenPage | None, board: GoalBoard, done: bool) -> dict[str, object]:
    return {
        "module": page.module.id,
        "page": page.step.id,
        "open": open_page is not None,
        "reached": len(board.reached),
        "done": board.done,
        "done_before": done,
        **msgspec.to_builtins(board),
    }


def _check_challenge(module: Module, step: Step, challenge: ChallengeActivity, as_json: bool) -> int:
    """Print the challenge's state from the journal; return 0 when it is reached, otherwise 1. Raises JournalError."""
    with opened_journal(warn) as journal:
        record = journal.page(module.id, step.id).activity(challenge.id)
    reached, standing = record.right is not None, challenge.describe_status(record)
    knobs = challenge.knobs_of(record.latest.answer) if record.latest else None
    if as_json:
        document = {
            "module": module.id,
            "page": step.id,
            "standing": standing,
            "reached": reached,
            "changes": None if record.best is None else round(record.best),
            "par": challenge.par,
            "runs": record.attempts,
            "knobs": knobs,
        }
        print_json(msgspec.to_builtins(document))
    else:
        sign = toned("✓", "good") if reached else "○"
        lines = [f"{toned(step.title, 'title')}  {sign} {standing}"]
        lines += [f"  {goal.text}" for goal in challenge.goals]
        lines.append(f"  {count(record.attempts, 'run')} that counted; par is {challenge.par}")
        print_lines(lines)
    return 0 if reached else 1


class ShellPage:
    """A page with a shell and goals."""

    def __init__(self, module: Module, step: Step, shell: ShellActivity) -> None:
        self.module, self.step, self.shell = module, step, shell

    @property
    def name(self) -> str:
        """Return MODULE/PAGE."""
        return f"{self.module.id}/{self.step.id}"


def shell_page(name: str) -> ShellPage:
    """Return the page of that name. Raises UsageError if it does not exist or has no goals."""
    module, step = find_page(name)
    if step.shell is None:
        raise UsageError(f"{module.id}/{step.id} has no goals: {_pages_with_goals(module)}")
    return ShellPage(module, step, step.shell)


def _pages_with_goals(module: Module) -> str:
    """Return the numbers of the pages with goals, of the module if it has any."""
    found = [(each, step) for each, step in all_pages() if step.shell is not None]
    of_module = [(each, step) for each, step in found if each.id == module.id]
    return (
        f"pages with goals are {page_numbers(of_module or found)}"
        if found
        else f"no page of the course has goals; `tcptutor submit{course_option()}` shows the marks of your work"
    )


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
