"""Import of other programs' results as runs, recognized by their content."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from tcptutor.analysis import rate_doubt
from tcptutor.base import files, places
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.exchange import flent, iperf3, unpacking
from tcptutor.run import Run, save
from tcptutor.run.check import TEXT, check

_FOREIGN = files.FileKind(
    name="result of iperf3 or flent",
    most=1 << 28,
    plain=1 << 24,
    times=20,
    missing="give an iperf3 -J output or a flent data file",
    unreadable="give another file",
    damaged="fetch it again",
    large="import a shorter test",
)


_MOST_MEMORY = 250 << 20
"""Bytes that a file may take as Python objects: 40 streams of iperf3 for an hour."""
_OBJECT_BYTES, _VALUE_BYTES = 300, 30
"""Bytes of an object or array with its struct, and of a number or text."""


def import_runs(file: Path, path: Mapping[str, str] | None = None) -> list[Run]:
    """Return the runs in an iperf3 `-J` output, a flent data file or a perfSONAR throughput result.

    A truncated packed file gives the part that can be read. The same file gives the same run.

    Args:
        file: Plain, or packed with gzip, bzip2, xz or zip.
        path: Rate, delay, loss and queue of the measured path, by parameter name: the file cannot contain them.

    Raises:
        UsageError: The file does not exist, or `path` is wrong.
        TutorError: The file has none of these formats, or is damaged.
    """
    if not file.is_file():
        raise UsageError(f"no file {file}: {_FOREIGN.missing}")
    with files.open_bounded(file, _FOREIGN, cut=True, content=unpacking.content(file, _FOREIGN)) as data:
        _check_memory(data, file)
        digest = hashlib.sha256(data).hexdigest()[:6]
        text = unpacking.decode_text(data)
        data.clear()
        runs = (flent.read if flent.is_flent(text) else iperf3.read)(text, file.name, path or {})
        for number, run in enumerate(runs):
            # Two tests may have begun in the same second.
            suffix = hashlib.sha256(f"{digest}{number}".encode()).hexdigest()[:6] if number else digest
            run.id = f"{run.id}-{suffix}"
            if doubt := rate_doubt(run):
                run.note += f"; {doubt}"
            run.note = run.note[:TEXT]
            check(run)
    return runs


def _check_memory(data: bytearray, file: Path) -> None:
    """Raise TutorError before parsing a file that would take too much memory as Python objects."""
    text = len(data) if data.isascii() else 4 * len(data)
    objects = data.count(b"{") + data.count(b"[")
    if text + _OBJECT_BYTES * objects + _VALUE_BYTES * data.count(b",") > _MOST_MEMORY:
        raise TutorError(f"{file} contains more than can be read at once: {_FOREIGN.large}")


def save_run(run: Run, target: Path | None = None) -> Path:
    """Write the run to `target`, by default among the user's runs, and return its path. Raises TutorError."""
    path = target or places.runs() / f"{run.id}.tcprun"
    save(run, path, "give another place with -o", private=target is None)
    return path
