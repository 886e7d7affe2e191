"""A core for each guest: of this user's programs no two give one core to two guests, and who ends gives it back."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tcptutor.backends.guest.qemu_process import Core
from tests import patience

pytestmark = pytest.mark.host

TWO_THREADS = (
    "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start(); time.sleep(600)"
)
HERE = os.sched_getaffinity(0)


def _threads(process: int) -> list[int]:
    return sorted(int(task.name) for task in Path(f"/proc/{process}/task").iterdir())


@pytest.fixture
def processes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """More than there are cores, with two threads each: the second stands for the emulated processor."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    started = [subprocess.Popen([sys.executable, "-c", TWO_THREADS]) for _ in range(len(HERE) + 1)]
    deadline = patience.Deadline(20)
    while deadline.left and not all(len(_threads(each.pid)) == 2 for each in started):
        time.sleep(0.05)
    yield [each.pid for each in started]
    for each in started:
        each.kill()
        each.wait()


def test_each_has_one_until_none_is_left(processes: list[int]) -> None:
    cores = [Core() for _ in processes]
    for core, process in zip(cores, processes, strict=True):
        core.pin(process, _threads(process)[-1])
    taken = [os.sched_getaffinity(process) for process in processes]
    assert {len(each) for each in taken[:-1]} == {1}
    assert set.union(*taken[:-1]) == HERE
    assert taken[-1] == HERE
    main, processor = _threads(processes[0])
    assert os.sched_getaffinity(processor) == taken[0]
    assert (os.sched_getscheduler(main), os.sched_getscheduler(processor)) == (os.SCHED_BATCH, os.SCHED_OTHER)
    # One that is given back is there for the next.
    cores[0].release()
    cores[0].release()
    cores[-1].pin(processes[-1], _threads(processes[-1])[-1])
    assert os.sched_getaffinity(processes[-1]) == taken[0]
    for core in cores:
        core.release()


def test_what_another_program_holds_is_not_taken(processes: list[int]) -> None:
    code = f"""
import sys
from tcptutor.backends.guest.qemu_process import Core
core = Core()
core.pin({processes[0]}, {_threads(processes[0])[-1]})
print("taken", flush=True)
sys.stdin.read()
"""
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "taken\n"
        (theirs,) = os.sched_getaffinity(processes[0])
        core = Core()
        core.pin(processes[1], _threads(processes[1])[-1])
        assert theirs not in os.sched_getaffinity(processes[1]) or len(HERE) == 1
        core.release()
        other.kill()
    again = Core()
    os.sched_setaffinity(processes[1], HERE)
    again.pin(processes[1], _threads(processes[1])[-1])
    assert len(os.sched_getaffinity(processes[1])) == 1
    again.release()


def test_where_it_cannot_be_done_nothing_is(processes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nowhere")
    Core().pin(processes[0], _threads(processes[0])[-1])
    assert os.sched_getaffinity(processes[0]) == HERE
    Core().pin(2**22 + 1, 2**22 + 1)  # is not there
