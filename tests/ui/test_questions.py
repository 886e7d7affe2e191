"""Questions: every choice is answered with why, right ones with the explanation."""

from __future__ import annotations

import re

import pytest

from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activity import text_id
from tcptutor.ui.screens.lesson import LessonScreen
from tcptutor.ui.widgets.page.page import Page
from tests.journal.conftest import answers, predict

from .made import MODULE, one_page
from .screen import keys, text, until, until_text

STEP = ("one-flow", "one-lossy-flow")

LINK, LOSS = map(text_id, ("The link of 100 Mbit/s", "Random loss"))
OWN, TOGETHER = map(text_id, ("Each flow has its own cwnd", "Together they recover faster"))


@pytest.fixture
async def page(make_app, journal):
    predict(journal, "10 Mbit/s", 10e6, *STEP)
    app = make_app("one-flow")
    async with app.run_test(size=(120, 44)) as pilot:
        await pilot.press("]")
        await until_text(pilot, "What limited this flow")
        yield pilot


async def test_a_wrong_choice_is_told_why_and_may_be_changed(page, journal) -> None:
    await page.press("1", "enter")
    await until_text(page, "✗ Not yet. It was three quarters empty.")
    await page.press("2", "enter")
    await until_text(page, "✓ Right. Each loss halves cwnd.")
    assert "Loss comes before the link does." in text(page.app)
    assert [answer[1:] for answer in answers(journal, *STEP)] == [((LINK,), False), ((LOSS,), True)]


async def test_enter_on_an_unchanged_wrong_choice_costs_no_second_attempt(page, journal) -> None:
    await page.press("1", "enter")
    await until_text(page, "✗ Not yet. It was three quarters empty.")
    await page.press("enter")
    await until_text(page, "was wrong before")
    assert "It was three quarters empty." in text(page.app), "the feedback stays"
    assert [answer[1:] for answer in answers(journal, *STEP)] == [((LINK,), False)]
    await page.press("2", "enter")
    await until_text(page, "✓ Right. Each loss halves cwnd.")
    assert len(answers(journal, *STEP)) == 2


async def test_an_unchanged_wrong_number_costs_no_second_attempt(page, journal) -> None:
    await page.press("2", "enter", "tab", *keys("21 s"), "enter")
    await until_text(page, "✗ Not yet. ")
    await page.press("enter")
    await until_text(page, "was wrong before")
    assert len(answers(journal, *STEP)) == 2


async def test_a_choice_marks_nothing_before_enter(page, journal) -> None:
    await page.press("2")
    await until_text(page, "2 ● Random loss")
    assert answers(journal, *STEP) == []


async def test_arrows_and_enter_answer_too(page, journal) -> None:
    await page.press("1", "down", "space", "enter")
    await until_text(page, "✓ Right.")


async def test_the_cursor_shows_as_soon_as_the_question_has_the_focus(page) -> None:
    await until(page, lambda: isinstance(page.app.focused, Page))
    await page.press("tab")
    await until_text(page, "› 1 ○ The link")
    await page.press("tab")
    await until(page, lambda: "›" not in text(page.app))


async def test_a_number_with_another_unit_is_no_attempt(page, journal) -> None:
    await page.press("2", "enter", "tab", *keys("20 m"), "enter")
    await until_text(page, "may be 20 ms or 20 min")
    assert [question for question, _, _ in answers(journal, *STEP)] == ["limit"]
    await page.press(*keys("s"), "enter")
    await until_text(page, "✓ Right. 20 ms")


async def test_a_large_count_may_be_typed_as_people_write_it_and_is_told_as_it_was_read(make_app) -> None:
    question = Numeric(
        id="reads", prompt="How many?", answer="1860000", unit="count", feedback="No.", explanation="So."
    )
    app = make_app(MODULE, of=one_page(question))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, LessonScreen) and app.screen.is_complete)
        await pilot.press("tab", *keys("1.7 million"), "enter")
        await until_text(pilot, "✗ Not yet. 1.7 million (1700000)")
        await pilot.press(*keys("1,860,000"), "enter")
        await until_text(pilot, "✓ Right. 1,860,000 (1860000)")


async def test_a_plain_number_has_the_unit_behind_the_field(page, journal) -> None:
    await page.press("2", "enter", "tab", *keys("20"))
    await until(page, lambda: re.search(r"Your answer 20 +ms", text(page.app)) is not None)
    await page.press("enter")
    await until_text(page, "✓ Right. 20:")
    assert answers(journal, *STEP)[-1][1:] == ("20", True)


async def test_several_choices_are_answered_together(make_app, journal) -> None:
    app = make_app("many-flows")
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Which hold?")
        await pilot.press("1", "enter")
        await until_text(pilot, "✗")
        await pilot.press("3")
        await until_text(pilot, "3 ☑")
        await pilot.press("enter")
        await until_text(pilot, "✓ Right.")
        assert [given for _, given, _ in answers(journal, "many-flows", "eight-flows")] == [
            (OWN,),
            (OWN, TOGETHER),
        ]


async def test_h_gives_the_hint_of_the_question_at_hand(page, journal) -> None:
    await page.press("1", "h")
    await until_text(page, "hint 1 of 1: How full was the link?")


async def test_what_was_answered_stands_there_again(page, journal) -> None:
    await page.press("2", "enter")
    await until_text(page, "✓ Right.")
    await page.press("[")
    await until_text(page, "What cwnd is")
    await page.press("]")
    await until_text(page, "✓ Right. Each loss halves cwnd.")
    await until(page, lambda: len(answers(journal, *STEP)) == 1)


async def test_what_was_told_is_in_view_in_a_small_terminal(make_app) -> None:
    app = make_app("one-flow")
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("]", "x", "y")
        await until_text(pilot, "why: random loss")
        await pilot.press("1", "enter")
        await until_text(pilot, "✗ Not yet. It was three quarters empty.")
        await pilot.press("2", "enter")
        await until_text(pilot, "Loss comes before the link does.")
        await app.bench.close()
