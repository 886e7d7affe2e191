"""Hand-ins as tables: a student's pages, a page's answers and runs, and the students of a page or question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from tcptutor.course.page_record import moment
from tcptutor.grading.grade import ActivityMark, GivenAnswer, Grade, GradedFile
from tcptutor.grading.survey import Place, Survey
from tcptutor.grading.views import TableView, bar, percent, seconds_text, shorten

SIGNS = {
    "full": "✓",
    "part": "◐",
    "none": "✗",
    "missing": "○",
    "refused": "✗",
    "inconclusive": "?",
    "excused": "–",
}
"""Signs of an activity's outcomes."""
_NOT_DONE = "not done"


class ClassDetails(NamedTuple):
    """Details of students, pages and runs behind the rows of a class report."""

    grades: Mapping[int, Grade]
    """By the number of the student's row."""
    hand_ins: Mapping[int, tuple[Path, ...]]
    """Files of each hand-in, by the number of the student's row; several if they were joined."""
    prompts: Mapping[tuple[str, str, str], str]
    """Questions by module, page and activity."""

    @classmethod
    def of(cls, graded: Sequence[GradedFile], survey: Survey) -> ClassDetails:
        """Return the details of a survey of these hand-ins."""
        by_file = {each.file: each for each in graded if each.grade is not None}
        found = {row.number: by_file[row.file] for row in survey.students if row.file in by_file}
        return cls(
            grades={number: each.grade for number, each in found.items() if each.grade is not None},
            hand_ins={number: each.sources for number, each in found.items()},
            prompts={(row.module, row.page, row.activity): row.prompt for row in survey.questions},
        )

    def without_grounds(self) -> ClassDetails:
        """Return the class without the teacher's words on marks, which may name the student."""
        return self._replace(grades={number: _without_grounds(each) for number, each in self.grades.items()})


def _without_grounds(grade: Grade) -> Grade:
    marks = (
        replace(mark, decision="", reason="the teacher decided on the mark") if mark.decision else mark
        for mark in grade.marks
    )
    return replace(grade, marks=tuple(marks))


def pages_of(grade: Grade) -> dict[Place, list[ActivityMark]]:
    """Return the marks by module and page, in the order of the course."""
    found: dict[Place, list[ActivityMark]] = {}
    for mark in grade.marks:
        found.setdefault((mark.module, mark.page), []).append(mark)
    return found


def pages_view(grade: Grade) -> TableView:
    """Return the table of a student's pages, with the rows of `pages_of`."""
    pages = pages_of(grade)
    single_module = len({module for module, _ in pages}) < 2
    return TableView(
        "pages-of-student",
        "Pages",
        ("", "page", "marks", "of", "", "", "what happened"),
        (False, False, True, True, True, False, False),
        tuple(_page(marks, single_module) for marks in pages.values()),
        tuple((marks[0].title, *map(_mark_line, marks)) for marks in pages.values()),
        (grade.refused,) if grade.refused else (),
    )


def _page(marks: Sequence[ActivityMark], single_module: bool) -> tuple[str, ...]:
    counted = [mark for mark in marks if mark.counts]
    reached, of = sum(mark.marks for mark in counted), sum(mark.of for mark in counted)
    first = marks[0]
    return (
        SIGNS[_page_outcome(marks)],
        first.page if single_module else f"{first.module}/{first.page}",
        f"{reached:.3g}",
        f"{of:.3g}",
        percent(reached / of) if of else "",
        bar(reached / of) if of else "",
        _what_happened(marks),
    )


def _page_outcome(marks: Sequence[ActivityMark]) -> str:
    """Return the outcome of a page: the first that needs review, the shared outcome, or "part"."""
    outcomes = Counter(mark.outcome for mark in marks)
    for each in ("refused", "inconclusive"):
        if outcomes[each]:
            return each
    return next(iter(outcomes)) if len(outcomes) == 1 else "part"


def _what_happened(marks: Sequence[ActivityMark]) -> str:
    if all(mark.outcome == "missing" for mark in marks):
        return _NOT_DONE
    reasons = [f"{mark.activity}: {_reason(mark)}" for mark in marks if _reason(mark)]
    return "; ".join(reasons)


def _reason(mark: ActivityMark) -> str:
    return mark.decision or (_NOT_DONE if mark.outcome == "missing" else mark.reason)


def _mark_line(mark: ActivityMark) -> str:
    why = f": {_reason(mark)}" if _reason(mark) else ""
    return f"{SIGNS[mark.outcome]} {mark.activity}, {mark.marks:.3g} of {mark.of:.3g}{why}"


class ActivityRow(NamedTuple):
    """A row in the table of a page: an activity, or a run behind its mark."""

    mark: ActivityMark
    run: str = ""
    """Id of the run; empty for the activity itself."""


def rows_of(marks: Sequence[ActivityMark]) -> list[ActivityRow]:
    """Return each activity of a page with the runs behind it; a run is listed once."""
    found, listed = [], set[str]()
    for mark in marks:
        found.append(ActivityRow(mark))
        for run in mark.runs:
            if run not in listed:
                listed.add(run)
                found.append(ActivityRow(mark, run))
    return found


def answers_view(
    marks: Sequence[ActivityMark],
    prompts: Mapping[tuple[str, str, str], str],
    verdicts: Mapping[str, str],
) -> TableView:
    """Return the table of a page's answers and runs, with the rows of `rows_of`.

    Args:
        marks: The marks of the page.
        prompts: The questions.
        verdicts: A sentence on each run that was read, by id.
    """
    rows = rows_of(marks)
    return TableView(
        "answers",
        "Answers and runs",
        ("", "what", "marks", "answer or verdict", "tries", "hints", "time", "why"),
        (False, False, True, False, True, True, True, False),
        tuple(_run(row, verdicts) if row.run else _answer(row.mark) for row in rows),
        tuple(
            tuple(_run_details(row, verdicts) if row.run else _answer_details(row.mark, prompts))
            for row in rows
        ),
    )


def _answer(mark: ActivityMark) -> tuple[str, ...]:
    return (
        SIGNS[mark.outcome],
        mark.activity,
        f"{mark.marks:.3g} of {mark.of:.3g}",
        shorten(mark.answers[-1].text) if mark.answers else "",
        str(len(mark.answers) or ""),
        str(mark.hints or ""),
        "" if mark.seconds is None else seconds_text(mark.seconds),
        _reason(mark),
    )


def _run(row: ActivityRow, verdicts: Mapping[str, str]) -> tuple[str, ...]:
    return ("", f"  run {row.mark.runs.index(row.run) + 1}", "", verdicts.get(row.run, "…"), "", "", "", "")


def _run_details(row: ActivityRow, verdicts: Mapping[str, str]) -> Iterator[str]:
    yield f"run {row.run}"
    if row.run in verdicts:
        yield verdicts[row.run]


def _answer_details(mark: ActivityMark, prompts: Mapping[tuple[str, str, str], str]) -> Iterator[str]:
    prompt = prompts.get((mark.module, mark.page, mark.activity))
    yield " ".join(prompt.split()) if prompt else mark.kind
    for number, answer in enumerate(mark.answers, 1):
        yield f"{number}. {_given(answer)}"
    if _reason(mark):
        yield _reason(mark)


def _given(answer: GivenAnswer) -> str:
    sign = {True: "✓ ", False: "✗ ", None: ""}[answer.correct]
    text = " ".join(answer.text.split()) or "skipped"
    why = f": {' '.join(answer.feedback.split())}" if answer.feedback else ""
    sureness = f"{answer.sureness}, " if answer.sureness else ""
    at = moment(answer.at)
    when = f"{at.astimezone():%Y-%m-%d %H:%M:%S}" if at and at.year > 1 else answer.at
    return f"{sign}{text}{why} ({sureness}{when})"


def numbers_on(details: ClassDetails, place: Place) -> list[int]:
    """Return the row numbers of students whose hand-ins include the page."""
    return [number for number, grade in details.grades.items() if place in pages_of(grade)]


def students_view(details: ClassDetails, place: Place, activity: str, names: Mapping[int, str]) -> TableView:
    """Return the table of students' work on a page or an activity, with the rows of `numbers_on`.

    Args:
        details: The class.
        place: Module and page.
        activity: Id of the activity; empty for every activity of the page.
        names: Students' display names, by row number.
    """
    marks = {
        number: [mark for mark in pages_of(details.grades[number])[place] if activity in ("", mark.activity)]
        for number in numbers_on(details, place)
    }
    return TableView(
        "students-of-question" if activity else "students-of-page",
        "Students",
        ("", "student", "marks", "answer", "tries", "hints", "time", "what happened"),
        (False, False, True, False, True, True, True, False),
        tuple(_of_student(names[number], found, activity) for number, found in marks.items()),
        tuple(
            tuple(
                _answer_details(found[0], details.prompts) if activity and found else map(_mark_line, found)
            )
            for found in marks.values()
        ),
    )


def _of_student(name: str, marks: Sequence[ActivityMark], activity: str) -> tuple[str, ...]:
    if activity and marks:
        sign, _, *cells = _answer(marks[0])
        return (sign, name, *cells)
    counted = [mark for mark in marks if mark.counts]
    reached, of = sum(mark.marks for mark in counted), sum(mark.of for mark in counted)
    sign = SIGNS[_page_outcome(marks)] if marks else ""
    return (sign, name, f"{reached:.3g} of {of:.3g}", "", "", "", "", _what_happened(marks))
