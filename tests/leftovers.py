"""Which processes a test has left: they carry a mark in their environment that their children inherit."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from pathlib import Path

from tests.patience import Deadline

MARK = "TCPTUTOR_TEST_MARK"


def marked(mark: str) -> list[str]:
    """Command lines of the living processes with that mark, this one left out."""
    needle = f"{MARK}={mark}".encode()
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int(folder.name) != os.getpid() and needle in (folder / "environ").read_bytes().split(b"\0"):
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
                if state != "Z":
                    found.append(f"{folder.name} {command}")
        except (OSError, ValueError):
            continue
    return found


def children(part: str) -> list[str]:
    """Command lines of this process's children that have `part` in them."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if parent == os.getpid() and part in command:
                found.append(f"{folder.name} {command}")
    return found


def kill(mark: str, part: str) -> None:
    """Kill the marked processes with `part` in their command line."""
    for line in marked(mark):
        if part in line:
            os.kill(int(line.split()[0]), signal.SIGKILL)


def wait_until_none(mark: str, seconds: float = 5.0) -> list[str]:
    """What is still there after that time at most; empty when all have ended.

    Twice in a row nothing: one look misses a process that is just becoming another program.
    """
    deadline = Deadline(seconds)
    while deadline.left:
        if not marked(mark):
            time.sleep(0.02)
            if not marked(mark):
                return []
        time.sleep(0.05)
    return marked(mark)


def wait_for(mark: str, part: str, seconds: float = 20.0) -> bool:
    """Whether a marked process with `part` in its command line appears in that time.

    One look decides: a process that is just becoming another program has no environment to read, and is missing from
    the next look.
    """
    deadline = Deadline(seconds)
    while deadline.left:
        if any(part in line for line in marked(mark)):
            return True
        time.sleep(0.05)
    return False
