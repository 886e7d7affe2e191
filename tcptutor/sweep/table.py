"""The one file of a sweep (`.tcpsweep`): JSON lines, first what was asked for, then a row or a failure for each cell.

Lines are only ever added, so that a program that is killed loses at most the cells that were running; a line that is
not whole is left out, and its cell runs again.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

import msgspec

from tcptutor import __version__
from tcptutor.base import files
from tcptutor.base.errors import TutorError, UsageError, refused
from tcptutor.exchange.find import SWEEP_BEGINS
from tcptutor.sweep.definition import Definition
from tcptutor.sweep.grid import Axis, Cell
from tcptutor.sweep.row import CellFailure, Outcome, Row
from tcptutor.sweep.sound import check_definition, check_outcome

FORMAT_VERSION = 1
SUFFIX = ".tcpsweep"


class SweepHeader(msgspec.Struct, frozen=True, kw_only=True, tag="tcpsweep"):
    """The first line."""

    format_version: int
    tcptutor: str
    definition: Definition


class SweepTable(msgspec.Struct):
    """What is in the file. Owned by one reader, or by the Store that adds to it."""

    definition: Definition
    rows: dict[int, Row] = {}
    """By cell."""
    failures: dict[int, CellFailure] = {}
    """Of the cells without a row."""
    damaged: int = 0
    """Lines that could not be read."""

    def take(self, outcome: Outcome) -> None:
        if isinstance(outcome, Row):
            self.rows[outcome.cell] = outcome
            self.failures.pop(outcome.cell, None)
        elif outcome.cell not in self.rows:
            self.failures[outcome.cell] = outcome

    def in_order(self) -> list[Row]:
        """The rows in the order of the cells."""
        return [self.rows[cell] for cell in sorted(self.rows)]


_outcome = msgspec.json.Decoder(Outcome)
_header = msgspec.json.Decoder(SweepHeader)


_SWEEP = files.FileKind(
    name="sweep file",
    most=64 << 20,
    missing="`tcptutor sweep` makes one",
    unreadable="give the file of a sweep",
    damaged="give one that `tcptutor sweep` has written",
    large="run the sweep in parts, each into a file of its own",
)


def define(
    experiment: str,
    scale: str,
    settings: dict[str, str],
    axes: Sequence[Axis],
    seed: int | None,
    place: tuple[str, str],
    cells: Sequence[Cell],
) -> Definition:
    """The definition of a sweep of these `cells` at `place`, a backend and a clock."""
    digest = hashlib.sha256()
    for cell in cells:
        digest.update(msgspec.json.encode(cell))
    return Definition(
        experiment=experiment,
        scale=scale,
        settings=dict(sorted(settings.items())),
        axes=tuple(axes),
        seed=seed,
        backend=place[0],
        clock=place[1],
        cells=len(cells),
        digest=digest.hexdigest()[:16],
    )


def is_sweep(path: Path) -> bool:
    """Whether `path` is meant for a sweep's file: it is named so, or begins as one."""
    if path.suffix == SUFFIX:
        return True
    return files.head(path).startswith(SWEEP_BEGINS)


def load(path: Path) -> SweepTable:
    """The table in `path`. Raises TutorError when it is missing, not a sweep's, or of a newer format."""
    with files.open_bounded(path, _SWEEP) as data:
        table = _parse(bytes(data), path, "give one that `tcptutor sweep` has written")
    if table is None:
        raise TutorError(f"{path} has nothing in it: run its sweep again")
    return table


def _parse(data: bytes, path: Path, otherwise: str) -> SweepTable | None:
    """The table in the whole lines of `data`; None when the first one was never finished.

    `otherwise` says what to do about a file that is not a sweep's.
    """
    if not data.startswith(SWEEP_BEGINS) and not SWEEP_BEGINS.startswith(data):
        raise UsageError(f"{path} is not the file of a sweep: {otherwise}")
    first, newline, rest = data.partition(b"\n")
    if not newline:
        return None
    try:
        files.check_version(first, FORMAT_VERSION, path)
        table = SweepTable(_header.decode(first).definition)
        check_definition(table.definition)
    except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
        raise TutorError(
            f"{path} is damaged in its first line ({error}): run the sweep into another file"
        ) from None
    for line in rest.split(b"\n"):
        try:
            if line:
                outcome = _outcome.decode(line)
                check_outcome(outcome, table.definition)
                table.take(outcome)
        except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
            table.damaged += 1
    return table


class Store:
    """The file of a sweep that is running. Owns it alone, by a lock that goes away with the process."""

    def __init__(self, path: Path, definition: Definition) -> None:
        """Open `path`, or make it. What is there is kept, and is in `table`.

        Raises UsageError when another sweep is in it, TutorError when it is in use or cannot be written.
        """
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise self._unwritable(error) from None
        try:
            self.table = self._open(definition)
        except BaseException:
            self.close()
            raise

    def _open(self, definition: Definition) -> SweepTable:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise TutorError(
                f"another sweep is writing {self.path}: wait for it, or give another place with -o"
            ) from None
        with files.open_bounded(self.path, _SWEEP) as read:
            data = bytes(read)
        if len(data) != os.fstat(self._file).st_size:
            raise UsageError(f"{self.path} is compressed: unpack it first, or give another place with -o")
        table = _parse(data, self.path, "give another place with -o")
        if table is None:
            os.ftruncate(self._file, 0)
            self._write(
                SweepHeader(format_version=FORMAT_VERSION, tcptutor=__version__, definition=definition)
            )
            return SweepTable(definition)
        if difference := table.definition.difference(definition):
            raise UsageError(f"{self.path} holds another sweep: {difference}: give another place with -o")
        # A torn last line would swallow the next one.
        os.ftruncate(self._file, data.rindex(b"\n") + 1)
        return table

    def add(self, outcome: Outcome) -> None:
        """Keep what came out of a cell, on the disk before this returns. Raises TutorError when it cannot be."""
        self._write(outcome)
        self.table.take(outcome)

    def _write(self, line: SweepHeader | Outcome) -> None:
        size = os.fstat(self._file).st_size
        data = msgspec.json.encode(line) + b"\n"
        try:
            while data:
                data = data[os.write(self._file, data) :]
            os.fsync(self._file)
        except OSError as error:
            os.ftruncate(self._file, size)
            raise self._unwritable(error) from None

    def _unwritable(self, error: OSError) -> TutorError:
        return TutorError(f"cannot write {self.path}: {refused(error, 'give another place with -o')}")

    def close(self) -> None:
        os.close(self._file)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
