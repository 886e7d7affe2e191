"""One-time login links and login cookies, stored as hashes in a private file.

Logins survive a restart of the server, and other processes can add links while it runs.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from tcptutor.base import decoding
from tcptutor.base.errors import TutorError
from tcptutor.base.files import PRIVATE, atomic, make_private, open_bounded, small_kind

LIFETIME_S = 30 * 86400.0
"""Lifetime of an unused link and of a login, s."""
_MOST_LOGINS = 10
"""Most logins of a student; a new login replaces the oldest."""
_KIND = msgspec.structs.replace(
    small_kind("file of logins", "remove it: all students need new links"), most=8 << 20
)


class Access(msgspec.Struct, frozen=True):
    """Unused link or login of a student."""

    student: str
    expires: float
    """Seconds since the epoch."""


class _Stored(msgspec.Struct):
    links: dict[str, Access] = msgspec.field(default_factory=dict)
    """Unused links by the SHA-256 of their token."""
    logins: dict[str, Access] = msgspec.field(default_factory=dict)
    """Logins by the SHA-256 of their cookie."""


class Logins:
    """Store of links and logins in a file."""

    def __init__(self, file: Path, clock: Callable[[], float] = time.time) -> None:
        self._file, self._clock = file, clock
        self._stored, self._version = _Stored(), (0, 0)

    def make_link(self, student: str) -> str:
        """Create a one-time link in place of the student's unused link, and return its token. Raises TutorError."""
        token = secrets.token_urlsafe(32)
        with self._change() as stored:
            for key in [key for key, link in stored.links.items() if link.student == student]:
                del stored.links[key]
            stored.links[_hash(token)] = self._access(student)
        return token

    def redeem(self, token: str) -> tuple[str, str] | None:
        """Redeem a link; return the student and a login cookie, or None if it is unknown, used or expired."""
        if self._valid(self._now().links.get(_hash(token))) is None:
            return None
        with self._change() as stored:
            # Check again under the lock: two requests may race for the same link.
            link = self._valid(stored.links.pop(_hash(token), None))
            if link is None:
                return None
            own = [key for key, login in stored.logins.items() if login.student == link.student]
            for key in own[: max(0, len(own) + 1 - _MOST_LOGINS)]:
                del stored.logins[key]
            cookie = secrets.token_urlsafe(32)
            stored.logins[_hash(cookie)] = self._access(link.student)
        return link.student, cookie

    def student_of(self, cookie: str) -> str | None:
        """Return the student logged in with this cookie; None for an unknown or expired cookie."""
        login = self._valid(self._now().logins.get(_hash(cookie)))
        return None if login is None else login.student

    def log_out(self, cookie: str) -> None:
        """End the login with this cookie. Raises TutorError."""
        with self._change() as stored:
            stored.logins.pop(_hash(cookie), None)

    def has_access(self, student: str) -> bool:
        """Return whether the student has a login or an unused link."""
        stored = self._now()
        return any(
            access.student == student and self._valid(access)
            for access in (*stored.links.values(), *stored.logins.values())
        )

    def _access(self, student: str) -> Access:
        return Access(student, self._clock() + LIFETIME_S)

    def _valid(self, access: Access | None) -> Access | None:
        return access if access is not None and access.expires > self._clock() else None

    def _now(self) -> _Stored:
        """Return the stored links and logins, reloading the file after a change."""
        try:
            found = self._file.stat()
        except OSError:
            self._stored, self._version = _Stored(), (0, 0)
            return self._stored
        version = (found.st_ino, found.st_mtime_ns)
        if version != self._version:
            with open_bounded(self._file, _KIND) as text:
                self._stored = decoding.decode_json(text, _Stored)
            self._version = version
        return self._stored

    @contextlib.contextmanager
    def _change(self) -> Iterator[_Stored]:
        """Lock the file, yield its content for changes, and write it without expired entries."""
        try:
            make_private(self._file.parent)
            lock = os.open(self._file.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, PRIVATE)
        except OSError as error:
            raise TutorError(f"cannot write {self._file}: {error.strerror}") from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            stored = self._now()
            yield stored
            for known in (stored.links, stored.logins):
                for key in [key for key, access in known.items() if self._valid(access) is None]:
                    del known[key]
            with atomic(self._file, private=True) as part:
                part.write_bytes(msgspec.json.encode(stored))
        finally:
            os.close(lock)


def _hash(secret: str) -> str:
    """Return the storage key of a secret: a hash, so that lookup times do not leak the secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
