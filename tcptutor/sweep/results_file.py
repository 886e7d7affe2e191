"""The file of a sweep (`.tcpsweep`): JSON lines with a header, then a row or a failure for each cell.

The file is append-only, so a killed program loses at most the cells that were running; an incomplete line is skipped,
and its cell runs again. It may come from elsewhere: definition and outcomes are validated.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import msgspec

from tcptutor import __version__
from tcptutor.base import decoding, files
from tcptutor.base.errors import TutorError, UsageError, refused
from tcptutor.base.printable import is_printable
from tcptutor.exchange import SWEEP_BEGINS
from tcptutor.sweep.grid import MAX_CELLS, SEED, Axis, Cell
from tcptutor.sweep.results import CellFailure, Outcome, Row

FORMAT_VERSION = 1
SUFFIX = ".tcpsweep"
_LARGEST = 1e18
"""Largest number accepted, beyond which sums of squares overflow."""
_NEVER_NEGATIVE = (
    "throughput_bps",
    "retransmits",
    "losses",
    "loss_rate",
    "jain_index",
    "link_used",
    "share",
    "rtt_p95_s",
    "queueing_s",
    "queueing_p95_s",
    "queue_limit_s",
    "wall_s",
    "experiment_s",
)


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    """Identity of a sweep; two sweeps with equal definitions are the same."""

    experiment: str
    scale: str
    settings: dict[str, str]
    axes: tuple[Axis, ...]
    seed: int | None
    backend: str
    clock: str
    cells: int
    digest: str
    """Hash of all cells' experiments, which changes with the experiment's file."""

    def difference(self, other: Definition) -> str:
        """Return the first field in which `other` differs, as text; empty when equal."""
        for name in self.__struct_fields__:
            mine, theirs = getattr(self, name), getattr(other, name)
            if mine != theirs:
                if name == "digest":
                    return "the experiment has changed since"
                return f"its {'grid' if name == 'axes' else name} is {_text(mine)}, not {_text(theirs)}"
        return ""


def _text(value: object) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key}={each}" for key, each in value.items()) or "none"
    if isinstance(value, tuple):
        return " ".join(map(str, value)) or "none"
    return str(value)


class SweepHeader(msgspec.Struct, frozen=True, kw_only=True, tag="tcpsweep"):
    """The first line."""

    format_version: int
    tcptutor: str
    definition: Definition


class SweepTable(msgspec.Struct):
    """Content of a sweep file. Owned by its reader, or by the Store that appends to it."""

    definition: Definition
    rows: dict[int, Row] = {}
    """Rows by cell."""
    failures: dict[int, CellFailure] = {}
    """Failures by cell, for cells without a row."""
    damaged: int = 0
    """Number of unreadable lines."""

    def add(self, outcome: Outcome) -> None:
        """Add a cell's outcome; a row replaces a failure."""
        if isinstance(outcome, Row):
            self.rows[outcome.cell] = outcome
            self.failures.pop(outcome.cell, None)
        elif outcome.cell not in self.rows:
            self.failures[outcome.cell] = outcome

    def sorted_rows(self) -> list[Row]:
        """Return the rows in the order of cells."""
        return [self.rows[cell] for cell in sorted(self.rows)]


_outcome = decoding.json_decoder(Outcome)
_header = decoding.json_decoder(SweepHeader)


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
    """Return the definition of a sweep of `cells` at `place`, a backend and a clock."""
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
    """Check by name or first bytes whether `path` is a sweep file."""
    if path.suffix == SUFFIX:
        return True
    return files.head(path).startswith(SWEEP_BEGINS)


def load(path: Path) -> SweepTable:
    """Return the table in `path`. Raises TutorError when it is missing, not a sweep, or of a newer format."""
    with files.open_bounded(path, _SWEEP) as data:
        table = _parse(bytes(data), path, "give one that `tcptutor sweep` has written")
    if table is None:
        raise TutorError(f"{path} is empty: run its sweep again")
    return table


def _parse(data: bytes, path: Path, otherwise: str) -> SweepTable | None:
    """Return the table in the complete lines of `data`; None if even the header is incomplete.

    `otherwise` is the remedy for a file that is not a sweep.
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
                table.add(outcome)
        except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError):
            table.damaged += 1
    return table


class Store:
    """The file of a running sweep, owned through a lock that ends with the process."""

    def __init__(self, path: Path, definition: Definition) -> None:
        """Open `path`, or create it; existing content is loaded into `table`.

        Raises UsageError when the file holds a different sweep, TutorError when it is in use or cannot be written.
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
        # Cut off an incomplete last line, or the next one would be appended to it.
        os.ftruncate(self._file, data.rindex(b"\n") + 1)
        return table

    def add(self, outcome: Outcome) -> None:
        """Append a cell's outcome and sync it to disk. Raises TutorError when that fails."""
        self._write(outcome)
        self.table.add(outcome)

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
        """Close the file and release its lock."""
        os.close(self._file)

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def check_definition(definition: Definition) -> None:
    """Raise ValueError with a reason for an invalid definition."""
    _check_values(definition)
    if not 1 <= definition.cells <= MAX_CELLS:
        raise ValueError(f"a sweep has 1 to {MAX_CELLS} cells")
    names = [axis.name for axis in definition.axes]
    if len(set(names)) < len(names) or not all(0 < len(axis.values) <= MAX_CELLS for axis in definition.axes):
        raise ValueError("an axis is repeated, has no values, or too many")


def check_outcome(outcome: Outcome, definition: Definition) -> None:
    """Raise ValueError with a reason unless `outcome` is valid and belongs to `definition`."""
    _check_values(outcome)
    if not 0 <= outcome.cell < definition.cells:
        raise ValueError("belongs to another sweep")
    names = {axis.name for axis in definition.axes if axis.name != SEED}
    # Without axes the cells are a list, and each names its own settings.
    settings = [set(outcome.point)] + ([set(outcome.values)] if isinstance(outcome, Row) else [])
    if definition.axes and any(each != names for each in settings):
        raise ValueError("belongs to another sweep")
    if isinstance(outcome, Row) and any((getattr(outcome, name) or 0) < 0 for name in _NEVER_NEGATIVE):
        raise ValueError("has a negative number where none is possible")


def _check_values(struct: msgspec.Struct) -> None:
    for value in _leaves(msgspec.to_builtins(struct)):
        if isinstance(value, str) and not is_printable(value):
            raise ValueError("has a text that is not printable")
        if isinstance(value, (int, float)) and not abs(value) <= _LARGEST:
            raise ValueError("has a number that is too large, or not a number")


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        for key, each in value.items():
            yield key
            yield from _leaves(each)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _leaves(each)
    else:
        yield value
