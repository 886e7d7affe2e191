"""A student's answers and predictions as they are marked now, to be read next to the marks."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from tcptutor.base.errors import UsageError
from tcptutor.course.activities.choice import ChoiceQuestion, Order
from tcptutor.course.activities.predict import Predict, ShapePrediction
from tcptutor.course.activity import Activity, Mark, MarkContext, Question
from tcptutor.course.page_record import Given
from tcptutor.course.page_references import without_links
from tcptutor.grading.evidence.timeline import PageTimeline, TimedResponse
from tcptutor.grading.grade import GivenAnswer

_MOST_CHARACTERS = 200
"""Characters of a typed answer that are shown."""


def given_answers(
    activity: Activity,
    page: PageTimeline,
    context_of: Callable[[TimedResponse], MarkContext],
    order_at: Callable[[int], tuple[int, ...]],
) -> Iterator[GivenAnswer]:
    """Yield the answers to a question or prediction in order; none for other activities.

    Args:
        activity: The question or prediction.
        page: The student's actions on its page.
        context_of: Returns the run or sweep that the student had when answering.
        order_at: Returns the order in which the student saw its entries at an event.
    """
    if not isinstance(activity, Question | Predict | ShapePrediction):
        return
    for given in page.responses_to(activity.id):
        answer, draw = given.response.answer, given.response.draw
        context = MarkContext()
        if isinstance(activity, Question) and activity.against_run:
            context = context_of(given)
        posed: Activity = activity
        mark = Mark(correct=None)
        with contextlib.suppress(UsageError):
            posed = activity.with_numbers(draw)
            mark = posed.mark(answer, context)
        yield GivenAnswer(
            at=given.at,
            text=_answer_text(posed, answer),
            numbers=_shown_numbers(posed, answer, order_at(given.serial)),
            correct=mark.correct,
            feedback=without_links(mark.feedback) if mark.correct is False else "",
            value=mark.value,
            drawn=bool(draw),
        )


def _shown_numbers(activity: Activity, given: Given, order: tuple[int, ...]) -> tuple[int, ...]:
    if isinstance(given, str) or not isinstance(activity, ChoiceQuestion | ShapePrediction):
        return ()
    return tuple(sorted(order.index(index) + 1 for index in given if index in order))


def _answer_text(activity: Activity, given: Given) -> str:
    """Return the chosen texts, or the beginning of a typed text."""
    if isinstance(given, str):
        return given[:_MOST_CHARACTERS]
    texts: tuple[str, ...] = ()
    match activity:
        case ChoiceQuestion():
            texts = tuple(choice.text for choice in activity.choices)
        case Order():
            texts = tuple(event.text for event in activity.events)
        case ShapePrediction():
            texts = tuple(shape.text for shape in activity.shapes)
    return "; ".join(texts[index] if 0 <= index < len(texts) else str(index + 1) for index in given)
