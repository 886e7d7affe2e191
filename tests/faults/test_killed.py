"""Killing any part of a run at any moment leaves nothing behind, loses nothing that had arrived, and the next works.

Twenty random moments a backend, spread over start, traffic and end. They are the same each time, so that a build can
be repeated; TCPTUTOR_FAULT_SEED=N takes others.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tcptutor import course
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.backends.lab import Lab
from tcptutor.course import experiments
from tcptutor.journal import Journal
from tcptutor.run import Run, load
from tcptutor.runs.parts import ENDED
from tcptutor.runs.store import RunStore
from tests import leftovers, patience
from tests.benchmarks.pty_app import PtyApp
from tests.faults import machine
from tests.faults.running import VICTIMS, Running
from tests.journal.conftest import latest_run
from tests.page_number import number_of

SEED = int(os.environ.get("TCPTUTOR_FAULT_SEED", "1"))
MOMENTS = 20
CASES = [
    pytest.param(backend, moment, marks=getattr(pytest.mark, backend))
    for backend in VICTIMS
    for moment in range(MOMENTS)
]
_usual: dict[str, float] = {}


@pytest.fixture
def runs(without_state: Path) -> Path:
    return without_state / "tcptutor" / "runs"


@pytest.fixture
def nothing_left(mark: str) -> Iterator[None]:
    before = machine.look()
    yield
    assert leftovers.wait_until_none(mark) == []
    assert machine.look() == before


def _usual_length(backend: str) -> float:
    """How long the command takes when nothing is killed, s."""
    if backend not in _usual:
        running = Running(backend)
        running.end()
        assert running.process.returncode == 0, running.errors
        _usual[backend] = time.monotonic() - running.began
    return _usual[backend]


def _start_again(backend: str) -> None:
    """The next start, up to a lab that is ready to run."""

    async def warm() -> None:
        lab = Lab(backend)
        try:
            await lab.warm(experiments.build("parallel-streams/random-loss", {"delay": "0", "loss": "0"}))
        finally:
            await lab.close()
            await asyncio.sleep(0.1)  # asyncio closes the pipes of an ended child a moment after its end

    deadline = patience.Deadline(30)
    asyncio.run(warm())
    assert deadline.left


def _kept(folder: Path) -> list[Run]:
    """The runs in the folder, in which there is nothing else."""
    files = sorted(folder.iterdir()) if folder.is_dir() else []
    assert [file.name for file in files if file.suffix != ".tcprun" or file.name.startswith(".")] == []
    return [load(file) for file in files]


@pytest.mark.parametrize(("backend", "moment"), CASES)
def test_a_run_killed_at_a_random_moment(
    backend: str, moment: int, mark: str, nothing_left: None, runs: Path, request: pytest.FixtureRequest
) -> None:
    if backend == "guest":
        request.getfixturevalue("snapshots")
    chance = random.Random(f"{SEED} {backend} {moment}")
    victim = VICTIMS[backend][moment % len(VICTIMS[backend])]
    after = chance.uniform(0, _usual_length(backend))
    for old in _kept(runs):
        (runs / f"{old.id}.tcprun").unlink()  # of the run that was timed

    running = Running(backend)
    time.sleep(max(0.0, running.began + after - time.monotonic()))
    killed = running.kill(victim, mark, chance.random())
    output = running.end()
    case = f"TCPTUTOR_FAULT_SEED={SEED}: {victim} after {after:.2f} s ({killed}): {running.errors!r}"
    print(case)

    assert leftovers.wait_until_none(mark) == [], case
    recovered = RunStore(runs).recover()
    _start_again(backend)
    kept = _kept(runs)
    assert len(kept) <= 1, case
    if killed and victim == "command":
        if recovered:
            assert [run.id for run in recovered] == [run.id for run in kept], case
            assert all(run.complete or run.note == ENDED for run in kept), case
        else:
            # Killed before it had begun, or after it had been stored: then it is whole.
            assert all(run.complete for run in kept), case
    else:
        assert recovered == [], case
        assert running.process.returncode in ((1, 3) if running.errors else (0,)), case
        assert running.errors.count("\n") <= 1, case
        assert "Traceback" not in running.errors, case
        document = json.loads(output or "{}")
        assert [document.get("complete", False)] * len(kept) == [run.complete for run in kept], case
        assert [document.get("file")] * len(kept) == [str(runs / f"{run.id}.tcprun") for run in kept], case
    if running.shown:
        assert kept, case
        assert kept[0].experiment_s >= running.shown - 0.05, case
        assert kept[0].samples, case


@pytest.mark.terminal
@pytest.mark.guest
@pytest.mark.parametrize("moment", range(4))
def test_the_app_killed_at_a_random_moment(
    moment: int, mark: str, nothing_left: None, snapshots: Snapshots, without_state: Path, runs: Path
) -> None:
    after = random.Random(f"{SEED} app {moment}").uniform(0, 5)
    with PtyApp(without_state, "--module", "parallel-streams", "--backend", "guest") as app:
        app.wait_for("ready", 60)
        pages = next(len(each.steps) for each in course.load().modules if each.id == "parallel-streams")
        for page in range(1, number_of("one-lossy-flow") + 1):
            app.key("\x1b[C")
            app.wait_for(rf"{page}/{pages}")
        began = len(app.output)
        app.key("x")
        app.wait_for("Run without a prediction", since=began)
        app.key("y")
        if moment:
            # The page rounds: at its 2 there are 1.5 s.
            app.wait_for(r"([2-9]|\d\d) of 45 s", 60, since=began)
        app.read(after)
        app.signal(signal.SIGKILL)
        app.reap()
    case = f"TCPTUTOR_FAULT_SEED={SEED}: after {after:.2f} s"
    assert leftovers.wait_until_none(mark) == [], case

    journal = Journal.open(without_state / "tcptutor" / "journal.db")
    kept = latest_run(journal, "parallel-streams", "one-lossy-flow")
    journal.close()
    assert len(_kept(runs)) == (kept is not None), case
    if moment:
        assert kept is not None, case
        assert (kept.complete, kept.note) == (False, ENDED), case
        assert kept.experiment_s >= 1, case
    with PtyApp(without_state, "--module", "parallel-streams", "--backend", "guest") as again:
        again.wait_for("tcptutor ended during it" if moment else "ready", 60)
        again.close()
