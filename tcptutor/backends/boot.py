"""What was found out about this machine, kept in the cache until it boots again."""

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
    """The boot for which it holds, as the kernel names it."""
    answer: msgspec.Raw


def _this_boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def recall(name: str, kind: type[_T]) -> _T | None:
    """The answer kept as `name` since the last boot; None when there is none, or a damaged one."""
    try:
        with files.open_bounded(places.cache() / name, _KIND) as text:
            known = msgspec.json.decode(text, type=_Answer)
            return msgspec.json.decode(known.answer, type=kind) if known.boot == _this_boot() else None
    except TutorError:
        return None


def remember(name: str, answer: object) -> None:
    """Keep `answer` as `name`. Where that cannot be written, the question is asked again."""
    with contextlib.suppress(OSError, TutorError):
        known = _Answer(_this_boot(), msgspec.Raw(msgspec.json.encode(answer)))
        places.cache().mkdir(parents=True, exist_ok=True)
        with files.atomic(places.cache() / name) as beside:
            beside.write_bytes(msgspec.json.encode(known))
