"""What a running QEMU may do on this machine, and that it ends with who has started it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from qemu.qmp import QMPClient

from tcptutor.backends import programs
from tcptutor.backends.guest import qemu_process
from tcptutor.backends.guest.architecture import chosen
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.machine import Machine, Mode
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base.errors import LabError, LabUnavailable
from tests import leftovers, patience
from tests.install.command import ROOT, needs_user_namespaces, run

AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")

WAITS = """
import asyncio, sys
from tcptutor.backends.guest.backend import GuestBackend

async def main():
    await GuestBackend(sys.argv[1]).open()
    print("ready", flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""

QEMU = """#!/bin/sh
case "$*" in *{refused}*) echo "qemu: no such option" >&2; exit 1;; esac
echo "QEMU emulator version 9"
"""


def _status(mark: str) -> dict[str, str]:
    """What the kernel says of the running QEMU (proc_pid_status(5))."""
    (pid,) = (line.split()[0] for line in leftovers.marked(mark) if "qemu-system" in line)
    lines = Path("/proc", pid, "status").read_text().splitlines()
    return {name: value.strip() for name, _, value in (line.partition(":") for line in lines)}


@pytest.mark.parametrize("clock", ["virtual", "real"])
async def test_a_running_qemu_may_do_nothing_but_emulate(mark: str, snapshots: Snapshots, clock: str) -> None:
    backend = GuestBackend(clock, snapshots)
    try:
        await backend.open()
        status = _status(mark)
    finally:
        await backend.close()
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    assert [int(status[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")] == [0, 0, 0, 0]
    if os.geteuid() == 0:
        assert int(status["CapBnd"], 16) == 0
        assert status["Uid"].split() == status["Gid"].split() == [str(qemu_process.NOBODY)] * 4
        assert set(status["Groups"].split()) <= {str(qemu_process._kvm_group())}
    else:
        assert status["Uid"].split() == [str(os.getuid())] * 4


@pytest.mark.parametrize("clock", ["virtual", "real"])
def test_a_confined_qemu_ends_with_who_has_started_it(mark: str, snapshots: Snapshots, clock: str) -> None:
    """A change of user takes the kernel's promise to kill it back, unless it is asked for after that."""
    parent = subprocess.Popen([sys.executable, "-c", WAITS, clock], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "ready\n"
    assert any("qemu-system" in line for line in leftovers.marked(mark))
    parent.send_signal(signal.SIGKILL)
    parent.communicate(timeout=patience.seconds(10))
    assert leftovers.wait_until_none(mark) == []


@pytest.mark.host
@AS_ROOT
def test_who_owns_nothing_can_open_what_is_handed_over_and_nothing_else(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.write_bytes(b"kernel")
    private.chmod(0o600)
    nobody = ["setpriv", *qemu_process._LADDER[0], "cat"]
    with qemu_process.memory_file(private, b" and more") as fd:
        seen = subprocess.run(
            [*nobody, f"/proc/self/fd/{fd}"], pass_fds=[fd], capture_output=True, check=True
        )
    assert seen.stdout == b"kernel and more"
    assert subprocess.run([*nobody, private], capture_output=True, check=False).returncode != 0


@pytest.mark.host
@needs_user_namespaces
def test_where_nobody_is_not_mapped_the_capabilities_go_all_the_same() -> None:
    script = (
        "from tcptutor.backends.guest import qemu_process; from tcptutor.backends.guest.architecture import chosen\n"
        "one = qemu_process.find_qemu(chosen().qemu); print(one.sandboxed, one.as_nobody, *one.privileges)"
    )
    done = run([*ROOT, sys.executable, "-c", script])
    assert done.stdout.split() == ["True", "False", *qemu_process._NO_CAPABILITIES], done.stderr


def _installed(folder: Path, refused: str, monkeypatch: pytest.MonkeyPatch) -> qemu_process.QemuProgram:
    folder.chmod(0o755)
    qemu = folder / "qemu-system-other"
    qemu.write_text(QEMU.format(refused=refused))
    qemu.chmod(0o755)
    found = programs.find
    monkeypatch.setattr(programs, "find", lambda name: str(qemu) if name == qemu.name else found(name))
    return qemu_process.find_qemu(qemu.name)


@pytest.mark.host
def test_a_qemu_without_the_filter_runs_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    without = _installed(tmp_path, "-sandbox", monkeypatch)
    assert (without.version, without.sandboxed) == ("QEMU emulator version 9", False)
    assert "-sandbox" not in qemu_process.command(without, ["-smp", "1"], parent=1)
    qemu_process._probe.cache_clear()
    with_it = _installed(tmp_path, "nothing", monkeypatch)
    assert with_it.sandboxed
    words = qemu_process.command(with_it, ["-smp", "1"], parent=1)
    assert words[-4:] == [*qemu_process.SANDBOX, "-smp", "1"]
    qemu_process._probe.cache_clear()
    with pytest.raises(
        LabUnavailable, match=r"^QEMU does not start \(qemu: no such option\): install it again"
    ):
        _installed(tmp_path, "-version", monkeypatch)


@pytest.mark.host
@AS_ROOT
@pytest.mark.parametrize(
    ("mode", "owner", "group"), [(0o660, 107, 107), (0o600, 107, 0), (0o660, 0, 0), (0o666, 107, 107)]
)
def test_hardware_virtualisation_is_had_by_its_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: int, owner: int, group: int
) -> None:
    device = tmp_path / "kvm"
    device.touch()
    device.chmod(mode)
    os.chown(device, 0, owner)
    monkeypatch.setattr(qemu_process, "_KVM", device)
    qemu = qemu_process.find_qemu(chosen().qemu)
    assert "--clear-groups" in qemu_process.command(qemu, [], parent=1)
    words = qemu_process.command(qemu, [], parent=1, kvm=True)
    assert ("--clear-groups" in words, f"--groups={group}" in words) == (group == 0, group != 0)


@pytest.mark.guest
@pytest.mark.parametrize("error", [EOFError(), ConnectionResetError(), BrokenPipeError()])
async def test_a_qemu_that_ends_while_its_monitor_is_greeted_is_one_line(
    snapshots: Snapshots, error: Exception, monkeypatch: pytest.MonkeyPatch, mark: str
) -> None:
    """Killed at one instant in hundreds, it has the monitor's client raise what its stream met."""

    async def ends(*_: object) -> None:
        raise error

    monkeypatch.setattr(QMPClient, "connect", ends)
    machine = Machine(snapshots.architecture)
    try:
        with pytest.raises(LabError, match="QEMU does not start"):
            await machine.restore(Mode("virtual", exact=True), snapshots.folder / "virtual.snapshot")
    finally:
        await machine.kill()
