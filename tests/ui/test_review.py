"""A review from the home screen: two minutes of what is due again, and practice that leaves no trace."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import msgspec
import pytest
from textual.pilot import Pilot

from tcptutor.course.outline import Course
from tcptutor.course.page_record import Response
from tcptutor.journal import Journal
from tcptutor.journal.events import Reviewed
from tcptutor.ui.app import TutorApp
from tcptutor.ui.screens.home import HomeScreen
from tcptutor.ui.screens.lesson import LessonScreen
from tcptutor.ui.screens.review import ReviewScreen
from tcptutor.ui.widgets.page.box import ActivityBox
from tests.chosen import chosen
from tests.journal.conftest import happened
from tests.review.made import CHOICE, NUMBER

from .made import MODULE, STEP, lossy, one_page
from .screen import keys, text, until, until_text
from .test_observe import SEEN
from .test_snapshots import GUEST, finish, recorded

DRAW = {"rate": "8 Mbit/s", "rtt": "10 ms"}


@pytest.fixture
def ago(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """The journal's clock shows so many days ago."""

    def set_clock(days: float) -> None:
        at = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        monkeypatch.setattr("tcptutor.journal.journal._now", lambda: at)

    return set_clock


def errors(journal: Journal, *activities: str) -> None:
    """Wrong answers on the page."""
    journal.visit(MODULE, STEP)
    for id in activities:
        answer = Response("9 kB", False, draw=DRAW) if id == "number" else Response(chosen(CHOICE, 0), False)
        journal.respond(MODULE, STEP, id, answer)


def reviews(journal: Journal) -> list[Reviewed]:
    return [event for event in happened(journal) if isinstance(event, Reviewed)]


def box_of(pilot: Pilot[None]) -> ActivityBox:
    return pilot.app.screen.query_one(ActivityBox)


async def test_a_session_from_home_and_back(
    make_app: Callable[..., TutorApp], journal: Journal, ago: Callable[[float], None]
) -> None:
    ago(3)
    errors(journal, "which", "number")
    ago(0)
    before = journal.page(MODULE, STEP)
    app = make_app(of=one_page(CHOICE, NUMBER))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "2 questions are due, about 1 min: v asks them")
        await until_text(pilot, "v review")
        await pilot.press("down")
        await until_text(pilot, "2 questions are due for review")
        await pilot.press("v")
        await until_text(pilot, "What limits it?")
        assert "1 of 2" in text(app)
        assert "A page" not in text(app), "the page might give the answer away"
        await pilot.press("f2", "f2", "f2", "1", "enter")
        await until_text(pilot, "✗ Wrong. It is empty.")
        for words in ("The right answer: Loss.", "A loss halves cwnd.", "From 1.1 A page", "Enter next"):
            await until_text(pilot, words)
        await pilot.press("1", "enter")
        await until_text(pilot, "How much fits into a pipe")
        assert "2 of 2" in text(app)
        asked = box_of(pilot).activity
        await pilot.press("escape", "h")
        await until_text(pilot, "hint 1 of 2: Multiply.")
        await pilot.press(*keys(asked.answer), "enter")
        await until_text(pilot, "✓ Right.")
        await pilot.press("enter")
        await until_text(pilot, "1 of 2 right")
        await until_text(pilot, "The next review is due ")
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, HomeScreen))
        await until(pilot, lambda: "v asks" not in text(app))
        await until(pilot, lambda: "v review" not in text(app))
    wrong, right = reviews(journal)
    assert (wrong.activity, wrong.response.correct, wrong.response.sureness, wrong.hints) == (
        "which",
        False,
        "sure",
        0,
    )
    assert (right.activity, right.response.correct, right.hints) == ("number", True, 1)
    assert right.response.draw not in ({}, DRAW), "new numbers"
    after = journal.page(MODULE, STEP)
    for id in ("which", "number"):
        work = [msgspec.structs.replace(page.activity(id), recalls=()) for page in (before, after)]
        assert work[0] == work[1]


async def test_nothing_is_offered_to_those_who_have_nothing_to_review(
    make_app: Callable[..., TutorApp], journal: Journal
) -> None:
    app = make_app(of=one_page(CHOICE))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Begin")
        await pilot.press("v")
        await pilot.pause(0.2)
        assert isinstance(app.screen, HomeScreen)
        assert "review" not in text(app)


async def test_esc_stops_and_what_was_answered_counts(
    make_app: Callable[..., TutorApp], journal: Journal, ago: Callable[[float], None]
) -> None:
    ago(3)
    errors(journal, "which", "number")
    ago(0)
    app = make_app(of=one_page(CHOICE, NUMBER))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "v asks them")
        await pilot.press("v")
        await until_text(pilot, "What limits it?")
        await pilot.press("2", "enter")
        await until_text(pilot, "✓ Right. Each one does.")
        await pilot.press("escape")
        await until_text(pilot, "1 question is due, about 1 min: v asks it")
    assert [each.activity for each in reviews(journal)] == ["which"]


async def test_a_key_opens_the_page_and_leads_back(
    make_app: Callable[..., TutorApp], journal: Journal, ago: Callable[[float], None]
) -> None:
    ago(3)
    errors(journal, "which")
    ago(0)
    app = make_app(of=one_page(CHOICE))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "v asks it")
        await pilot.press("v")
        await until_text(pilot, "What limits it?")
        await pilot.press("2", "enter")
        await until_text(pilot, "g opens it")
        await pilot.press("g")
        await until(pilot, lambda: isinstance(app.screen, LessonScreen) and app.screen.is_complete)
        await pilot.press("m")
        await until(pilot, lambda: isinstance(app.screen, ReviewScreen))
        await pilot.press("enter")
        await until_text(pilot, "1 of 1 right")


async def test_practice_is_not_recorded_and_has_other_numbers_each_time(
    make_app: Callable[..., TutorApp], journal: Journal, ago: Callable[[float], None]
) -> None:
    errors(journal, "number")
    count = journal.event_count
    app = make_app(of=one_page(NUMBER))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.screen._reviews is not None)
        assert "v review" not in text(app)
        await pilot.press("v")
        await until_text(pilot, "The next review is due ")
        numbers = [DRAW]
        for _ in range(3):
            await pilot.press("p")
            await until_text(pilot, "How much fits into a pipe")
            await until_text(pilot, "Practice   1 of 1")
            numbers.append(app.screen._question._draw)
            await pilot.press(*keys("1 kB"), "enter")
            await until_text(pilot, "Enter end")
            await pilot.press("enter")
            await until_text(pilot, "p practices more")
        assert all(now != before for before, now in pairwise(numbers))
    assert journal.event_count == count


def keep_run(journal: Journal) -> None:
    activity = lossy()
    run = msgspec.structs.replace(
        recorded(activity.experiment),
        id="r1",
        experiment=activity.experiment,
        environment=GUEST,
        started="2026-01-01T00:00:00+00:00",
    )
    journal.begin_run(run, MODULE, STEP)
    journal.finish_run(run, finish(run, journal.runs)[0])


def observed(journal: Journal, ago: Callable[[float], None]) -> Course:
    ago(8)
    journal.visit(MODULE, STEP)
    keep_run(journal)
    journal.respond(MODULE, STEP, "seen", Response(chosen(SEEN, 1), True))
    ago(0)
    return one_page(lossy(), SEEN)


async def test_what_a_run_showed_is_asked_again_and_marked_by_that_run(
    make_app: Callable[..., TutorApp], journal: Journal, ago: Callable[[float], None]
) -> None:
    app = make_app(of=observed(journal, ago))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "v asks it")
        await pilot.press("v")
        await until_text(pilot, "What did your run show?")
        await until_text(pilot, "From 1.1 A page")
        await until_text(pilot, "loss 0.1 %")
        assert "x skips" not in text(app)
        await pilot.press("1", "enter")
        await until_text(pilot, "✗ Wrong. Look at the line of losses.")
        await until_text(pilot, "The right answer: Loss after loss.")
        await until_text(pilot, "Your run: ")
    assert [each.response.correct for each in reviews(journal)] == [False]


async def test_a_question_whose_run_is_gone_is_not_asked(
    make_app: Callable[..., TutorApp], journal: Journal, ago: Callable[[float], None]
) -> None:
    course = observed(journal, ago)
    for damage in (lambda file: file.write_text("no run"), lambda file: file.unlink()):
        for file in journal.runs.folder.iterdir():
            damage(file)
        app = make_app(of=course)
        async with app.run_test(size=(80, 24), notifications=True) as pilot:
            await until(pilot, lambda app=app: app.screen._reviews is not None)
            if "v asks it" in text(app):
                await pilot.press("v")
                await until_text(pilot, "cannot be read: run")
                await until_text(pilot, "No review is due")
    assert reviews(journal) == []
