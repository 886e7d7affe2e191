"""Run files: a run per file (`.tcprun`), as gzip-compressed lines of JSON.

The first line is the run without its tables. Every other line is a block of up to ROWS consecutive rows of a table, as
columns: `{"samples": {"flow": [...], "t": [...], ...}}`. Lines are bounded, so that other threads run between two calls
of the decoder. A file can be read, plotted and marked again without the lab.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from tcptutor.base import decoding, files
from tcptutor.run.check import RowsCheck, check_frame
from tcptutor.run.record import FORMAT_VERSION, TABLES, Run
from tcptutor.run.tables import Table, columns_type

LARGEST = 1 << 30
"""Most bytes of a run's text: an hour of 13 flows, or 15 minutes of 50, at a hundred samples a second."""
ROWS = 4096
"""Rows of a block: a few milliseconds of decoding."""
LONGEST_LINE = 4 << 20
"""Bytes of the longest line: twice a block of ROWS samples with all digits, or results of thousands of flows."""
_ANY, _TIMES = 96 << 20, 24
"""Bytes of text that any file may hold (an hour of a single flow), and the largest compression ratio above that.
Runs compress to an eighth on average; the limit keeps small files from using much memory."""
_NUMBERS = 12_000_000
"""Numbers in the tables of `_ANY` bytes: a row of a flow has 30, of 8 bytes each."""
_MOST_LINES = 50_000
"""Lines of the largest run, with a margin; a limit for files of many tiny blocks."""

_RUN = files.FileKind(
    name="run file",
    most=LARGEST,
    plain=_ANY,
    times=_TIMES,
    missing="`tcptutor list` shows the experiments you can run",
    unreadable="choose a run file that you can read",
    damaged="run the experiment again",
    large="run it again for a shorter time, or with fewer flows",
)
_GZIP = zlib.MAX_WBITS | 16
"""gzip header and checksum without a time: the same run gives the same bytes."""


def save(run: Run, path: Path, elsewhere: str = "give another place", *, private: bool = False) -> None:
    """Write `run` to `path` atomically.

    Args:
        run: The run.
        path: The file to write or replace.
        elsewhere: How the user can choose a different place, for the error.
        private: Make the file readable by its owner only.

    Raises:
        TutorError: It cannot be written.
    """
    packer = zlib.compressobj(6, zlib.DEFLATED, _GZIP)
    with files.atomic(path, elsewhere, private=private) as temporary, temporary.open("wb") as file:
        for line in text_lines(run):
            file.write(packer.compress(line))
        file.write(packer.flush())


def text_lines(run: Run) -> Iterator[bytes]:
    """Yield the lines of a run file."""
    rest = {name: getattr(run, name) for name in run.__struct_fields__ if name not in TABLES}
    yield msgspec.json.encode(rest) + b"\n"
    for name in TABLES:
        table = getattr(run, name)
        for start in range(0, len(table), ROWS):
            yield msgspec.json.encode({name: table[start : start + ROWS].to_columns()}) + b"\n"


class KnownTables:
    """Tables that several files have in common, read once and shared by their runs.

    Equal settings and seeds give equal samples, also to other students. What only one file has takes no memory: tables
    are remembered when they are met again.
    """

    def __init__(self, most: int = 20_000_000) -> None:
        """Remember up to `most` numbers of 8 bytes; what was used longest ago goes first."""
        self._left = most
        self._met: set[bytes] = set()
        self._known: OrderedDict[bytes, tuple[int, Run]] = OrderedDict()
        self._keys: dict[int, bytes] = {}
        """By the identity of a known run's samples."""

    def key(self, run: Run) -> bytes:
        """Return the digest of the blocks behind a run's tables; empty if they are not known, or not any more."""
        return self._keys.get(id(run.samples), b"")

    def find(self, key: bytes) -> Run | None:
        """Return a run with these tables."""
        found = self._known.get(key)
        if found is None:
            return None
        self._known.move_to_end(key)
        return found[1]

    def add(self, key: bytes, run: Run) -> None:
        """Remember the tables of `run`, if they were met before."""
        if key not in self._met:
            self._met.add(key)
            return
        tables: list[Table[Any]] = [getattr(run, name) for name in TABLES]
        numbers = sum(len(table) * len(table.row.__struct_fields__) for table in tables)
        self._known[key], self._keys[id(run.samples)] = (numbers, run), key
        self._left -= numbers
        while self._left < 0 and self._known:
            _, (freed, oldest) = self._known.popitem(last=False)
            del self._keys[id(oldest.samples)]
            self._left += freed


def load(path: Path, content: bytes | None = None, known: KnownTables | None = None) -> Run:
    """Read the run in `path`, or in `content` for a file inside an archive.

    Args:
        path: The file.
        content: Its bytes, for a file inside an archive.
        known: Tables that were read before, which are then shared: such runs may not grow.

    Raises:
        TutorError: The file is missing, damaged, too large or of another format.
    """
    with files.open_bounded(path, _RUN, content=content) as data:
        lines = _lines(data)
        first = next(lines, memoryview(b""))
        files.check_version(first, FORMAT_VERSION, path)
        run = _run.decode(first)
        check_frame(run)
        if known is None:
            _read_tables(run, lines, len(data))
            return run
        blocks = hashlib.sha256(memoryview(data)[len(first) :])
        key = blocks.digest() + run.experiment.total_streams.to_bytes(8)
        same = known.find(key)
        if same is None:
            _read_tables(run, lines, len(data))
            known.add(key, run)
            return run
        return msgspec.structs.replace(run, **{name: getattr(same, name) for name in TABLES})


def _read_tables(run: Run, lines: Iterable[memoryview], size: int) -> None:
    """Read the blocks of a file of `size` bytes into `run`. Raises ValueError, OverflowError or an error of msgspec."""
    rows = RowsCheck(run.experiment, are_bounded=True)
    left = _NUMBERS + max(0, size - _ANY) // 3
    for line in lines:
        for name, block in _decode_block(line).items():
            rows.check(name, block)
            table: Table[Any] = getattr(run, name)
            table.extend(block)
            left -= len(block) * len(table.row.__struct_fields__)
            if left < 0:
                raise ValueError("more samples than a file of this size can hold")


def text_digest(file: Path) -> str:
    """Return the SHA-256 of a run file's unpacked text; empty if it cannot be read."""
    try:
        with gzip.open(file) as text:
            return hashlib.file_digest(text, "sha256").hexdigest()
    except (OSError, EOFError, zlib.error):
        return ""


def _lines(data: bytearray) -> Iterator[memoryview]:
    """Yield the lines without their newlines. Raises ValueError for a long or unfinished line, or too many lines."""
    at, whole = 0, memoryview(data)
    for _ in range(_MOST_LINES):
        if at == len(data):
            return
        end = data.find(b"\n", at, at + LONGEST_LINE)
        if end < 0:
            raise ValueError(f"no end of the line at byte {at}")
        yield whole[at:end]
        at = end + 1
    raise ValueError(f"more than {_MOST_LINES} lines")


_run = decoding.json_decoder(Run)
_block: msgspec.json.Decoder[Any] = decoding.json_decoder(
    msgspec.defstruct(
        "Block", [(name, columns_type(table.row) | None, None) for name, table in TABLES.items()]
    )
)


def _decode_block(line: memoryview) -> dict[str, Table[Any]]:
    """Return the tables with rows in a line. Raises ValueError, OverflowError or an error of msgspec."""
    block = msgspec.structs.asdict(_block.decode(line))
    return {
        name: TABLES[name].from_columns(msgspec.structs.asdict(columns))
        for name, columns in block.items()
        if columns is not None
    }
