"""Activities of a page: order, feedback, and the panel next to it."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from textual.widgets import Static

from tcptutor.course.activities.choice import Alternative, SingleChoice
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.predict import Predict
from tcptutor.journal import Journal
from tcptutor.ui.screens import activities
from tcptutor.ui.screens.side import Side
from tests.chosen import chosen

from .made import MODULE, STEP, lossy, one_page
from .screen import text, until_text

LINK = SingleChoice(
    id="limit",
    prompt="What limits it?",
    hints=("How full is the link?",),
    explanation="Loss comes before the link does.",
    choices=(
        Alternative(text="The link", feedback="It is mostly empty.", fixed=True),
        Alternative(text="Loss", correct=True, feedback="Each loss halves cwnd.", fixed=True),
    ),
)
SEEN = SingleChoice(
    id="seen",
    prompt="What did cwnd do?",
    about_run=True,
    explanation="That is AIMD.",
    choices=(
        Alternative(text="It drew teeth", correct=True, feedback="Up by one, down by half.", fixed=True),
        Alternative(text="It stood still", feedback="Look again.", fixed=True),
    ),
)
DELAY = Numeric(id="rtt", prompt="What is the RTT?", answer="20 ms", unit="time", feedback="It is the delay.")
PAGE = one_page(Predict(prompt="What throughput?"), lossy(), LINK, SEEN, DELAY)


@pytest.fixture
def opened(make_app, journal):
    @asynccontextmanager
    async def open_page(of=PAGE, size=(120, 50)):
        app = make_app(MODULE, of=of)
        async with app.run_test(size=size) as pilot:
            await until_text(pilot, "Read this.")
            yield pilot
            await app.bench.close()

    return open_page


def done(journal: Journal, activity: str):
    return journal.page(MODULE, STEP).activity(activity)


async def test_a_question_about_the_run_comes_after_it(opened, journal) -> None:
    async with opened() as pilot:
        await until_text(pilot, "Question  About your run")
        assert "What did cwnd do?" not in text(pilot.app)
        assert "What limits it?" in text(pilot.app)
        await pilot.press("x", "y")
        await until_text(pilot, "What did cwnd do?")
        assert "About your run" not in text(pilot.app)
        await pilot.press("2", "enter")
        await until_text(pilot, "✓ Right. Each loss halves cwnd.")
        await pilot.press("tab", "1", "enter")
        await until_text(pilot, "✓ Right. Up by one, down by half.")
    assert done(journal, "seen").right.answer == chosen(SEEN, 0)


async def test_a_run_that_was_made_before_is_asked_about_when_the_page_opens_again(opened) -> None:
    async with opened() as pilot:
        await pilot.press("x", "y")
        await until_text(pilot, "What did cwnd do?")
    async with opened() as pilot:
        await until_text(pilot, "What did cwnd do?")


async def test_a_run_that_was_stopped_is_not_asked_about(opened, lab) -> None:
    lab.hold_at = 5.0
    async with opened() as pilot:
        await pilot.press("x", "y")
        await until_text(pilot, "▶ 5 of 22 s")
        await pilot.press("s")
        await until_text(pilot, "cut short")
        assert "About your run" in text(pilot.app)


async def test_what_is_beside_the_page_follows_the_activity_that_is_used(opened, monkeypatch) -> None:
    class Note(Side):
        def make_widget(self) -> Static:
            return Static(f"beside {self.activity.id}")

    monkeypatch.setitem(activities.SIDES, SingleChoice, Note)
    async with opened(of=one_page(lossy(), LINK)) as pilot:
        await until_text(pilot, "Press r to run it")
        assert "beside limit" not in text(pilot.app)
        await pilot.press("1")
        await until_text(pilot, "beside limit")
        assert "Press r to run it" not in text(pilot.app)
