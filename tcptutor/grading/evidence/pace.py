"""The time that a student took for an answer, by the student's own clock."""

from __future__ import annotations

from tcptutor.course.page_record import moment
from tcptutor.grading.evidence.timeline import PageTimeline

LONGEST_SECONDS = 1800.0
"""A longer time contains a pause, and is unknown."""


def answer_seconds(page: PageTimeline, activity: str) -> float | None:
    """Return the seconds from the preceding action on the page to the first answer; None if unknown.

    A preceding action is a visit, the end of a run, or an answer to another activity. Hints are part of answering.
    """
    first = next(iter(page.responses_to(activity)), None)
    if first is None:
        return None
    before = [
        *page.visits,
        *((each.serial, each.at) for each in page.responses if each.activity != activity),
        *((run.ended, run.ended_at) for run in page.runs if run.ended),
    ]
    known = [each for each in before if page.order.knew(first.serial, each[0])]
    begun, answered = moment(max(known)[1]) if known else None, moment(first.at)
    if begun is None or answered is None:
        return None
    seconds = (answered - begun).total_seconds()
    return seconds if 0 <= seconds <= LONGEST_SECONDS else None
