"""Grades as tables, a row per student, for the gradebooks of courses' systems.

csv        all marks, and a column per module
moodle     Moodle's import (https://docs.moodle.org/en/Grade_import): an identifier, a grade, its feedback
canvas     Canvas' import (`lib/gradebook_importer.rb` of instructure/canvas-lms): its columns for students, then
           the assignment, and a row of points possible

Moodle and Canvas have one maximum for all students, while inconclusive marks lower a student's: they get percent.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from tcptutor.grading.grade import Grade, GradedFile
from tcptutor.grading.remarks import shown_to_student

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def modules(grade: Grade) -> dict[str, tuple[float, float]]:
    """Return the marks reached, and the marks possible, in each module."""
    found: dict[str, tuple[float, float]] = {}
    for mark in grade.marks:
        reached, of = found.get(mark.module, (0.0, 0.0))
        if mark.outcome != "inconclusive":
            reached, of = reached + (0.0 if grade.refused else mark.marks), of + mark.of
        found[mark.module] = (reached, of)
    return found


def format_number(value: float) -> str:
    """Format a value with at most two decimals."""
    return f"{round(value, 2):g}"


def table(graded: Sequence[GradedFile]) -> str:
    """Return all hand-ins, graded or not."""
    names = list(dict.fromkeys(name for each in graded if each.grade for name in modules(each.grade)))
    rows = [["student", "file", "score", "max_score", "percent", *names, "remarks"]]
    for file, grade, problem, superseded_by in graded:
        if superseded_by:
            continue
        if grade is None:
            rows.append(["", file, "", "", "", *("" for _ in names), problem])
            continue
        of_module = modules(grade)
        cells = [format_number(of_module[name][0]) if name in of_module else "" for name in names]
        total = [format_number(grade.total), format_number(grade.of), format_number(100 * grade.share)]
        rows.append([grade.student, file, *total, *cells, _remarks(grade)])
    return _to_csv(rows)


def moodle(graded: Sequence[GradedFile]) -> str:
    """Return Moodle's table, with the column names of its own exports; the teacher maps them at the import."""
    grades = list(_counted(graded))
    by_mail = bool(grades) and all("@" in grade.student for grade in grades)
    title = _title(grades)
    head = ["Email address" if by_mail else "ID number", title, f"Feedback: {title}"]
    return _to_csv(
        [head, *([grade.student, format_number(100 * grade.share), _feedback(grade)] for grade in grades)]
    )


def canvas(graded: Sequence[GradedFile]) -> str:
    """Return Canvas' table, with the student in SIS ID and login: a course enrols by either."""
    grades = list(_counted(graded))
    columns = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    # Canvas exports this label with leading blanks, so that it sorts first.
    possible = ["    Points Possible", "", "", "", "", "100"]
    rows = [
        [grade.student, "", grade.student, grade.student, "", format_number(100 * grade.share)]
        for grade in grades
    ]
    return _to_csv([[*columns, _title(grades)], possible, *rows])


def _counted(graded: Sequence[GradedFile]) -> Iterator[Grade]:
    return (
        each.grade
        for each in graded
        if each.grade is not None and each.grade.student and not each.superseded_by
    )


def _title(grades: Sequence[Grade]) -> str:
    return grades[0].title if grades else "tcptutor"


def _remarks(grade: Grade) -> str:
    return "; ".join(filter(None, [grade.refused, *map(str, grade.remarks)]))


def _feedback(grade: Grade) -> str:
    """Return what the student is shown."""
    marks = f"{format_number(grade.total)} of {format_number(grade.of)} marks"
    return "; ".join(filter(None, [marks, grade.refused, *shown_to_student(grade.remarks)]))


def _to_csv(rows: Iterable[Sequence[str]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_escape_formulas, rows))
    return text.getvalue()


def _escape_formulas(cells: Sequence[str]) -> list[str]:
    return [f"'{cell}" if cell.startswith(_FORMULA) else cell for cell in cells]


GRADEBOOKS: Mapping[str, Callable[[Sequence[GradedFile]], str]] = {
    "csv": table,
    "moodle": moodle,
    "canvas": canvas,
}
"""By the names of their formats."""
