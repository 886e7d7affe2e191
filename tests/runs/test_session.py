"""A conducted session: a run from each RunDetected to its Finished, each in a file of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import pytest

from tcptutor.base.errors import LabError
from tcptutor.run import Fidelity, Finished, load
from tcptutor.runs.conduct import ConductedSession
from tcptutor.runs.store import RunStore
from tcptutor.spec import Experiment
from tcptutor.wire.kernel_state import SessionState
from tcptutor.wire.protocol import Event, Failed, RunDetected
from tests.runs.lab import EXPERIMENT, HERE, WHOLE, play, samples

FIRST, SECOND = Experiment(name="by-hand", title="first"), Experiment(name="by-hand", title="second")
CUT = Finished((), Fidelity(status="valid"), 2.0, complete=False)


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return RunStore(tmp_path / "runs")


def session(store: RunStore, *script: Event | Exception | asyncio.Event) -> ConductedSession:
    return ConductedSession(play(script), HERE, store)


async def show(conducted: ConductedSession) -> list[Event]:
    async with conducted:
        return [event async for event in conducted]


def kept(conducted: ConductedSession) -> Sequence[tuple[str, bool, str, list[float]]]:
    runs = [load(each.file) for each in conducted.ended if each.file]
    return [
        (run.experiment.title, run.complete, run.note, [sample.t for sample in run.samples]) for run in runs
    ]


async def test_each_run_that_is_found_has_its_own_file(store: RunStore) -> None:
    script = [
        SessionState(EXPERIMENT),
        samples(0.5),
        RunDetected(FIRST),
        samples(1.0),
        WHOLE,
        SessionState(EXPERIMENT),
        RunDetected(SECOND),
        samples(2.0),
        samples(3.0),
        WHOLE,
    ]
    conducted = session(store, *script)
    assert await show(conducted) == script
    assert kept(conducted) == [("first", True, "", [1.0]), ("second", True, "", [2.0, 3.0])]
    assert all(each.run.environment == HERE for each in conducted.ended)


async def test_the_run_that_goes_on_is_there_to_be_shown(store: RunStore) -> None:
    seen = []
    async with session(store, SessionState(EXPERIMENT), RunDetected(FIRST), samples(1.0), WHOLE) as conducted:
        async for _ in conducted:
            seen.append(len(conducted.growing.run.samples) if conducted.growing else None)
    assert seen == [None, 0, 1, None]


async def test_a_run_that_the_end_of_the_session_cut_short(store: RunStore) -> None:
    conducted = session(store, RunDetected(FIRST), samples(1.0), CUT)
    await show(conducted)
    assert kept(conducted) == [("first", False, "the session ended during it", [1.0])]


async def test_a_lab_that_dies_keeps_what_had_arrived(store: RunStore) -> None:
    conducted = session(
        store, RunDetected(FIRST), WHOLE, RunDetected(SECOND), samples(1.0), LabError("the guest ended")
    )
    with pytest.raises(LabError, match="the guest ended"):
        await show(conducted)
    assert kept(conducted) == [("first", True, "", []), ("second", False, "the lab ended during it", [1.0])]


async def test_cancelled_it_keeps_what_had_arrived(store: RunStore) -> None:
    there = asyncio.Event()
    conducted = session(store, RunDetected(FIRST), samples(1.0), there)
    task = asyncio.create_task(show(conducted))
    await there.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert kept(conducted) == [("first", False, "the lab ended during it", [1.0])]


async def test_a_session_in_which_nothing_was_sent_leaves_nothing(store: RunStore) -> None:
    conducted = session(store, SessionState(EXPERIMENT), samples(1.0))
    await show(conducted)
    assert conducted.ended == []
    assert store.folder is not None
    assert not store.folder.exists()


async def test_a_run_whose_queue_was_taken_away_ends_with_the_reason_and_the_next_goes_on(
    store: RunStore,
) -> None:
    gone = Failed("the lab's interface s1-eth2 is gone", "run")
    conducted = session(
        store, RunDetected(FIRST), samples(1.0), gone, RunDetected(SECOND), samples(2.0), WHOLE
    )
    await show(conducted)
    assert kept(conducted) == [("first", False, gone.reason, [1.0]), ("second", True, "", [2.0])]
