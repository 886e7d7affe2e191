"""Grades as tables, a row per student, for the gradebooks of courses' systems.

csv        all marks, and a column per module
moodle     Moodle's import (https://docs.moodle.org/en/Grade_import): an identifier, a grade, its feedback
canvas     Canvas' import (`lib/gradebook_importer.rb` of instructure/canvas-lms): its columns for students, then
           the assignment, and a row of points possible

Moodle and Canvas use the same maximum for all students, while inconclusive and excused marks lower a student's maximum:
both get percentages.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from tcptutor.grading.grade import Grade, GradedFile
from tcptutor.grading.remarks import shown_to_student
from tcptutor.grading.roster import RollCall, RosterStudent

_NO_HAND_IN = "no hand-in"
_CANVAS = {"Student", "ID", "Section"}
"""Columns of every export of Canvas."""
_POSSIBLE = "    Points Possible"
"""Label of Canvas' row of points: it exports it with leading blanks, so that it sorts first."""
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def modules(grade: Grade) -> dict[str, tuple[float, float]]:
    """Return the marks reached, and the marks possible, in each module."""
    found: dict[str, tuple[float, float]] = {}
    for mark in grade.marks:
        reached, of = found.get(mark.module, (0.0, 0.0))
        if mark.counts:
            reached, of = reached + (0.0 if grade.refused else mark.marks), of + mark.of
        found[mark.module] = (reached, of)
    return found


def format_number(value: float) -> str:
    """Format a value with at most two decimals."""
    return f"{round(value, 2):g}"


def table(graded: Sequence[GradedFile], roll: RollCall | None = None) -> str:
    """Return all hand-ins, graded or not; with a roster its columns first, and a row for each of its students."""
    names = list(dict.fromkeys(name for each in graded if each.grade for name in modules(each.grade)))
    head = ["student", "file", "score", "max_score", "percent", *names, "decisions", "remarks"]
    counted = [each for each in graded if not each.superseded_by]
    if roll is None:
        return to_csv([head, *(_table_row(each, names) for each in counted)])
    missing = ["", "", "", "", *("" for _ in names), "", _NO_HAND_IN]
    rows = [
        [
            *row.cells,
            *(_table_row(found, names) if (found := roll.found.get(row.line)) else [row.name, *missing]),
        ]
        for row in roll.roster.students
    ]
    blank = [""] * len(roll.roster.columns)
    others = [each for each in counted if each not in roll.found.values()]
    return to_csv(
        [[*roll.roster.columns, *head], *rows, *([*blank, *_table_row(each, names)] for each in others)]
    )


def _table_row(graded: GradedFile, names: Sequence[str]) -> list[str]:
    file, grade = graded.file, graded.grade
    if grade is None:
        return ["", file, "", "", "", *("" for _ in names), "", graded.problem]
    of_module = modules(grade)
    cells = [format_number(of_module[name][0]) if of_module.get(name, (0, 0))[1] else "" for name in names]
    total = [format_number(grade.total), format_number(grade.of)] if grade.of else ["", ""]
    decisions = "; ".join(map(str, grade.decisions))
    remarks = "; ".join(filter(None, [grade.refused, *map(str, grade.remarks)]))
    return [grade.student, file, *total, _percent(grade), *cells, decisions, remarks]


def moodle(graded: Sequence[GradedFile], roll: RollCall | None = None) -> str:
    """Return Moodle's table, with the column names of its own exports; the teacher maps them at the import.

    With a roster: its columns and rows, then grade and feedback, which are empty without a hand-in.
    """
    grades = list(_counted(graded))
    title = _title(grades)
    added = [title, f"Feedback: {title}"]
    if roll is not None:
        rows = (
            [
                *row.cells,
                *([_percent(grade), _feedback(grade)] if (grade := _grade_of(roll, row)) else ["", ""]),
            ]
            for row in roll.roster.students
        )
        return to_csv([[*roll.roster.columns, *added], *rows])
    by_mail = bool(grades) and all("@" in grade.student for grade in grades)
    head = ["Email address" if by_mail else "ID number", *added]
    return to_csv([head, *([grade.student, _percent(grade), _feedback(grade)] for grade in grades)])


def canvas(graded: Sequence[GradedFile], roll: RollCall | None = None) -> str:
    """Return Canvas' table, with the student in SIS ID and login: a course enrolls by either.

    With a roster that Canvas exported: its columns and rows, with the assignment's column filled or added. An excused
    student has EX, and a student without a hand-in an empty cell, which changes nothing.
    """
    grades = list(_counted(graded))
    title = _title(grades)
    if roll is not None and set(roll.roster.columns) >= _CANVAS:
        return to_csv(_filled(roll, title))
    rows = [[grade.student, "", grade.student, grade.student, "", _canvas_cell(grade)] for grade in grades]
    if roll is not None:
        rows = [
            [
                row.name,
                "",
                row.name,
                row.name,
                ", ".join(row.sections[:1]),
                _canvas_cell(_grade_of(roll, row)),
            ]
            for row in roll.roster.students
        ]
    columns = ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    return to_csv([[*columns, title], [_POSSIBLE, "", "", "", "", "100"], *rows])


def _filled(roll: RollCall, title: str) -> Iterator[list[str]]:
    """Yield the rows of Canvas' export with the marks in the column of the assignment, `TITLE (its number)`."""
    columns = list(roll.roster.columns)
    own = re.compile(rf"{re.escape(title)}( \(\d+\))?")
    at = next((place for place, name in enumerate(columns) if own.fullmatch(name.strip())), len(columns))
    yield [*columns[:at], columns[at] if at < len(columns) else title, *columns[at + 1 :]]
    possible = next((row for row in roll.roster.rows if row.cells[0].strip() == _POSSIBLE.strip()), None)
    points = 100.0
    if possible is None:
        yield [_POSSIBLE, *("" for _ in range(at - 1)), "100", *("" for _ in columns[at + 1 :])]
    elif at < len(columns):
        with suppress(ValueError):
            points = float(possible.cells[at])
    for row in roll.roster.rows:
        cell = _canvas_cell(_grade_of(roll, row), points)
        if row is possible:
            cell = format_number(points)
        yield [*row.cells[:at], cell, *row.cells[at + 1 :]]


def _canvas_cell(grade: Grade | None, points: float = 100.0) -> str:
    if grade is None:
        return ""
    return format_number(points * grade.share) if grade.of else "EX"


def _grade_of(roll: RollCall, row: RosterStudent) -> Grade | None:
    found = roll.found.get(row.line)
    return found.grade if found else None


def _percent(grade: Grade) -> str:
    """Return the marks in percent; empty if none could be reached."""
    return format_number(100 * grade.share) if grade.of else ""


def _counted(graded: Sequence[GradedFile]) -> Iterator[Grade]:
    return (
        each.grade
        for each in graded
        if each.grade is not None and each.grade.student and not each.superseded_by
    )


def _title(grades: Sequence[Grade]) -> str:
    return grades[0].title if grades else "tcptutor"


def _feedback(grade: Grade) -> str:
    """Return the feedback for the student: marks, refusal, decisions and remarks."""
    marks = f"{format_number(grade.total)} of {format_number(grade.of)} marks"
    decisions = map(str, grade.decisions)
    return "; ".join(filter(None, [marks, grade.refused, *decisions, *shown_to_student(grade.remarks)]))


def to_csv(rows: Iterable[Sequence[str | float | None]]) -> str:
    """Return rows as CSV in which no text is a formula to a spreadsheet."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(map(_escape_formulas, rows))
    return text.getvalue()


def _escape_formulas(cells: Sequence[str | float | None]) -> list[str | float | None]:
    return [f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell for cell in cells]


GRADEBOOKS: Mapping[str, Callable[[Sequence[GradedFile], RollCall | None], str]] = {
    "csv": table,
    "moodle": moodle,
    "canvas": canvas,
}
"""By the names of their formats."""
