"""Several programs that build the guest at once: one does, the others wait for it and take what it has made."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tcptutor.backends.guest import cached_files as half_built
from tcptutor.backends.guest import snapshots as built
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.machine import Machine, Mode
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base.errors import LabError, SetupError
from tcptutor.run import Environment
from tcptutor.spec import Hosts
from tests import leftovers, patience
from tests.backends.play import play
from tests.conftest import Build

WAITS = "another tcptutor is building it: waiting"

SNAPSHOT = """
import asyncio, sys
from pathlib import Path
from tcptutor.backends.guest.machine import Machine, Mode
from tcptutor.backends.guest.snapshots import Snapshots
asyncio.run(Snapshots(Path(sys.argv[1])).build("virtual", lambda _share, text: print(text, flush=True)))
"""

# What fetches and packs is slow, and is not what is tried here.
IMAGE = """
import sys, time
from pathlib import Path
from tcptutor.backends.guest import image, image_build
from tcptutor.backends.guest.architecture import chosen

def run(self):
    self.progress(0.02, "booting the guest")
    while not Path(f"{sys.argv[1]}.goes-on").exists():
        time.sleep(0.02)
    (self.folder / "vmlinuz").write_bytes(b"kernel")
    (self.folder / "base.cpio").write_bytes(b"root")
    self.progress(1.0, "image built")
    return "6.12"

image_build.Build.run = run
made = image.Image(Path(sys.argv[1]) / "image", chosen())
made.build(lambda _share, text: print(text, flush=True))
made.check(thorough=True)
"""


class Builder:
    """A program that builds into `folder`, with what it has said so far."""

    def __init__(self, script: str, folder: Path) -> None:
        self.said: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, "-c", script, str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            text=True,
        )

    def wait_for(self, text: str) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.append(line.strip())
            if self.said[-1] == text:
                return
        raise AssertionError(self.said)

    def end(self) -> list[str]:
        """Wait for it; all that it has said."""
        output, _ = self.process.communicate(timeout=patience.seconds(200))
        return self.said + output.splitlines()


def _go_on(folder: Path) -> None:
    """Let the image that is built into `folder` be finished."""
    Path(f"{folder}.goes-on").touch()


def _the_first_is_killed_and_one_of_two_goes_on(script: str, folder: Path) -> list[str]:
    """What the two said that had to wait for the first, the one that waited to the end before the one that built."""
    first = Builder(script, folder)
    first.wait_for("booting the guest")
    others = [Builder(script, folder), Builder(script, folder)]
    for other in others:
        other.wait_for(WAITS)
    first.process.kill()
    first.end()
    _go_on(folder)
    said = sorted((other.end() for other in others), key=len)
    assert [other.process.returncode for other in others] == [0, 0]
    assert [len([line for line in each if line == "booting the guest"]) for each in said] == [0, 1]
    return said[0]


def _names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


@pytest.mark.guest
def test_a_snapshot_is_built_once(mark: str, snapshots: Snapshots, tmp_path: Path) -> None:
    own = Snapshots(tmp_path)
    own.image.folder.symlink_to(snapshots.image.folder)
    waited = _the_first_is_killed_and_one_of_two_goes_on(SNAPSHOT, tmp_path)
    assert waited == [WAITS, "snapshot ready"]
    assert own.manifest("virtual", thorough=True).file.size == own.size("virtual")
    names = {"image", "image.lock", "virtual.lock", "virtual.json", "virtual.snapshot"}
    assert _names(tmp_path) == names
    # Neither what setup clears away nor what a test finds left.
    assert half_built.remove_leftovers(tmp_path) == 0
    assert leftovers.wait_until_none(mark) == []
    own.file("virtual").unlink()  # a hundred megabytes


@pytest.fixture
def booted(snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is booted goes on from where setup's boot has come to, half a minute earlier."""
    start = Machine.start
    disk: list[str] = []
    of_disk: list[int] = []

    async def go_on(self: Machine, mode: Mode, boot: list[str], fds: Sequence[int] = ()) -> None:
        if "-kernel" not in boot:
            await start(self, mode, [*boot, *disk], [*fds, *of_disk])
            return
        disk[:], of_disk[:] = boot[boot.index("-add-fd") :], fds[-1:]
        await self.restore(mode, snapshots.file(mode.clock))
        disk.clear()
        of_disk.clear()
        await self.execute("cont")

    async def ready(_machine: Machine, _timeout: float) -> Environment:
        return snapshots.manifest("virtual").environment

    monkeypatch.setattr(Machine, "start", go_on)
    monkeypatch.setattr(built, "_ready", ready)


async def test_a_qemu_that_ends_while_it_writes_its_snapshot_is_told(
    mark: str, snapshots: Snapshots, booted: None, tmp_path: Path
) -> None:
    own = Snapshots(tmp_path)
    own.image.folder.symlink_to(snapshots.image.folder)

    def progress(_share: float, text: str) -> None:
        if text == "writing the snapshot":
            leftovers.kill(mark, "qemu-system")

    with pytest.raises(
        SetupError, match=r"^QEMU ended while it wrote the snapshot .*: run `tcptutor setup` again$"
    ):
        await own._build(own.mode("virtual", exact=True), progress, 60)
    assert _names(tmp_path) == {"image"}


async def test_a_guest_that_does_not_go_on_from_its_snapshot_is_not_taken(
    mark: str, snapshots: Snapshots, booted: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = Snapshots(tmp_path)
    own.image.folder.symlink_to(snapshots.image.folder)
    hosts = Hosts(algorithm="nosuch")
    monkeypatch.setattr(built, "_TRIAL", msgspec.structs.replace(built._TRIAL, hosts=hosts))
    with pytest.raises(SetupError, match=r"does not resume from its snapshot: run `tcptutor setup` again$"):
        await own._build(own.mode("virtual", exact=True), lambda _share, _text: None, 60)
    assert _names(tmp_path) == {"image"}


@pytest.mark.guest
@pytest.mark.parametrize("exact", [True, False])
async def test_a_guest_that_was_stopped_too_late_is_not_where_exact_runs_begin(
    mark: str, exact: bool, snapshots: Snapshots, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is stopped by us as on a busy machine: when it has come out of the loop and has looked for a request."""
    ask = Machine.execute

    async def execute(self: Machine, name: str, **arguments: Any) -> Any:
        answer = await ask(self, name, **arguments)
        return {"status": "watchdog"} if name == "query-status" and answer["status"] == "paused" else answer

    machine = Machine(snapshots.architecture)
    try:
        await machine.restore(snapshots.mode("virtual", exact=True), snapshots.file("virtual"))
        machine._mode = machine._mode._replace(exact=exact)
        await machine.execute("cont")
        await machine._wait_for_exact_start()
        before = machine._memory.polls
        await machine.execute("cont")
        while machine._memory.polls == before:  # noqa: ASYNC110  # memory has no event
            await asyncio.sleep(0)
        await machine.execute("stop")
        monkeypatch.setattr(Machine, "execute", execute)
        if exact:
            with pytest.raises(LabError, match="too busy for the guest"):
                await machine._wait_for_exact_start()
        else:
            await machine._wait_for_exact_start()
            assert (await ask(machine, "query-status"))["status"] == "watchdog"
            assert machine._memory.polls == before + 1
    finally:
        await machine.kill()


@pytest.mark.parametrize(("fails", "exact"), [(0, True), (2, True), (3, False)])
async def test_a_hanging_boot_is_retried_before_a_fallback(
    fails: int, exact: bool, snapshots: Snapshots, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    boots: list[Mode] = []

    async def build(_self: Snapshots, mode: Mode, _progress: object, _timeout: float) -> bool:
        boots.append(mode)
        if len(boots) <= fails:
            raise SetupError("it does not go on") from LabError("it does not go on")
        return mode.exact

    own = Snapshots(tmp_path)
    own.image.folder.symlink_to(snapshots.image.folder)
    monkeypatch.setattr(Snapshots, "_build", build)
    assert await own._build_once("virtual", lambda _share, _text: None) is exact
    assert [mode.exact for mode in boots] == [True] * min(3, fails + 1) + [False] * (not exact)


def test_an_image_is_built_once(mark: str, tmp_path: Path) -> None:
    waited = _the_first_is_killed_and_one_of_two_goes_on(IMAGE, tmp_path)
    assert waited == [WAITS, "image built"]
    assert _names(tmp_path / "image") == {"vmlinuz", "base.cpio", "image.json"}


def test_a_snapshot_waits_for_the_image_that_it_boots(mark: str, tmp_path: Path) -> None:
    """It would otherwise take the kernel of one and the root of another."""
    image = Builder(IMAGE, tmp_path)
    image.wait_for("booting the guest")
    snapshot = Builder(SNAPSHOT, tmp_path)
    snapshot.wait_for(WAITS)
    assert not (tmp_path / "image").exists()
    _go_on(tmp_path)
    snapshot.wait_for("booting the guest")
    assert (tmp_path / "image").exists()
    snapshot.process.terminate()
    snapshot.end()
    image.end()
    assert image.process.returncode == 0
    assert leftovers.wait_until_none(mark) == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = subprocess.run(
        [sys.executable, "-c", SNAPSHOT, tmp_path / "file" / "guest"],
        capture_output=True, text=True, check=False, env={**os.environ},
    )  # fmt: skip
    assert done.stderr.splitlines()[-1].endswith(
        f"SetupError: the snapshot cannot be written in {tmp_path / 'file' / 'guest'}: Not a directory: "
        "set XDG_CACHE_HOME to a folder on another disk"
    )


@pytest.mark.guest
async def test_another_snapshot_of_the_same_gives_the_same_runs(
    mark: str, snapshots: Snapshots, own_guest: GuestBackend, build: Build, tmp_path: Path
) -> None:
    """The state that a boot comes to is the same to the byte, but for the host's own clock."""
    own = Snapshots(tmp_path)
    own.image.folder.symlink_to(snapshots.image.folder)
    manifest = await own.build("virtual", lambda _share, _text: None)
    assert manifest.repeats
    assert manifest.id == snapshots.manifest("virtual").id
    experiment = build(
        rate="40 Mbit/s", delay="10 ms", loss="0.5 %", streams="3", duration="3 s", warmup="0 s"
    )
    other = GuestBackend("virtual", own)
    try:
        here, there = await play(own_guest, experiment), await play(other, experiment)
    finally:
        await other.close()
    assert [*here.samples] == [*there.samples]
    assert [*here.queue] == [*there.queue]
    assert here.flows == there.flows
    assert here.environment.lab == there.environment.lab
    own.file("virtual").unlink()  # a hundred megabytes
