"""The core that a guest on the virtual clock has for itself.

QEMU's two threads, the emulated processor and the main loop with its timers, take turns there, some twenty times a
segment. On two cores each turn wakes the other core. On one it is an exchange; and where the main loop does not
interrupt the processor (SCHED_BATCH), it finds several of its events at once. What a run measures is the same.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from tcptutor.base import places

_LAST_RAN = 36
"""Where a thread's /proc/PID/stat tells its core, counted after the program's name (proc(5), field 39)."""


class Core:
    """None at first. Owns a lock that tells all of this user's programs which cores have a guest."""

    def __init__(self) -> None:
        self._lock: IO[bytes] | None = None

    def take(self, process: int, processor: int) -> None:
        """Give that QEMU a core of its own, if one is left: its `process` and the thread of its emulated `processor`.

        Where that cannot be done it runs on all cores, as any program does.
        """
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
        """One that has no guest, where the thread was last if that is one."""
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
        """Another guest may have it; safe to call twice."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None


def _order(first: int) -> Iterator[int]:
    here = os.sched_getaffinity(0)
    if first in here:
        yield first
    yield from sorted(here - {first})


def _last_ran(process: int, thread: int) -> int:
    """The core where the kernel, which knows what else goes on, has put it."""
    stat = Path(f"/proc/{process}/task/{thread}/stat").read_text()
    return int(stat.rpartition(")")[2].split()[_LAST_RAN])
