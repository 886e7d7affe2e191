"""How long to wait: a time that holds on a quiet machine, and more of it in proportion to what else a machine does."""

from __future__ import annotations

import os
import time
from pathlib import Path


def busy() -> float:
    """How many want each processor: 1 when nobody has to wait for one. Of now or of the last minute, what is more."""
    running = int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0])
    return max(1.0, max(running, os.getloadavg()[0]) / (os.cpu_count() or 1))


def seconds(quiet: float) -> float:
    """What takes `quiet` seconds of a quiet machine at most may take so many now."""
    return quiet * busy()


class Deadline:
    """`quiet` seconds of a quiet machine from now on; further away the busier the machine becomes."""

    def __init__(self, quiet: float) -> None:
        self._quiet, self._began, self._busiest = quiet, time.monotonic(), busy()

    @property
    def left(self) -> float:
        """Seconds; 0 when it is over."""
        self._busiest = max(self._busiest, busy())
        return max(0.0, self._began + self._quiet * self._busiest - time.monotonic())
