"""Statistics of each question over a class: difficulty, discrimination, answers, hints and time.

A question counts once even if students get different numbers. Wrong numbers are grouped by misconception, not value.
"""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

import msgspec

from tcptutor.course.activities.choice import ChoiceQuestion
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.run_question import RunQuestion
from tcptutor.course.activity import Question
from tcptutor.course.outline import Course
from tcptutor.course.page_references import without_links
from tcptutor.grading.grade import ActivityMark, GivenAnswer, Grade
from tcptutor.grading.gradebooks import to_csv

Answered: TypeAlias = Mapping[tuple[str, str, str], Sequence[tuple[Grade, ActivityMark]]]
"""Marks with their grades, by module, page and activity."""
_MIN_STUDENTS = 8
"""Fewest students for which the discrimination of a question is reported."""
_WEAK = 0.2
"""Correlation below which a question discriminates poorly."""
_TWO_SIGMA = 1.96
"""Standard deviations that contain 95 % of a normal distribution."""
_MAX_CORRELATION = 1 - 1e-9
_DIGITS = 4
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_OPEN = "…"
"""In place of a student's own number."""
_MOST_WRONG = 3
"""Wrong answers that are reported per question in words."""


class Correlation(msgspec.Struct, frozen=True, kw_only=True):
    """A correlation coefficient with its 95 % confidence interval."""

    r: float
    low: float
    high: float

    @classmethod
    def of(cls, r: float, students: int) -> Correlation:
        """Return the interval of `r` by Fisher's transformation."""
        at = math.atanh(max(-_MAX_CORRELATION, min(r, _MAX_CORRELATION)))
        half = _TWO_SIGMA / math.sqrt(students - 3)
        return cls(r=r, low=math.tanh(at - half), high=math.tanh(at + half))


class AnswerCount(msgspec.Struct, frozen=True, kw_only=True):
    """A first answer, or a choice of a question with several right choices, and its students."""

    id: str = ""
    """Id of the choice, "answer" for the right number, "mistake-1" for a known mistake; empty for other answers."""
    text: str
    """The answer; empty where each student has other numbers."""
    value: str = ""
    """The number as the lesson has it, an expression where each student has other numbers."""
    right: bool
    feedback: str
    """The page's feedback: on a wrong answer, the misconception."""
    students: int


class QuestionRow(msgspec.Struct, frozen=True, kw_only=True):
    """A question."""

    module: str
    page: str
    activity: str
    kind: str
    """single, multiple, numeric ..."""
    prompt: str
    answered: int
    """Number of students."""
    right_first: int
    """Number of students with a right first answer."""
    difficulty: float = 0.0
    """Share of students with a right first answer."""
    answers: tuple[AnswerCount, ...] = ()
    """Choices in the order of the lesson. Questions about the student's run list only chosen choices. Other questions
    list the right answer, followed by wrong answers by frequency."""
    sure_wrong: int = 0
    """Number of students who were sure of a wrong first answer."""
    with_hints: int = 0
    """Number of students who took hints."""
    mean_hints: float = 0.0
    """Hints that a student took, on average."""
    median_seconds: float | None = None
    """Time to the first answer; None where it is unknown."""
    discrimination: Correlation | None = None
    """Correlation of a right first answer with the share of all other marks; None where it is unknown."""

    @property
    def wrong(self) -> tuple[AnswerCount, ...]:
        """Return the most common wrong answers, the most common first."""
        found = [each for each in self.answers if not each.right and each.students]
        return tuple(sorted(found, key=lambda each: -each.students)[:_MOST_WRONG])

    @property
    def is_weak(self) -> bool:
        """Return whether the question certainly fails to separate strong from weak students."""
        return self.discrimination is not None and self.discrimination.high < _WEAK


def question_rows(course: Course, grades: Sequence[Grade], by_activity: Answered) -> Iterator[QuestionRow]:
    """Yield the statistics of each question, in the order of the course."""
    sums = {
        id(grade): (sum(m.marks for m in grade.marks), sum(m.of for m in grade.marks)) for grade in grades
    }
    for module in course.modules:
        for step in module.steps:
            for question in step.activities_of(Question):
                found = by_activity.get((module.id, step.id, question.id), ())
                yield _row(module.id, step.id, question, found, sums)


def _row(
    module: str,
    page: str,
    question: Question,
    found: Sequence[tuple[Grade, ActivityMark]],
    sums: Mapping[int, tuple[float, float]],
) -> QuestionRow:
    answered = [
        (grade, mark) for grade, mark in found if mark.answers and mark.answers[0].correct is not None
    ]
    first = [mark.answers[0] for _, mark in answered]
    rests = [
        (sums[id(grade)][0] - mark.marks) / ((sums[id(grade)][1] - mark.of) or 1.0)
        for grade, mark in answered
    ]
    right_first = sum(bool(each.correct) for each in first)
    times = [mark.seconds for _, mark in answered if mark.seconds is not None]
    return QuestionRow(
        module=module,
        page=page,
        activity=question.id,
        kind=question.kind,
        prompt=_PLACEHOLDER.sub(_OPEN, without_links(question.prompt)),
        answered=len(first),
        right_first=right_first,
        difficulty=right_first / len(first) if first else 0.0,
        answers=tuple(answer_counts(question, first)),
        sure_wrong=sum(each.sureness == "sure" and not each.correct for each in first),
        with_hints=sum(mark.hints > 0 for _, mark in answered),
        mean_hints=statistics.fmean(mark.hints for _, mark in answered) if answered else 0.0,
        median_seconds=statistics.median(times) if times else None,
        discrimination=_correlation([float(bool(each.correct)) for each in first], rests),
    )


def answer_counts(question: Question, first: Sequence[GivenAnswer]) -> Iterator[AnswerCount]:
    """Count first answers by choice, or by the misconception of a wrong number."""
    if isinstance(question, RunQuestion):
        yield from _counts_by_run(question, first)
        return
    if isinstance(question, ChoiceQuestion):
        for id, choice in zip(question.entry_ids, question.choices, strict=True):
            yield AnswerCount(
                id=id,
                text=choice.text,
                right=choice.correct,
                feedback=without_links(choice.feedback),
                students=sum(id in each.chosen for each in first),
            )
        return
    if right := sum(bool(each.correct) for each in first):
        value = question.answer if isinstance(question, Numeric) else ""
        yield AnswerCount(id="answer", text="", value=value, right=True, feedback="", students=right)
    wrong = Counter(
        ("", *_misconception(question, each.feedback))
        if each.drawn
        else (each.text, _known(question, each.feedback), each.feedback)
        for each in first
        if not each.correct
    )
    for (text, known, feedback), students in wrong.most_common():
        id = f"mistake-{known}" if known else ""
        value = question.mistakes[known - 1].value if known and isinstance(question, Numeric) else ""
        yield AnswerCount(id=id, text=text, value=value, right=False, feedback=feedback, students=students)


def _counts_by_run(question: RunQuestion, first: Sequence[GivenAnswer]) -> Iterator[AnswerCount]:
    """Count chosen choices, right and wrong separately: each student's run decides which are right."""
    counted = Counter((id, bool(each.correct)) for each in first for id in each.chosen)
    for id, choice in zip(question.entry_ids, question.choices, strict=True):
        for right in (True, False):
            if students := counted[id, right]:
                feedback = without_links(choice.feedback)
                yield AnswerCount(id=id, text=choice.text, right=right, feedback=feedback, students=students)


def _known(question: Question, feedback: str) -> int:
    """Return the number of the mistake with that feedback, from 1; 0 for none."""
    known = question.mistakes if isinstance(question, Numeric) else ()
    texts = [without_links(each.feedback) for each in known]
    return texts.index(feedback) + 1 if feedback in texts else 0


def _misconception(question: Question, feedback: str) -> tuple[int, str]:
    """Return the number of the mistake, 0 for none, and its feedback without a student's numbers."""
    if not isinstance(question, Numeric):
        return 0, feedback
    shown = " ".join(feedback.split())
    templates = (*(each.feedback for each in question.mistakes), question.feedback)
    for number, template in enumerate(templates, 1):
        parts = _PLACEHOLDER.split(" ".join(without_links(template).split()))
        if found := re.fullmatch(f"(.*?){'.+?'.join(map(re.escape, parts))}", shown):
            known = number if number <= len(question.mistakes) else 0
            return known, f"{found[1]}{_OPEN.join(parts)}"
    return 0, feedback


def _correlation(one: Sequence[float], other: Sequence[float]) -> Correlation | None:
    if len(one) < _MIN_STUDENTS:
        return None
    try:
        return Correlation.of(statistics.correlation(one, other), len(one))
    except statistics.StatisticsError:
        return None  # one of the variables is constant


_COLUMNS = (
    "module page question kind prompt students right_first difficulty"
    " discrimination discrimination_low discrimination_high with_hints mean_hints median_seconds sure_wrong"
)


def items_csv(rows: Sequence[QuestionRow]) -> str:
    """Return a row per answered question, with five columns for each of its answers."""
    answered = [row for row in rows if row.answered]
    most = max((len(row.answers) for row in answered), default=0)
    numbered = (
        f"{name}_{number}"
        for number in range(1, most + 1)
        for name in ("id", "answer", "right", "students", "why")
    )
    return to_csv([[*_COLUMNS.split(), *numbered], *map(_cells, answered)])


def _cells(row: QuestionRow) -> list[str | float | None]:
    found = row.discrimination
    cells: list[str | float | None] = [
        row.module,
        row.page,
        row.activity,
        row.kind,
        " ".join(row.prompt.split()),
        row.answered,
        row.right_first,
        _rounded(row.difficulty),
        *(_rounded(value) for value in ((found.r, found.low, found.high) if found else (None, None, None))),
        row.with_hints,
        _rounded(row.mean_hints),
        _rounded(row.median_seconds),
        row.sure_wrong,
    ]
    for each in row.answers:
        cells += [
            each.id,
            " ".join((each.text or each.value).split()),
            int(each.right),
            each.students,
            " ".join(each.feedback.split()),
        ]
    return cells


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, _DIGITS)
