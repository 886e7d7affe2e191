"""Results of other programs as runs: told apart by what is in the file, whatever it is called."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import zlib
from collections.abc import Mapping
from pathlib import Path

from tcptutor import places
from tcptutor.errors import TutorError, UsageError
from tcptutor.exchange import flent, iperf3
from tcptutor.run import Run, save

_TOO_LARGE = 1 << 30
"""Bytes that we would have to hold in memory several times."""


def bring(file: Path, path: Mapping[str, str] | None = None) -> Run:
    """The run in an iperf3 `-J` output or a flent data file.

    `path` says by parameter name what the file cannot: the rate, delay, loss and queue of the path it ran on.
    The same file gives the same run. Raises UsageError for no file and a wrong `path`, TutorError for a file that
    is neither or damaged.
    """
    text = _read(file)
    digest = hashlib.sha256(text.encode()).hexdigest()[:6]
    run = (flent.read if flent.is_flent(text) else iperf3.read)(text, file.name, path or {})
    run.id = f"{run.id}-{digest}"
    return run


def keep(run: Run, target: Path | None = None) -> Path:
    """Write the run to `target`, by default among the user's runs, and give its path. Raises TutorError."""
    path = target or places.runs() / f"{run.id}.tcprun"
    save(run, path, "give another place with -o")
    return path


def _read(file: Path) -> str:
    """Its text, unpacked. Raises TutorError."""
    if not file.is_file():
        raise UsageError(f"no file {file}: give an iperf3 -J output or a flent data file")
    try:
        data = file.read_bytes()
        if data[:2] == b"\x1f\x8b":
            data = _unpacked(data)
        elif data[:3] == b"BZh":
            data = bz2.decompress(data)
    except OSError as error:
        raise TutorError(f"cannot read {file}: {error.strerror or error}: give another file") from error
    except (EOFError, zlib.error, ValueError) as error:
        raise TutorError(f"{file} is damaged ({error}): fetch it again") from error
    if len(data) > _TOO_LARGE:
        raise TutorError(f"{file} is larger than 1 GiB unpacked: import a shorter test")
    return data.decode(errors="replace")


def _unpacked(data: bytes) -> bytes:
    try:
        return gzip.decompress(data)
    except (EOFError, gzip.BadGzipFile):
        # Cut short: what arrived may still hold whole intervals.
        part = zlib.decompressobj(wbits=31).decompress(data)
        if not part:
            raise
        return part
