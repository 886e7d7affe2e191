"""The settings of the bench that the student has named, in one file beside the journal."""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from tcptutor.base import files, places
from tcptutor.base.errors import JournalError, TutorError, UsageError, refused
from tcptutor.base.printable import escaped, is_printable

MOST = 200
"""Benches that are kept at most."""
LONGEST_NAME = 40
_FORMAT = 1
_MOST_BYTES = 1 << 20


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


def _is_sound(bench: KeptBench) -> bool:
    """Whether all of its texts can be shown: ours are, and those of a file that somebody else wrote are left out."""
    texts = [bench.name, bench.experiment, bench.scale, bench.run, *bench.settings, *bench.settings.values()]
    return len(bench.name) <= LONGEST_NAME and all(map(is_printable, texts))


class Benches:
    """Those that are kept, read anew each time: another tcptutor may have kept one. `folder` None keeps nothing."""

    def __init__(self, folder: Path | None) -> None:
        self._file = folder / "benches.json" if folder else None

    @classmethod
    def of_user(cls) -> Benches:
        """The user's own."""
        return cls(places.state())

    def all(self) -> tuple[KeptBench, ...]:
        """The one that was kept last first.

        Raises JournalError for a file that cannot be read. One that is damaged is moved aside, which the error says:
        from then on there are none.
        """
        if self._file is None or not os.path.lexists(self._file):
            return ()
        try:
            data = files.read_plain(self._file, _MOST_BYTES)
            files.check_version(data, _FORMAT, self._file)
            return tuple(
                each for each in msgspec.json.decode(data, type=_BenchFile).benches if _is_sound(each)
            )
        except FileNotFoundError:  # a link that leads nowhere
            return ()
        except TutorError as error:  # of a newer version
            raise JournalError(str(error)) from error
        except OSError as error:
            if error.errno not in files.NOT_A_FILE:
                raise JournalError(
                    f"cannot read {self._file}: {error.strerror}: make it readable for you"
                ) from error
            raise self._set_aside(error.strerror or str(error)) from error
        except (msgspec.MsgspecError, ValueError, OverflowError, RecursionError) as error:
            raise self._set_aside(str(error)) from error

    def _set_aside(self, reason: str) -> JournalError:
        assert self._file is not None
        try:
            aside = files.set_aside(self._file)
        except OSError as error:
            return JournalError(f"cannot rename {self._file}: {refused(error, places.STATE_ELSEWHERE)}")
        return JournalError(
            f"the file of kept benches was damaged ({escaped(reason)[:200]}): it is kept as {aside},"
            " and none are kept now"
        )

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
        others = [each for each in self._there() if each.name != bench.name]
        self._write([bench, *others][:MOST])

    def remove(self, name: str) -> None:
        """Forget it. Raises JournalError when that cannot be written."""
        self._write([each for each in self._there() if each.name != name])

    def _there(self) -> tuple[KeptBench, ...]:
        """Those that can be read, once a damaged file is out of the way."""
        try:
            return self.all()
        except JournalError:
            return self.all()

    def _write(self, benches: list[KeptBench]) -> None:
        if self._file is None:
            return
        data = msgspec.json.format(msgspec.json.encode(_BenchFile(format_version=_FORMAT, benches=benches)))
        try:
            with files.atomic(self._file, places.STATE_ELSEWHERE, private=True) as beside:
                beside.write_bytes(data + b"\n")
        except TutorError as error:
            raise JournalError(str(error)) from error
