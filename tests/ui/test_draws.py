"""Drawn numbers on the page: the same until the student asks for others."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tcptutor.course import personal
from tcptutor.course.activities.numeric import KnownMistake, Numeric
from tcptutor.journal import Journal
from tcptutor.study.study import Study
from tests.journal.conftest import happened

from .made import MODULE, STEP, one_page
from .screen import keys, text, until_text

WINDOW = Numeric(
    id="window",
    prompt="A window of {window} leaves in each RTT of 8 ms. What throughput?",
    unit="rate",
    answer="window * 8 / 0.008",
    feedback="Divide {window} by the RTT.",
    hints=("One window leaves in each RTT.", "{window} are {window * 8: number} bits."),
    explanation="{window} / 8 ms is {answer}.",
    mistakes=(KnownMistake(value="window / 0.008", feedback="A byte has eight bits."),),
    draw={"window": tuple(f"{size} kB" for size in range(10, 90))},
)
PAGE = one_page(WINDOW)


def shown(app: Any) -> int:
    """The window of the question on the screen, kB: as many Mbit/s are right."""
    found = re.search(r"A window of (\d+) kB", text(app))
    assert found
    return int(found[1])


async def answer(pilot: Any, number: float) -> None:
    await pilot.press("tab", *keys(f"{number:g} Mbit/s"), "enter")


async def test_a_wrong_answer_is_told_with_its_numbers_and_they_stay(make_app, journal: Journal) -> None:
    async with make_app(MODULE, of=PAGE).run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "A window of")
        number = shown(pilot.app)
        await answer(pilot, number / 8)
        await until_text(pilot, "A byte has eight bits.")
        await pilot.press("escape", "h", "h")
        await until_text(pilot, f"{number} kB are {number * 8000} bits.")
    async with make_app(MODULE, of=PAGE).run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "A byte has eight bits.")
        assert shown(pilot.app) == number
        await answer(pilot, number)
        await until_text(pilot, f"{number} kB / 8 ms is {number} Mbit/s.")
    responses = [event.response for event in happened(journal) if hasattr(event, "response")]
    assert [each.draw for each in responses] == [{"window": f"{number} kB"}] * 2
    # Whoever has the journal can mark it again.
    assert [WINDOW.with_numbers(each.draw).mark(each.answer).correct for each in responses] == [False, True]


async def test_what_was_right_stays_readable_and_new_numbers_come_when_asked_for(
    make_app, journal: Journal
) -> None:
    async with make_app(MODULE, of=PAGE).run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "A window of")
        number = shown(pilot.app)
        await answer(pilot, number)
        await until_text(pilot, "a: again, with new numbers")
        await pilot.press("a")
        await until_text(pilot, "Enter answers")
        other = shown(pilot.app)
        assert other != number
        assert "✓ Right" not in text(pilot.app)
        await pilot.press(*keys(f"{other}"), "enter")
        await until_text(pilot, f"{other} kB / 8 ms is {other} Mbit/s.")
    async with make_app(MODULE, of=PAGE).run_test(size=(80, 24)) as pilot:
        await until_text(pilot, f"{other} kB / 8 ms is {other} Mbit/s.")
        await pilot.press("A")
        await until_text(pilot, f"✓ {number:g} Mbit/s")
        assert f"✓ {other}" in text(pilot.app) and f"A window of {number} kB" in text(pilot.app)
        await pilot.press("escape")
        assert PAGE.modules[0].steps[0].is_done(journal.page(MODULE, STEP))


async def test_unanswered_numbers_stay_while_pages_are_turned(make_app) -> None:
    async with make_app(MODULE, of=PAGE).run_test(size=(80, 24)) as pilot:
        await until_text(pilot, "A window of")
        number = shown(pilot.app)
        await pilot.press("m")
        await until_text(pilot, "Continue ▸")
        await pilot.press("enter")
        await until_text(pilot, "A window of")
        assert shown(pilot.app) == number


def test_numbers_that_come_out_the_same_are_drawn_once_more(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    seeds = {0: "one", 1: "one", 2: "another"}
    monkeypatch.setattr(personal, "question_seed", lambda *parts: seeds[parts[-1]])
    (module,) = PAGE.modules
    (step,) = module.steps
    first, second = (WINDOW.draw_numbers(seed)["window"] for seed in ("one", "another"))
    assert first != second
    study = Study(module, step, journal)
    assert study.posed(WINDOW).prompt == WINDOW.with_numbers({"window": first}).prompt
    study.respond(study.posed(WINDOW), first.replace(" kB", " Mbit/s"))
    assert study.was_right(WINDOW) is False
    assert Study(module, step, journal).posed(WINDOW).prompt == WINDOW.with_numbers({"window": first}).prompt
    assert study.redraw(WINDOW).prompt == WINDOW.with_numbers({"window": second}).prompt
