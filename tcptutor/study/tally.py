"""Progress through a page with many questions."""

from __future__ import annotations

from typing import NamedTuple

from tcptutor.course.activity import Question, Stage
from tcptutor.course.page_record import PageRecord
from tcptutor.course.step import Step

MIN_TALLY_QUESTIONS = 4
"""A page with at least this many questions shows a tally."""


class QuestionProgress(NamedTuple):
    """Progress through a page of questions."""

    done: int
    """Questions answered correctly."""
    total: int


def question_progress(step: Step, record: PageRecord) -> QuestionProgress | None:
    """Return progress on a page without runs and with at least `MIN_TALLY_QUESTIONS` questions; otherwise None."""
    questions = step.activities_of(Question)
    if len(questions) < MIN_TALLY_QUESTIONS or any(each.stage is Stage.RUN for each in step.activities):
        return None
    done = sum(record.activity(question.id).right is not None for question in questions)
    return QuestionProgress(done, len(questions))
