"""The process in which flows are threads: its gates, and its end."""

from __future__ import annotations

import mmap
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tcptutor.agent.flow_process import FlowProcess, Gate
from tests import patience


@pytest.fixture
def process() -> Iterator[FlowProcess]:
    made = FlowProcess()
    yield made
    made.stop()
    made.stop()


@pytest.fixture
def told() -> memoryview:
    """Shared by both processes."""
    return memoryview(mmap.mmap(-1, mmap.PAGESIZE)).cast("i")


def until(holds: Callable[[], bool]) -> None:
    deadline = patience.Deadline(10)
    while not holds():
        assert deadline.left
        time.sleep(0.01)


def passing(gate: Gate, told: memoryview, place: int) -> Callable[[], None]:
    """The work of a thread that tells when it is through a gate."""

    def work() -> None:
        told[place] = 1
        gate.wait()
        told[place] = 2

    return work


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_all_threads_wait_at_a_gate_until_it_is_opened(process: FlowProcess, told: memoryview) -> None:
    first, second = process.gate(), process.gate()
    for place in range(3):
        process.add(passing(first, told, place))
    process.add(passing(second, told, 3))
    process.start()
    until(lambda: list(told[:4]) == [1] * 4)
    first.open()
    first.open()
    until(lambda: list(told[:4]) == [2, 2, 2, 1])
    assert not process.ended


def test_it_outlives_its_threads_and_ends_when_it_is_stopped(process: FlowProcess, told: memoryview) -> None:
    before = descriptors()
    gate = process.gate()
    gate.open()
    process.add(passing(gate, told, 0))
    process.start()
    until(lambda: told[0] == 2)
    pid = process._pid
    assert not process.ended
    process.stop()
    assert not Path(f"/proc/{pid}").exists()
    assert descriptors() == before


def test_an_end_that_nobody_asked_for_is_told(process: FlowProcess) -> None:
    process.add(process.gate().wait)
    process.start()
    os.kill(process._pid, signal.SIGKILL)
    until(lambda: process.ended)
    assert process.ended


def test_without_work_there_is_no_process(process: FlowProcess) -> None:
    process.start()
    assert not process.ended
    assert process._pid == 0
