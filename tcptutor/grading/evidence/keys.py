"""The key of a graded course, and the code with which its students enroll.

The key is secret to the teacher: it draws the runs to repeat and the numbers of exams. The code is derived from it
and public; code and student name determine the student's numbers and seeds.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from pathlib import Path

import msgspec

from tcptutor.base import decoding, files
from tcptutor.base.errors import UsageError, quoted
from tcptutor.base.printable import is_printable

FORMAT_VERSION = 1
LONGEST_STUDENT = 100
"""Characters of a student's name."""
_CODE = re.compile(r"[A-Z2-7]{16}")
_CHECK_LENGTH = 2
"""Check characters at the end of a code: they miss 1 in 1,000 typing errors."""
_KIND = files.FileKind(
    name="course key",
    most=64 << 10,
    missing="`tcptutor course-key FILE` makes one",
    unreadable="give a key that you may read",
    damaged="use your backup copy",
    large="give a course's key",
)


class CourseKey(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a key file."""

    secret: str
    """In hexadecimal."""
    format_version: int = FORMAT_VERSION

    @property
    def code(self) -> str:
        """Return the course's code, such as `ABCD-EFGH-2345-WXQG`."""
        letters = base64.b32encode(self._derived("code")).decode()[: 16 - _CHECK_LENGTH]
        return _grouped(letters + _check_characters(letters))

    def lot(self, item: str) -> float:
        """Return a number in [0, 1) drawn for `item`; it cannot be predicted without the key."""
        return int.from_bytes(self._derived(f"audit/{item}")[:6], "big") / 2**48

    def exam_seed(self, item: str) -> str:
        """Return the seed of an exam's draw `item`; it cannot be computed without the key."""
        return self._derived(f"exam/{item}").hex()

    def _derived(self, purpose: str) -> bytes:
        return hmac.new(bytes.fromhex(self.secret), purpose.encode(), hashlib.sha256).digest()


def new_key() -> CourseKey:
    """Create a key with a random secret."""
    return CourseKey(secret=secrets.token_hex(32))


def write_key(key: CourseKey, path: Path) -> None:
    """Write the key to a file that only its owner can read. Raises TutorError."""
    with files.atomic(path, private=True) as temporary:
        temporary.write_bytes(msgspec.json.format(msgspec.json.encode(key), indent=1) + b"\n")


def read_key(path: Path) -> CourseKey:
    """Read a key file. Raises TutorError for any other file."""
    with files.open_bounded(path, _KIND) as text:
        files.check_version(bytes(text), FORMAT_VERSION, path)
        key = decoding.decode_json(text, CourseKey)
        if len(bytes.fromhex(key.secret)) < 16:
            raise ValueError("its secret is too short")
    return key


def parse_course_code(text: str) -> str:
    """Parse a course's code as typed. Raises UsageError for an invalid code."""
    plain = re.sub(r"[\s-]", "", text).upper()
    if not _CODE.fullmatch(plain):
        raise UsageError(f"{quoted(text)} is not a course code: it looks like ABCD-EFGH-2345-WXQG")
    if plain[-_CHECK_LENGTH:] != _check_characters(plain[:-_CHECK_LENGTH]):
        raise UsageError(f"{quoted(text)} is not a course code: check it for typing errors")
    return _grouped(plain)


def _check_characters(letters: str) -> str:
    digest = hashlib.sha256(f"course code {letters}".encode()).digest()
    return base64.b32encode(digest).decode()[:_CHECK_LENGTH]


def _grouped(code: str) -> str:
    return "-".join(code[at : at + 4] for at in range(0, len(code), 4))


def parse_student_name(text: str) -> str:
    """Parse a student's name as typed. Raises UsageError for an invalid name."""
    name = " ".join(text.split())
    if not name or len(name) > LONGEST_STUDENT or not is_printable(name):
        raise UsageError(
            f"{quoted(text)} is not a student name: give the name or number that your course uses for you"
        )
    return name
