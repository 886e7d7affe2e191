"""Earlier answers to a question, in words."""

from __future__ import annotations

import contextlib
from typing import NamedTuple

from tcptutor.base.errors import UsageError
from tcptutor.course.activity import Activity, Question
from tcptutor.course.page_record import Response
from tcptutor.course.page_references import without_links


class PastAnswer(NamedTuple):
    """An answer to a question, with the numbers that were asked for."""

    prompt: str
    answer: str
    is_right: bool | None
    at: str
    """ISO 8601."""


def given_answer(question: Question, response: Response) -> PastAnswer:
    """Return a response to a question in words."""
    posed: Activity = question
    with contextlib.suppress(UsageError):  # the lesson was edited since
        posed = question.with_numbers(response.draw)
    prompt = posed.prompt if isinstance(posed, Question) else question.prompt
    answer = posed.in_words(response.answer) or "skipped"
    return PastAnswer(without_links(prompt), answer, response.correct, response.at)
