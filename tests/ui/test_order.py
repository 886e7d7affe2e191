"""Order: marking, and putting events in their order by keys alone."""

from __future__ import annotations

from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor.base.errors import UsageError
from tcptutor.course.activities.choice import Order, OrderedEvent
from tcptutor.course.page_record import Response
from tcptutor.ui.widgets.page.page import Page
from tests.chosen import chosen

from .made import MODULE, STEP, one_page
from .screen import page_states, text, until, until_text

EVENTS = ("A segment is lost", "Three duplicate ACKs arrive", "cwnd is halved", "The segment is sent again")
ORDER = Order(
    id="recovery",
    prompt="What happens when a segment is lost?",
    hints=("What does the sender see first?", "It acts on what ACKs tell."),
    explanation="That is fast recovery.",
    events=tuple(OrderedEvent(text=each, feedback=f"Why {each} stands there.") for each in EVENTS),
)


def lines(screen: str) -> list[str]:
    """The events as they stand on the screen."""
    return [
        next(each for each in EVENTS if each in line)
        for line in screen.split("\n")
        if any(e in line for e in EVENTS)
    ]


# Marking


def test_only_the_order_of_the_lesson_is_right() -> None:
    for order in permutations(range(4)):
        assert ORDER.mark(chosen(ORDER, *order)).correct == (order == (0, 1, 2, 3))


def test_the_event_that_would_have_to_move_is_told_where_it_belongs_and_no_other() -> None:
    mark = ORDER.mark(chosen(ORDER, 3, 0, 1, 2))
    assert mark.feedback == "“The segment is sent again”: Why The segment is sent again stands there."
    assert ORDER.misplaced((3, 2, 1, 0)) == {1, 2, 3}
    assert len(ORDER.misplaced((1, 0, 3, 2))) == 2


@given(st.permutations(range(7)))
def test_taking_the_misplaced_events_out_leaves_an_order(order: list[int]) -> None:
    misplaced = ORDER.misplaced(tuple(order))
    left = [event for event in order if event not in misplaced]
    assert left == sorted(left)
    assert bool(misplaced) == (order != sorted(order))


IDS = ORDER.entry_ids


@pytest.mark.parametrize(
    "response", [(), IDS[:3], (*IDS[:3], IDS[2]), (*IDS[:3], "an event that is gone"), "1 2 3 4"]
)
def test_what_is_no_order_of_all_events_is_no_attempt(response: tuple[str, ...] | str) -> None:
    with pytest.raises(UsageError):
        ORDER.mark(response)


def test_events_begin_in_an_order_that_is_never_right() -> None:
    orders = {ORDER.shown_order(f"{number}") for number in range(200)}
    assert all(sorted(order) == [0, 1, 2, 3] for order in orders)
    assert len(orders) == 23


def test_what_a_lesson_has_wrong_is_named() -> None:
    first = ORDER.events[0]
    twins = Order(id="q", prompt="?", events=(first, first))
    assert (twins.contradiction() or ("", ""))[0] == "event"
    louder = OrderedEvent(text=first.text.upper(), feedback=first.feedback)
    told = dict(Order(id="q", prompt="?", events=(first, louder)).problems())
    assert told["event.text"] == "two events are the same"
    assert "too few" in told["event"]
    assert Order(id="q", prompt="?").contradiction() == ("event", "an order needs at least two events")
    assert list(ORDER.problems()) == []


# On the page


@pytest.fixture
async def page(make_app):
    app = make_app(MODULE, of=one_page(ORDER))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "What happens when a segment is lost?")
        await until(pilot, lambda: isinstance(app.focused, Page))
        yield pilot


async def test_space_takes_an_event_and_arrows_move_it(page, journal) -> None:
    before = lines(text(page.app))
    await page.press("tab")
    await until_text(page, "› 1 · ")
    await page.press("space")
    await until_text(page, "› 1 ↕ ")
    await page.press("down")
    await until(page, lambda: lines(text(page.app)) == [before[1], before[0], *before[2:]])
    await page.press("space", "down")
    await until_text(page, "› 3 · ")
    assert lines(text(page.app)) == [before[1], before[0], *before[2:]], "it was put down"
    assert journal.page(MODULE, STEP).activity("recovery").attempts == 0


async def test_numbers_take_and_place(page, journal) -> None:
    for line, event in enumerate(EVENTS, start=1):
        stands = lines(text(page.app)).index(event) + 1
        await page.press(str(stands), str(line))
        await until(page, lambda line=line, event=event: lines(text(page.app))[line - 1] == event)
    await page.press("enter")
    await until_text(page, "✓ Right. That is the right order.")
    assert journal.page(MODULE, STEP).activity("recovery").right.answer == IDS


async def test_a_wrong_order_marks_the_misplaced_and_may_be_changed(page, journal) -> None:
    order = tuple(EVENTS.index(line) for line in lines(text(page.app)))
    await page.press("tab", "enter")
    await until_text(page, "✗ Not yet.")
    wrong = ORDER.misplaced(order)
    screen = text(page.app)
    assert {event for line in screen.split("\n") if " ✗ " in line for event in EVENTS if event in line} == {
        EVENTS[index] for index in wrong
    }
    assert all(
        f"Why {EVENTS[index]} stands there." in " ".join(screen.replace("▎", "").split()) for index in wrong
    )
    kept = journal.page(MODULE, STEP).activity("recovery")
    assert (kept.latest.answer, kept.latest.correct) == (chosen(ORDER, *order), False)


async def test_what_was_answered_stands_there_after_a_restart(journal, make_app) -> None:
    journal.respond(MODULE, STEP, "recovery", Response(IDS, True))
    again = make_app(MODULE, of=one_page(ORDER))
    async with again.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "✓ Right. That is the right order.")
        assert "That is fast recovery." in text(again)
        assert lines(text(again)) == list(EVENTS)
        assert page_states(again) == ["[done]"]


async def test_h_gives_its_hints(page) -> None:
    await page.press("h")
    await until_text(page, "hint 1 of 2: What does the sender see first?")
