"""Blocks of a page: their signs, their bars, and those that are done in a line."""

from __future__ import annotations

from typing import Any

import pytest
from textual.widgets import Static

from tcptutor.course.activity import text_id
from tcptutor.course.outline import Course
from tcptutor.course.page_record import Response
from tcptutor.journal import Journal
from tcptutor.ui.app import TutorApp
from tcptutor.ui.screens import lesson_actions
from tcptutor.ui.widgets.page.box import ActivityBox
from tcptutor.ui.widgets.page.lists import ChoiceBox

from .made import MODULE, STEP, one_page
from .screen import click, text, until, until_text
from .test_footer import question
from .test_snapshots import keep_run

PAGE = one_page(question("red"), question("blue"))


@pytest.fixture
def answered(journal: Journal) -> Journal:
    journal.respond(MODULE, STEP, "red", Response((text_id("yes"),), True))
    journal.respond(MODULE, STEP, "blue", Response((text_id("no"),), False))
    return journal


async def test_what_is_done_is_a_line_and_enter_or_a_click_unfolds_it(
    answered: Journal, lab, folding: None
) -> None:
    for way in ("enter", "click"):
        app = TutorApp(PAGE, answered, lambda: lab, module=MODULE)
        async with app.run_test(size=(80, 24)) as pilot:
            await until_text(pilot, "✓ Question  yes")
            assert "✓ Right. It is." not in text(app)
            assert "✗ Not yet." in text(app), "what is not done stays open"
            if way == "enter":
                app.screen.set_focus(app.screen.query(ChoiceBox).first())
                await pilot.press("enter")
            else:
                await click(pilot, "✓ Question  yes")
            await until_text(pilot, "✓ Right. It is.")
            assert app.screen.step.id == STEP


async def test_an_answer_of_this_visit_stays_open(journal: Journal, lab, folding: None) -> None:
    app = TutorApp(PAGE, journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Is it blue?")
        await pilot.press("tab", "1", "enter", "tab")
        await until_text(pilot, "✓ Right. It is.")
        assert not app.screen.query(ActivityBox).first().is_folded


@pytest.mark.parametrize("is_new", [True, False])
async def test_the_signs_of_models_are_explained_at_first_sight(
    make_app: Any, journal: Journal, course: Course, monkeypatch: pytest.MonkeyPatch, is_new: bool
) -> None:
    if not is_new:
        monkeypatch.setattr(lesson_actions, "_EXPLAINED_ON", 0)
    keep_run(journal, course, "one-flow", "one-lossy-flow")
    app = make_app("one-flow")
    async with app.run_test(size=(120, 36)) as pilot:
        await until(pilot, lambda: app.screen.query_one("#after").display)
        title = str(app.screen.query_one("#after > .title", Static).content)
        assert ("✗" in title) is is_new


async def test_bars_say_right_and_wrong(answered: Journal, lab) -> None:
    app = TutorApp(PAGE, answered, lambda: lab, module=MODULE)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "✗ Not yet.")
        red, blue = app.screen.query(ActivityBox)
        assert (red.has_class("-right"), blue.has_class("-wrong")) == (True, True)
        await until(pilot, lambda: red.styles.border_left[1] != blue.styles.border_left[1])
