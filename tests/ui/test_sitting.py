"""One page in each sitting: what is asked when, and what is told when."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest
from textual.widgets import Input, Static

from tcptutor.course.activities.choice import Alternative, MultipleChoice, SingleChoice
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.predict import Predict
from tcptutor.course.page_record import Response
from tcptutor.course.sitting import Sitting
from tcptutor.journal import Journal
from tcptutor.ui.screens import activities
from tcptutor.ui.screens.lesson import LessonScreen
from tcptutor.ui.screens.side import Side

from .made import MODULE, STEP, lossy, one_page
from .screen import keys, settled, text, until, until_text

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
    async def open_page(sitting: Sitting = Sitting.LEARN, of=PAGE, size=(120, 50)):
        app = make_app(MODULE, of=of, sitting=sitting)
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
    assert done(journal, "seen").right.answer == (0,)


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


async def test_a_review_asks_once_and_explains_whatever_was_answered(opened, journal) -> None:
    journal.respond(MODULE, STEP, "limit", Response((1,), True))
    async with opened(Sitting.REVIEW) as pilot:
        assert "✓ Right" not in text(pilot.app), "it is asked afresh"
        await pilot.press("x", "y")
        await until_text(pilot, "What did cwnd do?")
        await pilot.press("1", "enter")
        await until_text(pilot, "✗ Wrong. It is mostly empty.")
        assert "Loss comes before the link" in text(pilot.app)
        await pilot.press("2", "enter")
        await settled(pilot)
        assert "1 ●" in text(pilot.app), "there is no second try"
        assert "✓ Right" not in text(pilot.app)
    assert done(journal, "limit").attempts == 2


async def test_an_exam_has_no_hints_and_tells_marks_at_its_end(opened, journal) -> None:
    async with opened(Sitting.EXAM) as pilot:
        assert "h hint" not in text(pilot.app)
        await pilot.press(*keys("20 Mbit/s"), "enter")
        await until_text(pilot, "20 Mbit/s  (locked")
        await pilot.press("1", "enter")
        await until_text(pilot, "● Saved. Marks come at the end.")
        await pilot.press("h")
        await until(pilot, lambda: done(journal, "limit").attempts == 1)
        assert "hint 1" not in text(pilot.app)
        assert "mostly empty" not in text(pilot.app)
        await pilot.press("2", "enter")
        await until(pilot, lambda: done(journal, "limit").attempts == 2)
        pilot.app.screen.query(Input).last().focus()
        await pilot.press(*keys("2 ms"), "enter")
        await until_text(pilot, "● Saved. 2 ms: Marks come at the end.")
        assert "✓ Right" not in text(pilot.app)
        assert "✗" not in text(pilot.app)

        screen = pilot.app.screen
        assert isinstance(screen, LessonScreen)
        screen.end_sitting()
        await until_text(pilot, "✓ Right. Each loss halves cwnd.")
        assert "Loss comes before the link" in text(pilot.app)
        assert "✗ Wrong. 2 ms: That is off" in text(pilot.app)
        assert "Your answer like" not in text(pilot.app), "nothing can be answered any more"


async def test_in_an_exam_several_choices_may_be_changed_until_the_end(opened, journal) -> None:
    several = MultipleChoice(id="several", prompt="Which hold?", choices=SEEN.choices + LINK.choices)
    async with opened(Sitting.EXAM, of=one_page(several)) as pilot:
        await pilot.press("2", "enter", "1", "2", "4", "enter")
        await until(pilot, lambda: done(journal, "several").attempts == 2)
        assert "✗" not in text(pilot.app)
        pilot.app.screen.end_sitting()
        await until_text(pilot, "✓ Right. Up by one, down by half.")


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
