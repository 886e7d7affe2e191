"""Responses that outlive the lesson that asked for them, and keys that come too early or twice."""

from __future__ import annotations

import msgspec
import pytest

from tcptutor.course.activities.choice import Alternative, Order, OrderedEvent, SingleChoice
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.predict import Predict
from tcptutor.course.page_record import Response
from tests.chosen import chosen

from .made import MODULE, STEP, lossy, one_page
from .screen import keys, press_at_once, settled, text, until, until_text

EVENTS = tuple(OrderedEvent(text=each, feedback=f"Why {each}.") for each in ("loss", "ACKs", "half", "again"))
ORDER = Order(id="q", prompt="What happens?", events=EVENTS[:3], explanation="So it is.")
NUMBER = Numeric(id="q", prompt="How many?", answer="5", unit="count", feedback="Count again.")
CHOICE = SingleChoice(
    id="q",
    prompt="Which?",
    explanation="It is the first.",
    choices=tuple(
        Alternative(text=each, correct=each == "a", feedback=f"{each}!", fixed=True) for each in "ab"
    ),
)
ABOUT_RUN = msgspec.structs.replace(CHOICE, about_run=True, hints=("Look at the chart.",))


@pytest.mark.parametrize(
    "given", [chosen(ORDER, 2, 0, 1), chosen(CHOICE, 1), ("gone", "gone as well"), "five"]
)
@pytest.mark.parametrize("asked", [msgspec.structs.replace(ORDER, events=EVENTS), ORDER, CHOICE])
async def test_a_response_to_another_question_leaves_the_page_usable(make_app, journal, asked, given) -> None:
    journal.respond(MODULE, STEP, "q", Response(given, False))
    app = make_app(MODULE, of=one_page(asked))
    async with app.run_test(size=(100, 40)) as pilot:
        await until_text(pilot, asked.prompt)
        await pilot.press("tab", "2", "up", "space", "enter")
        await until(pilot, lambda: journal.page(MODULE, STEP).activity("q").attempts == 2)


async def test_what_was_right_before_the_lesson_changed_can_be_answered_again(make_app, journal) -> None:
    journal.respond(MODULE, STEP, "q", Response("4", True))
    app = make_app(MODULE, of=one_page(NUMBER))
    async with app.run_test(size=(100, 40)) as pilot:
        await until_text(pilot, "✗ Not yet. 4: Count again.")
        await pilot.press("tab", *keys("5"), "enter")
        await until_text(pilot, "✓ Right. 5:")


async def test_a_question_about_the_run_takes_no_key_before_it(make_app, journal) -> None:
    app = make_app(MODULE, of=one_page(lossy(), ABOUT_RUN))
    async with app.run_test(size=(120, 40)) as pilot:
        await until_text(pilot, "About your run")
        await pilot.press("tab", "1", "enter", "h")
        await settled(pilot)
        assert journal.page(MODULE, STEP).activity("q").attempts == 0
        assert "hint 1" not in text(app)
        await pilot.press("r")
        await until_text(pilot, "Which?")
        await pilot.press("tab", "1", "enter")
        await until_text(pilot, "✓ Right.")


async def test_enter_twice_leaves_the_prediction_as_it_was_locked(make_app, journal) -> None:
    app = make_app(MODULE, of=one_page(Predict(prompt="What throughput?"), lossy()))
    async with app.run_test(size=(120, 40)) as pilot:
        await until_text(pilot, "What throughput?")
        press_at_once(app, *keys("70 Mbit/s"), "enter", "enter")
        await until_text(pilot, "70 Mbit/s  (locked")
        await settled(pilot)
        assert "70 Mbit/s  (locked" in text(app)
    assert journal.page(MODULE, STEP).activity("predict").attempts == 1


async def test_another_number_after_a_wrong_one_takes_its_place(make_app, journal) -> None:
    app = make_app(MODULE, of=one_page(NUMBER))
    async with app.run_test(size=(120, 40)) as pilot:
        await until_text(pilot, "How many?")
        await pilot.press(*keys("41"), "enter")
        await until_text(pilot, "✗ Not yet. 41: Count again.")
        await pilot.press(*keys("39"), "enter")
        await until_text(pilot, "✗ Not yet. 39: Count again.")
        press_at_once(app, "5", "enter")
        await until_text(pilot, "✓ Right.")
