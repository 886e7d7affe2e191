"""Events of votes, a line each in `votes.jsonl`, and the file that stores them."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
from pathlib import Path
from typing import TypeAlias

import msgspec

from tcptutor.base import decoding, files
from tcptutor.base.errors import TutorError, refused
from tcptutor.room.asked import AskedQuestion, CountedAnswer
from tcptutor.room.talk import AlgorithmTotal, MarkedValue


class PollOpened(msgspec.Struct, frozen=True, tag=True):
    """Start of the first vote on a question."""

    asked: AskedQuestion


class PollReopened(msgspec.Struct, frozen=True, tag=True):
    """Start of the second vote on the question, or new start of a first vote without answers."""


class AnswerGiven(msgspec.Struct, frozen=True, tag=True):
    """Answer of a voter, which replaces an earlier answer of this round."""

    voter: str
    answer: CountedAnswer


class VoterNamed(msgspec.Struct, frozen=True, tag=True):
    """Name of a voter, in a lecture with names; stored before the first answer."""

    voter: str
    name: str


class PollClosed(msgspec.Struct, frozen=True, tag=True):
    """End of the vote."""

    seconds: float
    """Seconds that the vote was open."""


class DiscussionStarted(msgspec.Struct, frozen=True, tag=True):
    """Start of the discussion before the second vote."""


class PollRevealed(msgspec.Struct, frozen=True, tag=True):
    """Reveal of the results."""


class PollMeasured(msgspec.Struct, frozen=True, tag=True):
    """Measured value and models' values to compare a prediction with."""

    measured: float | None
    models: tuple[MarkedValue, ...] = ()


class FlowsMeasured(msgspec.Struct, frozen=True, tag=True):
    """Results of the run with the flows that this round picked."""

    totals: tuple[AlgorithmTotal, ...]
    rates: dict[str, float]
    """Mean payload of each voter's flow, bit/s."""


VoteEvent: TypeAlias = (
    PollOpened
    | PollReopened
    | AnswerGiven
    | VoterNamed
    | PollClosed
    | DiscussionStarted
    | PollRevealed
    | PollMeasured
    | FlowsMeasured
)

_MOST_BYTES = 256 << 20


class VotesFile:
    """Private file of vote events, extended by a single process."""

    def __init__(self, path: Path) -> None:
        """Open or create the file.

        Raises:
            TutorError: The file cannot be opened, or is in use by a different process.
        """
        self._path = path
        self.damaged = 0
        """Lines that could not be read and are skipped."""
        try:
            files.make_private(path.parent)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, files.PRIVATE)
        except OSError as error:
            raise self._not_written(error) from error
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.close()
            raise TutorError(f"{path} is in use by another process: end that lecture first") from None

    def read(self) -> list[VoteEvent]:
        """Return the events so far. Raises TutorError if the file cannot be read."""
        try:
            data = files.read_plain(self._path, _MOST_BYTES)
            if data and not data.endswith(b"\n"):  # a full disk or a power failure cut the last line
                os.write(self._fd, b"\n")
        except OSError as error:
            raise self._not_written(error) from error
        decoder = decoding.json_decoder(VoteEvent)
        events: list[VoteEvent] = []
        for line in filter(None, data.split(b"\n")):
            try:
                events.append(decoder.decode(line))
            except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
                self.damaged += 1
        return events

    def append(self, event: VoteEvent, *, sync: bool) -> None:
        """Append an event, which survives a crash of this process, and with `sync` also a power failure.

        Raises:
            TutorError: The event cannot be written; the file is unchanged.
        """
        line = msgspec.json.encode(event) + b"\n"
        before = os.fstat(self._fd).st_size
        try:
            self._write(line)
            if sync:
                os.fdatasync(self._fd)
        except OSError as error:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, before)
            raise self._not_written(error) from error

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)

    def _write(self, line: bytes) -> None:
        if os.write(self._fd, line) < len(line):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    def _not_written(self, error: OSError) -> TutorError:
        return TutorError(
            f"cannot store votes in {self._path}: {refused(error, 'choose another data folder')}"
        )
