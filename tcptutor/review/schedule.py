"""Days on which a question is asked again, by FSRS-6 of the package `fsrs`, replayed over the days of recall.

Each day counts once, by its worst recall, which decides the rating:

    wrong, sure or not                    Again
    right with a hint, or only a hint     Hard
    right                                 Good
    right and sure                        Easy

A day is a UTC day, and a question is due from its start. `fsrs` runs without fuzzing and without steps of minutes, so
that equal recalls give equal days on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from functools import cache
from typing import TYPE_CHECKING

from tcptutor.course.page_record import Recall, RecallDay

if TYPE_CHECKING:
    from fsrs import Scheduler

MOST_DAYS = 180
"""Longest time between two reviews, days."""
WEEK = 7
"""Days until the observed outcome of a run is asked for again."""


def due_day(recalls: Sequence[RecallDay], last_day: int | None = None, *, is_observed: bool = False) -> int:
    """Return the UTC day on which a question is due, as a proleptic ordinal.

    Args:
        recalls: Days of recall, in order, at least one.
        last_day: Last day of the course, which limits the interval until then; None for no end.
        is_observed: True for the outcome of a run, which is asked for again after a week.

    Raises:
        OverflowError: The day is beyond the calendar.
    """
    first, latest = recalls[0].day, recalls[-1].day
    is_first_time = is_observed and latest < first + WEEK
    due = first + WEEK if is_first_time else _scheduled_day(recalls)
    return last_day if last_day is not None and latest < last_day < due else due


@cache
def _scheduler() -> Scheduler:
    from fsrs import Scheduler  # noqa: PLC0415  # not for the first frame

    return Scheduler(learning_steps=(), relearning_steps=(), maximum_interval=MOST_DAYS, enable_fuzzing=False)


def _scheduled_day(recalls: Sequence[RecallDay]) -> int:
    from fsrs import Card, Rating  # noqa: PLC0415  # not for the first frame

    # A given id: without one, `fsrs` waits a millisecond to make its own, from the time.
    card = Card(card_id=0, due=_start(recalls[0].day))
    for day, recall in recalls:
        rating = Rating(max(recall, Recall.WRONG))
        card, _ = _scheduler().review_card(card, rating, _start(day))
    return int(card.due.toordinal())


def _start(day: int) -> datetime:
    return datetime.combine(date.fromordinal(day), time(), UTC)
