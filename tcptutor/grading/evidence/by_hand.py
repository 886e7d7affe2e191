"""Whether a session shows that a page's goals were reached: they are judged anew, by what the kernel held."""

from __future__ import annotations

from tcptutor import spec
from tcptutor.base.errors import ParameterError
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.goals.session_record import SessionRecord, SessionRunBegun, StateEntry, judged
from tcptutor.grading.evidence.honesty import RunChecks
from tcptutor.grading.evidence.timeline import TimedSession
from tcptutor.grading.evidence.wanted import MOST_BY_HAND
from tcptutor.run import Run

_HOSTILE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""What numbers and names that no kernel tells of may lead to."""


def problem(shell: ShellActivity, session: TimedSession, checks: RunChecks) -> str:
    """Why the session does not show it, one sentence; empty where it does, or was cut and might."""
    record = session.record
    try:
        _check(record)
    except ParameterError as error:
        return f"what the session tells of cannot be: {error}"
    there = {run.id: run for run in session.runs[-MOST_BY_HAND:]}
    missing: list[str] = []

    def find(id: str) -> Run | None:
        timed = there.get(id)
        run = checks.of_session(timed) if timed is not None else None
        if run is None:
            missing.append(id)
        return run

    try:
        board = judged(shell.parsed_goals, shell.in_order, record, find)
    except _HOSTILE:
        return "what the session tells of cannot be"
    if board.done or record.cut:
        return ""
    without = f", without the run {missing[0]}, which is not in the hand-in as it was made" if missing else ""
    left = [goal.text for goal in board.goals if not goal.ticked]
    return f"what the kernel held does not show this goal{without}: {left[0]}"


def _check(record: SessionRecord) -> None:
    """Raises ParameterError for settings that no network has."""
    for entry in record.entries:
        match entry:
            case StateEntry(state=state):
                spec.check_plausible(state.experiment)
            case SessionRunBegun(experiment=experiment):
                spec.check_plausible(experiment)
