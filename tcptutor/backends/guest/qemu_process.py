"""QEMU as a process: with minimal rights, and on a core of its own for the virtual clock.

It has no capabilities, few system calls, and under root the user nobody. Its inputs arrive as file descriptors, so it
needs no access to the user's files.

Its two threads, the emulated processor and the main loop with its timers, alternate some twenty times per segment. On
two cores each alternation wakes the other core; on a single core it is a context switch. Where the main loop does not
preempt the processor (SCHED_BATCH), it finds several of its events at once. The measurements are the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import mmap
import os
import stat
import subprocess
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import IO, NamedTuple

from tcptutor.backends import programs
from tcptutor.base import places
from tcptutor.base.errors import LabUnavailable
from tcptutor.spec import Change
from tcptutor.wire.ring import SIZE, Ring

SANDBOX = ("-sandbox", "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny")
"""QEMU's own seccomp filter."""
NOBODY = 65534
"""User and group id (Debian's nobody and nogroup) to which QEMU switches when root starts it."""

_NO_GAIN = ("--no-new-privs", "--inh-caps=-all", "--ambient-caps=-all")
_NO_CAPABILITIES = (*_NO_GAIN, "--bounding-set=-all")
_ANOTHER_USER = (f"--reuid={NOBODY}", f"--regid={NOBODY}")
_GROUPS = "--clear-groups"
_LADDER = (
    (*_NO_CAPABILITIES, *_ANOTHER_USER, _GROUPS),
    # Root of a user namespace without other users, who is an ordinary user outside.
    _NO_CAPABILITIES,
    # An ordinary user, who may not drop capabilities from the bounding set.
    _NO_GAIN,
)
_KVM = Path("/dev/kvm")
_FILTERS = Path("/proc/sys/kernel/seccomp/actions_avail")
_PERIOD = 0.01
"""Polling period, seconds: a change of memory raises no event."""


class QemuProgram(NamedTuple):
    """An installed QEMU, and the confinement it supports."""

    path: str
    version: str
    """First line of its version output."""
    sandboxed: bool
    """Whether QEMU and this kernel support the seccomp filter."""
    privileges: tuple[str, ...]
    """Options for setpriv(1)."""

    @property
    def as_nobody(self) -> bool:
        """Whether it runs as NOBODY."""
        return _ANOTHER_USER[0] in self.privileges


def find_qemu(name: str) -> QemuProgram:
    """Find the QEMU called `name` and probe its confinement once. Raises LabUnavailable."""
    return _probe(programs.find(name), programs.find("setpriv"), os.geteuid())


@cache
def _probe(path: str, setpriv: str, user: int) -> QemuProgram:
    sandboxes = [SANDBOX, ()] if _FILTERS.exists() else [()]
    reason = ""
    for sandbox in sandboxes:
        for privileges in _LADDER if user == 0 else _LADDER[1:]:
            command = [setpriv, *privileges, "--", path, *sandbox, "-version"]
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
                )
            except OSError as error:
                raise LabUnavailable(f"QEMU does not start ({error}): try again") from error
            if done.returncode == 0 and done.stdout:
                return QemuProgram(path, done.stdout.splitlines()[0], bool(sandbox), privileges)
            reason = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
    raise LabUnavailable(f"QEMU does not start ({reason}): install it again, or try again")


def command(qemu: QemuProgram, arguments: list[str], *, parent: int, kvm: bool = False) -> list[str]:
    """Return the command that starts `qemu`, killed when `parent` ends; with `kvm` it keeps the group of /dev/kvm."""
    privileges = list(qemu.privileges)
    if kvm and _GROUPS in privileges and (group := _kvm_group()):
        privileges[privileges.index(_GROUPS)] = f"--groups={group}"
    sandbox = SANDBOX if qemu.sandboxed else ()
    return programs.tie_to_parent(parent, [qemu.path, *sandbox, *arguments], privileges)


def _kvm_group() -> int:
    """Return the group that may use /dev/kvm; 0 if only root may, or without the device."""
    try:
        status = _KVM.stat()
    except OSError:
        return 0
    return status.st_gid if stat.S_IMODE(status.st_mode) & 0o060 == 0o060 else 0


@contextmanager
def memory_file(*parts: Path | bytes) -> Iterator[int]:
    """Yield a descriptor of memory with the concatenated `parts`. Raises OSError.

    Any user may open its /proc/self/fd/N.
    """
    fd = os.memfd_create("tcptutor-boot", os.MFD_CLOEXEC)
    try:
        with open(fd, "wb", closefd=False) as file:
            for part in parts:
                file.write(part if isinstance(part, bytes) else part.read_bytes())
        yield fd
    finally:
        os.close(fd)


_LAST_RAN = 36
"""Index of the core in /proc/PID/stat, counted after the program's name (proc(5), field 39)."""


class Core:
    """Reservation of a core for a guest, by a lock file that other processes see."""

    def __init__(self) -> None:
        self._lock: IO[bytes] | None = None

    def pin(self, process: int, processor: int) -> None:
        """Pin a QEMU process, and the thread `processor` that emulates its CPU, to a free core if possible."""
        with contextlib.suppress(OSError):
            number = self._free(_last_ran(process, processor))
            if number is None:
                return
            for task in Path(f"/proc/{process}/task").iterdir():
                thread = int(task.name)
                os.sched_setaffinity(thread, {number})
                if thread != processor:
                    os.sched_setscheduler(thread, os.SCHED_BATCH, os.sched_param(0))

    def _free(self, first: int) -> int | None:
        """Lock and return a core without a guest, preferably `first`."""
        folder = places.cache() / "cores"
        folder.mkdir(parents=True, exist_ok=True)
        for number in _order(first):
            lock = (folder / f"{number}.lock").open("a+b")
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                lock.close()
                continue
            self.release()
            self._lock = lock
            return number
        return None

    def release(self) -> None:
        """Release the core; safe to call twice."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _order(first: int) -> Iterator[int]:
    here = os.sched_getaffinity(0)
    if first in here:
        yield first
    yield from sorted(here - {first})


def _last_ran(process: int, thread: int) -> int:
    """Return the core where the scheduler last put `thread`: a good choice, as the kernel knows the other load."""
    stat = Path(f"/proc/{process}/task/{thread}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[_LAST_RAN])


class SharedMemory:
    """Owner of anonymous memory shared with QEMU; it disappears with the two processes."""

    def __init__(self) -> None:
        self.fd = os.memfd_create("tcptutor", os.MFD_CLOEXEC)
        os.ftruncate(self.fd, SIZE)
        self._ring = Ring(mmap.mmap(self.fd, SIZE))
        self._lines: list[bytes] = []
        self._rest = b""
        self._closed = False

    def submit(self, request: bytes, changes: Iterable[Change] = ()) -> None:
        """Write a request for a stopped guest, and `changes` that the guest may read once they are due."""
        self._ring.submit(request, changes)

    @property
    def polls(self) -> int:
        """Number of times the guest has polled for a request."""
        return self._ring.polls

    def skip(self) -> None:
        """Discard all lines so far: restoring a snapshot also restores its shared memory."""
        self._ring.skip()

    async def readline(self, alive: Callable[[], bool]) -> bytes:
        """Return the next line; empty once the guest is not `alive` and all output was read."""
        while not self._lines:
            living = alive()
            parts = (self._rest + self._ring.read()).split(b"\n")
            self._rest = parts.pop()
            self._lines = [part + b"\n" for part in reversed(parts)]
            if not self._lines:
                if not living:
                    return b""
                await asyncio.sleep(_PERIOD)
        return self._lines.pop()

    def close(self) -> None:
        """Release the memory; safe to call twice."""
        if not self._closed:
            self._closed = True
            self._ring.close()
            os.close(self.fd)
