"""The runs of a sweep without a screen: in the real guest, and what is on the disk whenever the program ends."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from tcptutor.backends.lab import Lab
from tcptutor.course import load
from tcptutor.course.activities.run import SweepActivity
from tcptutor.journal import Journal
from tcptutor.study.live_sweep import LiveSweep, SweepRunner, recall_sweep

from .fakes import SweptLab
from .record import EXAMPLES

STEP = ("a-curve", "window-and-link")


def example() -> SweepActivity:
    sweep = load(EXAMPLES).modules[1].steps[0].sweep
    assert sweep is not None
    return sweep


def short(sweep: SweepActivity) -> SweepActivity:
    """The first three values, a second each."""
    flows = msgspec.structs.replace(sweep.experiments[0].flows, duration=1.0)
    experiments = (msgspec.structs.replace(each, flows=flows) for each in sweep.experiments[:3])
    return msgspec.structs.replace(sweep, values=sweep.values[:3], experiments=tuple(experiments))


@pytest.mark.guest
async def test_a_sweep_runs_in_guests_side_by_side(journal: Journal) -> None:
    live, lab, seen = LiveSweep(*STEP, short(example())), Lab("guest", "virtual"), []
    try:
        await lab.warm()
        await SweepRunner(live, journal, lambda: seen.append((live.done, len(live.working)))).run(lab)
    finally:
        await lab.close()
    assert (live.problem, live.unsaved, live.state) == ("", "", "ended")
    assert live.complete
    assert {done for done, _ in seen} == {0, 1, 2, 3}, "each point is told of as it comes"
    # A window in each round trip, less than a segment of rounding: 5, 10 and 15 kB in 40 ms.
    for at, window in enumerate((5, 10, 15)):
        (throughput,) = live.measured[at]
        assert throughput == pytest.approx(window * 1000 * 8 / 0.04, rel=0.45)
    assert sorted(live.measured) == live.measured
    assert {cell.limited_by for cell in live.cells} == {"receive-window"}
    assert journal.page(*STEP).whole_runs == 3


async def recalled(path: Path) -> LiveSweep:
    """What a tcptutor that is started now finds."""
    journal = Journal.open(path)
    live = LiveSweep(*STEP, example())
    async for _ in recall_sweep(live, journal.run_files(*STEP)):
        pass
    journal.close()
    return live


async def test_a_sweep_that_is_killed_keeps_the_runs_that_had_ended(tmp_path: Path, journal: Journal) -> None:
    live, lab = LiveSweep(*STEP, example()), SweptLab()
    lab.holds = 4
    moved = asyncio.Event()
    task = asyncio.create_task(SweepRunner(live, journal, moved.set).run(lab))
    while live.done < 3 or not live.working:
        await moved.wait()
        moved.clear()
    # What is on the disk at this moment is what a kill would leave.
    kept = await recalled(tmp_path / "journal.db")
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    figures = [cell.figure for cell in sorted(kept.cells, key=lambda cell: cell.at)]
    assert figures == pytest.approx([579_200, 1_719_300, 2_826_260], rel=0.005)
    assert [at for at, _ in kept.remaining()] == [3, 4, 5]


async def test_a_run_with_other_settings_is_none_of_the_sweep(tmp_path: Path, journal: Journal) -> None:
    live = LiveSweep(*STEP, example())
    await SweepRunner(live, journal, lambda: None).run(SweptLab())
    assert live.complete
    longer = LiveSweep(*STEP, short(example()))
    async for _ in recall_sweep(longer, journal.run_files(*STEP)):
        pass
    assert longer.cells == []
    assert len((await recalled(tmp_path / "journal.db")).cells) == 6
