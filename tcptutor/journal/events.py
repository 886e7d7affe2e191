"""The kinds of event in a journal, a struct per kind, and the chain of hashes that binds the events.

An event is stored as the JSON that `encode` returns, and the hash covers exactly these bytes: readers never serialize
it again. The hash is SHA-256 over the 32 bytes of the previous hash (START for the first event) and the event's own
bytes, so that changing, removing or moving an event breaks the chain, and `chains.read_events` names the place.

An event imported from the student's journal on a different machine is stored unchanged in a `Carried` row, and remains
a link of its original chain. The journal's own chain excludes `Carried` rows: two machines that import each other would
otherwise carry rows of carried rows, without end. It includes an `Imported` event with the hashes of the last imported
events, which bind all their predecessors.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from tcptutor.base import decoding
from tcptutor.base.printable import escape_tree
from tcptutor.course.page_record import Response
from tcptutor.course.paths import CoursePath

if TYPE_CHECKING:
    from tcptutor.course.goals.session_record import SessionRecord

START = bytes(32)
"""Previous hash of the first event."""
LONGEST = 1 << 20
"""Bytes of the longest event; readers skip longer events."""
LONGEST_ROW = LONGEST + 512
"""Bytes of the longest row, which may be a carried event."""


class JournalEvent(msgspec.Struct, frozen=True, tag_field="kind"):
    """An action of the student, or the result of a run."""

    at: str
    """Wall-clock time, ISO 8601 with zone."""


class Enrolled(JournalEvent, frozen=True, tag="enrolled"):
    """The student enrolled in a graded course: numbers and seeds are drawn per student from here on."""

    student: str
    """The student's name in the course."""
    course: str
    """Code of the course."""


class Visited(JournalEvent, frozen=True, tag="visited"):
    """A page appeared on the screen."""

    module: str
    step: str


class PathChosen(JournalEvent, frozen=True, tag="path-chosen"):
    """The student chose the pages to follow."""

    path: CoursePath


class Responded(JournalEvent, frozen=True, tag="responded"):
    """The student answered a question, or made a prediction."""

    module: str
    step: str
    activity: str
    response: Response
    """Its own time is empty: `at` of the event counts."""


class Withdrawn(JournalEvent, frozen=True, tag="withdrawn"):
    """The student withdrew a locked prediction, before any run of the page had begun."""

    module: str
    step: str
    activity: str


class Noted(JournalEvent, frozen=True, tag="noted"):
    """The student wrote the page's note anew; an empty text removes it."""

    module: str
    step: str
    text: str


class Reported(JournalEvent, frozen=True, tag="reported"):
    """The student reported a fault of a page to the teacher; marks ignore it."""

    module: str
    step: str
    text: str


class Commented(JournalEvent, frozen=True, tag="commented"):
    """The student read in a comment of the teacher."""

    module: str
    step: str
    activity: str
    """Id of the commented activity; empty for the page."""
    text: str
    by: str = ""
    """Name of the teacher, if given."""


class Hinted(JournalEvent, frozen=True, tag="hinted"):
    """The app showed hint `level` (from 1) of an activity."""

    module: str
    step: str
    activity: str
    level: int


class Reviewed(JournalEvent, frozen=True, tag="reviewed"):
    """The student answered a question again in a review; marks and the page's progress ignore it."""

    module: str
    step: str
    activity: str
    response: Response
    """Its own time is empty: `at` of the event counts."""
    hints: int = 0
    """Hints shown before the answer."""


class PredictionMeasured(JournalEvent, frozen=True, tag="prediction-measured"):
    """A run of the page measured the predicted quantity."""

    module: str
    step: str
    activity: str
    value: float
    """In the base unit of the prediction's `value`."""


class RunStarted(JournalEvent, frozen=True, tag="run-started"):
    """A run of the page's experiment began; `at` is the start time in the run itself."""

    module: str
    step: str
    run: str
    experiment: str
    """Full name, `module/experiment`."""
    file: str
    """Name of its run file, in the folder `runs` next to the journal; empty if the run is not stored."""
    seed: int = 1
    """Seed of its random numbers."""
    changed_from: str = ""
    """Id of the base run that was changed; empty for a run of the page's own experiment."""


class RunEnded(JournalEvent, frozen=True, tag="run-ended"):
    """A run ended, complete or cut short."""

    run: str
    complete: bool
    note: str
    """Reason for an early end."""
    file: str
    """Name of its run file; empty when no data had arrived."""
    digest: str = ""
    """SHA-256 of that file's text, in hexadecimal; empty without a file."""


class Bookmarked(JournalEvent, frozen=True, tag="bookmarked"):
    """The student set a bookmark on a page, or removed it."""

    module: str
    step: str
    on: bool = True


class Skipped(JournalEvent, frozen=True, tag="skipped"):
    """The student marked a page to skip, or took the mark back."""

    module: str
    step: str
    on: bool = True


class Reset(JournalEvent, frozen=True, tag="reset"):
    """The student reset a page. Earlier events remain, and still count for marks."""

    module: str
    step: str


class Restored(JournalEvent, frozen=True, tag="restored"):
    """The student took back the latest reset of a page."""

    module: str
    step: str


class PageGoalsReached(JournalEvent, frozen=True, tag="goals-reached"):
    """The student reached all goals of a page by hand, in the recorded session."""

    module: str
    step: str
    activity: str
    session: SessionRecord


class Imported(JournalEvent, frozen=True, tag="imported"):
    """The student imported the journal of a different machine; later events follow the imported events as well."""

    heads: tuple[str, ...]
    """Hash of the last event of each imported chain, in hexadecimal."""


class Carried(msgspec.Struct, frozen=True, tag_field="kind", tag="carried"):
    """A row with an event of a different machine, and with the hash of that event."""

    serial: int
    """Serial in the event's own chain."""
    before: str
    """Hash of the preceding event in its chain, in hexadecimal."""
    event: msgspec.Raw
    """The exact bytes that are hashed."""


@cache
def _decoder() -> msgspec.json.Decoder[JournalEvent]:
    # msgspec looks up the type of a session here. With the kernel's states and runs in it, it takes long to import.
    from tcptutor.course.goals import session_record  # noqa: PLC0415  # not for the app's first frame

    globals()["SessionRecord"] = session_record.SessionRecord
    return decoding.json_decoder(
        Enrolled
        | Visited
        | PathChosen
        | Responded
        | Withdrawn
        | Noted
        | Reported
        | Commented
        | Hinted
        | Reviewed
        | PredictionMeasured
        | RunStarted
        | RunEnded
        | PageGoalsReached
        | Bookmarked
        | Skipped
        | Reset
        | Restored
        | Imported
    )


_carried: msgspec.json.Decoder[Carried] = decoding.json_decoder(Carried)


def encode(event: JournalEvent) -> bytes:
    """Return the JSON that is stored and hashed."""
    return msgspec.json.encode(event)


def decode(data: bytes) -> JournalEvent | None:
    """Return the event in `data`, or None if it is unreadable, such as a kind of a newer version.

    Unprintable characters in its texts become escapes: the app shows these texts later.
    """
    try:
        event = _decoder().decode(data)
        if data.isascii() and b"\\" not in data and b"\x7f" not in data:
            return event
        return decoding.convert(escape_tree(msgspec.to_builtins(event)), type(event))
    except UNREADABLE:
        return None


def is_carried(data: bytes) -> bool:
    """Return whether the row is a carried event, possibly damaged."""
    return data.startswith(b'{"kind":"carried"')


def is_import(data: bytes) -> bool:
    """Return whether the event is an import, possibly damaged."""
    return data.startswith(b'{"kind":"imported"')


def decode_carried(data: bytes) -> Carried | None:
    """Return the carried event in the row; None if the row is damaged or not carried."""
    try:
        return _carried.decode(data) if is_carried(data) else None
    except UNREADABLE:
        return None


DIGEST_BYTES = 8
"""Bytes of an event's digest: 400,000 different events have an equal pair with a probability of 10⁻⁸."""


def event_digest(row: bytes) -> bytes:
    """Return a digest of an event on whichever machine, without its place in the chain; empty for a damaged row."""
    if is_carried(row):
        held = decode_carried(row)
        if held is None:
            return b""
        row = bytes(held.event)
    return hashlib.blake2b(row, digest_size=DIGEST_BYTES).digest()


UNREADABLE = (msgspec.MsgspecError, ValueError, OverflowError, RecursionError)
"""Exceptions that msgspec raises for malformed or deliberately expensive input."""


class StoredEvent(NamedTuple):
    """A row of the journal."""

    serial: int
    """From 1, without gaps."""
    data: bytes
    hash: bytes


def link(before: bytes, data: bytes) -> bytes:
    """Return the hash of the event `data`, given the hash of the event before it."""
    return hashlib.sha256(before + data).digest()


def chain(events: Iterable[JournalEvent], serial: int = 0, hash: bytes = START) -> Iterator[StoredEvent]:
    """Yield the events as rows that continue the chain after `serial` and `hash`."""
    for number, event in enumerate(events, serial + 1):
        data = encode(event)
        hash = link(hash, data)
        yield StoredEvent(number, data, hash)
