"""How busy the processors were while a run went on, from the kernel's own accounts."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

_STAT = Path("/proc/stat")
_IDLE, _IOWAIT, _SOFTIRQ, _STEAL = 3, 4, 6, 7


class Busy(NamedTuple):
    """Shares of the time between two looks, 0 to 1."""

    busiest: float
    """Of the processor that was busiest: anything but idle."""
    softirq: float
    """Of the processor that spent most in it: the network's own work."""
    steal: float
    """Taken by a hypervisor, the worst processor."""


class Load:
    """Begins to count when it is made, and again at `begin`."""

    def __init__(self) -> None:
        self._before = _read()

    def begin(self) -> None:
        """Forget what was before."""
        self._before = _read()

    def busy(self) -> Busy:
        """Since it began."""
        shares = []
        for name, now in _read().items():
            spent = [max(0, b - a) for a, b in zip(self._before.get(name, now), now, strict=True)]
            total = sum(spent) or 1
            idle = spent[_IDLE] + spent[_IOWAIT]
            shares.append(Busy(1 - idle / total, spent[_SOFTIRQ] / total, spent[_STEAL] / total))
        return Busy(*(round(max(column), 4) for column in zip(*shares, strict=True)))


def _read() -> dict[str, list[int]]:
    """Ticks by processor: user, nice, system, idle, iowait, irq, softirq, steal."""
    rows = (line.split() for line in _STAT.read_text().splitlines() if line.startswith("cpu"))
    return {row[0]: [int(value) for value in row[1:9]] for row in rows if row[0] != "cpu"}
