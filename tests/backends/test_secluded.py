"""What a shell on a lab host cannot do to the machine when root has started the lab, and what it can all the same."""

from __future__ import annotations

import asyncio
import os
import platform
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tcptutor.backends import secluded
from tcptutor.backends.host import HostBackend
from tcptutor.base.errors import LabUnavailable
from tests import leftovers, patience
from tests.backends.test_session import Hands, hands
from tests.cli.command import SERVER
from tests.conftest import Build

pytestmark = [
    pytest.mark.host,
    pytest.mark.usefixtures("without_state"),
    pytest.mark.skipif(os.geteuid() != 0, reason="what root's shells cannot do"),
]

SESSION = """
import asyncio
from tcptutor import spec
from tcptutor.backends.host import HostBackend

async def main():
    backend = HostBackend()
    await backend.open()
    async with backend.session(spec.build("a/b", {"parameters": {}})) as session:
        session.shell("h1").write(b"sleep 600 & sleep 700\\n")
        print("ready", flush=True)
        await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.fixture
async def lab(mark: str, build: Build) -> AsyncIterator[Hands]:
    backend = HostBackend()
    async with hands(backend, build(rate="8 Mbit/s", algorithm="reno")) as one:
        yield one
    await backend.close()
    assert leftovers.wait_until_none(mark) == []


async def _status(lab: Hands, line: str, host: str = "h1") -> int:
    """The exit code of `line` typed there."""
    said = await lab.type(lab.shell(host), f"{line}; echo over=$?", r"over=\d+\s")
    return int(said.rpartition("over=")[2].split()[0])


@pytest.fixture
def private(tmp_path: Path) -> Iterator[Path]:
    """A file that everybody may write, were it not for the view; it is to stay as it is."""
    file = tmp_path / "mine"
    file.write_text("kept")
    file.chmod(0o666)
    tmp_path.chmod(0o777)
    yield file
    assert file.read_text() == "kept"


REFUSED = (
    "import ctypes; libc = ctypes.CDLL(None, use_errno=True); "
    f'libc.syscall({273 if platform.machine() == "aarch64" else 313}, 0, b"", 0); exit(ctypes.get_errno() in (1, 38))'
)
"""Load a kernel module: whoever may is told that this is none, and others that they may not, or that nobody can."""

ESCAPES = [
    "echo gone > {file}",
    "rm -f /etc/hostname",
    "touch /usr/bin/tcptutor-was-here",
    "touch /var/tcptutor-was-here",
    "mount -o remount,rw /",
    "mount -o remount,rw,bind /etc",
    "mkdir ~/there; mount --bind / ~/there; mount -o remount,rw,bind ~/there",
    "mkdir ~/there; mount --bind /etc ~/there; touch ~/there/tcptutor-was-here",
    "umount /tmp",
    "umount -l /run",
    "ls /root/.ssh /root/.bashrc",
    "mknod ~/disk b 254 0",
    "mknod /dev/shm/memory c 1 1",
    "head -c 1 /dev/mem",
    "head -c 1 /dev/kmsg",
    "echo 1 > /proc/sys/kernel/panic",
    "echo b > /proc/sysrq-trigger",
    "echo mem > /sys/power/state",
    "echo 1 > /sys/module/tcp_cubic/parameters/beta",
    "date -s 2001-01-01",
    "hostname tcptutor-was-here",
    "kill -9 {pid}",
    "unshare --mount sh -c 'mount -o remount,rw /'",
    "nsenter -t 1 --mount --user touch /etc/tcptutor-was-here",
    "chroot /proc/1/root touch /etc/tcptutor-was-here",
    f"{sys.executable} -c '{REFUSED}'",
]  # fmt: skip


def _traces() -> list[str]:
    """What a shell has left on the machine."""
    folders = ("/tmp", "/dev/shm", "/run", "/usr/bin", "/var", "/etc")
    return [folder for folder in folders if Path(folder, "tcptutor-was-here").exists()]


async def test_a_shell_cannot_touch_the_machine(lab: Hands, private: Path) -> None:
    name = socket.gethostname()
    for line in ESCAPES:
        assert await _status(lab, line.format(file=private, pid=os.getpid())) != 0, line
    # A folder of everybody's is another there: what is put in it is not seen here.
    assert await _status(lab, "touch /tmp/tcptutor-was-here /dev/shm/tcptutor-was-here") == 0
    assert (socket.gethostname(), _traces()) == (name, [])


@pytest.mark.parametrize("host", ["h1", "s1"])
async def test_what_is_asked_of_root_works(lab: Hands, host: str) -> None:
    interface = f"{host}-eth{0 if host == 'h1' else 2}"
    for line in (
        "sudo sysctl -w net.ipv4.tcp_sack=0 net.ipv4.tcp_rmem='4096 87380 1000000' > /dev/null",
        f"sudo tc qdisc replace dev {interface} root tbf rate 5mbit burst 15000 limit 100000",
        f"tc qdisc show dev {interface} | grep -q 'rate 5Mbit'",
        f"tc qdisc del dev {interface} root",
        f"ip link set dev {interface} mtu 1400",
        "h2 ip address show dev h2-eth0 | grep -q 10.0.0.2",
        "h2 sysctl -w net.ipv4.tcp_timestamps=0 > /dev/null",
        "getent hosts h2 | grep -q 10.0.0.2",
        "id -u | grep -qx 0",
        f"{SERVER}; true",
    ):
        assert await _status(lab, line, host) == 0, line


async def test_a_shells_home_is_carried(mark: str, build: Build, without_state: Path) -> None:
    home = without_state / "tcptutor" / "home"
    home.mkdir(parents=True)
    (home / "brought").write_text("from outside")
    backend = HostBackend()
    async with hands(backend, build()) as lab:
        assert (
            await _status(
                lab, "grep -q outside ~/brought && echo inside > ~/made && ln -s /etc/shadow ~/link"
            )
            == 0
        )
    await backend.close()
    assert (home / "made").read_text() == "inside\n"
    assert {path.name for path in home.iterdir()} <= {"brought", "made", ".bash_history"}
    assert (home / "made").owner() == "root"


async def test_after_a_session_experiments_run_as_before(mark: str, build: Build) -> None:
    backend = HostBackend()
    before = await backend.open()
    async with hands(backend, build()):
        pass
    assert await backend.open() == before
    await backend.close()
    assert await asyncio.to_thread(leftovers.wait_until_none, mark) == []


def test_a_session_ends_with_who_has_started_it(mark: str) -> None:
    parent = subprocess.Popen([sys.executable, "-c", SESSION], stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    assert parent.stdout.readline() == "ready\n"
    assert leftovers.wait_for(mark, "sleep 700")
    parent.send_signal(signal.SIGKILL)
    parent.communicate(timeout=patience.seconds(10))
    assert leftovers.wait_until_none(mark) == []


async def test_where_root_cannot_be_nobody_there_is_no_shell(
    mark: str, build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    forbid = [
        "unshare",
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        'echo 0 > /proc/sys/user/max_user_namespaces; exec "$@"',
        "-",
    ]
    allowed = secluded.command
    monkeypatch.setattr(secluded, "command", lambda home: [*forbid, *allowed(home)])
    backend = HostBackend()
    with pytest.raises(
        LabUnavailable, match=r"^a shell here would be root's on this machine .*: use --backend guest$"
    ):
        async with hands(backend, build()):
            pass
    await backend.close()
    assert await asyncio.to_thread(leftovers.wait_until_none, mark) == []
