"""Index of a folder of runs: a file of summaries, so that a list need not read and analyze each run.

The index is a cache. An entry is valid for a run file of the same size and time, and computed anew once the analysis
has changed. A damaged index is rebuilt from the run files.
"""

from __future__ import annotations

import contextlib
import os
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec

from tcptutor import __version__
from tcptutor.base import decoding, files
from tcptutor.base.errors import TutorError
from tcptutor.course.experiments import Catalogue
from tcptutor.history.summary import RunSummary, summarize
from tcptutor.run import load

NAME = "index.json"
_FORMAT = 1
_KIND = files.FileKind(
    name="index of runs", most=1 << 26, missing="it is rebuilt", unreadable="it is rebuilt", damaged="it is rebuilt",
    large="it is rebuilt",
)  # fmt: skip
_NOTICE = "The index of your runs was damaged; it is being rebuilt from the runs, and nothing is lost."


class _Entry(msgspec.Struct, frozen=True, gc=False):
    size: int
    """Bytes of the run file."""
    changed_ns: int
    made_by: str
    """Version of the analysis."""
    summary: RunSummary


class _IndexFile(msgspec.Struct, kw_only=True):
    format_version: int
    runs: dict[str, _Entry]
    """By name of the run file."""


class _Stamp(NamedTuple):
    size: int
    changed_ns: int


class RunIndex:
    """Summaries of the runs in `folder`; settings are compared with the experiments in `lessons`."""

    def __init__(self, folder: Path, lessons: Path) -> None:
        self.folder = folder
        self.notice = ""
        """Message about a damaged index, in one line; empty for none."""
        self._catalogue_root = lessons
        self._catalogue: Catalogue | None = None
        self._entries: dict[str, _Entry] = {}
        self._stamps: dict[str, _Stamp] = {}
        self._has_news = False
        self._index_stamp: _Stamp | None = None
        """Size and time of the index as last read; None before."""

    def read(self) -> list[Path]:
        """Read the index, and return the files of all runs, newest first."""
        self._stamps = _stamps(self.folder)
        # Entries of deleted runs stay in memory: a run may come back.
        self._entries |= self._read()
        return [self.folder / name for name in sorted(self._stamps, reverse=True)]

    def known(self, file: Path) -> RunSummary | None:
        """Return the summary of a run as far as the index has it, perhaps by an earlier version of the analysis."""
        entry = self._valid_entry(file)
        return entry.summary if entry else None

    def is_current(self, file: Path) -> bool:
        """Return True if the index has the run by this version of the analysis."""
        entry = self._valid_entry(file)
        return entry is not None and entry.made_by == _made_by()

    def summary(self, file: Path) -> RunSummary:
        """Return the summary of a run, computed unless the index has it. Raises TutorError for an unreadable file."""
        entry = self._valid_entry(file)
        if entry is not None and entry.made_by == _made_by():
            return entry.summary
        stamp = self._stamps.get(file.name)
        self._catalogue = self._catalogue or Catalogue(self._catalogue_root)
        summary = summarize(load(file), self._catalogue)
        if stamp is not None:
            self._entries[file.name] = _Entry(*stamp, _made_by(), summary)
            self._has_news = True
        return summary

    def save(self) -> None:
        """Write new summaries, with those that other programs wrote meanwhile. Never raises."""
        if not self._has_news:
            return
        self._stamps = _stamps(self.folder)
        runs = self._read() | self._entries
        kept = {name: entry for name, entry in runs.items() if self._stamps.get(name) == _stamp_of(entry)}
        data = msgspec.json.encode(_IndexFile(format_version=_FORMAT, runs=kept))
        # A folder that cannot be written costs time, no data.
        with contextlib.suppress(TutorError), files.atomic(self.folder / NAME, private=True) as temporary:
            temporary.write_bytes(data + b"\n")
            self._has_news = False

    def _valid_entry(self, file: Path) -> _Entry | None:
        entry = self._entries.get(file.name)
        return entry if entry and self._stamps.get(file.name) == _stamp_of(entry) else None

    def _read(self) -> dict[str, _Entry]:
        path = self.folder / NAME
        try:
            stat = path.stat()
        except OSError:
            return {}
        if self._index_stamp == (stamp := _Stamp(stat.st_size, stat.st_mtime_ns)):
            return {}  # no other program has written since, and we have it all
        self._index_stamp = stamp
        try:
            with files.open_bounded(path, _KIND) as data:
                files.check_version(bytes(data), _FORMAT, path)
                runs = decoding.decode_json(data, _IndexFile).runs
        except TutorError:
            self.notice = _NOTICE
            self._has_news = True
            return {}
        return {name: entry for name, entry in runs.items() if entry.summary.is_sound}


def _stamp_of(entry: _Entry) -> _Stamp:
    return _Stamp(entry.size, entry.changed_ns)


def _stamps(folder: Path) -> dict[str, _Stamp]:
    """Return size and time of each run file."""
    found = {}
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for each in entries:
            if each.name.endswith(".tcprun") and not each.name.startswith("."):
                with contextlib.suppress(OSError):  # deleted meanwhile, or a link that leads nowhere
                    stat = each.stat()
                    found[each.name] = _Stamp(stat.st_size, stat.st_mtime_ns)
    return found


@cache
def _made_by() -> str:
    """Return the version of the program, and the time of the last change of its analysis."""
    package = Path(__file__).parents[1] / "analysis"
    latest = max((each.stat().st_mtime_ns for each in package.rglob("*.py")), default=0)
    return f"{__version__} {latest}"
