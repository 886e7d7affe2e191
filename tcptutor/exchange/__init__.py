"""Import and export of runs: tables for spreadsheets and programs, plots, results of iperf3 and flent."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

from tcptutor.base import files, places
from tcptutor.base.errors import UsageError
from tcptutor.exchange.importing import import_runs, save_run
from tcptutor.run import Run, load
from tcptutor.runs.parts import recover

__all__ = ["import_runs", "open_run", "save_run", "saved_runs", "short_id"]

_MOST_SHOWN = 3
_LATEST = re.compile(r"last(?:-(\d{1,6}))?")
SWEEP_BEGINS = b'{"type":"tcpsweep"'
"""First bytes of a file of `tcptutor sweep`."""


def _ignore(_: str) -> None:
    pass


def open_run(name: str, report: Callable[[str], None] = _ignore) -> tuple[Run, Path]:
    """Load the run called `name`, and return it with its file.

    Args:
        name: A file, an id, or `last`.
        report: Called with a message about each damaged run of a killed program.

    Raises:
        UsageError: No run or several runs have the name.
        TutorError: The file is damaged.
    """
    path = find_run(name, report)
    first_bytes = files.head(path)
    if first_bytes.startswith(SWEEP_BEGINS):
        raise UsageError(f"{path} is the file of a sweep, not of a run: `tcptutor plot {path}` draws it")
    if path.name.endswith(".flent.gz") or first_bytes.lstrip().startswith(b"{"):
        raise UsageError(f"{path} is not a run file: `tcptutor import {path}` makes one of it")
    return load(path), path


def saved_runs(report: Callable[[str], None] = _ignore) -> list[Path]:
    """Return the files of the user's runs, newest first, including runs recovered from killed programs.

    Args:
        report: Called with a message about each damaged run.
    """
    recover(places.runs(), report)
    return sorted(places.runs().glob("*.tcprun"), reverse=True)


def short_id(file: Path) -> str:
    """Return the last part of a run's id, without the time at its beginning."""
    return file.stem.split("-")[-1] if file.stem.count("-") > 1 else file.stem


def find_run(name: str, report: Callable[[str], None] = _ignore) -> Path:
    """Return the file called `name`, or the only run with an id or short id that begins with it.

    `last` is the newest run, `last-1` the run before it and so on. Raises UsageError.
    """
    if not name:
        raise UsageError("an empty name means no run: give a file, an id of `tcptutor runs`, or last")
    path = Path(name)
    # os.path, because Path raises for a name that is too long.
    if os.path.isdir(path):  # noqa: PTH112
        raise UsageError(f"{name} is a folder: give a run file in it")
    if os.path.exists(path):  # noqa: PTH110
        return path
    # An id is a plain name: a name with a folder can only be a file.
    saved = saved_runs(report) if path.name == name else []
    if latest := _LATEST.fullmatch(name):
        return _nth_latest(saved, int(latest[1] or 0))
    found = [file for file in saved if file.stem == name] or [
        file for file in saved if file.stem.startswith(name) or short_id(file).startswith(name)
    ]
    if len(found) == 1:
        return found[0]
    if found:
        some = ", ".join(map(short_id, found[:_MOST_SHOWN])) + (" ..." if len(found) > _MOST_SHOWN else "")
        raise UsageError(f"{len(found)} runs begin with {name!r}: {some}: give more of the id")
    raise UsageError(
        f"no run file {name!r}, and no run id begins with it: `tcptutor runs` lists the runs in {places.runs()}"
    )


def _nth_latest(saved: list[Path], steps: int) -> Path:
    if steps < len(saved):
        return saved[steps]
    number = f"only {len(saved)} are saved" if saved else "none is saved yet"
    raise UsageError(f"no run {steps} before the last, {number}: `tcptutor run random-loss` makes one")
