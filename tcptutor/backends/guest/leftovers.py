"""What builds that were killed have left in the guest's folder. Their names end in the builder's process id."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

_NAME = re.compile(r"image\.(?P<image>\d+)\.part|\.(initrd|snapshot)\.\w+\.(?P<pid>\d+)")


def _began(pid: str) -> float:
    """When process `pid` began, seconds since 1970 (proc_pid_stat(5), field 22). Raises OSError when it has ended."""
    # The name, in brackets, may hold blanks.
    state, *fields = Path("/proc", pid, "stat").read_text().rpartition(")")[2].split()
    if state == "Z":  # whoever has started it has not waited for it yet
        raise ProcessLookupError
    ticks = float(fields[18])
    uptime = float(Path("/proc/uptime").read_text().split()[0])
    return time.time() - uptime + ticks / os.sysconf("SC_CLK_TCK")


def _belongs_to(path: Path, pid: str) -> bool:
    """Whether process `pid` lives and can have made `path`: ids are used again, in containers soon."""
    try:
        return _began(pid) <= path.lstat().st_mtime + 1
    except OSError:
        return False


def remove(folder: Path) -> int:
    """Remove them, and give how many there were. What a living build writes stays."""
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
