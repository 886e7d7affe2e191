"""Pre-test of a module: five questions in `00-pretest.md` whose right answers propose pages to skip.

The pre-test has no place in the order of pages and no marks. A page is known if the student answered every question
that names it under `skips` right at the first attempt, without a hint.
"""

from __future__ import annotations

from tcptutor.course.activity import Question
from tcptutor.course.page_record import PageRecord
from tcptutor.course.step import Step

QUESTIONS = 5


def known_pages(pretest: Step, record: PageRecord) -> frozenset[str]:
    """Return the ids of the pages that the student may skip, given the record of the pre-test."""
    asked = pretest.activities_of(Question)
    named = {page for question in asked for page in question.skips}
    unknown = {page for question in asked if not _knew(question, record) for page in question.skips}
    return frozenset(named - unknown)


def _knew(question: Question, record: PageRecord) -> bool:
    answered = record.activity(question.id)
    return answered.first is not None and bool(answered.first.correct) and not answered.hints
