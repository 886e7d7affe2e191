"""CPU pinning for a guest on the virtual clock.

QEMU's two threads, the emulated processor and the main loop with its timers, alternate some twenty times per segment.
On two cores each alternation wakes the other core; on a single core it is a context switch. Where the main loop does
not preempt the processor (SCHED_BATCH), it finds several of its events at once. The measurements are the same.
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
