"""Grades that need not be worked out again: of equal hand-ins, by equal lessons and an equal tcptutor.

So a folder that was graded in part goes on where it ended. Marks are personal: the files are their owner's alone.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import time
from functools import cache
from pathlib import Path

import msgspec

import tcptutor
from tcptutor.base import files, places
from tcptutor.base.errors import TutorError
from tcptutor.course.model import Course
from tcptutor.grading.evidence.hand_in import MOST_BYTES, lesson_hashes
from tcptutor.grading.grade import Grade

_UNUSED_DAYS = 60
_MOST = 8 << 20
_decoder = msgspec.json.Decoder(Grade)


class GradeCache:
    """Those of one course, in a folder."""

    def __init__(self, course: Course, code: str, folder: Path | None = None) -> None:
        """code: of the course whose students alone are graded; empty for all."""
        asked = msgspec.json.encode(
            [_program(), code, lesson_hashes(course), [each.id for each in course.modules], course.marks],
            order="deterministic",
        )
        self._asked = hashlib.sha256(asked).digest()
        self._folder = folder or places.cache() / "grades"

    def key(self, hand_in: Path) -> str:
        """Equal for equal hand-ins. Raises OSError where it cannot be read, or is larger than any."""
        with files.open_regular(hand_in) as content:
            if os.fstat(content.fileno()).st_size > MOST_BYTES:
                raise OSError(errno.EFBIG, "larger than any hand-in")
            found = hashlib.file_digest(content, "sha256")
        return hashlib.sha256(self._asked + found.digest()).hexdigest()[:32]

    def get(self, key: str) -> Grade | None:
        """None for one that is not there, or damaged."""
        try:
            return _decoder.decode(files.read_plain(self._file(key), _MOST))
        except (OSError, msgspec.MsgspecError):
            return None

    def put(self, key: str, grade: Grade) -> None:
        """Where it cannot be written it is worked out again another time."""
        with contextlib.suppress(TutorError), files.atomic(self._file(key), private=True) as beside:
            beside.write_bytes(msgspec.json.encode(grade))

    def prune(self) -> None:
        """Remove what nobody has asked for in a long time."""
        oldest = time.time() - _UNUSED_DAYS * 86400
        for file in self._folder.glob("*.json"):
            with contextlib.suppress(OSError):
                if file.stat().st_mtime < oldest:
                    file.unlink()

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}.json"


@cache
def _program() -> str:
    """A digest of all that marks: another edition may mark otherwise."""
    found = hashlib.sha256()
    root = Path(tcptutor.__file__).parent
    for file in sorted(root.rglob("*.py")):
        found.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return found.hexdigest()
