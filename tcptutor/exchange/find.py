"""A run by the name of its file, or by its id among the runs that are kept."""

from __future__ import annotations

from pathlib import Path

from tcptutor import files, places
from tcptutor.errors import UsageError
from tcptutor.run import Run, load
from tcptutor.runs.parts import recover

_SHOWN = 3
SWEEP_BEGINS = b'{"type":"tcpsweep"'
"""How `tcptutor sweep` begins its file."""


def open_run(name: str) -> tuple[Run, Path]:
    """The run that `name` means, and its file. Raises UsageError for no or several, TutorError for a damaged one."""
    path = find(name)
    begins = files.beginning(path)
    if begins.startswith(SWEEP_BEGINS):
        raise UsageError(
            f"{path} is the file of a sweep, not of a run: `tcptutor plot {path} -o x.svg` draws it"
        )
    if path.name.endswith(".flent.gz") or begins.lstrip().startswith(b"{"):
        raise UsageError(f"{path} is not a run file: `tcptutor import {path}` makes one of it")
    return load(path), path


def find(name: str) -> Path:
    """A file, or the one kept run whose id is `name` or begins with it. Raises UsageError."""
    path = Path(name)
    if path.is_dir():
        raise UsageError(f"{name} is a folder: give a run file in it")
    if path.exists():
        return path
    # An id is a plain name: anything with a folder in it can only have been a file.
    # What a killed program was running is kept as well, once it has become a file.
    recover(places.runs())
    kept = sorted(places.runs().glob("*.tcprun")) if path.name == name else []
    found = [file for file in kept if file.stem == name] or [
        file for file in kept if file.stem.startswith(name)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        some = ", ".join(file.stem for file in found[:_SHOWN]) + (" ..." if len(found) > _SHOWN else "")
        raise UsageError(f"{len(found)} runs begin with {name!r}: {some}: give more of the id")
    raise UsageError(
        f"no run file {name!r}, and no run in {places.runs()} begins so: give a file or a run's id"
    )
