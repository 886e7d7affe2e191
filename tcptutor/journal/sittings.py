"""The ends of a student's sittings on this computer, kept in the cache and not in the data folder.

When the journal of an enrolled student is closed, its last event and the clocks are noted. A journal that was put back
from a copy, or a second one in another folder, lacks the last events of other sittings. A clock that was set back
between two sittings shows against the time since boot.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Sequence
from itertools import pairwise
from pathlib import Path

import msgspec

from tcptutor.base import files, places
from tcptutor.base.errors import TutorError

_CLOCK_STEP = 120.0
"""Seconds by which a clock may step back: computers correct it by themselves."""
_MOST_BYTES = 1 << 20


class Sitting(msgspec.Struct, frozen=True):
    """The end of a sitting."""

    event: str
    """Hash of the journal's last event, in hexadecimal."""
    at: float
    """Wall-clock time, seconds since 1970."""
    boot: str
    """The kernel's id of the boot; empty if unknown."""
    since_boot: float
    """Seconds since boot, with the time that the computer slept."""


class SittingDoubts(msgspec.Struct, frozen=True):
    """Findings about a student's sittings."""

    lost: int = 0
    """Sittings whose last event is not in the journal."""
    set_back: float = 0.0
    """Largest step back of the clock between two sittings, s; 0 for none."""


def note_sitting(identity: str, last: bytes) -> None:
    """Note the end of a sitting; a failure to write is ignored.

    Args:
        identity: The student's identity in the course.
        last: Hash of the journal's last event.
    """
    path = _file(identity)
    with contextlib.suppress(OSError, TutorError):
        files.make_private(path.parent)
        if path.exists() and (not path.is_file() or path.stat().st_size > _MOST_BYTES):
            return
        with path.open("ab") as target:
            target.write(msgspec.json.encode(_now(last)) + b"\n")


def find_doubts(identity: str, hashes: Collection[bytes]) -> SittingDoubts:
    """Compare the student's sittings on this computer with a journal.

    Args:
        identity: The student's identity in the course.
        hashes: Hashes of all events of the journal.
    """
    sittings = _read(_file(identity))
    known = {hash.hex() for hash in hashes}
    return SittingDoubts(
        lost=len({each.event for each in sittings} - known),
        set_back=_step_back([*sittings, _now(b"")]),
    )


def _step_back(sittings: Sequence[Sitting]) -> float:
    steps = [
        (one.at - one.since_boot) - (other.at - other.since_boot)
        for one, other in pairwise(sittings)
        if one.boot and one.boot == other.boot
    ]
    largest = max(steps, default=0.0)
    return largest if largest > _CLOCK_STEP else 0.0


def _file(identity: str) -> Path:
    return places.cache() / "sittings" / f"{identity[:32]}.jsonl"


def _read(path: Path) -> list[Sitting]:
    found = []
    with contextlib.suppress(OSError):
        for line in files.read_plain(path, 2 * _MOST_BYTES).splitlines():
            with contextlib.suppress(msgspec.MsgspecError):  # a line that was cut off
                found.append(msgspec.json.decode(line, type=Sitting))
    return found


def _now(last: bytes) -> Sitting:
    boot = ""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    # Only Linux counts the time asleep; without it no step back appears.
    since_boot = time.clock_gettime(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))
    return Sitting(last.hex(), time.time(), boot, since_boot)
