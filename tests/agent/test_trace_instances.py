"""Trace instances of the real kernel: one for each run, and none of those that were killed."""

from __future__ import annotations

import asyncio
import ctypes
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import aclosing, contextmanager
from pathlib import Path

import pytest

from tcptutor.agent import tracing
from tcptutor.backends.host import HostBackend
from tcptutor.wire.protocol import Samples
from tests import leftovers, patience
from tests.backends.play import play
from tests.conftest import Build

TRACEFS = tracing.TRACEFS
HOLDS = """
import contextlib, time
from tcptutor.agent.tracing import TraceInstance
one = TraceInstance()
with contextlib.suppress(OSError):  # a kernel without events of one's own
    one.define("tcp.tcp_retransmit_skb state=$state:s32")
    one.write(f"events/{one.event}/enable", "1")
one.write("events/tcp/tcp_probe/enable", "1")
pipe = open(one.folder / "trace_pipe", "rb")
print(one.folder.name, flush=True)
time.sleep(600)
"""


@pytest.fixture
def tracefs() -> Iterator[None]:
    """Mounted for the test, where it is not: it is seen that nothing is left."""
    if os.geteuid() != 0:
        pytest.skip("tracing is root's")
    mounted = (TRACEFS / "events").exists()
    tracing.mount()
    if not (TRACEFS / "events" / "tcp" / "tcp_probe").exists():
        pytest.skip("this kernel cannot trace tcp_probe")
    tracing.remove_dead()
    yield
    tracing.remove_dead()
    left = ours()
    if not mounted:
        subprocess.run(["umount", TRACEFS], check=True)
    assert left == set()


# Other runs that begin would remove what is left here.
pytestmark = [pytest.mark.host, pytest.mark.alone, pytest.mark.usefixtures("tracefs")]


def ours() -> set[str]:
    """The instances and events of this program that the kernel has."""
    instances = {path.name for path in (TRACEFS / "instances").glob("tcptutor-*")}
    return instances | {path.name for path in TRACEFS.glob("events/tcptutor/retransmit_*")}


def _tokens() -> set[str]:
    """What the names end in by which they belong together."""
    return {name.rpartition("-")[2].rpartition("_")[2] for name in ours()}


@contextmanager
def _holders(count: int) -> Iterator[dict[str, subprocess.Popen[str]]]:
    """Programs that hold one, at once, by its name; each in process ids of its own, as labs are."""
    command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-c", HOLDS]
    all_of_them = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(count)]
    try:
        yield {
            one.stdout.readline().strip().removeprefix("tcptutor-"): one for one in all_of_them if one.stdout
        }
    finally:
        for one in all_of_them:
            one.kill()
            one.communicate()


def test_one_that_is_killed_leaves_nothing_at_the_next_start(mark: str) -> None:
    with _holders(6) as holders:
        assert _tokens() == holders.keys()
        assert len(holders) == 6
        token, one = holders.popitem()
        one.kill()
        one.wait()
        deadline = patience.Deadline(10)
        while token in _tokens() and deadline.left:
            assert tracing.remove_dead() <= 1
        assert _tokens() == holders.keys()
    assert leftovers.wait_until_none(mark) == []
    assert tracing.remove_dead() == 5
    assert ours() == set()


async def test_two_runs_at_once_and_one_killed(mark: str, build: Build) -> None:
    experiment = build(rate="10 Mbit/s", algorithm="reno", duration="2 s", warmup="0", acks="on")
    first, second = HostBackend(), HostBackend()

    async def killed() -> None:
        async with aclosing(first.run(experiment)) as events:
            async for event in events:
                if isinstance(event, Samples) and event.acks:
                    assert first._process is not None
                    os.kill(first._process.pid, signal.SIGKILL)
                    return

    try:
        run, _ = await asyncio.gather(play(second, experiment), killed())
    finally:
        await first.close()
        await second.close()
    assert run.complete
    assert len(run.acks) > 100
    assert await asyncio.to_thread(leftovers.wait_until_none, mark) == []
    await second.open()
    await second.close()
    assert await asyncio.to_thread(ours) == set()


def test_where_there_is_no_tracing_nothing_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tracing, "TRACEFS", tmp_path)
    monkeypatch.setattr(tracing, "mount", lambda: None)
    assert tracing.remove_dead() == 0
    with pytest.raises(OSError, match="instances"):
        tracing.TraceInstance()


def test_a_tracefs_that_only_root_may_read_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As an ordinary user finds it on most machines."""

    def refused(_path: Path) -> bool:
        raise PermissionError

    mounted: list[object] = []
    with monkeypatch.context() as another:
        another.setattr(Path, "exists", refused)
        another.setattr(ctypes, "CDLL", mounted.append)
        tracing.mount()
    assert mounted == []
