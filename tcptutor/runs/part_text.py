"""What a part tells of its run, as far as it is whole: everything in it passes the check that run files pass."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import msgspec
from msgspec.structs import replace

from tcptutor.base import files
from tcptutor.run import FORMAT_VERSION, Environment, Run
from tcptutor.run.check import LONGEST, RowsCheck, check_frame, check_interface
from tcptutor.runs.recording import add, cut, tables_of
from tcptutor.spec import Experiment
from tcptutor.wire import protocol
from tcptutor.wire.protocol import CapturedPackets, Event, Samples

ENDED = "tcptutor ended during it"
"""The note of a run that was cut short by the end of its program."""
_LONGEST = 1 << 24
"""Bytes of a line that is read. An event tells of a fifth of a second: of 256 flows about a megabyte."""
_LARGEST = 1 << 30
"""Bytes of all lines that are read, as of a run file."""


class DamagedPart(Exception):
    """Nothing can be recovered from a part: why, in a few words."""


class PartHead(msgspec.Struct):
    """The first line: a run without anything that came out of it."""

    id: str
    experiment: Experiment
    environment: Environment
    started: str
    format_version: int = FORMAT_VERSION


class PartText(msgspec.Struct):
    """A part that was read."""

    run: Run
    captured: list[CapturedPackets]
    """Its packets."""
    damage: str = ""
    """What ends the part before its end, in a few words; empty when nothing does: a last line that was not finished
    is what a killed program leaves."""


_BROKEN = (ValueError, OverflowError, RecursionError, msgspec.MsgspecError)


def read_part(part: IO[bytes], path: Path) -> PartText | None:
    """What the part in `path` tells; None when its first line was never finished.

    Raises DamagedPart when that is not the first line of a part, TutorError for one of a newer format.
    """
    lines = files.lines(part, _LONGEST)
    first = next(lines, b"")
    if not first:
        part.seek(0)
        _unfinished(part.read(64), os.fstat(part.fileno()).st_size)
        return None
    try:
        files.check_version(first, FORMAT_VERSION, path)
        head = msgspec.json.decode(first, type=PartHead)
        run = Run(id=head.id, experiment=head.experiment, environment=head.environment, started=head.started)
        check_frame(run)
    except _BROKEN as error:
        raise DamagedPart(f"its first line: {_words(error)}") from error
    told = _Replayed(run)
    damage = told.take(lines)
    if not damage and part.tell() < os.fstat(part.fileno()).st_size and len(part.read(_LONGEST)) == _LONGEST:
        damage = "a line without an end"
    run = told.run
    if not run.complete:
        cut(run, run.note or ENDED)
    # Lines are written as they arrive, so the last one tells how long it took.
    last = datetime.fromtimestamp(os.fstat(part.fileno()).st_mtime, UTC)
    run.wall_s = min(max(0.0, (last - datetime.fromisoformat(head.started)).total_seconds()), 1e9)
    return PartText(run, told.captured, damage)


def _unfinished(begins: bytes, size: int) -> None:
    """Raise DamagedPart when this is not the beginning of a part: nothing is lost of a first line that is not whole."""
    wanted = b'{"id":"'
    if not (begins.startswith(wanted) or wanted.startswith(begins)) or size > _LONGEST:
        raise DamagedPart("its first line: not the beginning of a run")


class _Replayed:
    """Owns a run while the events of a part are added to it."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.captured: list[CapturedPackets] = []
        self._rows = RowsCheck(run.experiment)
        self._left = _LARGEST

    def take(self, lines: Iterable[bytes]) -> str:
        """Add what the lines tell. What is wrong with the first that tells nothing is given, empty for none."""
        for number, line in enumerate(lines, 2):
            self._left -= len(line)
            try:
                if self._left < 0:
                    raise ValueError("more than is read of a run")
                self._add(protocol.event_decoder.decode(line))
            except _BROKEN as error:
                return f"line {number}: {_words(error)}"
        return ""

    def _add(self, event: Event) -> None:
        """Raises ValueError, OverflowError or an error of msgspec, and adds nothing then."""
        changed = replace(self.run)
        if isinstance(event, Samples):
            if not 0.0 <= event.t <= LONGEST:
                raise ValueError("t is out of bounds")
            for name, table in tables_of(event).items():
                self._rows.check(name, table)
            add(self.run, event)
            return
        add(changed, event)
        check_frame(changed)
        if changed.experiment != self.run.experiment:
            self._rows = RowsCheck(changed.experiment)
        self.run = changed
        if isinstance(event, CapturedPackets):
            check_interface(event.interface)
            if not 0 <= event.began < 1 << 63:
                raise ValueError("began is out of bounds")
            self.captured.append(event)


def _words(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
