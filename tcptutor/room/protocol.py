"""Messages between the lecture process and its terminals: JSON lines over a Unix socket."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from tcptutor.base import decoding
from tcptutor.room.slides import Lecture
from tcptutor.room.talk import LecturePlace, RunSource, Talk, TeacherView

VERSION = 1
Role = Literal["present", "notes", "watch"]


class TerminalHello(msgspec.Struct, frozen=True, tag=True):
    """First message of a terminal. A watcher's later messages are ignored."""

    role: Role
    version: int = VERSION


class Go(msgspec.Struct, frozen=True, tag=True):
    """Show this place."""

    place: LecturePlace


class StepBy(msgspec.Struct, frozen=True, tag=True):
    """Reveal the next step (1) or hide the last (-1), across slides."""

    by: Literal[1, -1] = 1


class Black(msgspec.Struct, frozen=True, tag=True):
    """Switch the screen to black, or back to the slide."""

    on: bool


class StartRun(msgspec.Struct, frozen=True, tag=True):
    """Run the slide's experiment live, or play its prepared run."""

    source: RunSource = "live"


class StopRun(msgspec.Struct, frozen=True, tag=True):
    """Stop the run."""


class OpenPoll(msgspec.Struct, frozen=True, tag=True):
    """Open the first vote on the step's question, or the second after a discussion."""


class ClosePoll(msgspec.Struct, frozen=True, tag=True):
    """Close the vote; after the second vote, or with `reveal`, show the results."""

    reveal: bool = False


class Discuss(msgspec.Struct, frozen=True, tag=True):
    """Start the discussion after the first vote."""


class EndLecture(msgspec.Struct, frozen=True, tag=True):
    """End the lecture: the lecture process writes its report and exits."""


FromTerminal: TypeAlias = (
    TerminalHello | Go | StepBy | Black | StartRun | StopRun | OpenPoll | ClosePoll | Discuss | EndLecture
)


class Welcome(msgspec.Struct, frozen=True, tag=True):
    """First answer: the lecture."""

    lecture: Lecture
    version: int = VERSION
    seed: str = ""
    """Seed of the questions' numbers and of the order of their choices, the same as in votes."""


class Shows(msgspec.Struct, frozen=True, tag=True):
    """New state of the screen, sent after each change."""

    talk: Talk


class Tells(msgspec.Struct, frozen=True, tag=True):
    """New state for the speaker, sent to `present` and `notes` only."""

    view: TeacherView


class CommandRefused(msgspec.Struct, frozen=True, tag=True):
    """Refusal of a command, sent to `present` and `notes` only."""

    reason: str
    """Single-line text."""


class RunBegins(msgspec.Struct, frozen=True, tag=True):
    """Start of a run, with its header as in a run file; sent again to terminals that join later."""

    id: str
    source: RunSource
    header: msgspec.Raw


class RunEvent(msgspec.Struct, frozen=True, tag=True):
    """Event of the run, as sent by the lab."""

    id: str
    event: msgspec.Raw


class LectureEnded(msgspec.Struct, frozen=True, tag=True):
    """End of the lecture."""

    reason: str = ""


ToTerminal: TypeAlias = Welcome | Shows | Tells | CommandRefused | RunBegins | RunEvent | LectureEnded

_encoder = msgspec.json.Encoder()
_from_terminal: msgspec.json.Decoder[FromTerminal] = decoding.json_decoder(FromTerminal)
_to_terminal: msgspec.json.Decoder[ToTerminal] = decoding.json_decoder(ToTerminal)

LONGEST_COMMAND = 1 << 16
"""Bytes of the longest message of a terminal."""
LONGEST_MESSAGE = 1 << 26
"""Bytes of the longest message of the lecture process: a lecture with its notes, or an event of many flows."""


def line(message: FromTerminal | ToTerminal) -> bytes:
    """Encode `message` as a line, newline included."""
    return _encoder.encode(message) + b"\n"


def from_terminal(line: bytes) -> FromTerminal:
    """Decode a terminal's message. Raises `msgspec.MsgspecError` for an invalid message."""
    return _from_terminal.decode(line)


def to_terminal(line: bytes) -> ToTerminal:
    """Decode a message of the lecture process. Raises `msgspec.MsgspecError` for an invalid message."""
    return _to_terminal.decode(line)
