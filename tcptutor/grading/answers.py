"""What was given to a question or a prediction, as it is marked now: for whoever reads it beside the marks."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from tcptutor.base.errors import UsageError
from tcptutor.course.activities.choice import ChoiceQuestion
from tcptutor.course.activities.order import Order
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.shape import ShapePrediction
from tcptutor.course.activity import Activity, Mark, MarkContext, Question
from tcptutor.course.page_record import Given
from tcptutor.grading.evidence.honesty import RunChecks
from tcptutor.grading.evidence.timeline import PageTimeline
from tcptutor.grading.grade import GivenAnswer

_LONGEST = 200
"""Characters of what was typed that are told."""


def answers(activity: Activity, page: PageTimeline, checks: RunChecks) -> Iterator[GivenAnswer]:
    """In their order; none of what is neither asked nor predicted."""
    if not isinstance(activity, Question | Predict | ShapePrediction):
        return
    for given in page.of(activity.id):
        answer, draw = given.response.given, given.response.draw
        context = MarkContext()
        if isinstance(activity, Question) and activity.against_run:
            timed = page.run_before(given.serial)
            context = MarkContext(run=checks.check(timed).run if timed else None)
        posed: Activity = activity
        mark = Mark(correct=None)
        with contextlib.suppress(UsageError):
            posed = activity.with_numbers(draw)
            mark = posed.mark(answer, context)
        yield GivenAnswer(
            at=given.at,
            text=_told(posed, answer),
            correct=mark.correct,
            feedback=mark.feedback if mark.correct is False else "",
            value=mark.value,
            drawn=bool(draw),
        )


def _told(activity: Activity, given: Given) -> str:
    """What was given, for who reads it beside the marks."""
    if isinstance(given, str):
        return given[:_LONGEST]
    texts: tuple[str, ...] = ()
    match activity:
        case ChoiceQuestion():
            texts = tuple(choice.text for choice in activity.choices)
        case Order():
            texts = tuple(event.text for event in activity.events)
        case ShapePrediction():
            texts = tuple(shape.text for shape in activity.shapes)
    return "; ".join(texts[index] if 0 <= index < len(texts) else str(index + 1) for index in given)
