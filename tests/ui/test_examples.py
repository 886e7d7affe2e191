"""Worked examples on the page: a key shows the next step, a gap takes a number, and both stay as they were left."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest

from tcptutor.course.activities.example import Example, ExampleStep
from tcptutor.course.activities.predict import Predict
from tests.chosen import chosen

from .made import MODULE, STEP, lossy, one_page
from .screen import keys, page_states, text, until, until_text

SOLVED = Example(
    id="solved",
    topic="window",
    prompt="How fast is a window of 64 KiB?",
    steps=(ExampleStep(text="It is 524,288 bits."), ExampleStep(text="Fifty of them are 26.2 Mbit/s.")),
)
GAP = Example(
    id="gap",
    topic="window",
    prompt="And at 40 ms?",
    steps=(
        ExampleStep(text="Still 524,288 bits."),
        ExampleStep(
            text="Times 25 is",
            answer="13.1 Mbit/s",
            unit="rate",
            feedback="Multiply both.",
            hints=("How often?", "25 times."),
        ),
        ExampleStep(text="Half of what it was."),
    ),
)
PREDICT = Predict(prompt="How fast will it be?", hints=("A nudge.", "A method."))


@pytest.fixture
def opened(make_app):
    @asynccontextmanager
    async def open_page(*activities):
        app = make_app(MODULE, of=one_page(*activities))
        async with app.run_test(size=(80, 40)) as pilot:
            await until_text(pilot, "Read this.")
            yield pilot
            await app.bench.close()

    return open_page


async def test_a_key_shows_one_step_after_the_other(opened, journal) -> None:
    async with opened(SOLVED) as pilot:
        await until_text(pilot, "Tab, then Space: step 1 of 2")
        assert "524,288" not in text(pilot.app)
        await pilot.press("tab", "space")
        await until_text(pilot, "It is 524,288 bits.")
        assert "Fifty" not in text(pilot.app)
    assert journal.page(MODULE, STEP).activity("solved").right is None
    async with opened(SOLVED) as pilot:
        await until_text(pilot, "step 2 of 2")
        assert "It is 524,288 bits." in text(pilot.app)
        await pilot.press("tab", "enter")
        await until_text(pilot, "Fifty of them")
        await until(pilot, lambda: page_states(pilot.app) == ["[done]"])
        await pilot.press("space")
        assert "step 2 of 2" not in text(pilot.app)
    record = journal.page(MODULE, STEP).activity("solved")
    assert (record.attempts, record.right.answer) == (2, chosen(SOLVED, 1))


async def test_the_steps_after_a_gap_follow_a_right_number(opened, journal) -> None:
    async with opened(GAP) as pilot:
        await until_text(pilot, "Times 25 is")
        assert "Half of" not in text(pilot.app)
        await pilot.press("tab", *keys("12"), "enter")
        await until_text(pilot, "✗ Not yet. 12: Multiply both.")
        await pilot.press(*keys("13.1"), "enter")
        await until_text(pilot, "✓ Right. 13.1: The answer is 13.1 Mbit/s.")
        assert "Half of what it was." in text(pilot.app)
    assert journal.page(MODULE, STEP).activity("gap").right.answer == "13.1"
    async with opened(GAP) as pilot:
        await until_text(pilot, "Half of what it was.")
        assert page_states(pilot.app) == ["[done]"]


async def test_digits_typed_on_the_page_are_the_prediction_s_while_steps_are_left(opened) -> None:
    async with opened(SOLVED, PREDICT, lossy()) as pilot:
        await until_text(pilot, "How fast will it be?")
        await pilot.press("9", "enter")
        await until_text(pilot, "9 Mbit/s  (locked")
