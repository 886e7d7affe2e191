"""The days on which a question comes back are those of fsrs, whatever the way its history took."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta

import fsrs
import pytest

from tcptutor.course.page_record import Recall, RecallDay
from tcptutor.journal.chains import export_events, read_events
from tcptutor.journal.events import JournalEvent, chain
from tcptutor.journal.fold import JournalRecord, fold_events
from tcptutor.journal.merging import rows_to_add
from tcptutor.review import Reviews, find_reviews
from tcptutor.review.schedule import MOST_DAYS, due_day

from .made import CHOICE, DAY_0, MODULE, STEP, answered, course, day, hinted, reviewed

COURSE = course(CHOICE)
LATER = DAY_0 + timedelta(days=1000)


def record_of(events: list[JournalEvent]) -> JournalRecord:
    return fold_events(chain(events)).record


def reviews_of(events: list[JournalEvent]) -> Reviews:
    return find_reviews(COURSE, record_of(events), LATER)


def history(seed: int) -> tuple[list[JournalEvent], list[tuple[int, fsrs.Rating]]]:
    """Events of one question, first answered wrong, and each day's rating by the rule of the docstring."""
    made = random.Random(seed)
    events: list[JournalEvent] = [answered(0, right=False)]
    ratings = [(0, fsrs.Rating.Again)]
    days = 0
    for _ in range(made.randint(0, 8)):
        days += made.choice((1, 1, 2, 3, 7, 20, 60, 200))
        worst = fsrs.Rating.Easy
        for part in range(made.choice((1, 1, 1, 2))):
            right, hints = made.random() < 0.7, made.choice((0, 0, 0, 1))
            sureness = made.choice((None, "guessing", "fairly", "sure"))
            events.append(reviewed(days + part / 10, right, sureness, hints))
            rating = fsrs.Rating.Easy if sureness == "sure" else fsrs.Rating.Good
            worst = min(worst, fsrs.Rating.Hard if hints else rating) if right else fsrs.Rating.Again
            if not right:
                break
        ratings.append((days, worst))
    return events, ratings


def by_fsrs(ratings: list[tuple[int, fsrs.Rating]]) -> int:
    """The day by the package itself."""
    scheduler = fsrs.Scheduler(
        learning_steps=(), relearning_steps=(), maximum_interval=MOST_DAYS, enable_fuzzing=False
    )
    card = fsrs.Card(card_id=1)
    for days, rating in ratings:
        start = datetime(DAY_0.year, DAY_0.month, DAY_0.day, tzinfo=UTC) + timedelta(days=days)
        card, _ = scheduler.review_card(card, rating, start)
    return card.due.toordinal()


def test_a_thousand_histories_come_back_as_fsrs_says() -> None:
    for seed in range(1000):
        events, ratings = history(seed)
        (card,) = reviews_of(events).cards
        assert card.due == by_fsrs(ratings), seed


def test_a_history_is_scheduled_the_same_after_an_export_and_after_a_merge() -> None:
    for seed in range(100):
        events, _ = history(seed)
        here = fold_events(chain(events))
        there = fold_events(read_events(export_events(chain(events))))
        assert find_reviews(COURSE, there.record, LATER) == find_reviews(COURSE, here.record, LATER)
        # Every second event happened on another machine.
        own, others = (list(chain(events[first::2])) for first in (0, 1))
        merged = [*own, *rows_to_add(own, others, fold_events(own), "2030-01-01T00:00:00+00:00")]
        assert find_reviews(COURSE, fold_events(merged).record, LATER) == find_reviews(
            COURSE, here.record, LATER
        )


@pytest.mark.parametrize(
    ("events", "recall"),
    [
        ([answered(0, right=False)], Recall.WRONG),
        ([answered(0, right=False, sureness="sure")], Recall.SURELY_WRONG),
        ([answered(0, right=False), answered(0.1, right=True)], Recall.WRONG),
        ([hinted(0), answered(0.1, right=True)], Recall.HINTED),
        ([answered(0, right=True)], Recall.RIGHT),
        ([answered(0, right=True, sureness="sure")], Recall.SURELY_RIGHT),
    ],
)
def test_a_day_counts_by_its_worst_answer(events: list[JournalEvent], recall: Recall) -> None:
    found = record_of(events).page(MODULE, STEP).activity("which")
    assert found.recalls == (RecallDay(day(0), recall),)


def test_no_question_comes_back_after_the_course_has_ended() -> None:
    recalls = [RecallDay(day(0), Recall.SURELY_RIGHT)]
    assert due_day(recalls) == day(8)
    assert due_day(recalls, day(5)) == day(5)
    assert due_day(recalls, day(100)) == day(8)
    assert due_day(recalls, day(0)) == day(8)  # answered after the end
    (card,) = find_reviews(
        course(CHOICE, deadline="2026-03-05T12:00+00:00"),
        record_of([answered(0, right=False), reviewed(1, right=True), reviewed(2, right=True)]),
        LATER,
    ).cards
    assert card.due == day(3)


def test_an_interval_is_at_most_half_a_year() -> None:
    events = [answered(0, right=False)]
    days = 1
    for _ in range(12):
        events.append(reviewed(days, right=True, sureness="sure"))
        (card,) = reviews_of(events).cards
        assert card.due is not None
        assert 1 <= card.due - day(days) <= MOST_DAYS
        days = card.due - day(0)
