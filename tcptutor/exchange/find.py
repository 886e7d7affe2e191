"""A run by the name of its file, or by its id among the runs that are kept."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from tcptutor.base import files, places
from tcptutor.base.errors import UsageError
from tcptutor.run import Run, load
from tcptutor.runs.parts import recover

_SHOWN = 3
_LATEST = re.compile(r"last(?:-(\d{1,6}))?")
SWEEP_BEGINS = b'{"type":"tcpsweep"'
"""How `tcptutor sweep` begins its file."""


def _ignore(_: str) -> None:
    pass


def open_run(name: str, tell: Callable[[str], None] = _ignore) -> tuple[Run, Path]:
    """The run that `name` means, and its file. Raises UsageError for no or several, TutorError for a damaged one.

    `tell` is told what became of damaged runs of killed programs, a line each.
    """
    path = find(name, tell)
    begins = files.head(path)
    if begins.startswith(SWEEP_BEGINS):
        raise UsageError(
            f"{path} is the file of a sweep, not of a run: `tcptutor plot {path} -o x.svg` draws it"
        )
    if path.name.endswith(".flent.gz") or begins.lstrip().startswith(b"{"):
        raise UsageError(f"{path} is not a run file: `tcptutor import {path}` makes one of it")
    return load(path), path


def kept_runs(tell: Callable[[str], None] = _ignore) -> list[Path]:
    """The files of the user's runs, newest first; what a killed program was running is among them.

    `tell` is told what became of a damaged one of these, a line each.
    """
    recover(places.runs(), tell)
    return sorted(places.runs().glob("*.tcprun"), reverse=True)


def short_id(file: Path) -> str:
    """What tells a kept run from the others: its id without the time that it begins with."""
    return file.stem.split("-")[-1] if file.stem.count("-") > 1 else file.stem


def find(name: str, tell: Callable[[str], None] = _ignore) -> Path:
    """A file, or the one kept run that `name` means. Raises UsageError.

    That is the run whose id or short id begins so; `last` is the newest, `last-1` the one before it and so on.
    """
    if not name:
        raise UsageError("an empty name means no run: give a file, an id as `tcptutor runs` has it, or last")
    path = Path(name)
    # Not asked of Path, which raises where a name is too long.
    if os.path.isdir(path):  # noqa: PTH112
        raise UsageError(f"{name} is a folder: give a run file in it")
    if os.path.exists(path):  # noqa: PTH110
        return path
    # An id is a plain name: anything with a folder in it can only have been a file.
    kept = kept_runs(tell) if path.name == name else []
    if latest := _LATEST.fullmatch(name):
        return _back(kept, int(latest[1] or 0))
    found = [file for file in kept if file.stem == name] or [
        file for file in kept if file.stem.startswith(name) or short_id(file).startswith(name)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        some = ", ".join(map(short_id, found[:_SHOWN])) + (" ..." if len(found) > _SHOWN else "")
        raise UsageError(f"{len(found)} runs begin with {name!r}: {some}: give more of the id")
    raise UsageError(
        f"no run file {name!r}, and no run begins so: `tcptutor runs` lists those in {places.runs()}"
    )


def _back(kept: list[Path], steps: int) -> Path:
    """The run that many before the newest. Raises UsageError."""
    if steps < len(kept):
        return kept[steps]
    there = f"{len(kept)} are there" if kept else "none is there yet"
    raise UsageError(f"no run {steps} before the last, {there}: `tcptutor run random-loss` makes one")
