"""Run files: a run per file (`.tcprun`), gzip-compressed JSON with a format version.

A file is self-contained: it can be read, plotted and marked again without the lab. Format 2 stores samples as
columns; files of format 1, with rows, are read as well. Both functions may be called from any thread.
"""

from __future__ import annotations

import gzip
import hashlib
import zlib
from pathlib import Path

from tcptutor.base import files
from tcptutor.run import text
from tcptutor.run.check import check
from tcptutor.run.record import FORMAT_VERSION, Run

LARGEST = 1 << 30
"""Most bytes of a run's text: an hour of 13 flows, or 15 minutes of 50, at a hundred samples a second."""
_ANY, _TIMES = 96 << 20, 24
"""Bytes of text that any file may hold (an hour of a single flow), and the largest compression ratio above that.
Runs compress to an eighth on average; the limit keeps small files from using much memory."""
_NUMBERS = 12_000_000
"""Numbers in the tables of `_ANY` bytes: a row of a flow has 30, of 8 bytes each."""

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
        for piece in text.write(run):
            file.write(packer.compress(piece))
        file.write(packer.flush())


def load(path: Path, content: bytes | None = None) -> Run:
    """Read the run in `path`, or in `content` for a file inside an archive.

    Raises TutorError for a file that is missing, damaged, too large or of a newer format.
    """
    with files.open_bounded(path, _RUN, content=content) as data:
        run_text = text.RunText(data)
        files.check_version(run_text.rest, FORMAT_VERSION, path)
        run = run_text.read(_NUMBERS + max(0, len(data) - _ANY) // 3)
        check(run)
    run.format_version = FORMAT_VERSION
    return run


def text_digest(file: Path) -> str:
    """Return the SHA-256 of a run file's unpacked text; empty if it cannot be read."""
    try:
        with gzip.open(file) as text:
            return hashlib.file_digest(text, "sha256").hexdigest()
    except (OSError, EOFError, zlib.error):
        return ""
