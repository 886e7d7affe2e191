"""One run through a backend, collected, and what the lab thinks of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from typing import TypeVar

import pytest

from tcptutor.backends.events import Recording
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.host import HostBackend
from tcptutor.backends.selection import Backend
from tcptutor.base.errors import LabError
from tcptutor.run import Run
from tcptutor.spec import Experiment
from tests import leftovers, patience

B = TypeVar("B", bound=Backend)


async def play(backend: Backend, experiment: Experiment) -> Run:
    """Where a busy machine's lab asks to run the experiment again, that is done."""
    for _ in range(4):
        try:
            return await _play(backend, experiment)
        except LabError as error:
            if "ended early" not in str(error) or patience.busy() < 2:
                raise
    return await _play(backend, experiment)


async def _play(backend: Backend, experiment: Experiment) -> Run:
    recording = Recording(experiment, await backend.open())
    async with aclosing(backend.run(experiment)) as events:
        async for event in events:
            recording.take(event)
    return recording.run


def total_bps(run: Run) -> float:
    return sum(flow.throughput_bps for flow in run.flows)


def too_busy(run: Run) -> bool:
    """On the real clock: does it say of itself that the machine had no time for it?"""
    return any("machine" in reason for reason in run.fidelity.reasons)


def carries(run: Run, bps: float, rel: float) -> bool:
    """On the real clock: did it carry this much?

    A run that says that the machine is too busy may have carried less, and by its late samples a tenth more.
    """
    return total_bps(run) == pytest.approx(bps, rel=rel) or (too_busy(run) and total_bps(run) < 1.1 * bps)


def doubt(run: Run, words: str) -> str:
    """The reason with these words for which the run is doubted; fails when there is none."""
    found = [reason for reason in run.fidelity.reasons if words in reason]
    assert found, (run.fidelity.reasons, run.fidelity.checks)
    return found[0]


@asynccontextmanager
async def leaving_nothing(backend: B, mark: str) -> AsyncIterator[B]:
    """`backend` for the length of the block; it leaves no process of `mark` behind."""
    yield backend
    await backend.close()
    assert leftovers.wait_until_none(mark) == []


def host_or_guest(request: pytest.FixtureRequest, clock: str, *, paced: bool = False) -> Backend:
    """The backend whose name is a fixture's parameter: "host", or "guest" on that clock."""
    if request.param == "host":
        return HostBackend()
    return GuestBackend(clock, request.getfixturevalue("snapshots"), paced=paced)
