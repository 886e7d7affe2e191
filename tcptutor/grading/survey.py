"""What a class did: marks by page, what was answered wrongly and why, predictions beside measurements.

Told of those hand-ins that count. Nothing in it judges a student: it is there for whoever teaches.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from tcptutor.base import units
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activity import Activity, Question
from tcptutor.course.measures import expected
from tcptutor.course.model import Course, Module, Step
from tcptutor.grading.grade import ActivityMark, Grade, GradedFile
from tcptutor.grading.similar import Similar, similar_pairs
from tcptutor.grading.students import replaced

_FEW = 8
"""Students below which nothing is told of how well a question tells them apart."""
_WEAK = 0.2
"""Correlation below which a question does not."""
_SURE = 1.96
"""Standard deviations within which 95 % lie."""
_ALL = 1 - 1e-9
_MOST_WRONG = 3
"""Wrong answers that are told of a question."""

Place = tuple[str, str]
"""Module and page."""


class StudentRow(msgspec.Struct, frozen=True, kw_only=True):
    """A hand-in."""

    student: str
    """As the course names them; empty for who is not enrolled."""
    file: str
    number: int
    """From 1, in the place of a name."""
    total: float
    of: float
    done: int
    """Activities that gave marks, or could not for no fault of the student's."""
    activities: int
    refused: str = ""
    """Why none of it counts; empty when it does."""
    doubts: int = 0
    """Marks whose evidence does not hold."""
    remarks: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What tells it from the others."""
        return self.student or self.file


class PageRow(msgspec.Struct, frozen=True, kw_only=True):
    """A page."""

    module: str
    page: str
    title: str
    done: int
    """Students who did something of it."""
    students: int
    mean: float
    """Of the share of its marks, 0 to 1."""


class WrongAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """One that was given as the first."""

    text: str
    """What was chosen; empty where each student is asked with other numbers."""
    feedback: str
    """What the page tells of it: the misconception."""
    students: int


class QuestionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A question."""

    module: str
    page: str
    activity: str
    ask: str
    answered: int
    """Students."""
    right_first: int
    """Of them, those whose first answer was right."""
    wrong: tuple[WrongAnswer, ...]
    """The commonest first."""
    discrimination: float | None
    """Correlation of a right first answer with the share of all other marks; None where it cannot be told."""

    @property
    def discrimination_at_most(self) -> float | None:
        """Where it lies below with 97.5 %, by Fisher's transformation; None where it cannot be told."""
        if self.discrimination is None:
            return None
        return math.tanh(
            math.atanh(max(-_ALL, min(self.discrimination, _ALL))) + _SURE / math.sqrt(self.answered - 3)
        )

    @property
    def is_weak(self) -> bool:
        """Whether it is known that it does not tell who knows more from who knows less."""
        most = self.discrimination_at_most
        return most is not None and most < _WEAK


class PredictionRow(msgspec.Struct, frozen=True, kw_only=True):
    """What was predicted on a page, and measured; all numbers in the base unit."""

    module: str
    page: str
    unit: units.Kind
    predicted: tuple[float, ...]
    """Rising."""
    left_out: int
    """Students who ran without one."""
    measured: tuple[float, ...]
    """Rising; by the students' own runs."""
    model: float | None
    """What the models say; None where none speaks of it, and where students have settings of their own."""
    ratios: tuple[float, ...] = ()
    """Each student's prediction over what their own run measured, or over the model without one; rising."""


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """Of a class."""

    title: str
    students: tuple[StudentRow, ...]
    """By name."""
    pages: tuple[PageRow, ...]
    """Those that somebody did something of."""
    questions: tuple[QuestionRow, ...]
    predictions: tuple[PredictionRow, ...]
    similar: tuple[Similar, ...]
    problems: tuple[str, ...]
    """Hand-ins that could not be graded, a line each."""
    replaced: tuple[str, ...] = ()
    """Hand-ins that do not count because the student has a later one, a line each."""

    @property
    def weak(self) -> tuple[QuestionRow, ...]:
        """Questions that do not discriminate, the least first."""
        found = [each for each in self.questions if each.is_weak]
        return tuple(sorted(found, key=lambda each: each.discrimination or 0.0))


def survey(graded: Sequence[GradedFile], course: Course) -> Survey:
    """Of those hand-ins, in that course."""
    found = [(each.file, each.grade) for each in graded if each.grade is not None and not each.instead]
    found.sort(key=lambda each: (each[1].student or each[0], each[0]))
    counted = [grade for _, grade in found if not grade.refused]
    by_activity = _by_activity(counted)
    return Survey(
        title=course.title,
        students=tuple(_student(number, *each) for number, each in enumerate(found, 1)),
        pages=tuple(page for page in _pages(course, counted) if page.done),
        questions=tuple(_questions(course, counted, by_activity)),
        predictions=tuple(_predictions(course, by_activity)),
        similar=tuple(similar_pairs([each for each in found if not each[1].refused])),
        problems=tuple(each.problem for each in graded if each.grade is None),
        replaced=tuple(replaced(graded)),
    )


def _student(number: int, file: str, grade: Grade) -> StudentRow:
    return StudentRow(
        student=grade.student,
        file=file,
        number=number,
        total=grade.total,
        of=grade.of,
        done=sum(mark.outcome in ("full", "part", "inconclusive") for mark in grade.marks),
        activities=len(grade.marks),
        refused=grade.refused,
        doubts=sum(mark.outcome == "refused" for mark in grade.marks),
        remarks=grade.remarks,
    )


def _steps(course: Course) -> Iterator[tuple[Module, Step]]:
    return ((module, step) for module in course.modules for step in module.steps)


def _by_activity(grades: Iterable[Grade]) -> Mapping[tuple[str, str, str], list[tuple[Grade, ActivityMark]]]:
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
            done=sum(any(mark.outcome != "missing" for mark in marks) for marks in pages),
            students=len(pages),
            mean=statistics.fmean(shares) if shares else 0.0,
        )


def _share(marks: Iterable[ActivityMark]) -> float | None:
    """Of the marks that could be reached; None where there are none."""
    counted = [mark for mark in marks if mark.outcome != "inconclusive"]
    of = sum(mark.of for mark in counted)
    return sum(mark.marks for mark in counted) / of if of else None


def _questions(
    course: Course,
    grades: Sequence[Grade],
    by_activity: Mapping[tuple[str, str, str], list[tuple[Grade, ActivityMark]]],
) -> Iterator[QuestionRow]:
    sums = {
        id(grade): (sum(m.marks for m in grade.marks), sum(m.of for m in grade.marks)) for grade in grades
    }
    for module, step in _steps(course):
        for question in step.activities_of(Question):
            answered = [
                (grade, mark)
                for grade, mark in by_activity.get((module.id, step.id, question.id), [])
                if mark.answers and mark.answers[0].correct is not None
            ]
            first = [mark.answers[0] for _, mark in answered]
            wrong = Counter(
                ("" if each.drawn else each.text, each.feedback) for each in first if not each.correct
            )
            rests = [
                (sums[id(grade)][0] - mark.marks) / ((sums[id(grade)][1] - mark.of) or 1.0)
                for grade, mark in answered
            ]
            yield QuestionRow(
                module=module.id,
                page=step.id,
                activity=question.id,
                ask=question.ask,
                answered=len(first),
                right_first=sum(bool(each.correct) for each in first),
                wrong=tuple(
                    WrongAnswer(text=text, feedback=feedback, students=number)
                    for (text, feedback), number in wrong.most_common(_MOST_WRONG)
                ),
                discrimination=_correlation([float(bool(each.correct)) for each in first], rests),
            )


def _correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    if len(one) < _FEW:
        return None
    try:
        return statistics.correlation(one, other)
    except statistics.StatisticsError:
        return None  # all have the same


def _predictions(
    course: Course, by_activity: Mapping[tuple[str, str, str], list[tuple[Grade, ActivityMark]]]
) -> Iterator[PredictionRow]:
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


def _model(step: Step, predict: Activity) -> float | None:
    experiment = step.predicted_experiment(predict)
    if experiment is None or not isinstance(predict, Predict) or predict.of == "knee":
        return None
    return expected(step.sweep.measure if step.sweep else predict.measure, experiment)
