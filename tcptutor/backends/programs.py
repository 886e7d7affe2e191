"""Programs that the lab runs on this machine: their paths and Debian packages, and their orderly end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Coroutine, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

from tcptutor.base.errors import MissingTool

PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/local/sbin", "/usr/sbin", "/sbin"])
"""Search path with the sbin folders, which Debian leaves out of an ordinary user's PATH."""

HOST = ("mnexec", "brctl", "ifconfig", "ip", "iperf3", "sysctl", "unshare", "setpriv")
"""Programs that the agent runs on this machine's own kernel."""

TYPED = ("ethtool", "newuidmap", "ping", "tcpdump")
"""Other programs that students need in shells; experiments run without them, and the guest has its own."""

GUEST = ("zstd", "setpriv")
"""Programs that run a built guest, besides its architecture's QEMU."""

BUILDING = ("mmdebstrap", "tar2sqfs", "depmod")
"""Programs that build a guest."""

PACKAGES = {
    "brctl": "bridge-utils",
    "depmod": "kmod",
    "ethtool": "ethtool",
    "ifconfig": "net-tools",
    "ip": "iproute2",
    "iperf3": "iperf3",
    "mmdebstrap": "mmdebstrap",
    "mnexec": "mininet",
    "newuidmap": "uidmap",
    "ping": "iputils-ping",
    "qemu-system-aarch64": "qemu-system-arm",
    "qemu-system-x86_64": "qemu-system-x86",
    "setpriv": "util-linux",
    "sysctl": "procps",
    "tar2sqfs": "squashfs-tools-ng",
    "tcpdump": "tcpdump",
    "unshare": "util-linux",
    "zstd": "zstd",
}
"""Debian package of each program; Ubuntu uses the same names."""

_T = TypeVar("_T")

_IF_PARENT_LIVES = ("sh", "-c", '[ "$PPID" = "$0" ] && exec "$@"')
_PROCESS_IDS = ("--pid", "--fork", "--kill-child", "--mount-proc")


def missing(names: Iterable[str]) -> dict[str, str]:
    """Return the programs of `names` that are not installed, with their Debian packages."""
    return {name: PACKAGES[name] for name in names if shutil.which(name, path=PATH) is None}


def find(name: str) -> str:
    """Return the full path of program `name`.

    Raises:
        MissingTool: It is not installed; the message names the package.
    """
    path = shutil.which(name, path=PATH)
    if path is None:
        raise MissingTool(f"{name} is missing (Debian package {PACKAGES[name]}): run `tcptutor setup`")
    return path


def tie_to_parent(parent: int, command: Sequence[str], privileges: Sequence[str] = ()) -> list[str]:
    """Return `command` wrapped so that the kernel kills it when the process `parent`, which starts it, ends.

    The death signal is requested after the setpriv(1) options in `privileges`, because a change of user would clear
    it. A parent that died before that never sends the signal, so the wrapper exits once `parent` is gone.
    """
    setpriv = [find("setpriv"), "--pdeathsig=KILL", *privileges, "--"]
    return [*setpriv, *_IF_PARENT_LIVES, str(parent), *command]


@cache
def _namespace() -> tuple[str, ...]:
    user = () if os.geteuid() == 0 else ("--map-current-user",)
    command = (find("unshare"), *user, *_PROCESS_IDS)
    done = subprocess.run([*command, "true"], capture_output=True, check=False, stdin=subprocess.DEVNULL)
    return () if done.returncode else command


def tie_tree_to_parent(parent: int, command: Sequence[str]) -> list[str]:
    """Return `command` wrapped as by `tie_to_parent`, with every process and mount it creates.

    Where this machine allows no PID namespace, only `command` itself is killed.
    """
    return tie_to_parent(parent, [*_namespace(), *command])


def kill(process: asyncio.subprocess.Process) -> None:
    """Send SIGKILL unless `process` has ended.

    `process.kill()` polls the child first and may so take its exit status away from asyncio, which then logs a
    warning on the student's terminal.
    """
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)


def run_until_signal(main: Coroutine[Any, Any, _T]) -> _T:
    """Run `main` as `asyncio.run` does; the first SIGINT, SIGTERM or SIGHUP cancels it.

    Later signals are ignored, so that they do not disturb the cleanup.
    """

    async def watched() -> _T:
        task = asyncio.create_task(main)
        loop = asyncio.get_running_loop()
        is_stopping = False

        def stop() -> None:
            nonlocal is_stopping
            if not is_stopping:
                is_stopping = True
                task.cancel()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is not signal.SIG_IGN:  # nohup ignores SIGHUP
                loop.add_signal_handler(number, stop)
        return await task

    return asyncio.run(watched())


@contextmanager
def terminate_like_ctrl_c() -> Iterator[None]:
    """Treat SIGHUP (a closed terminal) and SIGTERM like Ctrl-C; a signal that nohup ignores stays ignored."""
    signals = [
        number for number in (signal.SIGHUP, signal.SIGTERM) if signal.getsignal(number) == signal.SIG_DFL
    ]
    for number in signals:
        signal.signal(number, lambda *_: signal.raise_signal(signal.SIGINT))
    try:
        yield
    finally:
        for number in signals:
            signal.signal(number, signal.SIG_DFL)
