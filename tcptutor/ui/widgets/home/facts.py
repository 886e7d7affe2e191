"""Facts about the student's work for the home screen, and their copy on disk.

With the copy, the first frame need not read the complete journal and the pages of all begun modules.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path

import msgspec

from tcptutor import __version__
from tcptutor.base import decoding, files
from tcptutor.base.errors import JournalError, TutorError
from tcptutor.course import duration
from tcptutor.course.outline import Course, Module
from tcptutor.course.paths import PATHS, CoursePath
from tcptutor.journal import Journal, Progress
from tcptutor.journal.fold import Enrolment
from tcptutor.journal.saved_file import MOST_BYTES, write
from tcptutor.study import pages
from tcptutor.study.pages import PathProgress, path_progress
from tcptutor.ui.widgets.home.text import name_of
from tcptutor.ui.widgets.home.work import work_facts


class HomeFacts(msgspec.Struct, frozen=True):
    """The student's work as the home screen shows it."""

    path: CoursePath
    position: tuple[str, str] | None
    """Module and step of the latest visit; None for a student who has just begun."""
    enrolment: Enrolment | None
    progress: dict[str, dict[CoursePath, PathProgress]]
    """By module and path, without paths that are unknown until the module's pages are read."""
    following: tuple[str, str]
    """The page that Enter opens, and its time; empty before the first visit."""
    work: tuple[tuple[str, str], ...]
    """Labels and texts: today's work, accuracy of predictions, unfinished pages, and the like."""


class _Copy(msgspec.Struct, frozen=True):
    key: str
    facts: HomeFacts


def student_module(position: tuple[str, str] | None, modules: Sequence[Module]) -> Module | None:
    """Return the student's module, or the first; None in a course without modules."""
    visited = next((each for each in modules if position and each.id == position[0]), None)
    return visited or next(iter(modules), None)


def gather(journal: Journal, course: Course, daily_minutes: int) -> HomeFacts:
    """Gather the facts. Reads the pages of begun modules."""
    record, progress = journal.record, journal.progress(course)
    following, module = ("", ""), student_module(record.position, course.modules)
    if record.position is not None and module is not None:
        step = pages.resume(journal, module)
        following = name_of(module, step), f"{duration.minutes(step)} min" if step else ""
    return HomeFacts(
        record.path,
        record.position,
        record.enrolment,
        {module.id: _by_path(module, progress[module.id]) for module in course.modules},
        following,
        tuple(work_facts(journal, course.modules, progress, daily_minutes)),
    )


def _by_path(module: Module, progress: Progress) -> dict[CoursePath, PathProgress]:
    found = ((path, path_progress(module, progress, path)) for path in PATHS)
    return {path: each for path, each in found if each is not None}


class HomeCopy:
    """The facts of the last session, in a file next to the journal. Any problem with the file only costs time."""

    def __init__(self, journal: Journal, course: Course) -> None:
        self._journal, self._root, self._language = journal, course.root, course.language
        folder = journal.run_folder
        self._file = folder.parent / "home.json" if folder else None

    def load(self, daily_minutes: int) -> HomeFacts | None:
        """Return the facts if they are still true: the same events, lessons, goal, day and version."""
        if self._file is None:
            return None
        with suppress(OSError, TutorError, ValueError, msgspec.MsgspecError, RecursionError):
            found = decoding.decode_json(files.read_plain(self._file, MOST_BYTES), _Copy)
            if found.key == self._key(daily_minutes):
                return found.facts
        return None

    def save(self, facts: HomeFacts, daily_minutes: int) -> None:
        """Replace the copy."""
        if self._file is not None:
            with suppress(JournalError, OSError):
                write(self._file, msgspec.json.encode(_Copy(self._key(daily_minutes), facts)))

    def remove(self) -> None:
        if self._file is not None:
            with suppress(OSError):
                self._file.unlink()

    def _key(self, daily_minutes: int) -> str:
        parts = (
            __version__,
            self._journal.last_hash,
            str(daily_minutes),
            self._language,
            date.today().isoformat(),
            *(_file_stamps(self._root) if self._root else ()),
        )
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _file_stamps(folder: Path) -> Iterator[str]:
    """Yield name, size and time of each file in `folder` and in the folders in it."""
    with os.scandir(folder) as entries:
        for entry in sorted(entries, key=lambda each: each.name):
            if entry.is_dir():
                yield from _file_stamps(Path(entry.path))
            else:
                stat = entry.stat()
                yield f"{entry.path} {stat.st_size} {stat.st_mtime_ns}"
