"""Run files: one run in one file (`.tcprun`), gzip-compressed JSON with a format version.

A file is self-contained: it can be read, plotted and marked again without the lab. Format 2 keeps samples as columns;
files of format 1, which kept them as rows, are read as well. Both functions may be called from any thread.
"""

from __future__ import annotations

import zlib
from pathlib import Path

from tcptutor.base import files
from tcptutor.run import text
from tcptutor.run.check import check
from tcptutor.run.record import FORMAT_VERSION, Run

LARGEST = 1 << 30
"""Bytes of a run's text that are read: an hour of 13 flows, or 15 minutes of 50, a hundred samples a second."""
_ANY, _TIMES = 96 << 20, 24
"""Bytes of text that any file may hold, an hour of one flow, and how many times as large as itself that of a larger
one may be: runs are packed to an eighth on average, and a small file never takes much memory."""
_NUMBERS = 12_000_000
"""Numbers of tables that go with `_ANY` bytes: a row of a flow is 30 of them, and takes 8 bytes for each."""

_RUN = files.FileKind(
    name="run file",
    most=LARGEST,
    plain=_ANY,
    times=_TIMES,
    missing="`tcptutor list` names the experiments you can run",
    unreadable="give a run file that you may read",
    damaged="run the experiment again",
    large="run it again for a shorter time, or with fewer flows",
)
_GZIP = zlib.MAX_WBITS | 16
"""Write gzip's header and checksum, without a time: the same run gives the same bytes."""


def save(run: Run, path: Path, elsewhere: str = "give another place", *, private: bool = False) -> None:
    """Write `run` to `path`, whole or not at all, as a `private` file or one that others may read.

    `elsewhere` says in the error how the user would give another place. Raises TutorError when it cannot be written.
    """
    packer = zlib.compressobj(6, zlib.DEFLATED, _GZIP)
    with files.atomic(path, elsewhere, private=private) as beside, beside.open("wb") as file:
        for piece in text.write(run):
            file.write(packer.compress(piece))
        file.write(packer.flush())


def load(path: Path, content: bytes | None = None) -> Run:
    """The run in `path`. Raises TutorError for a file that is missing, damaged, too large or of a newer format.

    content: what stands in it, of one that is part of another file.
    """
    with files.open_bounded(path, _RUN, content=content) as data:
        found = text.RunText(data)
        files.check_version(found.rest, FORMAT_VERSION, path)
        run = found.read(_NUMBERS + max(0, len(data) - _ANY) // 3)
        check(run)
    run.format_version = FORMAT_VERSION
    return run
