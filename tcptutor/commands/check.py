"""`tcptutor check`: show the goals of a page, or its challenge."""

from __future__ import annotations

import msgspec

from tcptutor.base.errors import UsageError
from tcptutor.commands.goals import ShellPage, board_lines, find_page, shell_page
from tcptutor.commands.journal import open_journal
from tcptutor.commands.output import print_json, print_lines, toned
from tcptutor.commands.words import count
from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.goals.board import GoalBoard, GoalState
from tcptutor.course.model import Module, Step
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
    with open_journal() as journal:
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
    with open_journal() as journal:
        record = journal.page(module.id, step.id).activity(challenge.id)
    reached, standing = record.right is not None, challenge.describe_status(record)
    knobs = challenge.knobs_of(record.latest.given) if record.latest else None
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
