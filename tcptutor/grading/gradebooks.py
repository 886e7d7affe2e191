"""Grades as tables, a row a student, for the gradebooks of courses' systems.

csv        all of it: marks, and a column a module
moodle     what Moodle imports (https://docs.moodle.org/en/Grade_import): an identifier, a grade, its feedback
canvas     what Canvas imports (`lib/gradebook_importer.rb` of instructure/canvas-lms): its columns for students, then
           the assignment, and a row of points possible
nbgrader   the columns that `nbgrader export` writes (`nbgrader/plugins/export.py` of jupyter/nbgrader)

Moodle and Canvas have one most for all, while inconclusive marks are left out of a student's: they get percent.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime

from tcptutor.grading.grade import Grade, GradedFile

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def modules(grade: Grade) -> dict[str, tuple[float, float]]:
    """Marks reached, and to be reached, in each module."""
    found: dict[str, tuple[float, float]] = {}
    for mark in grade.marks:
        reached, of = found.get(mark.module, (0.0, 0.0))
        if mark.outcome != "inconclusive":
            reached, of = reached + (0.0 if grade.refused else mark.marks), of + mark.of
        found[mark.module] = (reached, of)
    return found


def number(value: float) -> str:
    """With two digits at most."""
    return f"{round(value, 2):g}"


def table(graded: Sequence[GradedFile]) -> str:
    """Everything, also those that could not be graded."""
    names = list(dict.fromkeys(name for each in graded if each.grade for name in modules(each.grade)))
    rows = [["student", "file", "score", "max_score", "percent", *names, "remarks"]]
    for file, grade, problem, instead in graded:
        if instead:
            continue
        if grade is None:
            rows.append(["", file, "", "", "", *("" for _ in names), problem])
            continue
        of_module = modules(grade)
        cells = [number(of_module[name][0]) if name in of_module else "" for name in names]
        total = [number(grade.total), number(grade.of), number(100 * grade.share)]
        rows.append([grade.student, file, *total, *cells, _remarks(grade)])
    return _written(rows)


def moodle(graded: Sequence[GradedFile]) -> str:
    """The teacher says at the import which column is which: their names are those that Moodle exports."""
    grades = list(_of_students(graded))
    by_mail = bool(grades) and all("@" in grade.student for grade in grades)
    title = _title(grades)
    head = ["Email address" if by_mail else "ID number", title, f"Feedback: {title}"]
    return _written(
        [head, *([grade.student, number(100 * grade.share), _feedback(grade)] for grade in grades)]
    )


def canvas(graded: Sequence[GradedFile]) -> str:
    """Canvas finds a student by the SIS ID or, where it knows none such, by the login: a course enrols by either."""
    grades = list(_of_students(graded))
    who = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    # Exported with these blanks before it, so that it comes first when the rows are sorted.
    possible = ["    Points Possible", "", "", "", "", "100"]
    rows = [
        [grade.student, "", grade.student, grade.student, "", number(100 * grade.share)] for grade in grades
    ]
    return _written([[*who, _title(grades)], possible, *rows])


def nbgrader(graded: Sequence[GradedFile]) -> str:
    """What is left of marks that came late is in them already: there is no penalty beside them."""
    head = "assignment duedate timestamp student_id last_name first_name email"
    marks = "raw_score late_submission_penalty score max_score"
    rows = [
        [
            grade.title,
            "",
            _time(grade.made),
            grade.student,
            "",
            "",
            grade.student if "@" in grade.student else "",
            number(grade.total),
            "0.0",
            number(grade.total),
            number(grade.of),
        ]
        for grade in _of_students(graded)
    ]
    return _written([[*head.split(), *marks.split()], *rows])


def _of_students(graded: Sequence[GradedFile]) -> Iterator[Grade]:
    """A gradebook has no row for what was not graded, for who was not enrolled, nor a second one for a student."""
    return (
        each.grade for each in graded if each.grade is not None and each.grade.student and not each.instead
    )


def _title(grades: Sequence[Grade]) -> str:
    return grades[0].title if grades else "tcptutor"


def _remarks(grade: Grade) -> str:
    return "; ".join(filter(None, [grade.refused, *grade.remarks]))


def _feedback(grade: Grade) -> str:
    return "; ".join(filter(None, [f"{number(grade.total)} of {number(grade.of)} marks", _remarks(grade)]))


def _time(text: str) -> str:
    """As nbgrader has times, without a zone, in UTC; empty for what is none."""
    with suppress(ValueError, OverflowError):
        return str(datetime.fromisoformat(text).astimezone(UTC).replace(tzinfo=None))
    return ""


def _written(rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_plain, rows))
    return text.getvalue()


def _plain(cells: Sequence[str]) -> list[str]:
    """A spreadsheet takes a cell that begins so for a formula, whoever wrote it."""
    return [f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells]


GRADEBOOKS: Mapping[str, Callable[[Sequence[GradedFile]], str]] = {
    "csv": table,
    "moodle": moodle,
    "canvas": canvas,
    "nbgrader": nbgrader,
}
"""By the names of their formats."""
