"""The marks of a hand-in, and their reasons."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from tcptutor.base.errors import UsageError
from tcptutor.base.printable import escaped
from tcptutor.course.activities.choice import ChoiceQuestion
from tcptutor.course.activities.predict import Predict, ShapePrediction
from tcptutor.course.activity import ENTRY_REMOVED, Activity, Mark, Question
from tcptutor.course.page_record import Given, Sureness
from tcptutor.course.page_references import without_links
from tcptutor.grading.decisions import Decision
from tcptutor.grading.evidence.timeline import PageTimeline, TimedResponse
from tcptutor.grading.evidence.trail import EventTrail
from tcptutor.grading.remarks import Remark

Outcome = Literal["full", "part", "none", "missing", "refused", "inconclusive", "excused"]
"""Result of an activity.

none: done, but wrong. missing: not done. refused: done, but its evidence does not hold. inconclusive: the lab doubts
the run; it costs no marks. excused: the teacher excused the student; it costs no marks.
"""
_MOST_CHARACTERS = 200
"""Characters of a typed answer that are shown."""


class GivenAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """A response to an activity, as it is marked now."""

    at: str
    """Wall-clock time of the student's computer, ISO 8601 with zone."""
    text: str
    """The chosen texts of the lesson, or the typed text."""
    chosen: tuple[str, ...] = ()
    """Ids of the chosen entries; empty for a typed answer."""
    numbers: tuple[int, ...] = ()
    """Numbers of the chosen entries on the student's page, from 1; empty for other answers."""
    correct: bool | None
    """None for an activity without a right answer, and for a response that does not count."""
    feedback: str = ""
    """The page's feedback on a wrong answer."""
    value: float | None = None
    """Value of a prediction, in its base unit."""
    sureness: Sureness | None = None
    """Sureness of the answer; None if not stated."""
    drawn: bool = False
    """True for a question with the student's own numbers."""
    draw: dict[str, str] = {}
    """These numbers, by name."""
    asked: str = ""
    """The question with these numbers; empty where all students have the same."""

    @property
    def identity(self) -> str:
        """Equal for equal answers, also where different versions of the lesson word a choice differently."""
        return "; ".join(self.chosen) or self.text


class ActivityMark(msgspec.Struct, frozen=True, kw_only=True):
    """The mark of an activity."""

    module: str
    page: str
    title: str
    """Title of the page."""
    activity: str
    """Id of the activity."""
    kind: str
    """Its table in the lesson file: question, predict, experiment ..."""
    marks: float
    of: float
    outcome: Outcome
    reason: str = ""
    """A sentence; empty for full marks."""
    events: tuple[int, ...] = ()
    """Serials of the journal's events that the mark is based on."""
    runs: tuple[str, ...] = ()
    """Ids of the runs that the mark is based on."""
    distrusted: tuple[str, ...] = ()
    """Ids of runs of a sweep that earn no marks: their evidence does not hold, or the lab doubts them."""
    at: str = ""
    """Wall-clock time of the work that counts, ISO 8601 with zone; empty where none does."""
    answers: tuple[GivenAnswer, ...] = ()
    """All responses to a question or prediction, in order."""
    measured: float | None = None
    """The predicted quantity, as the first run after the prediction measured it, in the base unit."""
    hints: int = 0
    """Highest level of the hints that were shown."""
    seconds: float | None = None
    """Time to the first answer, by the student's clock; None if unknown."""
    decision: str = ""
    """Reason and initials of the teacher's decision on the mark; empty for a computed mark."""

    @property
    def counts(self) -> bool:
        """Whether the activity is part of the student's maximum."""
        return self.outcome not in ("inconclusive", "excused")

    @property
    def is_removed(self) -> bool:
        """True if the answer names a choice that the page no longer has."""
        return self.outcome == "inconclusive" and self.reason.startswith(ENTRY_REMOVED)


class ReportedLine(msgspec.Struct, frozen=True, kw_only=True):
    """A student's report of a mistake on a page; it does not affect marks."""

    module: str
    page: str
    at: str
    """Wall-clock time of the student's computer, ISO 8601 with zone."""
    text: str


class Grade(msgspec.Struct, frozen=True, kw_only=True):
    """The marks of a hand-in."""

    student: str
    """The student's name in the course; empty without an enrollment."""
    enrolled_as: str = ""
    """Id that seeds the personal numbers, if the teacher assigned the hand-in to a different id."""
    course: str
    title: str
    made: str
    other_version: str | None = None
    """Version of the hand-in's lessons if they differ from the grading lessons; empty if unnamed."""
    marks: tuple[ActivityMark, ...]
    remarks: tuple[Remark, ...] = ()
    refused: str = ""
    """Why the hand-in does not count; empty when it does."""
    is_damaged: bool = False
    """True where events are missing, so that any other hand-in of the student comes first."""
    reports: tuple[ReportedLine, ...] = ()
    """Lines on pages of the course, in the order of the course."""
    decisions: tuple[Decision, ...] = ()
    """The teacher's decisions on the student."""
    samples: dict[str, str] = {}
    """Digest of the samples of each run with the student's own seed, by run id; equal runs have equal digests.

    Recordings are left out.
    """
    trail: EventTrail = EventTrail()

    @property
    def total(self) -> float:
        """Return the marks reached."""
        return 0.0 if self.refused else sum(mark.marks for mark in self.marks)

    @property
    def of(self) -> float:
        """Return the marks that could be reached, without inconclusive and excused activities."""
        return sum(mark.of for mark in self.marks if mark.counts)

    @property
    def share(self) -> float:
        """Return the share of the marks reached, 0 to 1."""
        return self.total / self.of if self.of else 0.0


def printable(grade: Grade) -> Grade:
    """Escape control characters, including newlines, in all text that comes from the hand-in."""
    return replace(
        grade,
        student=escaped(grade.student),
        course=escaped(grade.course),
        made=escaped(grade.made),
        other_version=None if grade.other_version is None else escaped(grade.other_version),
        refused=escaped(grade.refused),
        remarks=tuple(map(_printable_remark, grade.remarks)),
        marks=tuple(
            replace(mark, reason=escaped(mark.reason), runs=tuple(map(escaped, mark.runs)))
            for mark in grade.marks
        ),
        reports=tuple(replace(each, at=escaped(each.at), text=escaped(each.text)) for each in grade.reports),
        samples={escaped(id): digest for id, digest in grade.samples.items()},
    )


def _printable_remark(remark: Remark) -> Remark:
    return replace(remark, text=escaped(remark.text), for_student=escaped(remark.for_student))


class GradedFile(NamedTuple):
    """A hand-in with its grade, or the reason why it has none."""

    file: str
    """Its name, without its folder."""
    grade: Grade | None
    problem: str = ""
    """Reason for a missing grade."""
    superseded_by: str = ""
    """Name of the student's hand-in that counts instead; empty if this hand-in counts."""
    sources: tuple[Path, ...] = ()
    """The file; several for joined hand-ins."""


def given_answers(
    activity: Activity,
    page: PageTimeline,
    mark_of: Callable[[Activity, TimedResponse], Mark],
    order_at: Callable[[int], tuple[int, ...]],
) -> Iterator[GivenAnswer]:
    """Yield the answers to a question or prediction in order; none for other activities.

    Args:
        activity: The question or prediction.
        page: The student's actions on its page.
        mark_of: Marks a response to the activity with its numbers, or raises UsageError.
        order_at: Returns the order in which the student saw its entries at an event.
    """
    if not isinstance(activity, Question | Predict | ShapePrediction):
        return
    for given in page.responses_to(activity.id):
        answer, draw = given.response.answer, given.response.draw
        posed: Activity = activity
        mark = Mark(correct=None)
        with contextlib.suppress(UsageError):
            posed = activity.with_numbers(draw)
            mark = mark_of(posed, given)
        yield GivenAnswer(
            at=escaped(given.at),
            text=posed.in_words(escaped(answer[:_MOST_CHARACTERS]) if isinstance(answer, str) else answer),
            chosen=() if isinstance(answer, str) else answer,
            numbers=_shown_numbers(posed, answer, order_at(given.serial)),
            correct=mark.correct,
            feedback=without_links(mark.feedback) if mark.correct is False else "",
            value=mark.value,
            sureness=given.response.sureness,
            drawn=bool(draw),
            draw=dict(draw) if posed is not activity else {},
            asked=without_links(posed.prompt) if draw and isinstance(posed, Question) else "",
        )


def _shown_numbers(activity: Activity, given: Given, order: tuple[int, ...]) -> tuple[int, ...]:
    if isinstance(given, str) or not isinstance(activity, ChoiceQuestion | ShapePrediction):
        return ()
    places = {id: order.index(index) + 1 for index, id in enumerate(activity.entry_ids)}
    return tuple(sorted(places[id] for id in given if id in places))
