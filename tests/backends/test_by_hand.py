"""Pages by hand: what their commands, typed in real shells, tick. Each page's lines are in `by_hand/MODULE.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.course import load
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.wire.kernel_state import SessionState
from tests.backends.play import leaving_nothing
from tests.backends.test_goals import WatchedHands, settled
from tests.backends.test_session import hands

FOLDER = Path(__file__).with_name("by_hand")
PAGES: dict[str, ShellActivity] = {
    f"{module.id}/{step.id}": step.shell
    for module in load().modules
    for step in module.steps
    if step.shell is not None and not step.shell.fault
}
TRIES = 3
"""Runs that a busy machine may take to show what the network can do."""


class Line(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`[[PAGE]]`: a line as a student types it."""

    on: str
    """The host whose shell it is typed into."""
    run: str
    ticks: tuple[str, ...] = ()
    """Goals that are not ticked before this line, and are after it."""


def _lines() -> dict[str, list[Line]]:
    found: dict[str, Any] = {
        f"{file.stem}/{page}": lines
        for file in sorted(FOLDER.glob("*.toml"))
        for page, lines in tomllib.loads(file.read_text(encoding="utf-8")).items()
    }
    return msgspec.convert(found, dict[str, list[Line]])


LINES = _lines()


@pytest.fixture
async def backend(mark: str, snapshots: Snapshots) -> AsyncIterator[GuestBackend]:
    async with leaving_nothing(GuestBackend("virtual", snapshots, paced=True), mark) as one:
        yield one


def test_every_page_by_hand_is_played() -> None:
    assert set(LINES) == set(PAGES)


@pytest.mark.parametrize("page", LINES)
def test_the_commands_that_a_page_shows_are_played_and_tick_every_goal(page: str) -> None:
    shell = PAGES[page]
    played = {(line.on, line.run) for line in LINES[page]}
    assert {(command.host, command.run) for command in shell.commands} <= played
    ticked = [goal for line in LINES[page] for goal in line.ticks]
    assert sorted(ticked) == sorted(goal.id for goal in shell.goals)


@pytest.mark.guest
@pytest.mark.alone
@pytest.mark.usefixtures("without_state")
@pytest.mark.parametrize("page", LINES)
async def test_the_lines_of_a_page_reach_its_goals(backend: GuestBackend, page: str) -> None:
    shell = PAGES[page]
    async with hands(backend, shell.experiment) as lab:
        shells = {host: lab.shell(host) for host in dict.fromkeys(line.on for line in LINES[page])}
        watched = WatchedHands(lab, next(iter(shells.values())), *shell.parsed_goals, in_order=shell.in_order)
        assert watched.board.reached == ()
        for line in LINES[page]:
            watched.shell = shells[line.on]
            assert not _reached(watched) & set(line.ticks), line
            for tried in range(1, TRIES + 1):
                await watched.type(line.run)
                await settled(lab, lab.count(SessionState))
                if set(line.ticks) <= _reached(watched):
                    break
                if "iperf3 -c" not in line.run or tried == TRIES:
                    await watched.until(lambda _, line=line: set(line.ticks) <= _reached(watched))  # type: ignore[misc]
                    break
        assert watched.board.done, watched.board


def _reached(watched: WatchedHands) -> set[str]:
    board = watched.board
    return {board.goals[place].id for place in board.reached}
