"""What happens in a journal, one struct a kind, and the chain of hashes that holds the events together.

An event is stored as the JSON that `encode` gives, and those bytes are hashed: nobody has to be able to write them a
second time. Its hash is SHA-256 over the 32 bytes of the hash before it (START for the first) and its own bytes, so
that no event can be changed, left out or moved without a break that `read_events` names.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import msgspec

from tcptutor.base.errors import JournalError
from tcptutor.base.printable import escape_tree
from tcptutor.course.goals.session import SessionRecord
from tcptutor.course.record import Response

START = bytes(32)
"""What stands for the hash before the first event."""
LONGEST = 1 << 20
"""Bytes of an event; a longer one is none of ours, and is passed over."""


class JournalEvent(msgspec.Struct, frozen=True, tag_field="kind"):
    """Something that happened."""

    at: str
    """Wall-clock time, ISO 8601 with zone."""


class Enrolled(JournalEvent, frozen=True, tag="enrolled"):
    """The student took part in a course that grades: numbers and seeds are drawn for that student from here on."""

    student: str
    """As the course names its students."""
    course: str
    """The course's code."""


class Visited(JournalEvent, frozen=True, tag="visited"):
    """A page came on the screen."""

    module: str
    step: str


class Responded(JournalEvent, frozen=True, tag="responded"):
    """The student answered a question, or predicted."""

    module: str
    step: str
    activity: str
    response: Response
    """Its time stands in `at` of the event."""


class Withdrawn(JournalEvent, frozen=True, tag="withdrawn"):
    """The student took back what was locked, before any run of the page had begun."""

    module: str
    step: str
    activity: str


class Hinted(JournalEvent, frozen=True, tag="hinted"):
    """Hint `level` (from 1) of an activity was shown."""

    module: str
    step: str
    activity: str
    level: int


class Answered(JournalEvent, frozen=True, tag="answered"):
    """A run of the page measured what had been predicted."""

    module: str
    step: str
    activity: str
    measured: float
    """In the base unit of the prediction's `value`."""


class RunBegun(JournalEvent, frozen=True, tag="run-begun"):
    """A run of the page's experiment began; `at` is the time that stands in the run itself."""

    module: str
    step: str
    run: str
    """The run's id."""
    experiment: str
    """Full name, `module/experiment`."""
    file: str
    """Name of its run file, in the folder `runs` beside the journal; empty when nothing is stored."""
    seed: int = 1
    """Of its random numbers; events from before it was noted are of runs that all had this one."""
    changed_from: str = ""
    """The id of the run of which it is a what-if; empty for a run of the page's own experiment."""


class RunEnded(JournalEvent, frozen=True, tag="run-ended"):
    """That run came to its end, or was cut short."""

    run: str
    complete: bool
    note: str
    """Why it was cut short."""
    file: str
    """Name of its run file; empty when nothing had arrived that could be kept."""
    digest: str = ""
    """SHA-256 of that file's text, in hexadecimal; empty in events from before it was noted, and without a file."""


class Worked(JournalEvent, frozen=True, tag="worked"):
    """All goals of a page were reached by hand, in the session of that record."""

    module: str
    step: str
    activity: str
    session: SessionRecord


_decoder: msgspec.json.Decoder[JournalEvent] = msgspec.json.Decoder(
    Enrolled | Visited | Responded | Withdrawn | Hinted | Answered | RunBegun | RunEnded | Worked
)


def encode(event: JournalEvent) -> bytes:
    """The event as it is stored."""
    return msgspec.json.encode(event)


def decode(data: bytes) -> JournalEvent | None:
    """The event in `data`; None for what this version cannot read, such as a kind that a newer one writes.

    What is not printable in its texts is written as escapes: whoever typed it, it is shown later.
    """
    try:
        event = _decoder.decode(data)
        if data.isascii() and b"\\" not in data and b"\x7f" not in data:
            return event
        return msgspec.convert(escape_tree(msgspec.to_builtins(event)), type(event))
    except UNREADABLE:
        return None


UNREADABLE = (msgspec.MsgspecError, ValueError, OverflowError, RecursionError)
"""What msgspec raises for bytes that are not of a kind, or are made to cost something."""


class StoredEvent(NamedTuple):
    """An event as it stands in the journal."""

    serial: int
    """From 1, without gaps."""
    data: bytes
    hash: bytes


def link(before: bytes, data: bytes) -> bytes:
    """The hash of the event `data` that follows the one with the hash `before`."""
    return hashlib.sha256(before + data).digest()


def chain(events: Iterable[JournalEvent], serial: int = 0, hash: bytes = START) -> Iterator[StoredEvent]:
    """The events as they are stored after the one with that serial and hash."""
    for number, event in enumerate(events, serial + 1):
        data = encode(event)
        hash = link(hash, data)
        yield StoredEvent(number, data, hash)


class _Line(msgspec.Struct):
    """One event of an exported record."""

    serial: int
    hash: str
    """In hexadecimal."""
    event: msgspec.Raw
    """The very bytes that are hashed."""


class _End(msgspec.Struct, forbid_unknown_fields=True):
    """Its last line: a record that was cut off has none."""

    events: int
    hash: str


def export_events(events: Iterable[StoredEvent]) -> Iterator[bytes]:
    """An exported record: a JSON line for each event, and one for their number and the last hash."""
    serial, hash = 0, START
    for serial, data, hash in events:
        yield msgspec.json.encode(_Line(serial, hash.hex(), msgspec.Raw(data))) + b"\n"
    yield msgspec.json.encode(_End(serial, hash.hex())) + b"\n"


def read_events(lines: Iterable[bytes]) -> Iterator[StoredEvent]:
    """The events of an exported record, each checked against the one before.

    Raises JournalError that names the first event which is not as it was written, or where the record is cut off.
    """
    last = StoredEvent(0, b"", START)
    ended = False
    for line in lines:
        if ended:
            raise JournalError(f"the record goes on after its end, event {last.serial}")
        ended = _is_end(line, last)
        if not ended:
            last = _next(line, last)
            yield last
    if not ended:
        raise JournalError(f"the record is cut off after event {last.serial}: ask for the whole file")


def _is_end(line: bytes, last: StoredEvent) -> bool:
    """Whether the line is the end of a record whose last event is that one."""
    try:
        end = msgspec.json.decode(line, type=_End)
    except UNREADABLE:
        return False
    if end != _End(last.serial, last.hash.hex()):
        raise JournalError(f"the record ends after event {last.serial}, and says that it has {end.events}")
    return True


def _next(line: bytes, last: StoredEvent) -> StoredEvent:
    changed = f"event {last.serial + 1} is not as it was written, or one before it is missing"
    try:
        found = msgspec.json.decode(line, type=_Line)
    except UNREADABLE as error:
        raise JournalError(f"{changed} ({error})") from error
    data = bytes(found.event)
    stored = StoredEvent(last.serial + 1, data, link(last.hash, data))
    if (found.serial, found.hash) != (stored.serial, stored.hash.hex()):
        raise JournalError(changed)
    return stored
