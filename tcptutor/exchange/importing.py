"""Results of other programs as runs, recognized by what is in the file, whatever its name."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

from tcptutor.analysis import rate_doubt
from tcptutor.base import files, places
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.exchange import flent, iperf3, packed
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


_ROOM = 250 << 20
"""Bytes that a file may take as Python's objects: 40 streams of iperf3 an hour, an interval a second."""
_OBJECT, _VALUE = 300, 30
"""Bytes of an object or array, with the struct that is made of it, and of a number or text in one."""


def import_runs(file: Path, path: Mapping[str, str] | None = None) -> list[Run]:
    """Return the runs in an iperf3 `-J` output, a flent data file or a perfSONAR throughput result.

    Of a packed file that was cut short, what is there. The same file gives the same run.

    Args:
        file: Plain, or packed with gzip, bzip2, xz or zip.
        path: The rate, delay, loss and queue of the path it ran on, by parameter name: the file cannot tell them.

    Raises:
        UsageError: There is no file, or `path` is wrong.
        TutorError: The file is none of these, or damaged.
    """
    if not file.is_file():
        raise UsageError(f"no file {file}: {_FOREIGN.missing}")
    with files.open_bounded(file, _FOREIGN, cut=True, content=packed.content(file, _FOREIGN)) as data:
        _check_room(data, file)
        digest = hashlib.sha256(data).hexdigest()[:6]
        text = packed.text_of(data)
        data.clear()
        runs = (flent.read if flent.is_flent(text) else iperf3.read)(text, file.name, path or {})
        for number, run in enumerate(runs):
            # Two tests may have begun in one second.
            own = hashlib.sha256(f"{digest}{number}".encode()).hexdigest()[:6] if number else digest
            run.id = f"{run.id}-{own}"
            if doubt := rate_doubt(run):
                run.note += f"; {doubt}"
            run.note = run.note[:TEXT]
            check(run)
    return runs


def _check_room(data: bytearray, file: Path) -> None:
    """Raise TutorError for what would take too much memory as Python's objects, which is told before any is made."""
    text = len(data) if data.isascii() else 4 * len(data)
    objects = data.count(b"{") + data.count(b"[")
    if text + _OBJECT * objects + _VALUE * data.count(b",") > _ROOM:
        raise TutorError(f"{file} tells of more than we read at once: {_FOREIGN.large}")


def save_run(run: Run, target: Path | None = None) -> Path:
    """Write the run to `target`, by default among the user's runs, and give its path. Raises TutorError."""
    path = target or places.runs() / f"{run.id}.tcprun"
    save(run, path, "give another place with -o", private=target is None)
    return path
