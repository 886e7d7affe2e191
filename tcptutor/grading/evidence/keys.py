"""The key of a course that grades, and the code that its students are given.

The key is the teacher's alone: it draws which runs are repeated. The code follows from it and is no secret: students
enrol with it, and it decides, with the student, which numbers and seeds that student is given.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from pathlib import Path

import msgspec

from tcptutor.base import files
from tcptutor.base.errors import UsageError, quoted
from tcptutor.base.printable import is_printable

FORMAT_VERSION = 1
LONGEST_STUDENT = 100
"""Characters of what a course calls a student."""
_CODE = re.compile(r"[A-Z2-7]{16}")
_CHECK = 2
"""Characters at its end that follow from the others: of a thousand slips in typing one is not seen."""
_KIND = files.FileKind(
    name="course key",
    most=64 << 10,
    missing="`tcptutor course-key FILE` makes one",
    unreadable="give a key that you may read",
    damaged="take the copy that you made of it",
    large="give a course's key",
)


class CourseKey(msgspec.Struct, frozen=True, kw_only=True):
    """What stands in a key's file."""

    secret: str
    """In hexadecimal."""
    format_version: int = FORMAT_VERSION

    @property
    def code(self) -> str:
        """That of the course, such as `ABCD-EFGH-2345-WXQG`."""
        letters = base64.b32encode(self._derived("code")).decode()[: 16 - _CHECK]
        return _grouped(letters + _check(letters))

    def lot(self, what: str) -> float:
        """A number from 0 to below 1 for that: whose is low is looked at. Nobody without the key can tell it."""
        return int.from_bytes(self._derived(f"audit/{what}")[:6], "big") / 2**48

    def _derived(self, what: str) -> bytes:
        return hmac.new(bytes.fromhex(self.secret), what.encode(), hashlib.sha256).digest()


def new_key() -> CourseKey:
    """One that nobody has."""
    return CourseKey(secret=secrets.token_hex(32))


def write_key(key: CourseKey, path: Path) -> None:
    """Write it to a file that is its owner's alone. Raises TutorError."""
    with files.atomic(path, private=True) as beside:
        beside.write_bytes(msgspec.json.format(msgspec.json.encode(key), indent=1) + b"\n")


def read_key(path: Path) -> CourseKey:
    """Raises TutorError for a file that is none."""
    with files.open_bounded(path, _KIND) as text:
        files.check_version(bytes(text), FORMAT_VERSION, path)
        key = msgspec.json.decode(text, type=CourseKey)
        if len(bytes.fromhex(key.secret)) < 16:
            raise ValueError("its secret is too short")
    return key


def course_code(text: str) -> str:
    """A course's code as somebody typed it. Raises UsageError for what is none."""
    plain = re.sub(r"[\s-]", "", text).upper()
    if not _CODE.fullmatch(plain):
        raise UsageError(f"{quoted(text)} is no course's code: it looks like ABCD-EFGH-2345-WXQG")
    if plain[-_CHECK:] != _check(plain[:-_CHECK]):
        raise UsageError(f"{quoted(text)} is no course's code: something in it is mistyped, look at it again")
    return _grouped(plain)


def _check(letters: str) -> str:
    """The end of a code that begins so."""
    digest = hashlib.sha256(f"course code {letters}".encode()).digest()
    return base64.b32encode(digest).decode()[:_CHECK]


def _grouped(code: str) -> str:
    return "-".join(code[at : at + 4] for at in range(0, len(code), 4))


def student_name(text: str) -> str:
    """What a course calls a student, as somebody typed it. Raises UsageError for what no course can."""
    name = " ".join(text.split())
    if not name or len(name) > LONGEST_STUDENT or not is_printable(name):
        raise UsageError(
            f"{quoted(text)} cannot be a student: give what your course knows you by, such as a number"
        )
    return name
