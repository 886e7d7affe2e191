"""Recall questions name the page they are from after an answer, and lead there."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.outline import Course

from .screen import keys, text, until_text

ASKED = Numeric(
    id="again",
    prompt="Two and two?",
    answer="4",
    unit="number",
    feedback="Count again, please.",
    hints=("Use your fingers.", "Start from two."),
    explanation="Four.",
    recall="one-flow/one-lossy-flow",
)


@pytest.fixture
def opened(make_app, course, journal):
    """The first page of the second module, with a question about the first."""
    *before, last = course.modules
    page = replace(last.steps[0], activities=(ASKED,))
    asking: Course = replace(course, modules=(*before, replace(last, steps=(page, *last.steps[1:]))))

    @asynccontextmanager
    async def open_page():
        journal.visit(last.id, page.id)
        app = make_app(last.id, of=asking)
        async with app.run_test(size=(120, 50)) as pilot:
            await until_text(pilot, "Two and two?")
            yield pilot
            await app.bench.close()

    return open_page


async def test_the_page_is_named_after_an_answer_and_a_wrong_one_leads_there(opened, course) -> None:
    title = next(step.title for step in course.modules[0].steps if step.id == "one-lossy-flow")
    async with opened() as pilot:
        assert title not in text(pilot.app)
        await pilot.press("tab", *keys("5"), "enter")
        await until_text(pilot, f"From: {title}  (g goes there")
        await pilot.press("escape", "g")
        await until_text(pilot, f"1 {course.modules[0].title}")
        await pilot.press("backspace")
        await until_text(pilot, f"From: {title}")


async def test_a_right_answer_has_the_name_alone(opened) -> None:
    async with opened() as pilot:
        await pilot.press("tab", *keys("4"), "enter")
        await until_text(pilot, "From: ")
        assert "goes there" not in text(pilot.app)
