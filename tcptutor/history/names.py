"""Names that the student gives to runs, in a file next to the journal: a run file stays as its digest has it."""

from __future__ import annotations

import contextlib
import fcntl
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from tcptutor.base import files, places
from tcptutor.base.errors import JournalError, UsageError
from tcptutor.base.printable import is_printable
from tcptutor.journal.saved_file import FORMAT, read_or_set_aside, write

LONGEST = 40
"""Characters of the longest name."""
MOST = 10_000
"""The largest number of names."""


class _NamesFile(msgspec.Struct, kw_only=True):
    format_version: int
    names: dict[str, str]
    """By id of the run."""


class RunNames:
    """The names, read on each call because other programs may give some. `folder` None keeps none."""

    def __init__(self, folder: Path | None) -> None:
        self._file = folder / "run-names.json" if folder else None

    @classmethod
    def of_user(cls) -> RunNames:
        """Return the names of the user's own runs."""
        return cls(places.state())

    def all(self) -> Mapping[str, str]:
        """Return the names by the run's id.

        Raises:
            JournalError: The file cannot be read, or it was damaged and has been set aside; a second call returns {}.
        """
        found = read_or_set_aside(self._file, _NamesFile, "run names", "no run has a name now")
        return {} if found is None else {id: name for id, name in found.names.items() if _is_sound(id, name)}

    def give(self, run: str, name: str) -> None:
        """Give the run with that id a name; an empty name removes it.

        Raises:
            UsageError: The name is invalid.
            JournalError: The file cannot be written.
        """
        name = name.strip()
        if len(name) > LONGEST or not (name.isprintable() and is_printable(name)):
            raise UsageError(
                f"invalid name {name[: LONGEST + 1]!r}: use at most {LONGEST} printable characters"
            )
        if self._file is None:
            raise JournalError("nothing is saved in this session: the journal could not be opened")
        with self._locked(self._file):
            names = {id: each for id, each in self._readable().items() if id != run}
            if name:
                names[run] = name
            latest = dict(list(names.items())[-MOST:])
            write(self._file, msgspec.json.encode(_NamesFile(format_version=FORMAT, names=latest)))

    def _readable(self) -> Mapping[str, str]:
        try:
            return self.all()
        except JournalError:
            return self.all()

    @contextlib.contextmanager
    def _locked(self, file: Path) -> Iterator[None]:
        """Exclude other programs, so that no name is lost between reading and writing."""
        try:
            files.make_private(file.parent)
            lock = file.with_suffix(".lock").open("a")
        except OSError:
            yield  # writing the file reports the reason
            return
        with lock:
            with contextlib.suppress(OSError):  # a file system without locks
                fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def _is_sound(id: str, name: str) -> bool:
    return is_printable(id) and is_printable(name) and 0 < len(name) <= LONGEST
