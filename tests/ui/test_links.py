"""Links to other pages: a click or g goes there, Backspace returns."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from tcptutor.course.outline import Course
from tcptutor.ui.screens.lesson import LessonScreen

from .four_modules import four_modules
from .screen import until, until_text


def linked(*references: str) -> Course:
    """The course of four modules, with links on its first page."""
    course = four_modules()
    first, *others = course.modules
    page = replace(first.steps[0], prose=f"As on {' and '.join(references)}.")
    return replace(course, modules=(replace(first, steps=(page, *first.steps[1:])), *others))


def place(app: Any) -> str:
    screen = app.screen
    return f"{screen.module.id}/{screen.step.id}" if isinstance(screen, LessonScreen) else ""


async def test_a_click_on_a_link_opens_its_page_and_backspace_returns(make_app: Any) -> None:
    app = make_app("basics", of=linked("[“Number 3”](later:streams/page-3)"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "As on “Number 3”")
        await pilot.click("MarkdownParagraph", offset=(10, 0))
        await until(pilot, lambda: place(app) == "streams/page-3" and app.screen.is_seen)
        await pilot.press("backspace")
        await until(pilot, lambda: place(app) == "basics/page-1" and app.screen.is_seen)
        assert not app.can_return


async def test_g_follows_the_only_link_and_lists_several(make_app: Any) -> None:
    app = make_app("basics", of=linked("[“Number 3”](later:streams/page-3)", "[two](later:basics/page-2)"))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: place(app) == "basics/page-1" and app.screen.is_complete)
        await pilot.press("g")
        await until_text(pilot, "Go to a page named here")
        await pilot.press("down", "enter")
        await until(pilot, lambda: place(app) == "basics/page-2" and app.screen.is_complete)
        await pilot.press("g")
        await until(pilot, lambda: any("names no other" in each.message for each in app._notifications))
