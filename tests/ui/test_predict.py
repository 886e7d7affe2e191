"""The prediction: a number with its unit, given before the run, locked for good."""

from __future__ import annotations

import pytest
from textual import events
from textual.widgets import Input

from tcptutor.course.record import PREDICT, ActivityRecord
from tcptutor.journal import Journal
from tcptutor.ui.app import TutorApp
from tests.journal.conftest import answers

from .screen import keys, text, until, until_text


def record(journal: Journal) -> ActivityRecord:
    """What was done of the page's prediction."""
    return journal.page("one-flow", "one-lossy-flow").activity(PREDICT)


@pytest.fixture
async def page(make_app):
    """The page with a prediction, open in a small terminal."""
    app: TutorApp = make_app("one-flow")
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("n")
        await until_text(pilot, "What throughput will this flow")
        yield pilot


async def test_run_asks_for_the_prediction_first(page, lab) -> None:
    await page.press("r")
    await until_text(page, "First your prediction")
    assert isinstance(page.app.focused, Input)
    assert lab.runs == 0


async def test_a_bare_number_is_told_what_is_missing(page, journal) -> None:
    await page.press("r", *keys("70"), "enter")
    await until_text(page, "has no unit")
    assert record(journal).first is None


async def test_enter_locks_it_for_good(page, journal) -> None:
    await page.press("r", *keys("20 Mbit/s"), "enter")
    await until_text(page, "20 Mbit/s  (locked)")
    locked = record(journal).first
    assert (locked.given, locked.value) == ("20 Mbit/s", 20e6)
    assert not any(entry.display and entry.region.height for entry in page.app.screen.query(".entry Input").results() if
                   "prediction" in str(entry.parent.parent))  # fmt: skip
    await page.press("r")
    await until_text(page, "✓ done")
    assert "you" in text(page.app)


async def test_a_number_that_is_typed_is_the_prediction_and_no_answer(page, journal) -> None:
    """Who types it without going there first means the field above, not one of the choices below it."""
    await page.press(*keys("20 Mbit/s"), "enter")
    await until_text(page, "20 Mbit/s  (locked)")
    assert answers(journal, "one-flow", "one-lossy-flow") == []
    await page.press("2", "enter")
    await until_text(page, "✓ Right.")


@pytest.mark.parametrize("focused", [None, "Page"])
async def test_keys_that_come_all_at_once_are_one_prediction(page, focused) -> None:
    """Over a slow line, from a script, or by a quick hand: the next key is there before the field has the focus."""
    page.app.set_focus(page.app.screen.query_one(focused) if focused else None)
    typed = "9.5 Mbit/s"
    for key, character in zip(keys(typed), typed, strict=True):
        page.app.post_message(events.Key(key, character))
    await until(page, lambda: page.app.screen.query_one(Input).value == typed)
    await page.press("enter")
    await until_text(page, "9.5 Mbit/s  (locked)")


async def test_a_number_that_is_pasted_is_the_prediction(page) -> None:
    page.app.post_message(events.Paste("r is what starts a run"))
    page.app.post_message(events.Paste("9.5 Mbit/s\nand more\n"))
    await until(page, lambda: page.app.screen.query_one(Input).value != "")
    assert page.app.screen.query_one(Input).value == "9.5 Mbit/s"
    await page.press("enter")
    await until_text(page, "9.5 Mbit/s  (locked)")
    page.app.post_message(events.Paste("20 Mbit/s"))
    await page.press("2", "enter")
    await until_text(page, "✓ Right.")


async def test_x_runs_without_one_and_that_is_locked_too(page, journal, lab) -> None:
    await page.press("r", "escape", "x", "y")
    await until(page, lambda: lab.runs == 1)
    await until_text(page, "You ran this without a prediction")
    assert (record(journal).first.given, record(journal).first.value) == ("", None)


async def test_hints_come_one_level_at_a_time_and_are_recorded(page, journal) -> None:
    await page.press("h")
    await until_text(page, "hint 1 of 2: Take the mean window.")
    assert "hint 2 of 2:" not in text(page.app)
    await page.press("h")
    await until_text(page, "hint 2 of 2:")
    assert record(journal).hints == 2
    assert list(journal.page("one-flow", "one-lossy-flow").activities) == [PREDICT]


async def test_letters_are_typed_not_run_while_in_the_field(page, lab) -> None:
    await page.press("r", *"rsq")
    assert page.app.screen.query_one(Input).value == "rsq"
    await page.press("escape", "h")
    await until_text(page, "hint 1")
    assert lab.runs == 0
