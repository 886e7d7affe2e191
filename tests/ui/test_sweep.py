"""A sweep on the screen: points as they are measured, what is kept of it, and what the prediction is told."""

from __future__ import annotations

import re
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from tcptutor.backends.replay import ReplayBackend
from tcptutor.course import load
from tcptutor.journal import Journal
from tcptutor.run import Environment
from tcptutor.spec import Experiment
from tcptutor.ui.app import TutorApp
from tcptutor.ui.screens.stored import CellScreen
from tcptutor.ui.widgets.sweep.panel import SweepPanel
from tests.journal.conftest import predict

from .fakes import SweptLab, swept
from .record import EXAMPLES, SWEPT
from .screen import part, text, until, until_text

STEP = ("a-curve", "window-and-link")
COURSE = load(EXAMPLES)
POINTS = ["579 kbit/s", "1.72 Mbit/s", "2.83 Mbit/s", "3.75 Mbit/s", "3.82 Mbit/s", "3.82 Mbit/s"]


@pytest.fixture
def lab() -> SweptLab:
    return SweptLab()


@asynccontextmanager
async def opened(
    make_app: Callable[..., TutorApp], size: tuple[int, int] = (120, 40)
) -> AsyncIterator[Pilot[Any]]:
    app = make_app("a-curve", of=COURSE)
    async with app.run_test(size=size) as pilot:
        await until_text(pilot, "How much window is enough?")
        await until_text(pilot, "ready")
        yield pilot
        await app.bench.close()


def points(pilot: Pilot[Any]) -> int:
    """Measured points in the chart, without the one of the legend."""
    return part(pilot.app, SweepPanel).count("●") - 1


async def test_all_values_are_measured_and_the_knee_is_answered(
    make_app: Any, journal: Journal, lab: SweptLab
) -> None:
    predict(journal, "20 kB", 20_000, *STEP)
    async with opened(make_app) as pilot:
        assert "┈┈" not in text(pilot.app), "no model before the run"
        await pilot.press("r")
        await until_text(pilot, "✓ 6 runs")
        await until_text(pilot, "20 kB is right: your runs")
        screen = text(pilot.app)
        assert points(pilot) == 6
        assert "knee: measured at 20 kB, by receiver's window at 30 kB" in screen
        assert "throughput scaled to this link" in screen, "the published points say why"
    assert [experiment.hosts.window for experiment in lab.asked] == [
        5000,
        10_000,
        15_000,
        20_000,
        30_000,
        40_000,
    ]
    page = journal.page(*STEP)
    assert page.whole_runs == 6
    assert page.activity("sweep").right is not None


async def test_a_prediction_comes_first_and_what_is_about_the_sweep_after_all_of_it(
    make_app: Any, lab: SweptLab
) -> None:
    async with opened(make_app) as pilot:
        await pilot.press("r")
        await until_text(pilot, "Predict first")
        assert lab.asked == []
        await pilot.press("2", "0", "space", "k", "B", "enter")
        await until_text(pilot, "(locked")
        lab.hold_at = 2.0
        await pilot.press("r")
        await until_text(pilot, "▶ 0 of 6 runs, at window 5 kB")
        assert "About your run: press r first." in text(pilot.app)
        assert " · 0 of 6 runs" in text(pilot.app).splitlines()[0]
        await pilot.press("m")
        await until_text(pilot, " · page 2.1: 0 of 6 runs")
        await pilot.press("enter")
        await until_text(pilot, "▶ 0 of 6 runs, at window 5 kB")
        lab.go_on.set()
        await until_text(pilot, "✓ 6 runs")
        await until_text(pilot, "What did the windows beyond")


async def test_two_labs_share_the_runs(make_app: Any, journal: Journal, lab: SweptLab) -> None:
    predict(journal, "20 kB", 20_000, *STEP)
    other = lab.other = SweptLab()
    lab.hold_at = other.hold_at = 2.0
    async with opened(make_app) as pilot:
        await pilot.press("r")
        await until(pilot, lambda: len(lab.asked) == len(other.asked) == 1)
        lab.go_on.set()
        await until(pilot, lambda: len(lab.asked) == 5)
        other.go_on.set()
        await until_text(pilot, "✓ 6 runs")
        assert points(pilot) == 6
        assert other.closed
        assert not lab.closed


async def test_what_is_stopped_is_kept_and_goes_on_later(
    make_app: Any, journal: Journal, lab: SweptLab
) -> None:
    predict(journal, "20 kB", 20_000, *STEP)
    async with opened(make_app) as pilot:
        lab.holds = 4
        await pilot.press("r")
        await until_text(pilot, "▶ 3 of 6 runs, at window 20 kB")
        await pilot.press("s")
        await until_text(pilot, "✂ stopped: 3 of 6 runs are saved; r continues.")
        assert points(pilot) == 3
        assert "About your run: press r first." in text(pilot.app)
    lab.hold_at, lab.holds, lab.asked = None, 0, []
    async with opened(make_app) as pilot:
        await until_text(pilot, "3 of 6 runs are saved")
        assert points(pilot) == 3
        await pilot.press("r")
        await until_text(pilot, "✓ 6 runs")
        assert [experiment.hosts.window for experiment in lab.asked] == [20_000, 30_000, 40_000]


async def test_a_finished_sweep_stands_there_when_the_page_is_opened_again(
    make_app: Any, journal: Journal
) -> None:
    predict(journal, "40 kB", 40_000, *STEP)
    async with opened(make_app) as pilot:
        await pilot.press("r")
        await until_text(pilot, "✓ 6 runs")
    async with opened(make_app) as pilot:
        await until_text(pilot, "✓ 6 runs")
        await until_text(pilot, "40 kB is too late: your runs")
        assert points(pilot) == 6
        assert "you 40 kB" in text(pilot.app), "at the line in the chart"


class RecordedLab(ReplayBackend):
    """Recordings in place of a lab, played at once."""

    environment = None

    def __init__(self, place: Path) -> None:
        super().__init__("there is no lab here", place, speed=1e6)

    async def warm(self) -> Environment:
        self.environment = await self.open()
        return self.environment

    def prefetch(self, experiment: Experiment | None) -> None:
        """It has nothing to begin."""

    def second_lab(self) -> None:
        return


async def test_without_a_lab_the_recorded_runs_are_played(tmp_path: Path, journal: Journal) -> None:
    shutil.copytree(SWEPT, tmp_path / "a-curve" / "window-and-link")
    predict(journal, "20 kB", 20_000, *STEP)
    app = TutorApp(COURSE, journal, lambda: RecordedLab(tmp_path), module="a-curve")
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.bench.state.environment is not None)
        await pilot.press("r")
        await until_text(pilot, "✓ replayed from a recording.")
        await until(pilot, lambda: points(pilot) == 6)
        await pilot.press("r")
        await until(pilot, lambda: journal.page(*STEP).whole_runs == 12 and not app.bench.busy)
        await until(pilot, lambda: points(pilot) == 6)
        await app.bench.close()


async def test_it_goes_on_while_another_page_is_read(make_app: Any, journal: Journal, lab: SweptLab) -> None:
    predict(journal, "20 kB", 20_000, *STEP)
    lab.hold_at = 2.0
    async with opened(make_app) as pilot:
        await pilot.press("r")
        await until_text(pilot, "0 of 6 runs")
        await pilot.press("left")
        await until_text(pilot, "A loss, from first to last")
        await pilot.press("r")
        await until_text(pilot, "Another run is in progress")
        lab.go_on.set()
        await until(pilot, lambda: not pilot.app.bench.busy)
        await pilot.press("right")
        await until_text(pilot, "✓ 6 runs")
        assert points(pilot) == 6
    assert journal.page(*STEP).activity("sweep").right is not None


async def test_again_measures_each_value_once_more(make_app: Any, journal: Journal, lab: SweptLab) -> None:
    predict(journal, "20 kB", 20_000, *STEP)
    async with opened(make_app) as pilot:
        await pilot.press("r")
        await until_text(pilot, "✓ 6 runs")
        await pilot.press("r")
        await until_text(pilot, "✓ 12 runs")
        assert sorted(experiment.seed for experiment in lab.asked) == [1] * 6 + [2] * 6


async def test_a_run_that_fails_is_told_of_and_is_run_again(
    make_app: Any, journal: Journal, lab: SweptLab
) -> None:
    predict(journal, "20 kB", 20_000, *STEP)
    lab.fails_at = 15_000
    async with opened(make_app) as pilot:
        await pilot.press("r")
        await until_text(pilot, "✗ at 15 kB (seed 1): the guest ended: run it again")
        lab.fails_at, lab.asked = 0, []
        await pilot.press("r")
        await until_text(pilot, "✓ 6 runs")
        assert [experiment.hosts.window for experiment in lab.asked] == [15_000]


async def test_every_suspect_point_is_shown_as_such_and_r_runs_just_those_again(
    make_app: Any, journal: Journal, lab: SweptLab
) -> None:
    predict(journal, "20 kB", 20_000, *STEP)
    lab.doubts = {10_000, 20_000}
    async with opened(make_app) as pilot:
        await pilot.press("r")
        await until_text(pilot, "2 of 6 suspect: r runs them again")
        await until_text(pilot, "suspect at 10 kB, 20 kB: 37 % of the samples are missing")
        screen = text(pilot.app)
        assert points(pilot) == 4
        assert "○ suspect" in screen
        hollow = part(pilot.app, SweepPanel).count("○")
        assert "knee: measured at 30 kB" in screen
        assert re.search(r"your runs have the knee at.*?30 kB", screen, re.DOTALL), (
            "what is marked leaves them out"
        )
        await pilot.press("v")
        await until_text(pilot, "↑ ↓ choose a run, Enter opens it")
        assert re.findall(r"⚠ (\d+) kB", text(pilot.app)) == ["10", "20"]
        await pilot.press("v")
        lab.doubts, lab.asked = set(), []
        await pilot.press("r")
        await until_text(pilot, "knee: measured at 20 kB")
        assert sorted(each.hosts.window or 0 for each in lab.asked) == [10_000, 20_000]
        await until(pilot, lambda: "suspect" not in text(pilot.app))
        assert points(pilot) == 6
        assert part(pilot.app, SweepPanel).count("○") == hollow - 3, "two points, and one in the legend"
    async with opened(make_app) as pilot:
        await until_text(pilot, "✓ 6 runs")
        assert "suspect" not in text(pilot.app), "the sound runs are those that count"


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_its_runs_stand_in_a_table_and_open(
    make_app: Any, journal: Journal, size: tuple[int, int]
) -> None:
    predict(journal, "20 kB", 20_000, *STEP)
    async with opened(make_app, size) as pilot:
        await pilot.press("r")
        await until_text(pilot, "✓ 6 runs")
        await pilot.press("v")
        await until_text(pilot, "↑ ↓ choose a run, Enter opens it")
        shown = " ".join(text(pilot.app).split())
        for figure in POINTS:
            assert figure in shown
        await pilot.press("down", "down", "enter")
        await until(pilot, lambda: isinstance(pilot.app.screen, CellScreen))
        await until_text(pilot, "window 15 kB")
        await until_text(pilot, "why: ")
        await pilot.press("escape")
        await until_text(pilot, "›  15 kB")
        await pilot.press("v")
        await until_text(pilot, "✓ 6 runs")


def test_the_recorded_runs_are_those_of_the_example() -> None:
    sweep = COURSE.modules[1].steps[0].sweep
    assert sweep is not None
    assert [run.experiment.hosts for run in swept()] == [each.hosts for each in sweep.experiments]
