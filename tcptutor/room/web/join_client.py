"""Terminal client of the students' page, which does not need aiohttp."""

from __future__ import annotations

import contextlib
import http.client
from typing import TypeVar
from urllib.parse import quote

import msgspec

from tcptutor.base import decoding, files, places
from tcptutor.base.errors import TutorError, UsageError, quoted
from tcptutor.base.printable import escaped
from tcptutor.room.votes import Receipt
from tcptutor.room.web.addresses import DEFAULT_PORT, split_url, typed_code
from tcptutor.room.web.messages import JoinAnswer, JoinBody, RefusalAnswer, ViewAnswer, VoteBody

_T = TypeVar("_T")
_TIMEOUT_S = 45.0
"""Timeout of a request, s; longer than the server's wait for a change."""
_MOST_BYTES = 1 << 20
_MOST_STORED = 16
_KIND = files.small_kind("list of joined lectures")


class LectureLost(TutorError):
    """Error for a lecture that does not answer now, but may answer later."""


class VotesEnded(TutorError):
    """Error for a lecture that has ended."""


class LectureClient:
    """Voter of a lecture. All calls block; a thread may wait for views while a second thread votes."""

    def __init__(self, target: str) -> None:
        """Prepare to join.

        Args:
            target: URL of the lecture's page with its code; or the code alone, for a lecture on this machine.

        Raises:
            UsageError: The target is neither of them.
        """
        if code := typed_code(target):
            target = f"http://127.0.0.1:{DEFAULT_PORT}/{code}"
        parts = split_url(target if "://" in target else f"http://{target}")
        self._code, self._host, self._port = (
            typed_code(parts.path.strip("/")),
            parts.hostname or "",
            parts.port,
        )
        self._is_https = parts.scheme == "https"
        self.url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._token = self._version = ""
        if self._code and self._host and parts.scheme in ("http", "https"):
            return
        raise UsageError(
            f"{quoted(target)} is not the address of a lecture: write the one on the screen, such as"
            " http://vote.example.org/CDFGHJ"
        )

    def join(self, name: str = "") -> None:
        """Join; a voter who rejoins after a lost connection remains the same voter.

        Raises:
            TutorError: The lecture does not answer, or does not have this code.
        """
        self._token = _stored_tokens().get(self._key, "")
        if self._token:
            with contextlib.suppress(UsageError):
                self._request("GET", "/view", ViewAnswer)
                return
        self._token = ""
        joined = self._request("POST", "/join", JoinAnswer, JoinBody(self._code, name))
        if joined is not None:
            self._token = joined.token
            _store_token(self._key, self._token)

    def next_view(self) -> ViewAnswer | None:
        """Wait for the next view and return it; None after a timeout. Raises LectureLost and VotesEnded."""
        answer = self._request("GET", f"/view?after={quote(self._version)}", ViewAnswer)
        if answer is not None:
            self._version = answer.version
        return answer

    def vote(self, poll: str, answer: int | str) -> Receipt:
        """Vote. Raises UsageError for a refused answer, and LectureLost."""
        receipt = self._request("POST", "/vote", Receipt, VoteBody(poll, answer))
        if receipt is None:
            raise LectureLost("the lecture did not answer: try again")
        return receipt

    @property
    def _key(self) -> str:
        return f"{self.url}/{self._code}"

    def _request(
        self, method: str, path: str, kind: type[_T], body: msgspec.Struct | None = None
    ) -> _T | None:
        """Return the answer to a request; None if it has no content.

        Raises:
            LectureLost: The lecture does not answer.
            VotesEnded: The lecture has ended.
            UsageError: The request is refused.
        """
        make = http.client.HTTPSConnection if self._is_https else http.client.HTTPConnection
        connection = make(self._host, self._port, timeout=_TIMEOUT_S)
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        try:
            connection.request(method, path, msgspec.json.encode(body) if body is not None else None, headers)
            response = connection.getresponse()
            status, text = response.status, response.read(_MOST_BYTES)
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise LectureLost(
                f"{self.url} does not answer: {reason}; check the address, and that the lecture runs"
            ) from error
        finally:
            connection.close()
        if status == 204:
            return None
        try:
            if status in (200, 409):
                return decoding.decode_json(text, kind)
            line = escaped(decoding.decode_json(text, RefusalAnswer).error)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise UsageError(f"{self.url} is not the page of a lecture of this version of tcptutor") from None
        if status == 410:
            raise VotesEnded(line)
        if status in (429, 503):
            raise LectureLost(line)
        raise UsageError(line)


def _stored_tokens() -> dict[str, str]:
    """Return the tokens of recently joined lectures, by URL and code."""
    try:
        with files.open_bounded(places.state() / "joined.json", _KIND) as text:
            return decoding.decode_json(text, dict[str, str])
    except (TutorError, msgspec.MsgspecError):
        return {}


def _store_token(key: str, token: str) -> None:
    """Store a token; ignore errors, because joining works without stored tokens."""
    kept = {**{each: value for each, value in _stored_tokens().items() if each != key}, key: token}
    latest = dict(list(kept.items())[-_MOST_STORED:])
    with contextlib.suppress(TutorError), files.atomic(places.state() / "joined.json", private=True) as part:
        part.write_bytes(msgspec.json.encode(latest))
