"""A second record of an enrolled student's answers and hints, outside the data folder.

A journal restored from a copy, or a second journal in a different folder, lacks answers of this record. The time since
boot reveals a clock that was set back.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec

from tcptutor.base import decoding, files, places
from tcptutor.base.errors import TutorError
from tcptutor.journal.events import StoredEvent, event_digest

_CLOCK_STEP = 120.0
"""Seconds by which a clock may step back: computers correct it by themselves."""
_RECORDED = (b'{"kind":"responded"', b'{"kind":"hinted"')
_MOST_BYTES = 4 << 20
"""Largest size of the record; a complete course takes a tenth of it."""


class AnswerRecord(msgspec.Struct, frozen=True):
    """An answer or a shown hint, without its content."""

    event: str
    """Digest of its event in the journal, in hexadecimal."""
    at: float
    """Wall-clock time, seconds since 1970."""
    boot: str
    """The kernel's id of the boot; empty if unknown."""
    since_boot: float
    """Seconds since boot, with the time that the computer slept."""


class RecordDoubts(msgspec.Struct, frozen=True):
    """Differences between a journal and the second record."""

    lost: int = 0
    """Answers and hints that the journal lacks."""
    set_back: float = 0.0
    """Largest step back of the clock within a boot, s; 0 for none."""


def record_answers(identity: str, rows: Iterable[StoredEvent]) -> None:
    """Add the answers and hints among new rows of the student's journal; a failure to write is ignored."""
    new = [_now(event_digest(row.data)) for row in rows if row.data.startswith(_RECORDED)]
    if not new:
        return
    path = _file(identity)
    with contextlib.suppress(OSError, TutorError):
        files.make_private(path.parent)
        if path.exists() and (not path.is_file() or path.stat().st_size > _MOST_BYTES):
            return
        with path.open("ab") as target:
            target.write(b"".join(msgspec.json.encode(each) + b"\n" for each in new))


def find_doubts(identity: str, rows: Iterable[StoredEvent]) -> RecordDoubts:
    """Compare the student's record on this computer with all rows of a journal."""
    records = _read(_file(identity))
    known = {event_digest(row.data).hex() for row in rows}
    return RecordDoubts(
        lost=len({each.event for each in records} - known),
        set_back=_step_back([*records, _now(b"")]),
    )


def _step_back(records: Sequence[AnswerRecord]) -> float:
    steps = [
        (one.at - one.since_boot) - (other.at - other.since_boot)
        for one, other in pairwise(records)
        if one.boot and one.boot == other.boot
    ]
    largest = max(steps, default=0.0)
    return largest if largest > _CLOCK_STEP else 0.0


def _file(identity: str) -> Path:
    return places.second_record() / places.course_id() / f"{identity[:32]}.jsonl"


def _read(path: Path) -> list[AnswerRecord]:
    found = []
    with contextlib.suppress(OSError):
        for line in files.read_plain(path, 2 * _MOST_BYTES).splitlines():
            with contextlib.suppress(msgspec.MsgspecError):  # a line that was cut off
                found.append(decoding.decode_json(line, AnswerRecord))
    return found


def _now(digest: bytes) -> AnswerRecord:
    boot = ""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    # Only Linux counts the time asleep; without it no step back appears.
    since_boot = time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
    return AnswerRecord(digest.hex(), time.time(), boot, since_boot)
