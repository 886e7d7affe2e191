"""Shuffled choices: stable for a student, different between students, and marked as shown."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from tcptutor.course.activities.choice import Alternative, MultipleChoice, SingleChoice
from tcptutor.journal import Journal
from tcptutor.ui.app import TutorApp
from tests.chosen import chosen

from .fakes import FakeLab
from .made import MODULE, STEP, one_page
from .screen import text, until, until_text

TEXTS = ("The window", "The queue", "The link", "The clock", "All of these")


def choices(right: str) -> tuple[Alternative, ...]:
    return tuple(
        Alternative(text=each, correct=each == right, feedback=f"About {each}.", fixed=each == TEXTS[-1])
        for each in TEXTS
    )


ONE = SingleChoice(id="one", prompt="What limits it?", explanation="It does.", choices=choices("The link"))
MANY = MultipleChoice(id="one", prompt="What grows?", explanation="It does.", choices=choices("The queue"))


def listed(screen: str) -> list[str]:
    """The choices by their numbers on the screen."""
    return [found[1].strip() for found in re.finditer(r"[1-5] [○●☐☑] ([\w ]+)", screen)]


async def shown(app: TutorApp) -> list[str]:
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, TEXTS[-1])
        return listed(text(app))


async def test_a_student_sees_the_same_order_after_every_start(make_app: Callable[..., TutorApp]) -> None:
    first = await shown(make_app(MODULE, of=one_page(ONE)))
    assert sorted(first) == sorted(TEXTS)
    assert first[-1] == "All of these"
    assert await shown(make_app(MODULE, of=one_page(ONE))) == first


async def test_students_of_a_course_see_different_orders(tmp_path: Path) -> None:
    orders = []
    for student in ("Ann", "Ben", "Cem", "Dan"):
        journal = Journal.open(tmp_path / f"{student}.db")
        journal.enrol(student, "TCP-1")
        orders.append(await shown(TutorApp(one_page(ONE), journal, lambda: FakeLab(), module=MODULE)))
        journal.close()
    assert len(set(map(tuple, orders))) > 1


@pytest.mark.parametrize("question", [ONE, MANY], ids=["single", "multiple"])
async def test_the_number_on_the_screen_chooses_and_the_journal_keeps_the_choice(
    make_app: Callable[..., TutorApp], journal: Journal, question: SingleChoice | MultipleChoice
) -> None:
    right = question.right[0]
    app = make_app(MODULE, of=one_page(question))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, TEXTS[-1])
        place = listed(text(app)).index(TEXTS[right]) + 1
        await pilot.press(str(place), "enter")
        await until_text(pilot, f"✓ Right. About {TEXTS[right]}.")
    assert journal.page(MODULE, STEP).activity("one").right.answer == chosen(question, right)
    again = make_app(MODULE, of=one_page(question))
    async with again.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, f"✓ Right. About {TEXTS[right]}.")
        assert re.search(rf"{place} [●☑] {TEXTS[right]}", text(again))


async def test_arrows_choose_the_line_of_the_cursor(
    make_app: Callable[..., TutorApp], journal: Journal
) -> None:
    app = make_app(MODULE, of=one_page(ONE))
    async with app.run_test(size=(80, 24)) as pilot:
        await until_text(pilot, TEXTS[-1])
        third = listed(text(app))[2]
        await pilot.press("tab", "down", "down", "enter")
        await until(pilot, lambda: journal.page(MODULE, STEP).activity("one").attempts == 1)
    assert ONE.in_words(journal.page(MODULE, STEP).activity("one").latest.answer) == third


def test_every_position_gets_its_share() -> None:
    counts = [0] * 4
    for number in range(2000):
        counts[ONE.shown_order(f"{number}").index(2)] += 1
    assert min(counts) > 425
    assert max(counts) < 575
