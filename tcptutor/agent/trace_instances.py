"""Trace buffers (instances) and events that are one program's own among all that the kernel has, and gone with it.

They are the whole machine's, and stay when who made them is killed; process ids do not tell whose they are, for each
lab counts its own. So whoever makes an instance holds a lock on its folder, which the kernel takes back however that
program ends, and the next one removes those that nobody holds.
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
    """Owns an instance of the kernel's trace buffers, and its lock; `close` it."""

    def __init__(self) -> None:
        """Raises OSError where there can be none. What was left by programs that were killed is removed first."""
        remove_dead()
        self._lock = -1
        for _ in range(_TRIES):
            self._token = os.urandom(6).hex()
            self.folder = TRACEFS / "instances" / f"{_PREFIX}{self._token}"
            self.folder.mkdir()
            # Until it is locked another program may take it for one that was left.
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
        """The name of an event of its own, below `events`."""
        return f"{_GROUP}/{_EVENT}{self._token}"

    def define(self, event: str) -> None:
        """Make `event`, such as "tcp.tcp_retransmit_skb state=$state:s32", its own. Raises OSError."""
        _define(f"e:{self.event} {event}")

    def write(self, name: str, value: str) -> None:
        """Write `value` to its file `name`. Raises OSError."""
        (self.folder / name).write_text(value)

    def close(self) -> None:
        """Give the buffers back; safe to call twice. Whatever was opened in it is to be closed before."""
        if self._lock >= 0:
            _remove(self.folder)
            os.close(self._lock)
            self._lock = -1


def mount() -> None:
    """Have the kernel's tracing files in this mount namespace; nothing where that is not allowed."""
    try:
        there = (TRACEFS / "events").exists()
    except PermissionError:
        return  # mounted, and root's alone
    if not there:
        ctypes.CDLL(None).mount(b"tracefs", str(TRACEFS).encode(), b"tracefs", 0, None)


def remove_dead() -> int:
    """Remove what programs that were killed have left, and give how many instances there were. Never raises."""
    removed = 0
    mount()
    with contextlib.suppress(OSError):
        for folder in TRACEFS.glob(f"instances/{_PREFIX}*"):
            removed += _removed_if_dead(folder)
        # An event goes before its instance: one without is nobody's.
        for event in TRACEFS.glob(f"events/{_GROUP}/{_EVENT}*"):
            if not (TRACEFS / "instances" / f"{_PREFIX}{event.name.removeprefix(_EVENT)}").exists():
                with contextlib.suppress(OSError):
                    _define(f"-:{_GROUP}/{event.name}")
    return removed


def _removed_if_dead(folder: Path) -> bool:
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False  # it has just gone
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return _remove(folder)
    except OSError:
        return False  # it is somebody's
    finally:
        os.close(lock)


def _remove(folder: Path) -> bool:
    """Whether the instance is gone. An event that is enabled, or a file that is open, would hold it."""
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
    """Add an event to the kernel's, or take one away, and leave the others. Raises OSError."""
    # Python's own append mode seeks first, which the kernel refuses here.
    events = os.open(TRACEFS / "dynamic_events", os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
    try:
        os.write(events, event.encode())
    finally:
        os.close(events)
