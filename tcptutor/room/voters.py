"""Voters of a lecture, identified by signed tokens, so that joining needs no storage.

A flood of joins leaves no trace, and a restarted lecture process still recognizes its voters.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import hmac
import secrets
from collections import OrderedDict
from pathlib import Path
from typing import NamedTuple

from tcptutor.base import files
from tcptutor.base.errors import UsageError
from tcptutor.base.printable import is_printable

MOST_VOTERS = 3000
"""Most voters per round, and in the count of joined voters, which forgets the longest unseen voter."""
MOST_NAME_CHARACTERS = 40


class UnknownVoter(UsageError):
    """Error for a token that this lecture did not sign."""


class Voter(NamedTuple):
    """Student who joined."""

    id: str
    name: str
    """Empty in an anonymous lecture."""


class Voters:
    """Voters of a lecture by their tokens."""

    def __init__(self, key_file: Path, lecture_id: str, *, with_names: bool) -> None:
        """Read the signing key from `key_file`, or create it. Raises TutorError."""
        self._key = _signing_key(key_file)
        self._lecture = lecture_id
        self._with_names = with_names
        self._present: OrderedDict[str, None] = OrderedDict()
        """Ids of joined voters, the latest seen voter last."""

    @property
    def joined(self) -> int:
        """Number of voters who joined."""
        return len(self._present)

    def join(self, name: str) -> str:
        """Return the token of a new voter.

        Raises:
            UsageError: The name is too long or not printable.
        """
        name = name.strip(" ")
        if len(name) > MOST_NAME_CHARACTERS:
            raise UsageError(f"the name is longer than {MOST_NAME_CHARACTERS} characters: shorten it")
        if not is_printable(name):
            raise UsageError("the name has a control character: write it with letters, digits and spaces")
        id = secrets.token_hex(8)
        written = base64.urlsafe_b64encode(name.encode()).decode().rstrip("=") if self._with_names else ""
        self.see(id)
        return f"{id}.{written}.{self._signature(f'{id}.{written}')}"

    def find(self, token: str) -> Voter:
        """Return the voter of a token, and count the voter as joined. Raises UnknownVoter."""
        signed, _, signature = token.rpartition(".")
        if not token.isascii() or not hmac.compare_digest(signature, self._signature(signed)):
            raise UnknownVoter("this page is of another lecture: join again")
        id, _, written = signed.partition(".")
        self.see(id)
        return Voter(id, base64.urlsafe_b64decode(written + "=" * (-len(written) % 4)).decode())

    def see(self, id: str) -> None:
        """Count a voter as joined."""
        self._present[id] = None
        self._present.move_to_end(id)
        if len(self._present) > MOST_VOTERS:
            self._present.popitem(last=False)

    def _signature(self, signed: str) -> str:
        return hmac.new(self._key, f"{self._lecture}/{signed}".encode(), hashlib.sha256).hexdigest()[:32]


def _signing_key(path: Path) -> bytes:
    """Return the key that signs the lecture's tokens, created on the first call. Raises TutorError."""
    with contextlib.suppress(OSError):
        key = files.read_plain(path, 32)
        if len(key) == 32:
            return key
    key = secrets.token_bytes(32)
    with files.atomic(path, "choose another data folder", private=True) as part:
        part.write_bytes(key)
    return key
