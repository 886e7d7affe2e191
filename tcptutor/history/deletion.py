"""Deletion of runs with undo: a deleted run is moved to a folder of its day, which is removed a day later."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from tcptutor.base import files
from tcptutor.base.errors import TutorError, UsageError, refused
from tcptutor.base.places import STATE_ELSEWHERE
from tcptutor.runs import packets

FOLDER = "deleted"
"""Folder among the runs, with a folder per day."""
KEPT = timedelta(days=1)
"""Time for which a deleted run can be restored."""


def delete(file: Path) -> Path:
    """Move a run and its packets to the folder of this day, and return the new path. Raises TutorError."""
    aside = file.parent / FOLDER / _today().isoformat() / file.name
    try:
        files.make_private(aside.parent)
        # The next start removes packets without a run: they move first, and return last.
        _move_packets(file, aside)
        file.rename(aside)
    except OSError as error:
        with contextlib.suppress(OSError):
            _move_packets(aside, file)
        raise TutorError(f"cannot delete {file}: {refused(error, STATE_ELSEWHERE)}") from error
    return aside


def restore(aside: Path) -> Path:
    """Move a deleted run and its packets back, and return the path. Raises TutorError."""
    file = aside.parents[2] / aside.name
    try:
        if file.exists():
            raise UsageError(f"{file} exists: it was restored already")
        aside.rename(file)
        _move_packets(aside, file)
    except OSError as error:
        raise TutorError(f"cannot restore {file}: {refused(error, STATE_ELSEWHERE)}") from error
    return file


def deleted_runs(folder: Path) -> Iterator[Path]:
    """Yield the runs deleted from `folder` that can still be restored, those of the latest day first."""
    for day in sorted((folder / FOLDER).glob("????-??-??"), reverse=True):
        yield from sorted(day.glob("*.tcprun"), reverse=True)


def remove_old(folder: Path) -> None:
    """Remove runs for good that were deleted before yesterday. Never raises."""
    with contextlib.suppress(OSError):
        for day in (folder / FOLDER).glob("????-??-??"):
            with contextlib.suppress(ValueError):  # not one of our folders
                if date.fromisoformat(day.name) < _today() - KEPT:
                    shutil.rmtree(day, ignore_errors=True)


def _move_packets(source: Path, target: Path) -> None:
    if packets.file_of(source).exists():
        packets.file_of(source).rename(packets.file_of(target))


def _today() -> date:
    return datetime.now(UTC).astimezone().date()
