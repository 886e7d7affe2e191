"""Bounds of the shells in the guest: a number of processes, and memory that the agent does not need.

On the host a shell is unbounded, like the user's other shells.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_SHELLS = _ROOT / "tcptutor-shells"
PROCESSES = 400
"""Processes and threads of all shells in total: a hundred or more streams of iperf3, with a thread at each end."""
_AGENT_MEMORY = 24 << 20
"""Bytes reserved for the agent. Without a bound of their own for the shells, the kernel would reclaim the pages of all
programs, read them again and again, and stall for minutes."""
_INTERVAL = 1.0
_MAX_REFUSALS = 4
"""Checks in a row with refused processes that indicate an endless loop."""
_OVERRUN = f"the shells started more than {PROCESSES} processes and went on: the lab has ended, open it again"
_OOM = Path("/proc/self/oom_score_adj")
_MEMINFO = Path("/proc/meminfo")


def make() -> None:
    """Create the shells' cgroup in the guest, and make the agent the last process to be killed for memory."""
    _OOM.write_text("-1000")
    (_ROOT / "cgroup.subtree_control").write_text("+pids +memory")
    _SHELLS.mkdir()
    (_SHELLS / "pids.max").write_text(str(PROCESSES))


def enter() -> None:
    """Move this process into the shells' cgroup, if `make` has created it."""
    if _SHELLS.exists():
        with contextlib.suppress(OSError):
            (_SHELLS / "cgroup.procs").write_text("0")
            _OOM.write_text("0")


class Bounds:
    """Memory limit of the shells, and check of their number of processes."""

    def __init__(self) -> None:
        self._exists = _SHELLS.exists()
        if self._exists:
            (_SHELLS / "memory.max").write_text(str(_available() - _AGENT_MEMORY))
        self._refused = 0
        self._in_a_row = 0
        self._next_check = 0.0

    def overrun(self) -> str:
        """Return the reason to end the session, as a line; empty if it may go on."""
        now = time.monotonic()
        if not self._exists or now < self._next_check:
            return ""
        self._next_check = now + _INTERVAL
        # The file has one line: "max" and the number of refused processes.
        refused = int((_SHELLS / "pids.events").read_text().split()[1])
        self._in_a_row = self._in_a_row + 1 if refused > self._refused else 0
        self._refused = refused
        return _OVERRUN if self._in_a_row >= _MAX_REFUSALS else ""


def _available() -> int:
    (line,) = (line for line in _MEMINFO.read_text().splitlines() if line.startswith("MemAvailable:"))
    return int(line.split()[1]) << 10
