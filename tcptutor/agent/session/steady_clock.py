"""Steady time for sessions on the virtual clock: a process that keeps the processor busy while traffic passes.

A session lets idle time pass at the pace of the machine outside. Where that machine has other work, idle time ends
late, and timers and samples with it. The clock of a busy processor counts instructions, and so waits for the machine.
"""

from __future__ import annotations

import contextlib
import os
import signal
import zlib
from pathlib import Path

_LOWEST_PRIORITY = 19
_BLOCK = bytes(1 << 16)
_AFTER_INPUT = 1.5
"""Time that the processor stays busy after input, s: a program starts, and its first packets leave."""
_AFTER_TRAFFIC = 1.5
"""Time that it stays busy after the last packet, s: longer than the pause between two pings."""
_INTERFACES = Path("/proc/net/dev")


class SteadyClock:
    """Owner of the process; `close` it. Times are seconds of the monotonic clock."""

    def __init__(self) -> None:
        self._until = 0.0
        self._is_busy = False
        self._packets = _packets()
        self._process = os.fork()
        if not self._process:
            _spin()
        self._signal(signal.SIGSTOP)

    def take_input(self, now: float) -> None:
        """Keep the processor busy, since a line may start traffic."""
        self._until = max(self._until, now + _AFTER_INPUT)
        self._apply(now)

    def poll(self, now: float) -> None:
        """Keep the processor busy if packets have passed since the last poll, and idle some time after the last."""
        packets = _packets()
        if packets != self._packets:
            self._until = max(self._until, now + _AFTER_TRAFFIC)
        self._packets = packets
        self._apply(now)

    def _apply(self, now: float) -> None:
        wanted = now < self._until
        if wanted != self._is_busy:
            self._is_busy = wanted
            self._signal(signal.SIGCONT if wanted else signal.SIGSTOP)

    def _signal(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process, number)

    def close(self) -> None:
        self._signal(signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._process, 0)


def _spin() -> None:
    """Use the processor whenever no other program does; never returns."""
    try:
        # The kernel counts the time as nice, which `counters.Processors` counts as free.
        os.setpriority(os.PRIO_PROCESS, 0, _LOWEST_PRIORITY)
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
        while True:
            zlib.crc32(_BLOCK)
    finally:
        os._exit(1)


def _packets() -> list[str]:
    """Return the packet counters of the switches' interfaces."""
    rows = (line.partition(":") for line in _INTERFACES.read_text().splitlines()[2:])
    return [counts.split()[1] for name, _, counts in rows if name.strip() != "lo"]
