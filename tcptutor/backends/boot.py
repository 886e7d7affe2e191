"""Facts about this machine, cached until its next boot."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TypeVar

import msgspec

from tcptutor.base import files, places
from tcptutor.base.errors import TutorError

_T = TypeVar("_T")
_KIND = files.small_kind("answer about this machine")


class _Answer(msgspec.Struct):
    boot: str
    """The kernel's id of the boot for which the answer is valid."""
    answer: msgspec.Raw


def _this_boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def recall(name: str, kind: type[_T]) -> _T | None:
    """Return the answer stored as `name` since the last boot; None when it is missing or damaged."""
    try:
        with files.open_bounded(places.cache() / name, _KIND) as text:
            known = msgspec.json.decode(text, type=_Answer)
            return msgspec.json.decode(known.answer, type=kind) if known.boot == _this_boot() else None
    except TutorError:
        return None


def remember(name: str, answer: object) -> None:
    """Store `answer` as `name`; a failure to write is ignored, so the check simply runs again."""
    with contextlib.suppress(OSError, TutorError):
        known = _Answer(_this_boot(), msgspec.Raw(msgspec.json.encode(answer)))
        places.cache().mkdir(parents=True, exist_ok=True)
        with files.atomic(places.cache() / name) as part:
            part.write_bytes(msgspec.json.encode(known))
