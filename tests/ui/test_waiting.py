"""The place in a server's queue for labs is on the screen while a run or terminal waits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tcptutor.backends.lab_turn import LabDemand, LabPlace
from tcptutor.journal import Journal
from tcptutor.run import Environment
from tcptutor.spec import Experiment
from tcptutor.ui.idle_limit import IdleLimit
from tcptutor.wire.protocol import Event
from tests.journal.conftest import predict
from tests.ui.fakes import FakeLab
from tests.ui.screen import text, until, until_text
from tests.ui.test_again import STEP


class SharedLab(FakeLab):
    """A lab that others use until `turn` is set."""

    on_place: Callable[[LabPlace | None], object]

    def __init__(self) -> None:
        super().__init__()
        self.turn = asyncio.Event()

    async def _wait(self) -> None:
        self.on_place(LabPlace(3, 5))
        try:
            await self.turn.wait()
        finally:
            self.on_place(None)

    async def run(self, experiment: Experiment) -> AsyncIterator[Event]:
        await self._wait()
        async for event in super().run(experiment):
            yield event

    @asynccontextmanager
    async def session(self, *asked: Any) -> AsyncIterator[tuple[Any, Environment]]:
        await self._wait()
        async with super().session(*asked) as opened:
            yield opened


@pytest.fixture
def lab() -> SharedLab:
    return SharedLab()


async def test_a_run_shows_its_place_and_can_be_stopped_while_it_waits(
    make_app, journal: Journal, lab: SharedLab
) -> None:
    predict(journal, "10 Mbit/s", 10e6, *STEP)
    app = make_app("one-flow")
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("]")
        await until_text(pilot, "virtual machine · ready")
        await pilot.press("r")
        await until_text(pilot, "waiting for a lab · place 3 of 5")
        await until_text(pilot, "waiting for a lab: place 3 of 5   s stops")
        await pilot.press("s")
        await until(pilot, lambda: not app.bench.busy)
        await until_text(pilot, "virtual machine · ready")
        await until(pilot, lambda: "place 3 of 5" not in text(app))
        await pilot.press("r")
        await until_text(pilot, "place 3 of 5")
        lab.on_place(LabPlace(1, 1))
        await until_text(pilot, "waiting for a lab: place 1 of 1")
        lab.turn.set()
        await until(pilot, lambda: app.bench.live is not None and app.bench.live.report is not None)
        await until(pilot, lambda: "place 1 of 1" not in text(app))
        await app.bench.close()


async def test_the_first_screen_names_the_place(make_app) -> None:
    app = make_app()
    async with app.run_test(size=(100, 30)) as pilot:
        await until_text(pilot, "Experiments run in a virtual machine. Ready.")
        app.bench._show_place(LabPlace(2, 4))
        await until_text(pilot, "You are waiting for one: place 2 of 4.")
        app.bench._show_place(None)
        await until_text(pilot, "Experiments run in a virtual machine. Ready.")


async def test_a_terminal_shows_its_place(make_app, lab: SharedLab) -> None:
    app = make_app("one-flow")
    async with app.run_test(size=(120, 36)) as pilot:
        await pilot.press("]")
        await until_text(pilot, "virtual machine · ready")
        await pilot.press("t")
        await until_text(pilot, "waiting for a lab: place 3 of 5 ...")
        lab.turn.set()
        await until_text(pilot, "h1:~#")
        await until(pilot, lambda: "place 3 of 5" not in text(app))
        await app.bench.close()


async def test_a_terminal_that_nobody_uses_is_warned_and_closed_for_those_who_wait(
    make_app, monkeypatch: pytest.MonkeyPatch, lab: SharedLab
) -> None:
    monkeypatch.setattr("tcptutor.ui.lab_session._IDLE_LOOK_S", 0.02)
    lab.turn.set()
    app = make_app("one-flow")
    async with app.run_test(size=(120, 36), notifications=True) as pilot:
        await pilot.press("]")
        await until_text(pilot, "virtual machine · ready")
        await pilot.press("t")
        await until_text(pilot, "h1:~#")
        lab.demand = LabDemand(2, 1000.0)  # a last minute, in which the student comes back
        (shell,) = app.bench.session.shells.values()
        shell.last_key -= 990.0
        await until_text(pilot, "2 students wait for a lab")
        await until_text(pilot, "others wait: closes in")
        await pilot.press("x")
        await until(pilot, lambda: "others wait" not in text(app))
        assert app.bench.session.in_progress
        lab.demand = LabDemand(1, 0.3)
        await until(pilot, lambda: lab.sessions_left == 1)
        await until_text(pilot, "nobody typed in it")
        assert not app.bench.session.in_progress
        lab.demand = LabDemand(0, 1000.0)
        await pilot.press("t")  # it can be opened again
        await until(pilot, lambda: app.bench.session.in_progress)
        await app.bench.close()


def test_a_shell_ends_a_grace_after_others_began_to_wait_or_later() -> None:
    now = 1000.0
    limit = IdleLimit(lambda: now)
    assert limit.seconds_left(LabDemand(0, 300), last_key=0) is None, "nobody waits"
    assert limit.seconds_left(LabDemand(1, 300), last_key=0) == 60, "away for long, and warned all the same"
    now = 1050.0
    assert limit.seconds_left(LabDemand(1, 300), last_key=0) == 10
    assert limit.seconds_left(LabDemand(1, 300), last_key=1049) is None, "typed"
    assert limit.seconds_left(LabDemand(0, 300), last_key=0) is None
    assert limit.seconds_left(LabDemand(3, 300), last_key=0) == 60, "others, who wait since now"
    now = 2000.0
    assert limit.seconds_left(LabDemand(3, 300), last_key=0) == 0
    assert limit.seconds_left(LabDemand(3, 0), last_key=0) is None, "no limit"
