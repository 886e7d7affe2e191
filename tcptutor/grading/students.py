"""Several hand-ins of one student, of which one counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from tcptutor.course.page_record import moment
from tcptutor.grading.grade import Grade, GradedFile

_BEFORE_ALL = datetime.min.replace(tzinfo=UTC)


def one_each(graded: Sequence[GradedFile]) -> list[GradedFile]:
    """With the latest of each student's hand-ins named on the others, which do not count; of equal times the last."""
    latest: dict[tuple[str, str], tuple[datetime, str]] = {}
    for each in graded:
        if each.grade is not None and (who := _who(each.grade)):
            made = moment(each.grade.made) or _BEFORE_ALL
            if who not in latest or made >= latest[who][0]:
                latest[who] = made, each.file
    counts = {who: file for who, (_, file) in latest.items()}
    found = []
    for each in graded:
        who = _who(each.grade) if each.grade is not None else None
        instead = counts[who] if who is not None else each.file
        found.append(each if instead == each.file else each._replace(instead=instead))
    return found


def _who(grade: Grade) -> tuple[str, str] | None:
    """What a student is told from others by; None for who is enrolled nowhere, and for what does not count at all."""
    return (grade.course, grade.student) if grade.student and not grade.refused else None


def replaced(graded: Sequence[GradedFile]) -> Iterator[str]:
    """A line for each hand-in that does not count because there is a later one."""
    for each in graded:
        if each.instead and each.grade is not None:
            yield f"{each.file} does not count: {each.instead}, of {each.grade.student} as well, was made later"
