"""What the shells of a session may take of the guest: so many processes, and no memory that the agent needs.

In the guest only, which is made for nothing else; on the machine itself a shell is a shell like any other there.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
_SHELLS = _ROOT / "tcptutor-shells"
PROCESSES = 400
"""Processes and threads of all shells together: some hundred streams of iperf3, each with a thread at both ends."""
_FOR_THE_AGENT = 24 << 20
"""Bytes that no shell may have. Without a bound of their own the kernel looks for more in the pages of every program
there is, reads them again and again, and nothing goes on for minutes."""
_LOOK = 1.0
"""How often the bound is looked at, s."""
_TOO_LONG = 4
"""Looks in a row at which more was refused: somebody's loop that nobody ends."""
_OVERRUN = (
    f"what was started in the shells became more than {PROCESSES} processes and goes on: the lab has ended, and is"
    " fresh when it is opened again"
)
_OOM = Path("/proc/self/oom_score_adj")
_MEMINFO = Path("/proc/meminfo")


def make() -> None:
    """For the guest, before anything else is started: the group of the shells, and the agent last to be ended."""
    _OOM.write_text("-1000")
    (_ROOT / "cgroup.subtree_control").write_text("+pids +memory")
    _SHELLS.mkdir()
    (_SHELLS / "pids.max").write_text(str(PROCESSES))


def enter() -> None:
    """For the process of a shell, before it is one; nothing where `make` was not done."""
    if _SHELLS.exists():
        with contextlib.suppress(OSError):
            (_SHELLS / "cgroup.procs").write_text("0")
            _OOM.write_text("0")


class Bounds:
    """Gives the shells all memory but the agent's, and looks whether they go beyond their processes."""

    def __init__(self) -> None:
        self._there = _SHELLS.exists()
        if self._there:
            (_SHELLS / "memory.max").write_text(str(_available() - _FOR_THE_AGENT))
        self._refused = 0
        self._in_a_row = 0
        self._look = 0.0

    def overrun(self) -> str:
        """One line that says why the session has to end; empty as long as it may go on."""
        now = time.monotonic()
        if not self._there or now < self._look:
            return ""
        self._look = now + _LOOK
        # One line: "max", and how often a process was refused.
        refused = int((_SHELLS / "pids.events").read_text().split()[1])
        self._in_a_row = self._in_a_row + 1 if refused > self._refused else 0
        self._refused = refused
        return _OVERRUN if self._in_a_row >= _TOO_LONG else ""


def _available() -> int:
    """Memory that could be had, bytes."""
    (line,) = (line for line in _MEMINFO.read_text().splitlines() if line.startswith("MemAvailable:"))
    return int(line.split()[1]) << 10
