"""Moving figures on a page: they play once when seen, keys act on the one in view, and motion can be off."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from textual.app import App
from textual.geometry import Size

from tcptutor.course import Course
from tcptutor.ui.app import TutorApp
from tcptutor.ui.widgets.panel.panel import RunPanel
from tcptutor.ui.widgets.prose.figure import FigureView
from tcptutor.ui.widgets.prose.moving import MovingView

from .made import MODULE, lossy
from .moving_figure import STOPS, Wagon, page_with
from .screen import click, text, until, until_text

WAGON = Wagon(id="wagon")
SLOW = Wagon(id="wagon", watch=60)


@pytest.fixture
def opened(journal, lab, monkeypatch) -> Callable[[Course], TutorApp]:
    def make(course: Course) -> TutorApp:
        return TutorApp(course, journal, lambda: lab, module=MODULE)

    monkeypatch.delenv("NO_MOTION", raising=False)
    return make


def view(app: App[Any], number: int = 0) -> MovingView:
    return list(app.screen.query(MovingView))[number]


def footer(app: App[Any]) -> str:
    return text(app).splitlines()[-1]


async def test_a_figure_plays_once_when_it_is_seen_and_then_rests(opened) -> None:
    app = opened(page_with(Wagon(id="wagon", watch=0.5)))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: bool(app.screen.query(MovingView)) and view(app).playback.playing)
        await until_text(pilot, "▶ 1x")
        await until(pilot, lambda: view(app).playback.resting)
        await until_text(pilot, "f plays")
        assert "wagon at 20" in text(app)
        await asyncio.sleep(0.6)
        assert view(app).playback.resting


async def test_a_long_caption_goes_on_in_a_second_line(opened) -> None:
    app = opened(page_with(Wagon(id="wagon", caption=f"A caption that is {'long, ' * 12}and ends here.")))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "and ends here.")


async def test_a_figure_below_the_screen_waits(opened) -> None:
    app = opened(page_with(SLOW, above="\n\n".join(["More text."] * 30)))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: bool(app.screen.query(MovingView)) and app.screen.is_complete)
        await asyncio.sleep(0.6)
        assert not view(app).has_played
        assert "play" not in footer(app)
        await pilot.press("space")
        assert not view(app).has_played, "Space turned a page of the text"
        await pilot.press("end")
        await until(pilot, lambda: view(app).playback.playing)
        await until(pilot, lambda: "f pause" in footer(app))
        await pilot.press("home")
        await until(pilot, lambda: "f pause" not in footer(app))
        at = view(app).playback.t
        await asyncio.sleep(0.5)
        assert view(app).playback.t == at


async def test_keys_pause_step_and_change_the_speed(opened) -> None:
    app = opened(page_with(SLOW))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "▶ 1x")
        await pilot.press("f")
        assert not view(app).playback.playing
        await pilot.press("full_stop")
        assert view(app).playback.t == STOPS[1]
        await pilot.press("full_stop", "comma", "comma")
        assert view(app).playback.t == STOPS[0]
        await pilot.press("greater_than_sign", "f")
        await until_text(pilot, "▶ 2x")
        await pilot.press("less_than_sign", "less_than_sign")
        await until_text(pilot, "▶ 0.5x")


async def test_a_cursor_in_the_chart_has_its_keys_first(opened) -> None:
    app = opened(page_with(SLOW, activities=(lossy(),)))
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "▶ 1x")
        await pilot.press("f", "r")
        await until_text(pilot, "why: random loss")
        figure, panel = view(app), app.screen.query_one(RunPanel)
        at = figure.playback
        await pilot.press("i")
        await until(pilot, lambda: panel.cursor is not None)
        cursor = panel.cursor
        await pilot.press("full_stop")
        assert panel.cursor != cursor
        assert figure.playback == at
        await pilot.press("escape", "full_stop")
        assert figure.playback.t == STOPS[1]
        await app.bench.close()


async def test_a_click_plays_that_figure_and_pauses_the_other(opened) -> None:
    app = opened(page_with(SLOW, Wagon(id="second", watch=60)))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "▶ 1x")
        await click(pilot, "a click plays")
        await until(pilot, lambda: view(app, 1).playback.playing)
        assert not view(app, 0).playback.playing
        await pilot.press("f")
        assert not view(app, 1).playback.playing, "the keys went with the click"


async def test_a_figure_stands_while_the_terminal_has_no_focus(opened) -> None:
    app = opened(page_with(SLOW))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "▶ 1x")
        app.app_focus = False
        at = view(app).playback.t
        await asyncio.sleep(0.4)
        assert view(app).playback.t == at
        app.app_focus = True
        await until(pilot, lambda: view(app).playback.t > at)


@pytest.mark.parametrize("variable", ["NO_MOTION=1", "TEXTUAL_ANIMATIONS=none"])
async def test_without_motion_a_figure_rests_and_can_be_stepped(opened, monkeypatch, variable) -> None:
    monkeypatch.setenv(*variable.split("="))
    app = opened(page_with(WAGON))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "f steps")
        assert view(app).playback.resting
        assert "wagon at 20" in text(app)
        await pilot.press("f", "f")
        assert (view(app).playback.t, view(app).playback.playing) == (STOPS[1], False)
        assert "speed" not in footer(app)


async def test_the_palette_turns_motion_off_for_good(opened) -> None:
    app = opened(page_with(SLOW))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "▶ 1x")
        await pilot.press("ctrl+p", *"motion off", "enter")
        await until(pilot, lambda: view(app).playback.resting)
        await until_text(pilot, "f steps")
    again = opened(page_with(SLOW))
    async with again.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "f steps")
        await pilot.press("ctrl+p", *"motion on", "enter")
        await until_text(pilot, "▶ 1x")


async def test_a_terminal_that_answers_late_stops_motion(opened) -> None:
    app = opened(page_with(SLOW))
    async with app.run_test(size=(80, 24)) as pilot:
        app.line.ask()
        app.line.with_question("x")
        app.line.take_answer()  # as before the first figure
        await until_text(pilot, "▶ 1x")
        await until(pilot, lambda: app.line.with_question("frame") != "frame")
        await until_text(pilot, "the terminal is slow")
        assert view(app).playback.resting


async def test_only_changed_cells_are_written(opened) -> None:
    app = opened(page_with(SLOW))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "▶ 1x")
        await pilot.press("f")
        figure = view(app)
        everything = sum(len(line) for line in figure.lines)
        assert 0 < figure.show(figure.playback.step(1)) < 10 * everything
        assert figure.show(figure.playback) == 0


async def test_a_figure_says_what_it_shows(opened) -> None:
    app = opened(page_with(WAGON))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "wagon at")
        assert view(app).description == "A wagon passes."


def test_a_long_caption_takes_further_lines() -> None:
    def lines(caption: str) -> int:
        view = FigureView(Wagon(id="wagon", caption=caption))
        return view.get_content_height(Size(40, 20), Size(80, 24), 40)

    assert lines("A wagon.") == lines("") + 1
    assert lines("A wagon that passes a station where nobody waits for it.") == lines("") + 2


async def test_figures_are_sentences_for_those_who_choose_it_and_drawn_again(opened) -> None:
    app = opened(page_with(SLOW))
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: bool(app.screen.query(MovingView)) and view(app).playback.playing)
        app.choose_words(True)
        await until_text(pilot, f"Figure: {SLOW.describe()}")
        assert "▶" not in text(app)
        await until(pilot, lambda: "step" not in footer(app))
        await until(pilot, lambda: app.motion.off_because == "figures are in words")
        app.choose_words(False)
        await until_text(pilot, "wagon at")
    again = opened(page_with(SLOW))
    again.settings.set_figures_in_words(True)
    async with again.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Figure:")
