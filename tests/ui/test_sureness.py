"""How sure: one key next to an answer, stored with it, and longer explanations of sure errors."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable

import pytest
from textual.pilot import Pilot

from tcptutor.course.activities.choice import Alternative, SingleChoice
from tcptutor.course.activities.numeric import KnownMistake, Numeric
from tcptutor.course.activities.predict import Predict
from tcptutor.course.page_record import PREDICT, Response
from tcptutor.journal import Journal
from tcptutor.ui.app import TutorApp

from .made import MODULE, STEP, lossy, one_page
from .screen import keys, text, until, until_text

QUESTION = SingleChoice(
    id="which",
    prompt="What limits it?",
    hints=("Look at the link.", "Look at the losses."),
    explanation="A loss halves cwnd.",
    choices=(
        Alternative(
            text="The link", feedback="It is empty.", explanation="A full link has a queue.", fixed=True
        ),
        Alternative(text="Loss", correct=True, feedback="Each one does.", fixed=True),
    ),
)
NUMBER = Numeric(
    id="number",
    prompt="How many?",
    hints=("Count.", "Count again."),
    explanation="There are four.",
    answer="4",
    unit="count",
    feedback="Count both ends.",
    mistakes=(KnownMistake(value="3", feedback="You left out one."),),
)


@pytest.fixture
async def page(make_app: Callable[..., TutorApp]) -> AsyncIterator[Pilot[None]]:
    app = make_app(MODULE, of=one_page(QUESTION, NUMBER))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "What limits it?")
        yield pilot


async def test_the_key_goes_through_the_levels_and_the_answer_keeps_the_level(
    page: Pilot[None], journal: Journal
) -> None:
    await page.press("tab")
    await until_text(page, "F2: how sure?")
    for word in ("guessing", "fairly", "sure", "how sure?", "guessing"):
        await page.press("f2")
        await until_text(page, f"F2: {word}")
    await page.press("2", "enter")
    await until_text(page, "You were guessing, so here is why: A loss halves cwnd.")
    assert journal.page(MODULE, STEP).activity("which").first.sureness == "guessing"


async def test_nobody_has_to_say_how_sure(page: Pilot[None], journal: Journal) -> None:
    await page.press("2", "enter")
    await until_text(page, "✓ Right. Each one does.")
    assert journal.page(MODULE, STEP).activity("which").first.sureness is None


async def test_a_sure_error_is_explained_at_length_and_stays_explained(
    page: Pilot[None], journal: Journal, make_app: Callable[..., TutorApp]
) -> None:
    await page.press("1", "f2", "f2", "f2", "enter")
    await until_text(page, "✗ Not yet. It is empty.")
    await until_text(page, "A full link has a queue.")
    assert "A loss halves cwnd." not in text(page.app)
    await until_text(page, "F2: how sure?")
    await page.press("2", "enter")
    await until_text(page, "A loss halves cwnd.")
    await until_text(page, "You were sure of another answer first. It is empty.")
    again = make_app(MODULE, of=one_page(QUESTION, NUMBER))
    async with again.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "A full link has a")


async def test_an_error_without_certainty_gets_its_feedback_alone(page: Pilot[None]) -> None:
    await page.press("1", "f2", "enter")
    await until_text(page, "✗ Not yet. It is empty.")
    assert "A full link has a queue." not in text(page.app)


async def test_the_key_works_while_typing(page: Pilot[None], journal: Journal) -> None:
    await page.press("2", "enter", "tab", *keys("3"), "f2", "f2", "f2", "enter")
    await until_text(page, "You left out one.")
    await until_text(page, "Count both ends.")
    first = journal.page(MODULE, STEP).activity("number").first
    assert (first.answer, first.sureness) == ("3", "sure")


async def test_a_prediction_is_locked_with_its_level(
    make_app: Callable[..., TutorApp], journal: Journal
) -> None:
    predict = Predict(prompt="How fast?", unit="rate", hints=("Think.", "Compute."))
    app = make_app(MODULE, of=one_page(predict, lossy()))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "How fast?")
        await pilot.press("tab", *keys("20 Mbit/s"), "f2", "f2", "enter")
        await until_text(pilot, "(locked, fairly sure; u unlocks it)")
        await until(pilot, lambda: journal.page(MODULE, STEP).activity(PREDICT).first is not None)
    assert journal.page(MODULE, STEP).activity(PREDICT).first.sureness == "fairly"


async def test_home_tells_how_often_sure_answers_were_right(
    make_app: Callable[..., TutorApp], journal: Journal
) -> None:
    journal.visit(MODULE, STEP)
    for number, right in enumerate((True, False, True, True)):
        sureness = "sure" if number < 3 else "guessing"
        journal.respond(MODULE, STEP, f"q{number}", Response(("0",), right, sureness=sureness))
    async with make_app(of=one_page(QUESTION, NUMBER)).run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "sure 2 of 3, guessing 1 of 1")
