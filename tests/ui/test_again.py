"""A run again: new random numbers beside the runs before, or the same once more."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from textual.app import App, ComposeResult
from textual.pilot import Pilot

from tcptutor.course import personal
from tcptutor.journal import Journal
from tcptutor.study import background
from tcptutor.study.live import MAX_EARLIER, EarlierRun, Live, RunHistory
from tcptutor.ui.app import TutorApp
from tcptutor.ui.screens.side import LOADING
from tcptutor.ui.widgets.page.page import RunsTable
from tcptutor.wire.protocol import VERSION, Ready
from tests.journal.conftest import predict

from .fakes import GUEST, recorded
from .made import MODULE, eight, lossy, one_page
from .screen import text, until, until_text

STEP = ("one-flow", "one-lossy-flow")


@asynccontextmanager
async def opened(make_app, journal: Journal, size: tuple[int, int] = (120, 50)) -> AsyncIterator[Pilot]:
    predict(journal, "10 Mbit/s", 10e6, *STEP)
    app: TutorApp = make_app("one-flow")
    async with app.run_test(size=size) as pilot:
        await pilot.press("]")
        await until_text(pilot, "One lossy flow")
        await until_text(pilot, "virtual machine · ready")
        yield pilot
        await app.bench.close()


async def run(pilot: Pilot, key: str) -> Live:
    """Press the key and wait for the end of the run that it starts."""
    bench = pilot.app.bench
    before = bench.live
    await pilot.press(key)
    await until(pilot, lambda: bench.live is not before and bench.live.report is not None)
    return bench.live


def rows(app: App) -> str:
    """What is on the screen, with one space between the columns of a table."""
    return re.sub(" +", " ", text(app))


async def until_row(pilot: Pilot, row: str) -> None:
    await until(pilot, lambda: row in rows(pilot.app))


async def test_r_draws_anew_and_shift_r_repeats(make_app, journal) -> None:
    async with opened(make_app, journal) as pilot:
        await pilot.press("R")
        assert pilot.app.bench.live is None, "there is nothing to repeat yet"
        first = await run(pilot, "r")
        assert (first.run.experiment.seed, first.earlier, first.spread) == (1, (), "")
        second = await run(pilot, "r")
        assert second.run.experiment.seed == 2
        assert [each.id for each in second.earlier] == [first.run.id]
        assert second.spread == "2 runs, each 22.1 Mbit/s"
        same = await run(pilot, "R")
        assert same.run.experiment == second.run.experiment
        assert [each.seed for each in same.earlier] == [1, 2]
        assert (await run(pilot, "r")).run.experiment.seed == 3


async def test_the_runs_stand_beside_each_other_on_the_page(make_app, journal) -> None:
    async with opened(make_app, journal) as pilot:
        await run(pilot, "r")
        assert "Your runs" not in text(pilot.app), "one run is no comparison"
        await run(pilot, "r")
        await until_row(pilot, "this run 22.1 Mbit/s 20.3 ms 39")
        assert "run 1 22.1 Mbit/s" in rows(pilot.app)
        assert "2 runs, each 22.1 Mbit/s" in text(pilot.app)


async def test_in_a_course_that_grades_runs_are_counted_from_one(make_app, journal) -> None:
    journal.enrol("ada", "c0de")
    first = personal.run_seed(personal.identity("c0de", "ada"), *STEP)
    async with opened(make_app, journal) as pilot:
        one = await run(pilot, "r")
        assert one.run.experiment.seed == first
        await run(pilot, "r")
        await until_row(pilot, "run 1 22.1 Mbit/s")
        await run(pilot, "r")
        await until_row(pilot, "run 2 22.1 Mbit/s")


async def test_a_page_that_is_compared_with_one_that_cannot_be_read_shows_its_runs(journal, lab) -> None:
    alone = msgspec.structs.replace(lossy(), compare_with="damaged")
    app = TutorApp(one_page(alone), journal, lambda: lab, module=MODULE)
    async with app.run_test(size=(120, 50)) as pilot:
        await until_text(pilot, "virtual machine · ready")
        await run(pilot, "r")
        await run(pilot, "r")
        await until_row(pilot, "run 1 22.1 Mbit/s")
        await app.bench.close()


async def test_after_a_restart_r_goes_on_with_the_next_draw_beside_the_runs_that_are_kept(
    make_app, journal
) -> None:
    async with opened(make_app, journal) as pilot:
        await run(pilot, "r")
        await run(pilot, "r")
    assert journal.page(*STEP).last_seed == 2
    async with make_app("one-flow").run_test(size=(120, 50)) as pilot:
        await until_row(pilot, "this run")
        await until_text(pilot, "virtual machine · ready")
        third = await run(pilot, "r")
        assert third.run.experiment.seed == 3
        assert [each.seed for each in third.earlier] == [1, 2]
        await pilot.app.bench.close()


async def test_a_run_that_was_cut_short_is_no_draw(make_app, journal, lab) -> None:
    lab.hold_at = 5.0
    async with opened(make_app, journal) as pilot:
        await pilot.press("r")
        await until_text(pilot, "▶ 5 of 22 s")
        await pilot.press("s")
        await until_text(pilot, "cut short")
        lab.hold_at = None
        whole = await run(pilot, "r")
        assert (whole.run.experiment.seed, whole.earlier) == (1, ())


@pytest.mark.parametrize("is_enrolled", [False, True])
async def test_a_replay_has_one_recording_and_plays_it_again(
    make_app, journal, lab, monkeypatch, is_enrolled: bool
) -> None:
    replay = msgspec.structs.replace(GUEST, backend="replay", versions={"recorded": "recorded in the guest"})
    once = lab.run

    async def replayed(experiment):
        async for event in once(experiment):
            yield Ready(VERSION, replay) if isinstance(event, Ready) else event

    async def warm():
        lab.environment = replay
        return replay

    monkeypatch.setattr(lab, "run", replayed)
    monkeypatch.setattr(lab, "warm", warm)
    if is_enrolled:
        journal.enrol("ada", "ABCD-EFGH-2345-WXQG")
    predict(journal, "10 Mbit/s", 10e6, *STEP)
    async with make_app("one-flow").run_test(size=(120, 50)) as pilot:
        await pilot.press("]")
        await until_text(pilot, "replay of a recorded run · ready")
        await run(pilot, "r")
        again = await run(pilot, "r")
        assert again.run.experiment.seed == 1
        assert again.spread == "the same seed again: 22.1 Mbit/s last time"
        await until_text(pilot, "replayed from a recording")
        assert ("no marks" in text(pilot.app)) == is_enrolled
        await pilot.app.bench.close()


def before(seed: int, throughput_bps: float) -> EarlierRun:
    return EarlierRun(f"r{seed}", seed, throughput_bps, points=())


async def test_the_spread_says_what_chance_made_of_the_runs() -> None:
    live = await background.measured(*STEP, recorded(lossy().experiment))
    assert live.spread == ""
    live.earlier = (before(2, 20e6), before(3, 24.6e6))
    assert live.spread == "3 runs: 20 to 24.6 Mbit/s, this one 22.1"
    live.earlier = (before(2, 0.9e6),)
    assert live.spread == "2 runs: 900 kbit/s to 22.1 Mbit/s, this one 22.1"


async def test_only_runs_that_chance_alone_sets_apart_stand_beside_one() -> None:
    history = RunHistory()
    run = recorded(lossy().experiment)
    started = "2026-01-01T00:00:{:02}+00:00".format

    async def add(number: int, **changes: object) -> Live:
        experiment = msgspec.structs.replace(run.experiment, seed=number, **changes)
        other = msgspec.structs.replace(run, id=f"r{number}", experiment=experiment, started=started(number))
        live = await background.measured(*STEP, other)
        history.add(live)
        return live

    lives = [await add(number) for number in range(MAX_EARLIER + 3)]
    assert [each.seed for each in history.before(lives[-1])] == list(range(2, MAX_EARLIER + 2))
    assert history.before(lives[0]) == ()
    other = await add(40, pairs=2)
    assert history.before(other) == ()
    assert len(history.before(other)) == 0
    (first, *_), points = lives, history.before(lives[1])[0].points
    assert len(points) == round(run.experiment.seconds)
    assert history.of(first) is not None
    assert history.latest("one-flow", "elsewhere") is None
    assert eight().compare_with == ""


class Table(App[None]):
    """Nothing but the table of runs, as wide as on the smallest terminal."""

    def compose(self) -> ComposeResult:
        yield RunsTable()


async def test_several_flows_stand_beside_others_with_how_equal_and_how_steady_they_were() -> None:
    history = RunHistory()
    lives = [await background.measured(*STEP, recorded(each.experiment)) for each in (lossy(), eight())]
    for live in lives:
        history.add(live)
    one, several = (history.of(live).figures for live in lives)
    assert (one.jain_index, one.cov) == (None, None)
    async with Table().run_test(size=(80, 24)) as pilot:
        runs = pilot.app.query_one(RunsTable)
        runs.show([("page 2", None), ("run 1", one), ("this run", several)], "")
        await pilot.pause()
        head, nothing, alone, last = str(runs.render()).splitlines()
        assert head.split()[-3:] == ["retrans", "Jain", "CoV"]
        assert nothing.rstrip().endswith("not run yet")
        assert alone.split()[-2:] == ["–", "–"]
        assert last.split()[-2:] == [f"{several.jain_index:.3f}", f"{several.cov:.2f}"]
        runs.show([("run 1", one), ("this run", one)], "")
        await pilot.pause()
        assert "Jain" not in str(runs.render())


async def test_a_page_that_was_run_says_that_it_is_loading(make_app, journal, monkeypatch) -> None:
    async with opened(make_app, journal, (80, 24)) as pilot:
        await run(pilot, "r")
    waits = asyncio.Event()
    readable = background.first_readable

    async def slowly(files):
        await waits.wait()
        return await readable(files)

    monkeypatch.setattr(background, "first_readable", slowly)
    async with make_app("one-flow").run_test(size=(80, 24)) as pilot:
        await until_text(pilot, LOADING)
        assert "r runs" not in text(pilot.app)
        waits.set()
        await until_text(pilot, "measured 22.1 Mbit/s")
        await pilot.app.bench.close()
