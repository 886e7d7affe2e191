"""The installed command in a real terminal: walk a page, run its experiment in the lab, read the result."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tcptutor import course, theory
from tcptutor.backends.guest.snapshots import Snapshots
from tests import leftovers
from tests.benchmarks.pty_app import PtyApp
from tests.cli.command import TCPTUTOR
from tests.journal.conftest import latest_run
from tests.page_number import number_of
from tests.terminal.tmux import Tmux

pytestmark = [pytest.mark.terminal, pytest.mark.guest]

Open = Callable[..., Tmux]
MODULE = next(each for each in course.load().modules if each.id == "parallel-streams")
PAGES = len(MODULE.steps)


@pytest.fixture
def terminal(mark: str, snapshots: Snapshots, without_state: Path, tmp_path: Path) -> Iterator[Open]:
    """Opens terminals with the app in them; closes them, and checks that nothing of them is left."""
    opened: list[Tmux] = []

    def open_(arguments: str = "", width: int = 120, height: int = 36) -> Tmux:
        opened.append(Tmux(f"{TCPTUTOR} {arguments}", tmp_path, width, height))
        return opened[-1]

    yield open_
    for each in opened:
        each.close()


def test_a_page_is_walked_its_experiment_run_and_its_result_read(terminal: Open) -> None:
    tutor = terminal("--module parallel-streams")
    tutor.wait_for(r"pre-test")
    tutor.wait_for(r"ready *\n", 60)
    for page in range(1, number_of("one-lossy-flow") + 1):
        tutor.keys("Right")
        tutor.wait_for(rf"{page}/{PAGES}")
    # Running without a prediction asks for it first.
    tutor.keys("r")
    tutor.wait_for(r"Predict first")
    tutor.keys("12", "Enter")
    tutor.wait_for(r"12 Mbit/s\s+\(locked")
    tutor.keys("r")
    tutor.wait_for(r"[1-9]\d? of 45 s", 30)
    measured = tutor.wait_for(r"measured\s+([\d.]+) Mbit/s", 180)
    expected = theory.mathis(1448, 0.050, 0.001, c=theory.MATHIS_RANDOM) / 1e6
    assert float(measured[1]) == pytest.approx(expected, rel=0.3)
    assert "Mathis" in tutor.screen
    assert re.search(r"you .*12, \d+ % too high", tutor.screen)
    tutor.wait_for(r"first say what your run showed")
    tutor.keys("x")
    tutor.wait_for(r"why:.*random loss")

    # Leaving and coming back: the same page, the run still there.
    tutor.keys("C-q")
    again = terminal()
    again.wait_for(rf"{number_of('one-lossy-flow')}/{PAGES}|Press Enter|Enter", 20)
    again.keys("Enter")
    again.wait_for(rf"{number_of('one-lossy-flow')}/{PAGES}")
    again.wait_for(rf"measured\s+{re.escape(measured[1])} Mbit/s", 20)


def test_a_closed_terminal_leaves_nothing_and_keeps_what_had_arrived(
    terminal: Open, mark: str, without_state: Path
) -> None:
    tutor = terminal("--module parallel-streams", 80, 24)
    tutor.wait_for(r"ready *\n", 60)
    for page in range(1, number_of("one-lossy-flow") + 1):
        tutor.keys("Right")
        tutor.wait_for(rf"{page}/{PAGES}")
    tutor.keys("x")
    tutor.wait_for(r"Run without a prediction")
    tutor.keys("y")
    tutor.wait_for(r"[3-9]\d* of 45 s|[3-9]\d*/45 s", 30)
    tutor.close()
    assert leftovers.wait_until_none(mark, 10) == []

    from tcptutor.journal import Journal

    journal = Journal.open(without_state / "tcptutor" / "journal.db")
    try:
        kept = latest_run(journal, MODULE.id, "one-lossy-flow")
    finally:
        journal.close()
    assert kept is not None
    assert not kept.complete
    assert len(kept.samples) > 10


def test_a_terminal_too_small_says_so_until_it_is_larger(terminal: Open) -> None:
    tutor = terminal("", 60, 20)
    tutor.wait_for(r"60.{1,3}20")
    tutor.wait_for(r"80.{1,3}24")
    tutor.resize(80, 24)
    tutor.wait_for(r"How TCP gets its throughput")


@pytest.mark.parametrize("delay", [0.0, 0.1, 0.3, 0.6])
def test_a_terminal_that_goes_away_while_the_app_is_leaving(
    mark: str, snapshots: Snapshots, without_state: Path, delay: float
) -> None:
    with PtyApp(without_state, "--module", "parallel-streams", "--backend", "guest") as app:
        app.wait_for("ready", 60)
        app.signal(signal.SIGTERM)
        app.read(delay)
        app.hang_up()
        assert leftovers.wait_until_none(mark, 15) == []
        app.reap()


def test_a_terminal_that_nobody_reads_does_not_keep_the_app(
    mark: str, snapshots: Snapshots, without_state: Path
) -> None:
    """A dropped line, before the machine notices: what the app draws goes nowhere, and it waits to draw more."""
    with PtyApp(without_state, "--module", "parallel-streams", "--backend", "guest") as app:
        app.wait_for("ready", 60)
        for _ in range(12):
            app.key("\x1b[C")
            time.sleep(0.2)
        app.signal(signal.SIGTERM)
        assert leftovers.wait_until_none(mark, 12) == []
        app.hang_up()
        app.reap()
