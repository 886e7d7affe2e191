"""Turning pages: what it costs, and that a key turns the page that was seen when it was pressed."""

from __future__ import annotations

from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from textual.css.stylesheet import Stylesheet

from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.outline import Course
from tcptutor.course.step import Step
from tcptutor.ui.bindings import working_keys
from tcptutor.ui.screens.lesson import LessonScreen
from tcptutor.ui.widgets.page.box import ActivityBox
from tcptutor.ui.widgets.page.entries import Entry
from tcptutor.ui.widgets.page.page import Page, widest_line

from .four_modules import four_modules
from .screen import keys, press_at_once, text, until, until_text


def number(app: Any) -> int:
    """Of the page on the screen, from 1."""
    screen = app.screen
    assert isinstance(screen, LessonScreen)
    return screen.module.steps.index(screen.step) + 1


async def test_a_key_pressed_before_the_page_is_seen_turns_no_second_one(make_app: Any) -> None:
    app = make_app("basics", of=four_modules())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, LessonScreen) and app.screen.is_seen)
        first = number(app)
        for keys, page in ((("right", "right", "]"), first + 1), (("left", "["), first)):
            press_at_once(app, *keys)
            await until(pilot, lambda page=page: number(app) == page)
            await pilot.pause(0.3)
            assert number(app) == page
        for page in (first + 1, first + 2):
            await until(pilot, lambda: app.screen.is_seen)
            await pilot.press("right")
            await until(pilot, lambda page=page: number(app) == page)


async def test_other_keys_pressed_meanwhile_are_the_new_pages(make_app: Any) -> None:
    app = make_app("basics", of=four_modules())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, LessonScreen) and app.screen.is_seen)
        first = number(app)
        press_at_once(app, "right", "question_mark")
        await until_text(pilot, "the previous page")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, LessonScreen))
        assert number(app) == first + 1


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_a_turn_styles_each_widget_about_once(
    make_app: Any, course: Course, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    styled = 0
    original = Stylesheet.apply

    def counted(self: Stylesheet, *args: Any, **how: Any) -> None:
        nonlocal styled
        styled += 1
        original(self, *args, **how)

    app = make_app("one-flow")
    async with app.run_test(size=size) as pilot:
        await until_text(pilot, "ready")
        await until(pilot, lambda: app.screen.is_seen)
        monkeypatch.setattr(Stylesheet, "apply", counted)
        before = app.screen
        await pilot.press("right")
        await until(pilot, lambda: app.screen is not before and app.screen.is_seen)
        await pilot.pause(0.2)
        widgets = len(list(app.screen.walk_children(with_self=True)))
        assert styled < 4 * widgets, "it was more than seven times"
        await app.bench.close()


async def test_the_line_of_keys_asks_for_no_widget(make_app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of fifty keys looked through the whole page for the box of a shell."""
    app = make_app("one-flow")
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "ready")
        await until(pilot, lambda: app.screen.is_seen)
        asked: list[object] = []
        original = type(app.screen).query
        monkeypatch.setattr(
            LessonScreen, "query", lambda self, *args: asked.append(args) or original(self, *args)
        )
        assert "lesson.next" in working_keys(app.screen)
        assert not asked, asked


def test_the_width_of_a_page_is_that_of_its_widest_drawing() -> None:
    prose = "Read.\n\n```\n──▶ one\n```\n\nand\n\n```\nwider\n```\n"
    assert widest_line(prose) == 7
    assert widest_line("no drawing") == 0


async def test_no_language_is_guessed_for_a_formula_or_a_drawing(make_app: Any) -> None:
    """Guessing it imports every lexer there is."""
    step = Step(
        id="page",
        title="A page",
        prose="So:\n\n    rate = window / RTT\n\n- and\n\n  ```\n  ──▶ one\n  ```\n",
    )
    course = four_modules()
    first = msgspec.structs.replace(course.modules[0], steps=(step,))
    app = make_app("basics", of=msgspec.structs.replace(course, modules=(first,)))
    with patch("textual.highlight.guess_language", side_effect=AssertionError("a language was guessed")):
        async with app.run_test(size=(80, 24)) as pilot:
            await until_text(pilot, "rate = window / RTT")
            await until_text(pilot, "──▶ one")


async def test_title_and_text_are_drawn_before_the_boxes_are_mounted(make_app: Any, course: Course) -> None:
    app = make_app("one-flow")
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, LessonScreen) and app.screen.is_complete)
        before, seen = app.screen, []

        async def watched(page: Page) -> None:
            seen.append((text(app), page.screen.is_seen, len(page.query(ActivityBox))))
            await mount(page)

        mount = Page.complete
        with patch.object(Page, "complete", watched):
            press_at_once(app, "right")
            await until(pilot, lambda: app.screen is not before and app.screen.is_complete)
        (lines, is_seen, boxes) = seen[0]
        assert app.screen.step.title in lines
        assert is_seen and not boxes
        assert app.screen.query(ActivityBox)


async def test_keys_pressed_before_the_boxes_are_there_reach_them_in_order(make_app: Any) -> None:
    """A digit, a point and a digit end up in the field of the page that was turned to, none twice."""
    question = Numeric(
        id="q", prompt="How much?", answer="2.5", unit="number", feedback="No.", explanation="So."
    )
    course = four_modules()
    pages = course.modules[0].steps
    steps = (pages[0], msgspec.structs.replace(pages[1], activities=(question,)), *pages[2:])
    module = msgspec.structs.replace(course.modules[0], steps=steps)
    app = make_app("basics", of=msgspec.structs.replace(course, modules=(module, *course.modules[1:])))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, LessonScreen) and app.screen.is_complete)
        before = app.screen
        press_at_once(app, "right")
        await until(pilot, lambda: app.screen is not before and isinstance(app.screen, LessonScreen))
        press_at_once(app, *keys("2.5"))
        await until(pilot, lambda: app.screen.is_complete and app.screen.query_one(Entry).value == "2.5")
        assert number(app) == 2
