"""Run files: a run per file (`.tcprun`), as gzip-compressed lines of JSON.

The first line is the run without its tables. Every other line is a block of up to ROWS consecutive rows of a table, as
columns: `{"samples": {"flow": [...], "t": [...], ...}}`. Lines are bounded, so that other threads run between two calls
of the decoder. A file can be read, plotted and marked again without the lab.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tcptutor.base import files
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


def load(path: Path, content: bytes | None = None) -> Run:
    """Read the run in `path`, or in `content` for a file inside an archive.

    Raises TutorError for a file that is missing, damaged, too large or of another format.
    """
    with files.open_bounded(path, _RUN, content=content) as data:
        lines = _lines(data)
        first = next(lines, memoryview(b""))
        files.check_version(first, FORMAT_VERSION, path)
        run = _run.decode(first)
        check_frame(run)
        rows = RowsCheck(run.experiment)
        left = _NUMBERS + max(0, len(data) - _ANY) // 3
        for line in lines:
            for name, block in _decode_block(line).items():
                rows.check(name, block)
                table: Table[Any] = getattr(run, name)
                table.extend(block)
                left -= len(block) * len(table.row.__struct_fields__)
                if left < 0:
                    raise ValueError("more samples than a file of this size can hold")
    return run


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


_run = msgspec.json.Decoder(Run)
_block: msgspec.json.Decoder[Any] = msgspec.json.Decoder(
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
