"""Trace buffers (instances) and events of the kernel that belong to a program, with cleanup after crashes.

They are global and survive the program that created them; a process id does not identify the owner, because each lab
has its own process numbers. So the owner of an instance holds a lock on its folder, which the kernel releases when the
program ends in any way, and the next program removes unlocked instances.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import os
from pathlib import Path

TRACEFS = Path("/sys/kernel/tracing")
_PREFIX = "tcptutor-"
_GROUP = "tcptutor"
_EVENT = "resent_"
_TRIES = 5


class TraceInstance:
    """Instance of the kernel's trace buffers, and its lock; `close` it. Raises OSError if it cannot be created."""

    def __init__(self) -> None:
        remove_dead()
        self._lock = -1
        for _ in range(_TRIES):
            self._token = os.urandom(6).hex()
            self.folder = TRACEFS / "instances" / f"{_PREFIX}{self._token}"
            self.folder.mkdir()
            # Until the folder is locked, another program may remove it as abandoned.
            with contextlib.suppress(OSError):
                self._lock = os.open(self.folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
                try:
                    fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if self.folder.exists():
                        return
                except OSError:
                    os.close(self._lock)
                    raise
                os.close(self._lock)
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    @property
    def event(self) -> str:
        """Name of the instance's own event, below `events`."""
        return f"{_GROUP}/{_EVENT}{self._token}"

    def define(self, event: str) -> None:
        """Define the instance's event, such as "tcp.tcp_retransmit_skb state=$state:s32". Raises OSError."""
        _define(f"e:{self.event} {event}")

    def write(self, name: str, value: str) -> None:
        """Write `value` to the instance's file `name`. Raises OSError."""
        (self.folder / name).write_text(value)

    def close(self) -> None:
        """Release the buffers; safe to call twice. Close all files opened in the instance first."""
        if self._lock >= 0:
            _remove(self.folder)
            os.close(self._lock)
            self._lock = -1


def mount() -> None:
    """Mount the kernel's tracing files in this mount namespace, if permitted."""
    try:
        is_mounted = (TRACEFS / "events").exists()
    except PermissionError:
        return  # mounted, but readable by root only
    if not is_mounted:
        ctypes.CDLL(None).mount(b"tracefs", str(TRACEFS).encode(), b"tracefs", 0, None)


def remove_dead() -> int:
    """Remove the instances and events of killed programs, and return the number of instances. Never raises."""
    removed = 0
    mount()
    with contextlib.suppress(OSError):
        for folder in TRACEFS.glob(f"instances/{_PREFIX}*"):
            removed += _remove_if_unlocked(folder)
        # An event is removed before its instance, so one without an instance is abandoned.
        for event in TRACEFS.glob(f"events/{_GROUP}/{_EVENT}*"):
            if not (TRACEFS / "instances" / f"{_PREFIX}{event.name.removeprefix(_EVENT)}").exists():
                with contextlib.suppress(OSError):
                    _define(f"-:{_GROUP}/{event.name}")
    return removed


def _remove_if_unlocked(folder: Path) -> bool:
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False  # just removed
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _remove(folder)
    except OSError:
        return False  # in use
    finally:
        os.close(lock)


def _remove(folder: Path) -> bool:
    """Remove an instance, and return whether it is gone. An enabled event or an open file would hold it."""
    event = f"{_GROUP}/{_EVENT}{folder.name.removeprefix(_PREFIX)}"
    with contextlib.suppress(OSError):
        (folder / "events" / "enable").write_text("0")
    with contextlib.suppress(OSError):
        _define(f"-:{event}")
    with contextlib.suppress(OSError):
        folder.rmdir()
        return True
    return False


def _define(event: str) -> None:
    # Python's append mode seeks first, which the kernel refuses here.
    events = os.open(TRACEFS / "dynamic_events", os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        os.write(events, event.encode())
    finally:
        os.close(events)
