"""Goals on a page whose terminal is open: ticked by what the session tells, explained, and recorded."""

from __future__ import annotations

import asyncio

import msgspec
import pytest

from tcptutor.course import load
from tcptutor.course.activities.shell import ShellActivity, ShownCommand
from tests.course.conftest import EXAMPLES
from tests.course.goals.made import netem, state, tbf

from .made import MODULE, STEP, one_page
from .screen import text, until, until_text

pytestmark = pytest.mark.usefixtures("without_state")
FIRST = next(shell for step in load(EXAMPLES).modules[2].steps if (shell := step.shell))
PAGE = ShellActivity(name="", experiment=FIRST.experiment, hosts=("s1", "h1"), goals=FIRST.goals[:2])


async def test_the_kernel_ticks_them_and_the_page_is_done(make_app, lab, journal) -> None:
    app = make_app(MODULE, of=one_page(PAGE))
    async with app.run_test(size=(120, 40)) as pilot:
        await until_text(pilot, "Reach these goals, on s1, h1.")
        await pilot.press("t")
        await until_text(pilot, "s1:~#")
        assert "[s1] h1" in text(app), "where the page offers a terminal"
        hands = lab.hands
        hands.tell(state())
        hands.tell(state({"reverse_delay": 0.02}, {"s1-eth1": (netem(delay=0.02),)}))
        await until_text(pilot, "s1-eth1 delays the reverse path")
        hands.shells["s1"].says("Error: Exclusivity flag on, cannot modify.\r\n")
        await until_text(pilot, "that place already has a qdisc")
        hands.tell(state({"delay": 0.02}, {"s1-eth2": (netem(delay=0.02),)}))
        await until_text(pilot, " 1 ✓ ")
        await until(pilot, lambda: "delays the reverse path" not in text(app))
        hands.tell(state())
        await until_text(pilot, " 1 ○ ")
        assert journal.page(MODULE, STEP).activity("shell").right is None
        both = state(
            {"delay": 0.02, "rate": 10e6, "queue": 60_000}, {"s1-eth2": (netem(delay=0.02), tbf(10e6))}
        )
        hands.tell(both)
        await until_text(pilot, " 2 ✓ ")
        assert journal.page(MODULE, STEP).activity("shell").right.answer == PAGE.entry_ids
        assert journal.progress(app.course)[MODULE].done == 1
        await app.bench.close()


COMMANDS = (
    ShownCommand(host="h1", run="ping -c 3 h2"),
    ShownCommand(host="s1", run="tc qdisc show dev s1-eth2"),
    ShownCommand(host="h1", run="ss -ti"),
)


async def test_a_key_types_the_commands_of_the_page_and_runs_none(make_app, lab, monkeypatch) -> None:
    copied: list[str] = []
    app = make_app(MODULE, of=one_page(msgspec.structs.replace(PAGE, commands=COMMANDS)))
    monkeypatch.setattr(app, "copy_to_clipboard", copied.append)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until_text(pilot, "› h1  ping -c 3 h2")
        await pilot.press("y")
        assert copied == ["ping -c 3 h2"]
        await pilot.press("f9")
        await until(pilot, lambda: lab.hands is not None and "h1" in lab.hands.shells)
        await until(pilot, lambda: bytes(lab.hands.shells["h1"].typed) == b"ping -c 3 h2")
        assert app.screen.in_pane, "keys are the shell's now: Enter runs it"
        await until_text(pilot, "› s1  tc qdisc show dev s1-eth2")
        await pilot.press("enter", "f9")
        await until(pilot, lambda: "s1" in lab.hands.shells)
        await until(pilot, lambda: bytes(lab.hands.shells["s1"].typed) == b"tc qdisc show dev s1-eth2")
        await until_text(pilot, "› h1  ss -ti")
        await pilot.press("f7", "p", "f9")
        await until_text(pilot, "The prompt holds an unfinished line")
        assert bytes(lab.hands.shells["h1"].typed) == b"ping -c 3 h2\rp"
        await pilot.press("enter", "f9")
        typed = b"ping -c 3 h2\rp\rss -ti"
        await until(pilot, lambda: bytes(lab.hands.shells["h1"].typed) == typed)
        await until(pilot, lambda: "› h1" not in text(app))
        # After the last one there is none.
        await pilot.press("enter", "f9")
        await until_text(pilot, "That was the page's last command.")
        assert bytes(lab.hands.shells["h1"].typed) == typed + b"\r"
        await app.bench.close()


async def test_a_command_and_keys_before_the_lab_is_there_keep_their_order(make_app, lab) -> None:
    lab.session_waits = asyncio.Event()
    app = make_app(MODULE, of=one_page(msgspec.structs.replace(PAGE, commands=COMMANDS)))
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until_text(pilot, "› h1  ping -c 3 h2")
        await pilot.press("f9", "enter", "l", "s", "f9")
        # The third command is for h1, where it would stand behind "ls".
        await pilot.press("f9")
        await until_text(pilot, "The prompt holds an unfinished line")
        await pilot.press("enter", "f9")
        lab.session_waits.set()
        await until(pilot, lambda: lab.hands is not None and {"h1", "s1"} <= set(lab.hands.shells))
        await until(pilot, lambda: lab.hands.shells["h1"].typed == b"ping -c 3 h2\rls\rss -ti")
        await until(pilot, lambda: lab.hands.shells["s1"].typed == b"tc qdisc show dev s1-eth2")
        await app.bench.close()


async def test_commands_whose_place_is_taken_are_passed_by(make_app, lab) -> None:
    commands = (
        ShownCommand(host="s1", run="tc qdisc add dev s1-eth2 root handle 1: netem delay 20ms"),
        ShownCommand(host="s1", run="tc qdisc show dev s1-eth2"),
    )
    app = make_app(MODULE, of=one_page(msgspec.structs.replace(PAGE, commands=commands)))
    async with app.run_test(size=(120, 40)) as pilot:
        await until_text(pilot, "Reach these goals, on s1, h1.")
        await pilot.press("t")
        await until_text(pilot, "s1:~#")
        lab.hands.tell(state({"delay": 0.02}, {"s1-eth2": (netem(delay=0.02),)}))
        await until_text(pilot, " 1 ✓ ")
        await pilot.press("f9")
        await until(pilot, lambda: bytes(lab.hands.shells["s1"].typed) == b"tc qdisc show dev s1-eth2")
        await app.bench.close()


async def test_goals_stand_over_the_shell_where_it_covers_the_page(make_app, lab) -> None:
    app = make_app(MODULE, of=one_page(msgspec.structs.replace(PAGE, commands=COMMANDS[1:])))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("t")
        await until_text(pilot, "s1:~#")
        lab.hands.tell(state())
        await until_text(pilot, "goals 1○ 2○")
        first, second = (goal.text for goal in PAGE.goals)
        await until_text(pilot, first)
        assert "F6 page" in text(app)
        lab.hands.tell(state({"delay": 0.02}, {"s1-eth2": (netem(delay=0.02),)}))
        await until_text(pilot, second)
        lab.hands.tell(state())
        lab.hands.tell(state({"reverse_delay": 0.02}, {"s1-eth1": (netem(delay=0.02),)}))
        await until_text(pilot, "s1-eth1 delays the reverse path")
        assert "By hand" not in text(app)
        await until_text(pilot, "F9 s1: tc qdisc show dev s1-eth2")
        await pilot.press("f9")
        await until_text(pilot, "F9 h1: ss -ti")
        await app.bench.close()


async def test_a_page_says_that_its_network_is_gone_and_what_had_been_reached(
    make_app, lab, without_state
) -> None:
    course = one_page(PAGE)
    async with make_app(MODULE, of=course).run_test(size=(120, 40)) as pilot:
        await until_text(pilot, "Reach these goals")
        assert "was closed" not in text(pilot.app)
        await pilot.press("t")
        await until_text(pilot, "s1:~#")
        lab.hands.tell(state({"delay": 0.02}, {"s1-eth2": (netem(delay=0.02),)}))
        await until_text(pilot, " 1 ✓ ")
        assert "was closed" not in text(pilot.app)
        await pilot.app.bench.close()
    async with make_app(MODULE, of=course).run_test(size=(120, 40)) as pilot:
        await until_text(pilot, "The network was closed with 1 of 2 goals reached")
        await pilot.press("t")
        await until_text(pilot, "s1:~#")
        lab.hands.tell(state())
        await until(pilot, lambda: "was closed" not in text(pilot.app))
        await pilot.app.bench.close()
