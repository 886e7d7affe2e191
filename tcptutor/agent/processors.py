"""Processors of the machine: their load during a run, and the agent's priority on them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_STAT = Path("/proc/stat")
_IDLE, _IOWAIT, _SOFTIRQ, _STEAL = 3, 4, 6, 7
_HIGHEST_PRIORITY = -20


class ProcessorShares(NamedTuple):
    """Shares of processor time, 0 to 1."""

    busiest: float
    """Time that the busiest processor was not idle."""
    softirq: float
    """Largest share spent on network work in soft interrupts."""
    steal: float
    """Largest share taken by a hypervisor."""


class Processors:
    """Load of the processors since construction or the last `restart`."""

    def __init__(self) -> None:
        self._before = _read()

    def restart(self) -> None:
        self._before = _read()

    def shares(self) -> ProcessorShares:
        """Return the shares since the start."""
        shares = []
        for name, now in _read().items():
            spent = [max(0, b - a) for a, b in zip(self._before.get(name, now), now, strict=True)]
            total = sum(spent) or 1
            idle = spent[_IDLE] + spent[_IOWAIT]
            shares.append(ProcessorShares(1 - idle / total, spent[_SOFTIRQ] / total, spent[_STEAL] / total))
        return ProcessorShares(*(round(max(column), 4) for column in zip(*shares, strict=True)))


def _read() -> dict[str, list[int]]:
    """Return the ticks by processor: user, nice, system, idle, iowait, irq, softirq, steal."""
    rows = (line.split() for line in _STAT.read_text().splitlines() if line.startswith("cpu"))
    return {row[0]: [int(value) for value in row[1:9]] for row in rows if row[0] != "cpu"}


@contextmanager
def high_priority() -> Iterator[None]:
    """Give this thread the highest priority for the length of the block, if permitted.

    Each flow has two threads, so among 16 busy flows the sampling thread would get 1/33 of a processor.
    """
    before = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, _HIGHEST_PRIORITY)
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, before)
