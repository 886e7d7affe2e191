"""The goals of a page on the page: what the kernel says of each, and what is nearly right."""

from __future__ import annotations

import pytest

from tcptutor.course import load
from tcptutor.course.goals.goal import GoalBoard, GoalState, NearMiss
from tcptutor.course.page_record import Response
from tcptutor.ui.widgets.page.shell import ShellBox
from tests.course.conftest import EXAMPLES

from .made import MODULE, STEP, one_page
from .screen import text, until, until_text

SHELLS = [shell for step in load(EXAMPLES).modules[2].steps if (shell := step.shell)]
TEXTS = [goal.text for goal in SHELLS[0].goals]


@pytest.fixture
async def page(make_app):
    app = make_app(MODULE, of=one_page(SHELLS[0]))
    async with app.run_test(size=(80, 30)) as pilot:
        await until_text(pilot, TEXTS[0])
        yield pilot


def board(*ticked: bool, near: str = "", printed: str = "") -> GoalBoard:
    goals = [GoalState(id=str(at), text=TEXTS[at], ticked=each) for at, each in enumerate(ticked)]
    goals[1] = GoalState(
        id="1", text=TEXTS[1], ticked=ticked[1], near=NearMiss("some", near) if near else None
    )
    return GoalBoard(goals=tuple(goals), printed=NearMiss("some", printed) if printed else None)


async def test_goals_stand_with_the_hosts_and_commands_of_the_page(page) -> None:
    screen = text(page.app)
    assert "Reach these goals, on s1, h1, h2." in screen
    assert [f" {number} ○ " in screen for number in (1, 2, 3)] == [True] * 3
    assert "s1  sudo tc qdisc add dev s1-eth2 root handle 1: netem delay 20ms" in screen


async def test_a_board_ticks_unticks_and_explains(page) -> None:
    box = page.app.screen.query_one(ShellBox)
    box.show_board(board(True, False, False, near="tc's mbps is bytes a second", printed="add adds none"))
    await until_text(page, " 1 ✓ ")
    await until_text(page, "2 tc's mbps is bytes a second")
    await until_text(page, "add adds none")
    box.show_board(board(False, True, False))
    await until_text(page, " 2 ✓ ")
    await until(page, lambda: "mbps" not in text(page.app))
    assert " 1 ○ " in text(page.app)


async def test_what_was_reached_earlier_is_shown(make_app, journal) -> None:
    journal.respond(MODULE, STEP, "shell", Response(SHELLS[0].entry_ids, correct=True))
    app = make_app(MODULE, of=one_page(SHELLS[0]))
    async with app.run_test(size=(80, 30)) as pilot:
        await until_text(pilot, " 3 ✓ ")
        await until_text(pilot, "✓ Reached. The kernel showed each of them.")
        assert journal.progress(app.course)[MODULE].done == 1


async def test_keys_and_numbers_answer_nothing(page, journal) -> None:
    await page.press("tab", "enter", "1", "space")
    await until_text(page, "t opens the terminal")
    await page.press("h")
    await until_text(page, "A qdisc acts on what leaves its interface")
    assert journal.page(MODULE, STEP).activity("shell").attempts == 0


async def test_one_after_the_other(make_app) -> None:
    app = make_app(MODULE, of=one_page(SHELLS[1]))
    async with app.run_test(size=(80, 30)) as pilot:
        await until_text(pilot, "Reach these goals in this order, on h1, h2.")
        assert " 1 ○ " in text(app)
        assert " 2 · " in text(app)
