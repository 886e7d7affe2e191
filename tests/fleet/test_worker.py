"""An experiment on a worker of a cluster, whose threads each run their own."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tcptutor.base.errors import LabError
from tcptutor.fleet import cluster
from tcptutor.spec import Experiment
from tests import patience


class _StartingLab:
    """A lab whose start does not end by itself."""

    started = threading.Semaphore(0)
    closed = 0

    def __init__(self, *_: str) -> None:
        pass

    async def warm(self, _: Experiment) -> None:
        self.started.release()
        await asyncio.Event().wait()

    async def close(self) -> None:
        type(self).closed += 1


def test_a_run_that_is_not_wanted_ends_while_another_lab_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    """One thread's start held up the other's event loop, which then could not see that its run was given up."""
    monkeypatch.setattr(cluster, "Lab", _StartingLab)
    monkeypatch.setattr(cluster, "_CHECK_S", 0.01)
    wanted = threading.Event()
    wanted.set()
    problems: list[str] = []

    def run() -> None:
        try:
            asyncio.run(cluster._run_while(wanted.is_set, Experiment(name="any"), "virtual"))
        except LabError as error:
            problems.append(str(error))

    threads = [threading.Thread(target=run, daemon=True) for _ in range(2)]
    for thread in threads:
        thread.start()
    both = [_StartingLab.started.acquire(timeout=patience.seconds(10)) for _ in threads]
    wanted.clear()
    for thread in threads:
        thread.join(20)
    assert both == [True, True]
    assert problems == ["the client no longer waits for this run"] * 2
    assert _StartingLab.closed == 2
