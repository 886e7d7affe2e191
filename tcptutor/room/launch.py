"""Discovery and start of the lecture process: its socket, lock and log."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tcptutor.base import files, sockets
from tcptutor.base.errors import TutorError
from tcptutor.base.printable import escaped
from tcptutor.room import records

LOCK, PROCESS_LOG = "running.lock", "process.log"
_START_S = 20.0
"""Seconds for a lecture process to accept terminals after its start."""
_POLL_S = 0.02
_LOG_TAIL = 4096
"""Bytes at the end of the process's log to search for the last line."""


def socket_path() -> Path:
    """Return the path of the lecture's socket.

    Raises:
        TutorError: No folder can hold the socket.
    """
    return sockets.path("lecture")


class LectureHolder(NamedTuple):
    """Running lecture process, with the folder of its lecture."""

    process: int
    folder: Path


def running() -> Path | None:
    """Return the folder of the running lecture; None without a lecture process."""
    holder = _holder()
    return holder.folder if holder is not None else None


@contextlib.contextmanager
def only_process(folder: Path) -> Iterator[bool]:
    """Lock out other lecture processes; yield False if the lock is taken. The kernel releases it at exit."""
    files.make_private(folder.parent)
    fd = os.open(_lock_file(), os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, files.PRIVATE)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(fd)
        yield False
        return
    try:
        os.ftruncate(fd, 0)
        os.pwrite(fd, f"{os.getpid()} {folder.name}".encode(), 0)
        yield True
    finally:
        os.close(fd)


def start(folder: Path) -> None:
    """Start the lecture process for `folder` unless it is running, and wait until it accepts terminals.

    Raises:
        TutorError: It ended, or does not answer.
    """
    path, deadline = socket_path(), time.monotonic() + _START_S
    process: subprocess.Popen[bytes] | None = None
    while time.monotonic() < deadline:
        holder = _holder()
        if holder is None:
            if process is not None and process.poll() is not None:
                break
            process = process or _spawn(folder)
        elif _accepts(path) and (
            process is None or process.poll() is not None or holder.process == process.pid
        ):
            _detach(process)
            return
        time.sleep(_POLL_S)
    if process is not None:
        process.kill()
        process.wait()
    raise TutorError(f"the lecture process did not start ({_last_log_line(folder)}): start it again")


def _spawn(folder: Path) -> subprocess.Popen[bytes]:
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
    with os.fdopen(os.open(folder / PROCESS_LOG, flags, files.PRIVATE), "ab") as log:
        # A new session, so that the process outlives this terminal.
        return subprocess.Popen(
            [sys.executable, "-m", "tcptutor.room.host", str(folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
        )


def _detach(process: subprocess.Popen[bytes] | None) -> None:
    """Prevent the warning of `subprocess` about a process that is still running."""
    if process is not None:
        process.returncode = process.returncode or 0


def _holder() -> LectureHolder | None:
    try:
        fd = os.open(_lock_file(), os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        process, _, name = os.read(fd, 255).decode(errors="replace").partition(" ")
        return LectureHolder(int(process), records.lectures() / name) if process.isdecimal() else None
    finally:
        os.close(fd)
    return None


def _accepts(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(str(path))
        except OSError:
            return False
    return True


def _last_log_line(folder: Path) -> str:
    try:
        text = files.read_plain(folder / PROCESS_LOG, 1 << 24)[-_LOG_TAIL:].decode(errors="replace")
    except OSError:
        return "no log"
    lines = [line for line in text.splitlines() if line.strip()]
    return escaped(lines[-1].strip()[:200]) if lines else "no reason given"


def _lock_file() -> Path:
    return records.lectures() / LOCK
