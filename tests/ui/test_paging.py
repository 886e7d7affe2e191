"""Scrolling a page by screens: Space and Page Down cut no figure in two, and Space plays only at the end."""

from __future__ import annotations

from typing import Any

import pytest
from textual.app import App

from tcptutor.ui.app import TutorApp
from tcptutor.ui.widgets.prose.moving import MovingView

from .made import MODULE
from .moving_figure import Tower, Wagon, page_with
from .screen import text, until, until_text

SLOW = Wagon(id="wagon", watch=60)
TOWERS = Tower(id="tower"), Tower(id="other")
TEXT = "\n\n".join(["More text."] * 8)
LONG = "\n\n".join(["More text."] * 30)


def first_line(app: App[Any]) -> str:
    """First line of the page's text on the screen."""
    return next(line.strip() for line in text(app).splitlines()[2:] if line.strip())


@pytest.fixture
def page(journal, lab, monkeypatch) -> Any:
    def make(*figures: Any, above: str) -> TutorApp:
        return TutorApp(page_with(*figures, above=above), journal, lambda: lab, module=MODULE)

    monkeypatch.delenv("NO_MOTION", raising=False)
    return make


@pytest.mark.parametrize("key", ["space", "pagedown"])
async def test_a_figure_that_the_screen_cuts_is_whole_on_the_next(page, key) -> None:
    app = page(*TOWERS, above=TEXT)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.screen.is_complete)
        assert "floor 0" not in text(app)
        await pilot.press(key)
        await until_text(pilot, "floor 0")
        assert first_line(app) == "floor 11"


async def test_page_up_shows_a_figure_that_the_top_cuts(page) -> None:
    app = page(*TOWERS, above=TEXT)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.screen.is_complete)
        await pilot.press("space", "down", "down", "down")
        await until(pilot, lambda: first_line(app) == "floor 8")
        await pilot.press("pageup")
        await until_text(pilot, "floor 11")
        assert "floor 0" in text(app)


async def test_space_scrolls_past_a_figure_that_plays(page) -> None:
    app = page(SLOW, *TOWERS, above="Watch.")
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "▶ 1x")
        await pilot.press("space")
        await until(pilot, lambda: "wagon" not in text(app))
        assert app.screen.query_one(MovingView).has_played


async def test_at_the_end_of_the_text_space_plays_and_pauses(page) -> None:
    app = page(SLOW, above=LONG)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.screen.is_complete)
        await pilot.press("end")
        await until_text(pilot, "▶ 1x")
        await pilot.press("space")
        assert not app.screen.query_one(MovingView).playback.playing
        await pilot.press("space")
        assert app.screen.query_one(MovingView).playback.playing


async def test_the_list_of_keys_begins_with_those_that_scroll(page) -> None:
    app = page(SLOW, above=LONG)
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Space ▼")
        await pilot.press("question_mark")
        await until_text(pilot, "PgDn")
