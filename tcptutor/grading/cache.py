"""Cache of grades, by hand-in, lessons and tcptutor version.

A partly graded folder continues where it stopped. Marks are personal: only the owner can read the files.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
from functools import cache
from pathlib import Path

import msgspec

import tcptutor
from tcptutor.base import files, places
from tcptutor.base.errors import TutorError
from tcptutor.course.model import Course
from tcptutor.grading.evidence.hand_in import MOST_BYTES, lesson_hashes
from tcptutor.grading.grade import Grade

_MOST = 8 << 20
_decoder = msgspec.json.Decoder(Grade)


class GradeCache:
    """The grades of a course, in a folder."""

    def __init__(self, course: Course, code: str, folder: Path | None = None) -> None:
        basis = msgspec.json.encode(
            [_program(), code, lesson_hashes(course), [each.id for each in course.modules], course.marks],
            order="deterministic",
        )
        self._basis = hashlib.sha256(basis).digest()
        self._folder = folder or places.cache() / "grades"

    def key(self, hand_in: Path) -> str:
        """Return the key of a hand-in. Raises OSError for an unreadable file, and above MOST_BYTES."""
        with files.open_regular(hand_in) as content:
            if os.fstat(content.fileno()).st_size > MOST_BYTES:
                raise OSError(errno.EFBIG, "larger than any hand-in")
            found = hashlib.file_digest(content, "sha256")
        return hashlib.sha256(self._basis + found.digest()).hexdigest()[:32]

    def get(self, key: str) -> Grade | None:
        """Return the stored grade; None where it is missing or damaged."""
        try:
            return _decoder.decode(files.read_plain(self._file(key), _MOST))
        except (OSError, msgspec.MsgspecError):
            return None

    def put(self, key: str, grade: Grade) -> None:
        """Store a grade, if the folder can be written."""
        with contextlib.suppress(TutorError), files.atomic(self._file(key), private=True) as temporary:
            temporary.write_bytes(msgspec.json.encode(grade))

    def prune(self) -> None:
        """Remove grades that have not been used for 60 days."""
        places.remove_unused(self._folder.glob("*.json"))

    def _file(self, key: str) -> Path:
        return self._folder / f"{key}.json"


@cache
def _program() -> str:
    """Return a digest of tcptutor's source: other versions may mark differently."""
    found = hashlib.sha256()
    root = Path(tcptutor.__file__).parent
    for file in sorted(root.rglob("*.py")):
        found.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return found.hexdigest()
