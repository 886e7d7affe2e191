"""`tcptutor check`: how the goals of a page stand, or its challenge, as the page says it."""

from __future__ import annotations

import msgspec

from tcptutor.base.errors import UsageError
from tcptutor.commands.challenge import check_challenge
from tcptutor.commands.goals import ShellPage, board_lines, page_of, shell_page
from tcptutor.commands.journal import opened_journal
from tcptutor.commands.output import print_json, print_lines
from tcptutor.course.goals.board import GoalBoard, GoalState
from tcptutor.journal.goals import OpenPage, open_pages


def check_goals(name: str | None, as_json: bool) -> int:
    """The exit code: 0 when all goals of the page, or its challenge, are reached.

    Raises UsageError for a page that has neither.
    """
    if name is not None:
        module, step = page_of(name)
        if step.explore is not None:
            return check_challenge(module, step, step.explore, as_json)
    going_on = list(open_pages())
    if name is None:
        if not going_on:
            raise UsageError(
                "no page's network is open: `tcptutor shell MODULE/PAGE` opens one, or name a page"
            )
        page = shell_page(f"{going_on[0].module}/{going_on[0].step}")
    else:
        page = shell_page(name)
    found = next(
        (each for each in going_on if (each.module, each.step) == (page.module.id, page.step.id)), None
    )
    done = _was_done(page)
    board = found.board if found is not None else _not_open(page, done)
    if as_json:
        print_json(_document(page, found, board, done))
    else:
        print_lines([*board_lines(page.step.title, board), *_remarks(page, found, done)])
    return 0 if board.done else 1


def _was_done(page: ShellPage) -> bool:
    """Whether all goals were reached together, now or earlier. Raises JournalError."""
    with opened_journal() as journal:
        return page.shell.is_done(journal.page(page.module.id, page.step.id))


def _not_open(page: ShellPage, done: bool) -> GoalBoard:
    """As the page shows them while nobody works on it."""
    return GoalBoard(
        goals=tuple(GoalState(id=goal.id, text=goal.text, ticked=done) for goal in page.shell.goals)
    )


def _remarks(page: ShellPage, found: OpenPage | None, done: bool) -> list[str]:
    if found is None:
        how = "they were reached earlier" if done else "its network is not open"
        return [f"  {how}: `tcptutor shell {page.name}` opens it"]
    return ["  all of them were reached before"] if done and not found.board.done else []


def _document(page: ShellPage, found: OpenPage | None, board: GoalBoard, done: bool) -> dict[str, object]:
    return {
        "module": page.module.id,
        "page": page.step.id,
        "open": found is not None,
        "reached": len(board.reached),
        "done": board.done,
        "done_before": done,
        **msgspec.to_builtins(board),
    }
