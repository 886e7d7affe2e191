"""Runs that are begun before anybody asks for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tcptutor.backends import lab as lab_module
from tcptutor.backends.guest import sizes
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.lab import Lab, PrefetchedRun
from tcptutor.backends.selection import ChosenBackend
from tcptutor.base.errors import LabError
from tcptutor.spec import Experiment, Flows
from tcptutor.spec import Path as LabPath
from tcptutor.wire.protocol import Event, Phase
from tests.patience import Deadline

SMALL = Experiment(
    name="ahead", path=LabPath(rate=1e7, delay=0.01, loss=0.01), flows=Flows(duration=3.0, warmup=0.5)
)


class StepLab:
    """Gives an event each time that it is told to."""

    def __init__(self) -> None:
        self.next = asyncio.Queue[Event | Exception | None]()
        self.stopped = self.closed = False

    async def run(self, experiment: Experiment) -> AsyncGenerator[Event, None]:
        self.stopped = True
        while (event := await self.next.get()) is not None:
            if isinstance(event, Exception):
                raise event
            yield event
        self.stopped = False

    async def close(self) -> None:
        self.closed = True


def _events(first: int, last: int) -> list[Event]:
    return [Phase(f"{number}", "") for number in range(first, last)]


async def test_all_events_come_in_order_those_of_before_and_after() -> None:
    lab = StepLab()
    run = PrefetchedRun(SMALL, lab.run(SMALL), lab.close)
    for event in _events(0, 200):
        lab.next.put_nowait(event)
    await asyncio.sleep(0.05)
    found = []
    async for event in run.events():
        found.append(event)
        if len(found) == 100:  # while those of before are given
            lab.next.put_nowait(Phase("200", ""))
        if len(found) == 201:
            lab.next.put_nowait(None)
    assert found == _events(0, 201)
    assert (lab.stopped, lab.closed) == (False, True)


async def test_who_leaves_early_stops_it() -> None:
    lab = StepLab()
    run = PrefetchedRun(SMALL, lab.run(SMALL), lab.close)
    lab.next.put_nowait(Phase("0", ""))
    events = run.events()
    assert await anext(events) == Phase("0", "")
    await events.aclose()
    assert (lab.stopped, lab.closed) == (True, True)


async def test_a_failure_comes_after_what_came_before_it() -> None:
    lab = StepLab()
    run = PrefetchedRun(SMALL, lab.run(SMALL), lab.close)
    assert not run.failed
    lab.next.put_nowait(Phase("0", ""))
    events = run.events()
    assert await anext(events) == Phase("0", "")
    lab.next.put_nowait(LabError("the guest ended"))
    with pytest.raises(LabError, match="the guest ended"):
        await anext(events)
    assert run.failed
    assert lab.closed


@pytest.mark.parametrize("asked", [False, True])
async def test_with_little_memory_left_what_nobody_asked_for_is_closing(
    asked: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab_module, "_CHECK_S", 0.0)
    monkeypatch.setattr(lab_module.sizes, "available", lambda: 100)
    lab = StepLab()
    run = PrefetchedRun(SMALL, lab.run(SMALL), lab.close)
    if asked:
        events = run.events()
        lab.next.put_nowait(Phase("0", ""))
        assert await anext(events) == Phase("0", "")
        assert not run.failed
        await events.aclose()
    else:
        await asyncio.sleep(0.01)
        lab.next.put_nowait(Phase("0", ""))
        await asyncio.sleep(0.1)
        assert run.failed
    assert lab.closed


@pytest.mark.parametrize(
    ("states", "found"),
    [({}, False), ({"BAT0": "Charging"}, False), ({"AC": "", "BAT0": "Discharging"}, True)],
)
def test_a_battery_that_is_used_is_seen(states: dict[str, str], found: bool, tmp_path: Path) -> None:
    for name, state in states.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "status").write_text(f"{state}\n")
    assert lab_module.on_battery(tmp_path) is found


def test_what_takes_much_memory_is_not_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab_module.os, "getloadavg", lambda: (0.0, 0.0, 0.0))
    monkeypatch.setattr(lab_module, "on_battery", lambda: False)
    assert lab_module.is_worthwhile(SMALL)
    for flows in (
        Flows(duration=3000.0),
        Flows(duration=30.0, streams=200),
        Flows(capture=True),
        Flows(acks=True),
    ):
        assert not lab_module.is_worthwhile(Experiment(name="x", flows=flows))


@pytest.mark.parametrize(("free", "cores", "found"), [(400, 2, False), (500, 2, True), (500, 1, False)])
def test_a_second_guest_needs_memory_and_a_core(
    free: int, cores: int, found: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sizes, "available", lambda: free)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(cores)))
    lab = Lab("guest", "virtual")
    assert lab.second_lab() is None, "it is not up yet"
    lab._choice = ChosenBackend(GuestBackend("virtual"), "guest", "virtual", "", sizes.DEFAULT_SIZE)
    assert (lab.second_lab() is not None) == found


@asynccontextmanager
async def _begun(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[tuple[Lab, PrefetchedRun]]:
    """A lab that expects the small experiment, and has begun it."""
    monkeypatch.setattr(lab_module, "is_worthwhile", lambda _: True)
    lab = Lab("guest", "virtual")
    try:
        await lab.warm()
        if lab.second_lab() is None:
            pytest.skip("this machine has no core or memory for a second guest")
        lab.prefetch(SMALL)
        assert lab._prefetched is not None
        yield lab, lab._prefetched
    finally:
        await lab.close()


@pytest.mark.guest
async def test_a_run_made_ahead_is_that_which_would_have_been_made(monkeypatch: pytest.MonkeyPatch) -> None:
    async with _begun(monkeypatch) as (lab, begun):
        deadline = Deadline(60)
        while not begun._task.done():
            assert deadline.left
            await asyncio.sleep(0.1)
        early = await lab.run_whole(SMALL)
        assert lab._prefetched is None
        late = await lab.run_whole(SMALL)
        assert early.complete
        assert early.samples
        assert (early.samples, early.flows, early.fidelity) == (late.samples, late.flows, late.fidelity)
        assert early.environment == late.environment


@pytest.mark.guest
async def test_what_was_expected_and_not_asked_for_is_closing(monkeypatch: pytest.MonkeyPatch) -> None:
    async with _begun(monkeypatch) as (lab, begun):
        other = await lab.run_whole(Experiment(name="other", path=SMALL.path, flows=SMALL.flows, seed=7))
        assert other.complete
        assert (other.experiment.seed, lab._prefetched) == (7, None)
        lab.prefetch(SMALL)
        assert lab._prefetched is not None
        lab.prefetch(None)
        assert lab._prefetched is None
    assert begun._task.done()
    assert not lab._closing
