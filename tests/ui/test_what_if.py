"""w: one thing of a run is changed, it is run again with its seed, and both stand over each other."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot

from tcptutor.backends import events
from tcptutor.journal import Journal
from tcptutor.run import Fidelity, Finished, SampleTable, load
from tcptutor.spec import Experiment
from tcptutor.study.lab_state import LabState
from tcptutor.ui.bench import needs_rerun
from tcptutor.ui.screens.lesson import LessonScreen
from tcptutor.ui.screens.what_if import WhatIfScreen
from tcptutor.ui.screens.workbench import WorkbenchScreen
from tcptutor.ui.workbench import PLACE
from tcptutor.wire.protocol import Event
from tests.journal.conftest import predict

from .fakes import GUEST, FakeLab, recorded
from .screen import keys, settled, text, until, until_text

STEP = ("one-flow", "one-lossy-flow")
SIZES = [(80, 24), (120, 36)]
NEWER = msgspec.structs.replace(GUEST, versions={"snapshot": "newer"})


class ChangingLab(FakeLab):
    """Plays what was recorded; from the time of a change on its windows are halved, of a changed value from 0 on."""

    def __init__(self, environment: Any = GUEST) -> None:
        super().__init__()
        self.asked: list[Experiment] = []
        self._here = environment

    async def warm(self) -> Any:
        self.environment = self._here
        return self._here

    async def run(self, experiment: Experiment) -> AsyncIterator[Event]:
        self.asked.append(experiment)
        run = recorded(experiment)
        since = min((change.at for change in experiment.path.changes), default=0.0)
        if experiment.path.changes or experiment.path.loss == 0:
            rows = [
                msgspec.structs.replace(row, cwnd=row.cwnd // 2) if row.t > since else row
                for row in run.samples
            ]
            run = msgspec.structs.replace(run, samples=SampleTable(rows))
        self.plays = run
        async for event in super().run(experiment):
            if hasattr(event, "environment"):
                event = msgspec.structs.replace(event, environment=self._here)
            yield event


@pytest.fixture
def lab() -> ChangingLab:
    return ChangingLab()


@asynccontextmanager
async def after_a_run(
    make_app: Any, journal: Journal, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[Pilot[Any]]:
    predict(journal, "10 Mbit/s", 10e6, *STEP)
    journal.visit(*STEP)
    app = make_app("one-flow")
    async with app.run_test(size=size) as pilot:
        await until_text(pilot, "· ready")
        await until_text(pilot, "One lossy flow")
        await pilot.press("r")
        await until_text(pilot, "measured 22.1 Mbit/s")
        await until(pilot, lambda: app.screen._study.run is not None and not app.bench.busy)
        yield pilot
        await app.bench.close()


async def typed(pilot: Pilot[Any], *words: str) -> None:
    """Each, then Enter."""
    for each in words:
        await pilot.press(*keys(each), "enter")


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
async def test_the_same_history_and_another_future(make_app, journal, lab, size) -> None:
    async with after_a_run(make_app, journal, size) as pilot:
        await pilot.press("w")
        await until_text(pilot, "probability that a data segment")
        await typed(pilot, "loss", "0", "12")
        await until_text(pilot, "The same to the byte up to 1")
        screen = text(pilot.app)
        assert "What if: from 12 s on loss 0.1 % → 0 %   the same seed, 1" in screen
        assert "⠤⠤ before" in screen
        if size[0] < 100:
            await pilot.press("f")
        await until_text(pilot, "From 12.0")
        for part in ("In all measured time", "before", "what if", "throughput", "mean cwnd", "losses"):
            assert part in text(pilot.app)
        await pilot.press("escape")
        assert isinstance(pilot.app.screen, LessonScreen)
        if size[0] >= 100:
            await until_text(pilot, "loss 0 % from 12 s")
    first, asked = lab.asked
    assert first.path.changes == ()
    assert asked.seed == 1
    assert [(one.at, one.name, one.value) for one in asked.path.changes] == [(12.0, "loss", 0.0)]
    ((file, base),) = journal.what_ifs(*STEP)
    assert load(Path(file)).experiment == asked
    assert load(Path(base)).experiment == first
    assert journal.page(*STEP).whole_runs == 1, "what is marked against is the page's own run"


async def test_a_what_if_stands_among_the_pages_runs_another_day(make_app, journal) -> None:
    async with after_a_run(make_app, journal) as pilot:
        await pilot.press("w")
        await until_text(pilot, "probability that a data segment")
        await typed(pilot, "loss", "0", "")
        await until_text(pilot, "They differ from")
    app = make_app("one-flow")
    async with app.run_test(size=(120, 60)) as pilot:
        await until_text(pilot, "loss 0 %  ")
        await until_text(pilot, "measured 22.1 Mbit/s")
        await app.bench.close()


async def test_what_cannot_be_is_said_in_a_line_and_asked_again(make_app, journal, lab) -> None:
    async with after_a_run(make_app, journal) as pilot:
        await pilot.press("w")
        await until_text(pilot, "change")
        await typed(pilot, "nonsense")
        await until_text(pilot, "no setting is called 'nonsense'")
        await pilot.press("escape")
        await pilot.press("w")
        await typed(pilot, "window", "3 apples")
        await until_text(pilot, "window: '3 apples'")
        await pilot.press(*["backspace"] * 8)
        await typed(pilot, "20 kB")
        await until(pilot, lambda: isinstance(pilot.app.screen, WhatIfScreen))
        await until_text(pilot, "window none → 20 kB")
    assert lab.asked[-1].hosts.window == 20_000


async def test_what_holds_for_the_whole_run_has_no_instant(make_app, journal) -> None:
    async with after_a_run(make_app, journal) as pilot:
        await pilot.press("w")
        await typed(pilot, "window")
        await until_text(pilot, "window applies to the whole run. Only these can change during a run")
        await until_text(pilot, "now none")
        await pilot.press("escape", "escape")
        assert isinstance(pilot.app.screen, LessonScreen)


async def test_the_cursor_says_when(make_app, journal, lab) -> None:
    async with after_a_run(make_app, journal, (120, 36)) as pilot:
        await pilot.press("i")
        await until_text(pilot, "at 22")
        await pilot.press(*["less_than_sign"] * 2)
        at = pilot.app.screen.chart.cursor.t
        await pilot.press("w")
        await until_text(pilot, f"from   {at:.6g} s")
        await typed(pilot, "loss", "1 %", "")
        await until(pilot, lambda: len(lab.asked) == 2)
    assert lab.asked[-1].path.changes[0].at == pytest.approx(at, abs=1e-3)


async def test_a_run_of_another_build_is_run_once_more_first(make_app, journal, lab) -> None:
    async with after_a_run(make_app, journal) as pilot:
        lab.environment = lab._here = NEWER
        pilot.app.bench.state = LabState("ready", NEWER)
        await pilot.press("w")
        await until_text(pilot, "Your run is from another build of the lab: it is repeated first")
        await typed(pilot, "loss", "0", "5")
        await until_text(pilot, "The same to the byte up to 4.95 s. They differ from 5.00 s on")
    before, again, changed = lab.asked
    assert before == again
    assert again.seed == changed.seed
    ((_, base),) = journal.what_ifs(*STEP)
    assert load(Path(base)).environment == NEWER


async def test_one_that_is_left_while_the_run_before_is_run_once_more_comes_after_it(
    make_app, journal, lab
) -> None:
    async with after_a_run(make_app, journal) as pilot:
        lab.environment = lab._here = NEWER
        pilot.app.bench.state = LabState("ready", NEWER)
        lab.hold_at = 8.0
        await pilot.press("w")
        await typed(pilot, "loss", "0", "5")
        await until_text(pilot, "Repeating your run first")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(pilot.app.screen, LessonScreen))
        lab.go_on.set()
        await until(pilot, lambda: len(lab.asked) == 3 and not pilot.app.bench.busy)
    assert lab.asked[0] == lab.asked[1]
    assert [(one.at, one.name) for one in lab.asked[2].path.changes] == [(5.0, "loss")]


async def test_a_run_that_is_stopped_when_it_is_run_once_more_has_no_what_if(make_app, journal, lab) -> None:
    async with after_a_run(make_app, journal) as pilot:
        lab.environment = lab._here = NEWER
        pilot.app.bench.state = LabState("ready", NEWER)
        lab.hold_at = 8.0
        await pilot.press("w")
        await typed(pilot, "loss", "0", "5")
        await until_text(pilot, "▶ 8 of 22 s")
        await pilot.press("s")
        await until_text(pilot, "Your run could not be repeated")
    assert len(lab.asked) == 2


async def test_of_a_run_of_the_bench_the_what_if_is_the_benchs_too(make_app, journal, lab) -> None:
    async with after_a_run(make_app, journal, (120, 36)) as pilot:
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, WorkbenchScreen))
        await pilot.press("w")
        assert isinstance(pilot.app.screen, WorkbenchScreen), "what is expected is no run"
        await pilot.press("r")
        await until(pilot, lambda: pilot.app.screen.what_if_base is not None)
        await pilot.press("w")
        await until_text(pilot, "probability that a data segment")
        await typed(pilot, "loss", "0", "12")
        await until_text(pilot, "The same to the byte up to 1")
        await pilot.press("e")
        await until(pilot, lambda: isinstance(pilot.app.screen, WorkbenchScreen))
        assert "from 12 s loss 0 %" in text(pilot.app) or pilot.app.workbench.experiment == lab.asked[-1]
        ids = journal.pages_of_runs()
    assert ids[pilot.app.bench.live.run.id] == PLACE
    assert journal.page(*STEP).whole_runs == 1


async def test_of_a_run_by_hand_the_terminal_is_ended_and_it_is_run_once_more_first(
    make_app, journal, lab, without_state
) -> None:
    async with after_a_run(make_app, journal, (120, 40)) as pilot:
        await pilot.press("t")
        await until_text(pilot, "h1:~#")
        run = recorded(lab.asked[0])
        await lab.hands.plays(run, 22.0)
        lab.hands.tell(Finished(tuple(run.flows), Fidelity(status="valid"), 22.0))
        await until_text(pilot, "why: random loss")
        await pilot.press("f6", "w")
        await until_text(pilot, "You started this run by hand: it is repeated first")
        assert "The terminal will be closed; its runs are saved." in " ".join(text(pilot.app).split())
        await typed(pilot, "loss", "0", "12")
        await until_text(pilot, "The same to the byte up to 1")
        assert lab.sessions_left == 1
    by_hand, changed = lab.asked[1:]
    assert by_hand.path == msgspec.structs.replace(changed.path, changes=())
    assert journal.page(*STEP).whole_runs == 1, "none of them is the page's own"


async def test_recordings_cannot_be_run_anew(make_app, journal, lab) -> None:
    lab._here = msgspec.structs.replace(GUEST, backend="replay")
    async with after_a_run(make_app, journal) as pilot:
        await pilot.press("w")
        await until(pilot, lambda: bool(pilot.app._notifications))
        (notice,) = pilot.app._notifications
        assert "only replays recorded runs" in notice.message
        assert isinstance(pilot.app.screen, LessonScreen)
    assert len(lab.asked) == 1


async def test_without_a_run_there_is_nothing_to_change(make_app) -> None:
    app = make_app("one-flow")
    async with app.run_test(size=(120, 36)) as pilot:
        await until_text(pilot, "ready")
        await pilot.press("]", "w")
        await settled(pilot)
        assert isinstance(app.screen, LessonScreen)
        assert "what if" not in text(app)


def test_only_where_a_seed_repeats_is_a_run_made_again() -> None:
    real = msgspec.structs.replace(NEWER, clock="real")
    assert needs_rerun(GUEST, NEWER)
    assert not needs_rerun(NEWER, NEWER)
    assert not needs_rerun(GUEST, real)
    assert needs_rerun(real, NEWER)


# How it looks


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_asked_and_told(
    snap_compare: Any, make_app: Any, journal: Journal, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    monkeypatch.setattr(events, "time", SimpleNamespace(monotonic=lambda: 0.0))
    predict(journal, "10 Mbit/s", 10e6, *STEP)
    journal.visit(*STEP)

    async def told(pilot: Any) -> None:
        await until_text(pilot, "· ready")
        await pilot.press("r")
        await until_text(pilot, "measured 22.1 Mbit/s")
        await until(pilot, lambda: pilot.app.screen._study.run is not None and not pilot.app.bench.busy)
        await pilot.press("w")
        await until_text(pilot, "probability that a data segment")
        await typed(pilot, "loss", "0", "12")
        await until_text(pilot, "The same to the byte up to 1")
        await settled(pilot)

    assert snap_compare(make_app("one-flow"), terminal_size=size, run_before=told)


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
def test_the_question(
    snap_compare: Any, make_app: Any, journal: Journal, monkeypatch: pytest.MonkeyPatch, size: tuple[int, int]
) -> None:
    monkeypatch.setattr(events, "time", SimpleNamespace(monotonic=lambda: 0.0))
    predict(journal, "10 Mbit/s", 10e6, *STEP)
    journal.visit(*STEP)

    async def asked(pilot: Any) -> None:
        await until_text(pilot, "· ready")
        await pilot.press("r")
        await until_text(pilot, "measured 22.1 Mbit/s")
        await until(pilot, lambda: pilot.app.screen._study.run is not None and not pilot.app.bench.busy)
        await pilot.press("w", *keys("los"))
        await until_text(pilot, "reverse_loss")
        await settled(pilot)

    assert snap_compare(make_app("one-flow"), terminal_size=size, run_before=asked)
