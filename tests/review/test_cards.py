"""Which questions come back, in which order; what is damaged or gone costs only itself."""

from __future__ import annotations

import sqlite3
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest

from tcptutor.course.activities.choice import Alternative
from tcptutor.course.activities.observe import Observation, Observe
from tcptutor.course.activity import Activity
from tcptutor.course.claim import RunCondition
from tcptutor.journal import Journal
from tcptutor.journal.events import JournalEvent, Reviewed, RunEnded, RunStarted, StoredEvent, chain, link
from tcptutor.journal.fold import fold_events
from tcptutor.review import Reviews, find_reviews
from tests.ui.made import lossy

from .made import CHOICE, DAY_0, MODULE, NUMBER, STEP, answered, at, course, day, hinted, response, reviewed

SEEN = Observe(
    id="seen",
    prompt="What did your run show?",
    choices=(
        Observation(
            text="Losses", feedback="Count them.", when=(RunCondition(quantity="losses", value="0"),)
        ),
        Observation(text="None", feedback="Count them.", when=(RunCondition(quantity="losses", value="0"),)),
    ),
)


def named(id: str) -> Activity:
    return msgspec.structs.replace(CHOICE, id=id)


def found(events: list[JournalEvent], *activities: Activity, days: float = 30) -> Reviews:
    record = fold_events(chain(events)).record
    return find_reviews(course(*activities), record, DAY_0 + timedelta(days=days))


def ids(cards: tuple) -> list[str]:
    return [card.question.id for card in cards]


def test_what_was_wrong_or_needed_a_hint_comes_back_and_what_was_right_does_not() -> None:
    events = [
        answered(0, right=False, id="wrong"),
        hinted(0, id="hinted"),
        answered(0, right=True, id="hinted"),
        answered(0, right=True, id="right"),
        hinted(0, id="unanswered"),
    ]
    reviews = found(events, *map(named, ("right", "hinted", "wrong", "unanswered", "untouched")))
    assert ids(reviews.due) == ["hinted", "wrong"]
    assert ids(reviews.cards) == ["right", "hinted", "wrong"]


def test_sure_errors_come_first_until_they_are_right() -> None:
    activities = [*map(named, ("wrong", "sure"))]
    events = [
        answered(0, right=False, id="wrong"),
        answered(1, right=False, sureness="sure", id="sure"),
    ]
    assert ids(found(events, *activities).due) == ["sure", "wrong"]
    events.append(reviewed(2, right=True, id="sure"))
    assert ids(found(events, *activities).due) == ["wrong", "sure"]


def test_nothing_is_due_on_the_day_of_the_answer_and_all_from_the_start_of_the_next() -> None:
    events = [answered(0, right=False)]
    assert found(events, CHOICE, days=0.6).due == ()
    assert found(events, CHOICE, days=0.6).next_due == (day(1), 1)
    assert ids(found(events, CHOICE, days=0.63).due) == ["which"]  # 9:00 and 15 hours


def test_an_observed_outcome_comes_back_after_a_week_right_or_wrong() -> None:
    run = [RunStarted(at(0), MODULE, STEP, "r", "m/e", "f"), RunEnded(at(0), "r", True, "", "f")]
    for right in (True, False):
        events = [*run, answered(0, right=right, id="seen")]
        assert found(events, lossy(), SEEN, days=6).due == ()
        assert ids(found(events, lossy(), SEEN, days=7).due) == ["seen"]
        assert found([*events, reviewed(7, right=True, id="seen")], lossy(), SEEN, days=8).due == ()
    assert found([answered(0, right=True, id="seen")], lossy(), SEEN).cards == (), "without its run"


def test_a_question_that_is_gone_or_is_another_now_loses_its_card_alone() -> None:
    events = [answered(0, right=False), answered(0, right=False, id="other")]
    assert ids(found(events, CHOICE, named("other")).due) == ["which", "other"]
    assert ids(found(events, named("other")).due) == ["other"]
    edited = msgspec.structs.replace(CHOICE, prompt="What is the limit?")
    assert ids(found(events, edited, named("other")).due) == ["which", "other"]
    number = msgspec.structs.replace(NUMBER, id="which")
    assert ids(found(events, number, named("other")).due) == ["other"]


def test_reviews_change_nothing_on_the_page() -> None:
    events = [answered(0, right=False)]
    before = fold_events(chain(events)).record.page(MODULE, STEP)
    after = fold_events(chain([*events, reviewed(3, right=True, hints=2)])).record.page(MODULE, STEP)
    assert not course(CHOICE).modules[0].steps[0].is_done(after)
    before, after = (msgspec.structs.replace(page.activity("which"), recalls=()) for page in (before, after))
    assert after == before


def test_a_session_begins_no_question_after_two_minutes() -> None:
    names = [f"q{number}" for number in range(9)]
    events = [answered(0, right=False, id=name) for name in names]
    reviews = found(events, *map(named, names))
    assert len(reviews.due) == 9
    assert 3 <= len(reviews.session) <= 6
    long = msgspec.structs.replace(
        CHOICE, choices=(*CHOICE.choices, Alternative(text="word " * 2000, feedback="Too long."))
    )
    assert ids(found([answered(0, right=False)], long).session) == ["which"]


def test_practice_asks_the_weakest_first_and_each_once() -> None:
    names = [f"q{number}" for number in range(9)]
    events = [answered(0, right=False, id=name) for name in names[5:]]
    events += [answered(0, right=True, id=name) for name in names[:5]]
    reviews = found(events, *map(named, names))
    asked: list[str] = []
    while len(asked) < len(names):
        asked += ids(
            reviews.practice(frozenset(card.id for card in reviews.cards if card.question.id in asked))
        )
    assert asked == [*names[5:], *names[:5]]
    assert reviews.practice(frozenset(card.id for card in reviews.cards)), "it begins again"


@pytest.mark.parametrize(
    "damaged",
    [
        b"\x00 no event",
        b'{"kind":"reviewed","at":"%s","module":"m","step":"page","activity":"which"}' % at(3).encode(),
        b'{"kind":"reviewed","at":"yesterday","module":"m","step":"page","activity":"which",'
        b'"response":{"answer":["x"],"correct":true}}',
        b'{"kind":"reviewed","at":"9999-12-31T23:59:59-05:00","module":"m","step":"page","activity":"which",'
        b'"response":{"answer":["x"],"correct":true}}',
        b'{"kind":"rescheduled","at":"%s","module":"m","step":"page","activity":"which"}' % at(3).encode(),
    ],
)
def test_a_damaged_or_unknown_event_costs_only_itself(damaged: bytes, tmp_path: Path) -> None:
    """Cards are computed from the journal alone: no file of their own can be damaged."""
    file = tmp_path / "journal.db"
    Journal.open(file).close()
    events = [*chain([answered(0, right=False), reviewed(1, right=True)])]
    last = StoredEvent(3, damaged, link(events[-1].hash, damaged))
    after = [*chain([reviewed(9, right=True)], 3, last.hash)]
    with sqlite3.connect(file) as connection:
        connection.executemany("INSERT INTO events VALUES (?, ?, ?)", [*events, last, *after])
    connection.close()
    journal = Journal.open(file)
    reviews = find_reviews(course(CHOICE), journal.record, DAY_0 + timedelta(days=100))
    journal.close()
    sound = found(
        [answered(0, right=False), reviewed(1, right=True), reviewed(9, right=True)], CHOICE, days=100
    )
    assert [card.due for card in reviews.due] == [card.due for card in sound.due]


def test_a_time_at_the_end_of_the_calendar_costs_its_card_alone() -> None:
    late = Reviewed("9999-12-31T00:00:00+00:00", MODULE, STEP, "which", response(right=True))
    events = [answered(0, right=False), late, answered(0, right=False, id="other")]
    assert ids(found(events, CHOICE, named("other")).cards) == ["other"]
