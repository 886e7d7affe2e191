"""The glossary: terms of the page in the order of its text, all terms, their pages and experiments."""

from __future__ import annotations

from typing import Any

import pytest

from tcptutor.course import load
from tcptutor.course.glossary import Term, terms_in
from tcptutor.journal import Journal
from tcptutor.ui.screens.glossary import GlossaryScreen
from tcptutor.ui.screens.lesson import LessonScreen
from tcptutor.ui.screens.workbench import WorkbenchScreen

from .screen import keys, press_at_once, text, until, until_text

SIZES = [(80, 24), (120, 36)]
TERMS = [
    Term(word="window", synonyms=("windows",), text="t", page="m/p"),
    Term(word="receive window", text="t", page="m/p"),
    Term(word="round-trip time", abbreviation="RTT", text="t", page="m/p"),
]


def test_terms_of_a_text_come_in_its_order_and_once() -> None:
    words = "The RTT and the **receive\nwindow**; two windows. A windowless RTT."
    assert [term.word for term in terms_in(TERMS, words)] == ["round-trip time", "receive window", "window"]
    assert terms_in(TERMS, "nothing") == [] and terms_in((), "window") == []


def page_shown(app: Any) -> str:
    screen = app.screen
    return f"{screen.module.id}/{screen.step.id}" if isinstance(screen, LessonScreen) else ""


@pytest.mark.parametrize("size", SIZES)
async def test_a_page_defines_its_terms_and_leads_to_the_page_and_back(
    make_app: Any, journal: Journal, size: tuple[int, int]
) -> None:
    journal.visit("congestion-algorithms", "the-sawtooth")
    app = make_app("congestion-algorithms", of=load())
    async with app.run_test(size=size) as pilot:
        await until(pilot, lambda: isinstance(app.screen, LessonScreen) and app.screen.is_complete)
        await pilot.press("d")
        await until_text(pilot, "on this page")
        first = text(app)
        await pilot.press("tab")
        await until(pilot, lambda: text(app) != first)
        press_at_once(app, "slash", *keys("bandwidth"))
        await until_text(pilot, "1.9 The bandwidth")
        await pilot.press("enter")
        await until(
            pilot, lambda: page_shown(app) == "tcp-basics/the-path-as-a-pipe" and app.screen.is_complete
        )
        await pilot.press("backspace")
        await until(pilot, lambda: page_shown(app) == "congestion-algorithms/the-sawtooth")


async def test_r_opens_an_experiment_that_shows_the_term(make_app: Any) -> None:
    app = make_app(of=load())
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "Press Enter to begin")
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, GlossaryScreen))
        press_at_once(app, "slash", *keys("probertt"))
        await until_text(pilot, "see it on the bench: probe-rtt")
        press_at_once(app, "escape", "r")
        await until(pilot, lambda: isinstance(app.screen, WorkbenchScreen))
        await until_text(pilot, "probe-rtt")
        await pilot.press("escape")
        await until_text(pilot, "Press Enter to begin")
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, GlossaryScreen))
        press_at_once(app, "slash", *keys("cwnd"), "escape", "r")
        await until(pilot, lambda: page_shown(app) == "congestion-algorithms/slow-start")
