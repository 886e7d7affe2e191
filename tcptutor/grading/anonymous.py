"""A class without names: numbers stand in their place, the same in every table of one class."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from tcptutor.grading.grade import GradedFile
from tcptutor.grading.survey import StudentRow, Survey

_NO_HAND_IN = "a file cannot be graded"


def anonymous(found: Survey) -> Survey:
    """The survey with numbers in the place of students' and files' names."""
    called = {row.name: _name(row.number) for row in reversed(found.students)}
    return replace(
        found,
        students=tuple(_row(row) for row in found.students),
        similar=tuple(
            replace(pair, one=called[pair.one], other=called[pair.other]) for pair in found.similar
        ),
        problems=tuple(_NO_HAND_IN for _ in found.problems),
        replaced=tuple("a student has a later hand-in, which counts" for _ in found.replaced),
    )


def anonymous_files(graded: Sequence[GradedFile], found: Survey) -> list[GradedFile]:
    """The hand-ins of that survey, by its numbers."""
    by_file = {each.file: each.grade for each in graded if each.grade is not None}
    hidden = []
    for row in found.students:
        grade = by_file[row.file]
        hidden.append(
            GradedFile("", replace(grade, student=_name(row.number), remarks=_without_names(grade.remarks)))
        )
    return hidden + [GradedFile("", None, _NO_HAND_IN) for _ in found.problems]


def _name(number: int) -> str:
    return f"student {number}"


def _row(row: StudentRow) -> StudentRow:
    return replace(row, student=_name(row.number), file="", remarks=_without_names(row.remarks))


def _without_names(remarks: Sequence[str]) -> tuple[str, ...]:
    """What follows a colon is from the hand-in, and may be a name."""
    return tuple(remark.partition(": ")[0] for remark in remarks)
