"""Removal of files that killed builds left in the guest's folder. Their names contain the builder's process id."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

_NAME = re.compile(r"image\.(?P<image>\d+)\.part|\.(initrd|snapshot)\.\w+\.(?P<pid>\d+)")


def _began(pid: str) -> float:
    """Return the start time of process `pid`, seconds since 1970 (proc_pid_stat(5), field 22).

    Raises OSError when the process has ended.
    """
    # The process name, in parentheses, may contain spaces.
    state, *fields = Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()
    if state == "Z":  # ended, not yet reaped
        raise ProcessLookupError
    ticks = float(fields[18])
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    return time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")


def _belongs_to(path: Path, pid: str) -> bool:
    """Check that process `pid` lives and is old enough to have made `path`, as process ids are reused."""
    try:
        return _began(pid) <= path.lstat().st_mtime + 1
    except OSError:
        return False


def remove(folder: Path) -> int:
    """Remove leftovers and return their number. Files of a running build stay."""
    removed = 0
    for path in folder.iterdir() if folder.is_dir() else ():
        match = _NAME.fullmatch(path.name)
        if match is None or _belongs_to(path, match["image"] or match["pid"]):
            continue
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
        removed += 1
    return removed
