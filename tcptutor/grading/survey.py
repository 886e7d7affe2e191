"""The results of a class: marks by page, common wrong answers and their reasons, predictions and measurements.

Only hand-ins that count are included. A survey judges no student: it is for the teacher.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from tcptutor.base import units
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activity import Activity
from tcptutor.course.measures import expected
from tcptutor.course.outline import Course, Module
from tcptutor.course.paths import PRETEST
from tcptutor.course.step import Step
from tcptutor.grading.grade import ActivityMark, Grade, GradedFile
from tcptutor.grading.item_statistics import Answered, QuestionRow, question_rows
from tcptutor.grading.remarks import Remark
from tcptutor.grading.selection import superseded_lines
from tcptutor.grading.similar import SimilarPair, similar_pairs

Place = tuple[str, str]
"""Module and page."""


class StudentRow(msgspec.Struct, frozen=True, kw_only=True):
    """A hand-in."""

    student: str
    """The student's name in the course; empty without an enrollment."""
    file: str
    number: int
    """From 1; replaces the name in anonymous tables."""
    total: float
    of: float
    done: int
    """Activities with marks, and inconclusive activities."""
    activities: int
    refused: str = ""
    """Why the hand-in does not count; empty when it does."""
    doubts: int = 0
    """Number of marks with invalid evidence."""
    remarks: tuple[Remark, ...] = ()
    decisions: tuple[str, ...] = ()
    """The teacher's decisions on the student, a line each."""

    @property
    def name(self) -> str:
        """The student's name, or the file's."""
        return self.student or self.file


class PageRow(msgspec.Struct, frozen=True, kw_only=True):
    """A page."""

    module: str
    page: str
    title: str
    done: int
    """Number of students who earned marks on the page."""
    tried: int = 0
    """Number of students with any work on the page."""
    students: int
    mean: float
    """Mean share of its marks, 0 to 1."""


class PredictionRow(msgspec.Struct, frozen=True, kw_only=True):
    """Predictions and measurements of a page, in the base unit."""

    module: str
    page: str
    unit: units.Kind
    predicted: tuple[float, ...]
    """In ascending order."""
    left_out: int
    """Students who ran without a prediction."""
    measured: tuple[float, ...]
    """Results of the students' own runs, in ascending order."""
    model: float | None
    """The models' value; None where none applies, and where students have settings of their own."""
    ratios: tuple[float, ...] = ()
    """Each student's prediction over the measurement of their own run, or over the model; ascending."""


class ReportRow(msgspec.Struct, frozen=True, kw_only=True):
    """A student's report of a mistake on a page."""

    module: str
    page: str
    title: str
    """Title of the page."""
    student: str
    at: str
    text: str


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """The results of a class."""

    title: str
    students: tuple[StudentRow, ...]
    """By name."""
    pages: tuple[PageRow, ...]
    """Pages with work of any student."""
    questions: tuple[QuestionRow, ...]
    predictions: tuple[PredictionRow, ...]
    similar: tuple[SimilarPair, ...]
    reports: tuple[ReportRow, ...]
    """Pages that students reported, in the order of the course."""
    problems: tuple[str, ...]
    """A line per hand-in that could not be graded."""
    replaced: tuple[str, ...] = ()
    """A line per hand-in that does not count by itself, because the student has several."""
    missing: tuple[str, ...] = ()
    """Students on the roster without a hand-in; empty names in an anonymous survey."""

    @property
    def weak(self) -> tuple[QuestionRow, ...]:
        """Return the questions that discriminate poorly, the worst first."""
        found = [each for each in self.questions if each.is_weak]
        return tuple(sorted(found, key=lambda each: each.discrimination.r if each.discrimination else 0.0))


def survey(graded: Sequence[GradedFile], course: Course, missing: Sequence[str] = ()) -> Survey:
    """Summarize the hand-ins of a class; `missing` lists students on the roster without a hand-in."""
    found = [(each.file, each.grade) for each in graded if each.grade is not None and not each.superseded_by]
    found.sort(key=lambda each: (each[1].student or each[0], each[0]))
    counted = [grade for _, grade in found if not grade.refused]
    by_activity = _by_activity(counted)
    return Survey(
        title=course.title,
        students=tuple(_student(number, *each) for number, each in enumerate(found, 1)),
        pages=tuple(page for page in _pages(course, counted) if page.tried),
        questions=tuple(question_rows(course, counted, by_activity)),
        predictions=tuple(_predictions(course, by_activity)),
        similar=tuple(similar_pairs([each for each in found if not each[1].refused])),
        reports=tuple(_reports(course, [each for each in found if not each[1].refused])),
        problems=tuple(each.problem for each in graded if each.grade is None),
        replaced=tuple(superseded_lines(graded)),
        missing=tuple(missing),
    )


def anonymize(survey: Survey) -> Survey:
    """Return the survey with numbers in place of students' and files' names."""
    names = {row.name: _number_name(row.number) for row in reversed(survey.students)}
    return replace(
        survey,
        students=tuple(
            replace(
                row,
                student=_number_name(row.number),
                file="",
                remarks=_without_names(row.remarks),
                decisions=_without_grounds(row.decisions),
            )
            for row in survey.students
        ),
        similar=tuple(replace(pair, one=names[pair.one], other=names[pair.other]) for pair in survey.similar),
        reports=tuple(replace(row, student=names[row.student]) for row in survey.reports),
        problems=tuple(_NO_GRADE for _ in survey.problems),
        replaced=tuple(
            "a student handed in more than once, and another file counts" for _ in survey.replaced
        ),
        missing=tuple("" for _ in survey.missing),
    )


def anonymize_files(graded: Sequence[GradedFile], survey: Survey) -> list[GradedFile]:
    """Return the hand-ins of the survey, with its numbers in place of names."""
    by_file = {each.file: each.grade for each in graded if each.grade is not None}
    hidden = []
    for row in survey.students:
        grade = by_file[row.file]
        remarks = _without_names(grade.remarks)
        hidden.append(
            GradedFile(
                "",
                replace(
                    grade, student=_number_name(row.number), remarks=remarks, decisions=(), enrolled_as=""
                ),
            )
        )
    return hidden + [GradedFile("", None, _NO_GRADE) for _ in survey.problems]


_NO_GRADE = "a file cannot be graded"


def _number_name(number: int) -> str:
    return f"student {number}"


def _without_names(remarks: Sequence[Remark]) -> tuple[Remark, ...]:
    # Text after a colon comes from the hand-in, and may contain a name.
    return tuple(replace(remark, text=remark.text.partition(": ")[0], for_student="") for remark in remarks)


def _without_grounds(decisions: Sequence[str]) -> tuple[str, ...]:
    return tuple("the teacher decided on a mark" for _ in decisions)


def _student(number: int, file: str, grade: Grade) -> StudentRow:
    return StudentRow(
        student=grade.student,
        file=file,
        number=number,
        total=grade.total,
        of=grade.of,
        done=sum(mark.outcome in ("full", "part", "inconclusive", "excused") for mark in grade.marks),
        activities=len(grade.marks),
        refused=grade.refused,
        doubts=sum(mark.outcome == "refused" for mark in grade.marks),
        remarks=grade.remarks,
        decisions=tuple(map(str, grade.decisions)),
    )


def _steps(course: Course) -> Iterator[tuple[Module, Step]]:
    return ((module, step) for module in course.modules for step in module.steps)


def _by_activity(grades: Iterable[Grade]) -> Answered:
    found: dict[tuple[str, str, str], list[tuple[Grade, ActivityMark]]] = {}
    for grade in grades:
        for mark in grade.marks:
            found.setdefault((mark.module, mark.page, mark.activity), []).append((grade, mark))
    return found


def _pages(course: Course, grades: Sequence[Grade]) -> Iterator[PageRow]:
    of_page: dict[Place, list[list[ActivityMark]]] = {}
    for grade in grades:
        by_page: dict[Place, list[ActivityMark]] = {}
        for mark in grade.marks:
            by_page.setdefault((mark.module, mark.page), []).append(mark)
        for place, marks in by_page.items():
            of_page.setdefault(place, []).append(marks)
    for module, step in _steps(course):
        pages = of_page.get((module.id, step.id), [])
        if not pages:
            continue
        shares = [share for marks in pages if (share := _share(marks)) is not None]
        yield PageRow(
            module=module.id,
            page=step.id,
            title=step.title,
            done=sum(any(mark.marks for mark in marks) for marks in pages),
            tried=sum(any(mark.outcome != "missing" for mark in marks) for marks in pages),
            students=len(pages),
            mean=statistics.fmean(shares) if shares else 0.0,
        )


def _share(marks: Iterable[ActivityMark]) -> float | None:
    """Return the share of the marks possible; None where no mark is possible."""
    counted = [mark for mark in marks if mark.counts]
    of = sum(mark.of for mark in counted)
    return sum(mark.marks for mark in counted) / of if of else None


def _predictions(course: Course, by_activity: Answered) -> Iterator[PredictionRow]:
    for module, step in _steps(course):
        for predict in step.activities_of(Predict):
            marks = [mark for _, mark in by_activity.get((module.id, step.id, predict.id), [])]
            first = [mark.answers[0] for mark in marks if mark.answers]
            if not first:
                continue
            model = None if step.variants else _model(step, predict)
            yield PredictionRow(
                module=module.id,
                page=step.id,
                unit=predict.unit,
                predicted=tuple(sorted(each.value for each in first if each.value is not None)),
                left_out=sum(each.value is None for each in first),
                measured=tuple(sorted(mark.measured for mark in marks if mark.measured is not None)),
                model=model,
                ratios=tuple(sorted(_ratios(marks, model))),
            )


def _ratios(marks: Iterable[ActivityMark], model: float | None) -> Iterator[float]:
    for mark in marks:
        predicted = mark.answers[0].value if mark.answers else None
        measured = mark.measured or model
        if predicted is not None and measured:
            yield predicted / measured


def _reports(course: Course, found: Sequence[tuple[str, Grade]]) -> Iterator[ReportRow]:
    by_page: dict[Place, list[ReportRow]] = {}
    titles = {(module.id, step.id): step.title for module, step in _steps(course)}
    for file, grade in found:
        for line in grade.reports:
            place = line.module, line.page
            row = ReportRow(
                module=line.module,
                page=line.page,
                title=titles.get(place, "pre-test"),
                student=grade.student or file,
                at=line.at,
                text=line.text,
            )
            by_page.setdefault(place, []).append(row)
    for module in course.modules:
        for page in (PRETEST, *(step.id for step in module.steps)):
            yield from by_page.get((module.id, page), [])


def _model(step: Step, predict: Activity) -> float | None:
    experiment = step.predicted_experiment(predict)
    if experiment is None or not isinstance(predict, Predict) or predict.knee:
        return None
    return expected(step.sweep.measure if step.sweep else predict.measure, experiment)
