"""The settings of the bench that the student has named, in one file beside the journal."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tcptutor import files, places
from tcptutor.errors import JournalError, TutorError, UsageError

MOST = 200
"""Benches that are kept at most."""
LONGEST_NAME = 40
_FORMAT = 1
_KIND = files.FileKind(
    name="file of kept benches",
    most=1 << 20,
    missing="keep one in the app, with k on the bench",
    unreadable="make it readable for you",
    damaged="delete it, or mend it in an editor",
    large="delete it, or take some out in an editor",
)


class KeptBench(msgspec.Struct, frozen=True, kw_only=True):
    """An experiment's settings under a name, and the run that was made of them."""

    name: str
    experiment: str
    """Full name, `module/experiment`."""
    settings: dict[str, str]
    """As they are typed."""
    seed: int
    scale: str = "bench"
    run: str = ""
    """The id of its latest run; empty for none."""


class _BenchFile(msgspec.Struct, kw_only=True):
    format_version: int
    benches: list[KeptBench]


class Benches:
    """Those that are kept, read anew each time: another tcptutor may have kept one. `folder` None keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        self._file = folder / "benches.json" if folder else None

    @classmethod
    def of_user(cls) -> Benches:
        """The user's own."""
        return cls(places.state())

    def all(self) -> tuple[KeptBench, ...]:
        """The one that was kept last first. Raises JournalError for a file that cannot be read."""
        if self._file is None or not self._file.exists():
            return ()
        try:
            with files.opened(self._file, _KIND) as data:
                files.check_version(bytes(data), _FORMAT, self._file)
                return tuple(msgspec.json.decode(data, type=_BenchFile).benches)
        except TutorError as error:
            raise JournalError(str(error)) from error

    def keep(self, bench: KeptBench) -> None:
        """Under its name, in place of another one that has it.

        Raises UsageError for a name that is none, JournalError when it cannot be written.
        """
        if not bench.name.strip() or len(bench.name) > LONGEST_NAME or not bench.name.isprintable():
            raise UsageError(
                f"a name has 1 to {LONGEST_NAME} letters: {bench.name[: LONGEST_NAME + 1]!r} is none"
            )
        if self._file is None:
            raise JournalError("nothing is kept in this session: the journal could not be opened")
        others = [each for each in self.all() if each.name != bench.name]
        self._write([bench, *others][:MOST])

    def remove(self, name: str) -> None:
        """Forget it. Raises JournalError when that cannot be written."""
        self._write([each for each in self.all() if each.name != name])

    def _write(self, benches: list[KeptBench]) -> None:
        if self._file is None:
            return
        data = msgspec.json.format(msgspec.json.encode(_BenchFile(format_version=_FORMAT, benches=benches)))
        try:
            with files.whole(self._file, places.STATE_ELSEWHERE, private=True) as beside:
                beside.write_bytes(data + b"\n")
        except TutorError as error:
            raise JournalError(str(error)) from error
