"""Observe on the page: between the run and its explanation, which waits for the first answer."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from tcptutor.course.activities.observe import Observation, Observe
from tcptutor.course.activities.predict import Predict
from tcptutor.course.claim import RunCondition
from tcptutor.ui.app import TutorApp
from tests.chosen import chosen

from .made import MODULE, STEP, lossy, one_page
from .screen import page_states, text, until, until_text

SEEN = Observe(
    id="seen",
    prompt="What did your run show?",
    choices=(
        Observation(
            text="Nothing was lost",
            fixed=True,
            feedback="Look at the line of losses.",
            when=(RunCondition(quantity="losses", value="0"),),
        ),
        Observation(
            text="Loss after loss",
            fixed=True,
            feedback="Each one cut the window.",
            when=(RunCondition(quantity="losses", relation="above", value="0"),),
        ),
    ),
)


@pytest.fixture
def opened(make_app):
    @asynccontextmanager
    async def open_page():
        app = make_app(MODULE, of=one_page(lossy(), SEEN, after="The explanation."))
        async with app.run_test(size=(120, 36)) as pilot:
            await until_text(pilot, "Read this.")
            yield pilot
            await app.bench.close()

    return open_page


async def test_the_explanation_waits_for_the_first_answer_right_or_wrong(opened, journal) -> None:
    async with opened() as pilot:
        await until_text(pilot, "About your run: press r first.")
        await pilot.press("r")
        await until_text(pilot, "What did your run show?")
        await until_text(pilot, "first say what your run showed")
        assert "The explanation." not in text(pilot.app)
        await pilot.press("tab", "1", "enter")
        await until_text(pilot, "✗ Not yet. Look at the line of losses.")
        assert "Your run: " in text(pilot.app)
        await until_text(pilot, "The explanation.")
        await until(pilot, lambda: "first say what your run showed" not in text(pilot.app))
        await pilot.press("2", "enter")
        await until_text(pilot, "✓ Right. Each one cut the window.")
    record = journal.page(MODULE, STEP).activity("seen")
    assert (record.first.answer, record.right.answer) == (chosen(SEEN, 0), chosen(SEEN, 1))
    async with opened() as pilot:
        await until_text(pilot, "✓ Right. Each one cut the window.")
        await until_text(pilot, "The explanation.")
        assert page_states(pilot.app) == ["[done]"]


async def test_tab_leads_from_the_chart_to_the_whole_question(make_app: Callable[..., TutorApp]) -> None:
    course = one_page(Predict(prompt="What throughput?", unit="rate"), lossy(), SEEN)
    module = course.modules[0]
    step = replace(module.steps[0], prose="\n\n".join(["Read this."] * 12))
    app = make_app(MODULE, of=replace(course, modules=(replace(module, steps=(step,)),)))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Read this.")
        await pilot.press("tab", "9", "enter", "r")
        await until_text(pilot, "first say what your run showed")
        await pilot.press("tab")
        for words in ("What did your run show?", "Nothing was lost", "Loss after loss"):
            await until_text(pilot, words)
        await app.bench.close()


async def test_a_key_skips_it_and_it_can_be_answered_later(opened, journal) -> None:
    async with opened() as pilot:
        await pilot.press("r")
        await until_text(pilot, "first say what your run showed")
        await pilot.press("x")
        await until_text(pilot, "Skipped.")
        await until_text(pilot, "The explanation.")
    assert journal.page(MODULE, STEP).activity("seen").latest.answer == ()
    async with opened() as pilot:
        await until_text(pilot, "The explanation.")
        assert page_states(pilot.app) == ["[open]"]
        await pilot.press("tab", "2", "enter")
        await until_text(pilot, "✓ Right.")
        await until(pilot, lambda: page_states(pilot.app) == ["[done]"])
