"""Goals that stay ticked when a page's terminal is closed: which they are, and the session that shows it."""

from __future__ import annotations

import contextlib
from pathlib import Path

import msgspec

from tcptutor.base import files, places
from tcptutor.base.errors import TutorError
from tcptutor.course.goals.session import MOST_BYTES, SessionRecord

_MOST_BYTES = 2 * MOST_BYTES


class KeptSession(msgspec.Struct, frozen=True, kw_only=True):
    """What a page's goals begin with the next time."""

    reached: tuple[str, ...] = ()
    """Ids of goals."""
    record: SessionRecord = SessionRecord(entries=())
    """What the sessions told until they were reached."""


def load(module: str, step: str) -> KeptSession:
    """Return what was kept of that page; nothing where there is no whole file."""
    try:
        return msgspec.json.decode(files.read_plain(_file(module, step), _MOST_BYTES), type=KeptSession)
    except (OSError, msgspec.MsgspecError, ValueError, RecursionError):
        return KeptSession()


def save(module: str, step: str, kept: KeptSession) -> None:
    """Write it, whole or not at all; where that fails the goals are lost with the terminal."""
    with contextlib.suppress(TutorError), files.atomic(_file(module, step), private=True) as new:
        new.write_bytes(msgspec.json.encode(kept))


def remove(module: str, step: str) -> None:
    """All goals are reached: the journal has the session."""
    with contextlib.suppress(OSError):
        _file(module, step).unlink(missing_ok=True)


def _file(module: str, step: str) -> Path:
    return places.state() / "goals" / f"{module}.{step}.session"
