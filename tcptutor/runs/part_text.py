"""Reader of run parts: recovers the intact beginning of a run, checked like a run file."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO

import msgspec
from msgspec.structs import replace

from tcptutor.backends.recording import add, cut, tables_of
from tcptutor.base import files
from tcptutor.run import FORMAT_VERSION, Environment, Run
from tcptutor.run.check import LONGEST, RowsCheck, check_frame, check_interface
from tcptutor.spec import Experiment
from tcptutor.wire import protocol
from tcptutor.wire.protocol import CapturedPackets, Event, Samples

ENDED = "tcptutor ended during it"
"""Note of a run that was cut short by the end of its program."""
_MAX_LINE = 1 << 24
"""Longest line read, bytes. An event covers a fifth of a second: about a megabyte for 256 flows."""
_MAX_BYTES = 1 << 30
"""Most bytes read of all lines, as for a run file."""


class DamagedPart(Exception):
    """A part without recoverable data; the message is the reason in a few words."""


class PartHead(msgspec.Struct):
    """First line of a part: a run without results."""

    id: str
    experiment: Experiment
    environment: Environment
    started: str
    format_version: int = FORMAT_VERSION


class PartText(msgspec.Struct):
    """A run recovered from a part."""

    run: Run
    captured: list[CapturedPackets]
    damage: str = ""
    """The damage that ends the part early, in a few words, or empty. An unfinished last line is no damage."""


_BROKEN = (ValueError, OverflowError, RecursionError, msgspec.MsgspecError)


def read_part(part: IO[bytes], path: Path) -> PartText | None:
    """Read the part in `path`; None when its first line was never finished.

    Raises:
        DamagedPart: The first line is not that of a part.
        TutorError: The part has a newer format.
    """
    lines = files.lines(part, _MAX_LINE)
    first = next(lines, b"")
    if not first:
        part.seek(0)
        _check_unfinished(part.read(64), os.fstat(part.fileno()).st_size)
        return None
    try:
        files.check_version(first, FORMAT_VERSION, path)
        head = msgspec.json.decode(first, type=PartHead)
        run = Run(id=head.id, experiment=head.experiment, environment=head.environment, started=head.started)
        check_frame(run)
    except _BROKEN as error:
        raise DamagedPart(f"its first line: {_message(error)}") from error
    replayed = _Replayed(run)
    damage = replayed.take(lines)
    if (
        not damage
        and part.tell() < os.fstat(part.fileno()).st_size
        and len(part.read(_MAX_LINE)) == _MAX_LINE
    ):
        damage = "a line without an end"
    run = replayed.run
    if not run.complete:
        cut(run, run.note or ENDED)
    # Lines are written as events arrive, so the file's mtime is the time of the last event.
    last = datetime.fromtimestamp(os.fstat(part.fileno()).st_mtime, UTC)
    run.wall_s = min(max(0.0, (last - datetime.fromisoformat(head.started)).total_seconds()), 1e9)
    return PartText(run, replayed.captured, damage)


def _check_unfinished(start: bytes, size: int) -> None:
    """Raise DamagedPart when these bytes cannot be the unfinished first line of a part."""
    expected = b'{"id":"'
    if not (start.startswith(expected) or expected.startswith(start)) or size > _MAX_LINE:
        raise DamagedPart("its first line: not the beginning of a run")


class _Replayed:
    """Applies the events of a part to a run. Owns that run."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.captured: list[CapturedPackets] = []
        self._rows = RowsCheck(run.experiment)
        self._left = _MAX_BYTES

    def take(self, lines: Iterable[bytes]) -> str:
        """Add the events of the lines up to the first damaged line; return the damage, or "" for none."""
        for number, line in enumerate(lines, 2):
            self._left -= len(line)
            try:
                if self._left < 0:
                    raise ValueError("more bytes than a run may have")
                self._add(protocol.event_decoder.decode(line))
            except _BROKEN as error:
                return f"line {number}: {_message(error)}"
        return ""

    def _add(self, event: Event) -> None:
        """Add an event. Raises ValueError, OverflowError or an error of msgspec, and then leaves the run unchanged."""
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


def _message(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
