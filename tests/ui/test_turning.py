"""Turning pages: what it costs, and that a key turns the page that was seen when it was pressed."""

from __future__ import annotations

from typing import Any

import pytest
from textual.css.stylesheet import Stylesheet

from tcptutor.course.model import Course
from tcptutor.ui.keys import working
from tcptutor.ui.screens.lesson import LessonScreen
from tcptutor.ui.widgets.page.page import uncoloured, widest_line

from .four_modules import four_modules
from .screen import press_at_once, until, until_text


def number(app: Any) -> int:
    """Of the page on the screen, from 1."""
    screen = app.screen
    assert isinstance(screen, LessonScreen)
    return screen.module.steps.index(screen.step) + 1


async def test_a_key_pressed_before_the_page_is_seen_turns_no_second_one(make_app: Any) -> None:
    app = make_app("basics", of=four_modules())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, LessonScreen) and app.screen._seen_at < 1e300)
        first = number(app)
        for keys, page in ((("right", "right", "n"), first + 1), (("left", "p"), first)):
            press_at_once(app, *keys)
            await until(pilot, lambda page=page: number(app) == page)
            await pilot.pause(0.3)
            assert number(app) == page
        for page in (first + 1, first + 2):
            await until(pilot, lambda: app.screen._seen_at < 1e300)
            await pilot.press("right")
            await until(pilot, lambda page=page: number(app) == page)


async def test_other_keys_pressed_meanwhile_are_the_new_pages(make_app: Any) -> None:
    app = make_app("basics", of=four_modules())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, LessonScreen) and app.screen._seen_at < 1e300)
        first = number(app)
        press_at_once(app, "right", "question_mark")
        await until_text(pilot, "the page before")
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
        await until(pilot, lambda: app.screen._seen_at < 1e300)
        monkeypatch.setattr(Stylesheet, "apply", counted)
        before = app.screen
        await pilot.press("right")
        await until(pilot, lambda: app.screen is not before and app.screen._seen_at < 1e300)
        await pilot.pause(0.2)
        widgets = len(list(app.screen.walk_children(with_self=True)))
        assert styled < 4 * widgets, "it was more than seven times"
        await app.bench.close()


async def test_the_line_of_keys_asks_for_no_widget(make_app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of fifty keys looked through the whole page for the box of a shell."""
    app = make_app("one-flow")
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "ready")
        await until(pilot, lambda: app.screen._seen_at < 1e300)
        asked: list[object] = []
        original = type(app.screen).query
        monkeypatch.setattr(
            LessonScreen, "query", lambda self, *args: asked.append(args) or original(self, *args)
        )
        assert "lesson.next" in working(app.screen)
        assert not asked, asked


def test_a_drawing_is_no_program() -> None:
    prose = "Read.\n\n```\n──▶ one\n```\n\nand\n\n```\nwider\n```\n"
    assert uncoloured(prose).count("```text\n") == 2
    assert uncoloured("no drawing") == "no drawing"
    assert widest_line(prose) == widest_line(uncoloured(prose)) == 7
