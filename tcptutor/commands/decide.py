"""`tcptutor decide`: append a teacher's decision to the file that `grade --exceptions` reads."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tcptutor.base import places
from tcptutor.base.errors import UsageError, quoted
from tcptutor.base.files import atomic
from tcptutor.commands.output import print_lines
from tcptutor.commands.targets import check_regular
from tcptutor.course.known_courses import course_option
from tcptutor.course.outline import read_course
from tcptutor.grading.adjustments import place_problem, worth
from tcptutor.grading.decisions import Decision, decision_table, read_decisions

_HEAD = "# Decisions on single students: delete or edit a table to take it back.\n"


class DecideRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of `tcptutor decide`."""

    student: str
    place: str | None
    marks: float | None
    excuse: bool
    hours: float | None
    deadline: str | None
    accept: bool
    file: str | None
    same_as: str | None
    reason: str
    by: str
    exceptions: Path


def decide(request: DecideRequest) -> int:
    """Append the decision and return the exit code. Raises UsageError before writing a contradictory decision."""
    module, _, rest = (request.place or "").partition("/")
    page, _, activity = rest.partition("/")
    decision = Decision(
        student=" ".join(request.student.split()),
        page=f"{module}/{page}" if page else module,
        activity=activity,
        marks=request.marks,
        excuse=request.excuse,
        hours=request.hours,
        deadline=request.deadline or "",
        accept=request.accept,
        file=request.file or "",
        same_as=request.same_as or "",
        reason=" ".join(request.reason.split()),
        by=" ".join(request.by.split()),
    )
    if wrong := decision.contradiction():
        key, reason = wrong
        raise UsageError(f"{f'{key} ' if key else 'the decision '}{reason}")
    course, _ = read_course(places.lessons())
    if problem := place_problem(decision, course):
        raise UsageError(
            problem + ("" if places.chosen_course() else "; for a course of your own add --course")
        )
    if decision.marks is not None and decision.marks > (most := worth(decision, course)):
        raise UsageError(
            f"{decision.marks:g} marks are more than {decision.place or quoted(course.title)} is worth: give at most"
            f" {most:g}"
        )
    path = request.exceptions
    check_regular(path, "give another --exceptions")
    before = _HEAD
    if path.exists():
        read_decisions(path)
        before = path.read_text(encoding="utf-8").rstrip("\n") + "\n"
    with atomic(path, "give another --exceptions") as temporary:
        temporary.write_text(f"{before}\n{decision_table(decision)}", encoding="utf-8")
    print_lines(
        [
            str(decision) if decision.same_as else f"{decision.student}: {decision}",
            f"wrote {path}: `tcptutor grade --exceptions {path}{course_option()}` applies it",
        ]
    )
    return 0
