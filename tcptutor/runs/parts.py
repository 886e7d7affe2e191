"""A run's file while the run goes on: `ID.tcprun.part`, a line for what is run, then one for each event as it arrives.

A line is with the kernel when the call returns, so a program that is killed loses nothing that had arrived. The writer
holds a lock that ends with its process: a part that can be locked has lost its writer, and the next start makes a run
file of it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import msgspec

from tcptutor import files
from tcptutor.errors import TutorError
from tcptutor.lab import protocol
from tcptutor.lab.protocol import Captured, Event
from tcptutor.places import STATE_ELSEWHERE
from tcptutor.run import FORMAT_VERSION, Environment, Run, save
from tcptutor.runs import packets
from tcptutor.runs.recording import add, cut
from tcptutor.spec import Experiment

ENDED = "tcptutor ended during it"
"""The note of a run that was cut short by the end of its program."""
SUFFIX = ".part"
LONGEST = 1 << 26
"""Bytes of a line that is read. An event tells of a fifth of a second: of 256 flows about a megabyte."""


class _Head(msgspec.Struct):
    """The first line: a run without anything that came out of it."""

    id: str
    experiment: Experiment
    environment: Environment
    started: str
    format_version: int = FORMAT_VERSION


class Part:
    """Writes the part of one run, beside `file`, where the whole run will be.

    Never raises: on a full disk the part ends where the space did, and the run goes on.
    """

    def __init__(self, file: Path, run: Run) -> None:
        self._path = file.with_name(file.name + SUFFIX)
        self._fd: int | None = None
        self._length = 0
        self._full = False
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            self._fd = _open_locked(self._path)
        self._write(msgspec.json.encode(_Head(run.id, run.experiment, run.environment, run.started)) + b"\n")

    def take(self, event: Event) -> None:
        """Add what has arrived."""
        self._write(protocol.line(event))

    def _write(self, line: bytes) -> None:
        if self._fd is None or self._full:
            return
        try:
            left = memoryview(line)
            while left:
                left = left[os.write(self._fd, left) :]
            self._length += len(line)
        except OSError:
            # Half a line would hide all that came after it.
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, self._length)
            # The lock is held on: the run goes on, and nobody may take the part for left behind.
            self._full = True

    def _close(self) -> None:
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def remove(self) -> None:
        """The run is where it belongs, or there is nothing to keep."""
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)
        self._close()


def _open_locked(path: Path) -> int:
    while True:
        fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_APPEND | os.O_CLOEXEC, 0o644)
        # A file system without locks: nobody can lock the part then, so nobody takes it for left behind.
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX)
        if os.fstat(fd).st_nlink:
            return fd
        os.close(fd)  # another start found it empty and unlocked, just before


def recover(folder: Path) -> list[Run]:
    """Make run files of the parts in `folder` whose writer is gone, and give those runs. Never raises.

    A run whose end had arrived is whole, any other is marked as cut short. What cannot be written now stays for
    the next start; the part of a run that goes on in another program is left alone.
    """
    runs = []
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        with contextlib.suppress(OSError, TutorError), path.open("r+b") as part:
            fcntl.flock(part, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(part.fileno()).st_nlink and (run := _recover(path, part)):
                runs.append(run)
    return runs


def _recover(path: Path, part: IO[bytes]) -> Run | None:
    """The run of a part that is ours now; None when nothing had arrived, or all of it was in place already."""
    file = path.with_name(path.name.removesuffix(SUFFIX))
    for half in path.parent.glob(f".{file.name}.*"):
        half.unlink(missing_ok=True)
    captured = list[Captured]()
    run = None if file.exists() else _read(path, part, captured)
    if run is not None and (run.sampled_until > 0 or run.complete):
        save(run, file)
        if captured:
            with contextlib.suppress(TutorError):
                packets.save(run, captured, file, STATE_ELSEWHERE)
    else:
        run = None
    path.unlink()
    return run


def _read(path: Path, part: IO[bytes], captured: list[Captured]) -> Run | None:
    """What the part tells, up to a last line that was not finished; its packets go to `captured`.

    Raises TutorError for one of a newer format."""
    lines = files.lines(part, LONGEST)
    first = next(lines, b"")
    try:
        files.check_version(first, FORMAT_VERSION, path)
        head = msgspec.json.decode(first, type=_Head)
    except msgspec.MsgspecError:
        return None
    run = Run(id=head.id, experiment=head.experiment, environment=head.environment, started=head.started)
    _replay(run, lines, captured)
    if not run.complete:
        cut(run, run.note or ENDED)
    # Lines are written as they arrive, so the last one tells how long it took.
    with contextlib.suppress(ValueError):
        last = datetime.fromtimestamp(os.fstat(part.fileno()).st_mtime, UTC)
        run.wall_s = max(0.0, (last - datetime.fromisoformat(head.started)).total_seconds())
    return run


def _replay(run: Run, lines: Iterable[bytes], captured: list[Captured]) -> None:
    with contextlib.suppress(msgspec.MsgspecError):
        for line in lines:
            event = protocol.event_decoder.decode(line)
            add(run, event)
            if isinstance(event, Captured):
                captured.append(event)
