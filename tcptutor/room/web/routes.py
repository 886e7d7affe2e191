"""Routes of the students' page: joining, waiting for the next view, and voting.

A voter is known by a cookie, or by a bearer token in a client without cookies. Every answer is HTML for a browser, the
part of the page that changed for its script (`X-Part`), or JSON (`Accept: application/json`).
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import math
import secrets
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
from aiohttp import web

from tcptutor.base import places
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.room.voters import UnknownVoter
from tcptutor.room.votes import VoterView, Votes
from tcptutor.room.web import requests, vote_page
from tcptutor.room.web.addresses import typed_code
from tcptutor.room.web.limits import RateLimit
from tcptutor.room.web.messages import JoinAnswer, JoinBody, RefusalAnswer, ViewAnswer, VoteBody
from tcptutor.room.web.requests import COOKIE, RequestRefused, token_of, wants_json, wants_part

_COOKIE_S = 12 * 3600
_WAIT_S = 25.0
"""Longest wait for a change of the view, s; proxies give up after about 60 s."""
_MOST_WAITING = 3
"""Most pages of a voter that may wait for the next view."""
_TYPES = {".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}
_RECEIPT_LINES = {
    "counted": "Your answer is counted.",
    "replaced": "Your earlier answer is replaced.",
    "closed": "This vote is closed: your answer came too late.",
}
"""Messages after a vote without scripts, by status of the receipt."""
_STATUS_LINES = {
    404: "There is no such page here.",
    405: "This page does not take such a request.",
    413: "The request is too long.",
}

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class VoteRoutes:
    """Routes of the students' page of a lecture."""

    def __init__(
        self,
        votes: Votes,
        code: str,
        *,
        title: str = "",
        public_url: str = "",
        with_names: bool = False,
        on_request: Callable[[web.RequestHandler], object] = lambda _: None,
    ) -> None:
        """Serve `votes` to clients that know `code`.

        Args:
            votes: Votes of the lecture.
            code: Code of the lecture.
            title: Title of the lecture.
            public_url: URL of the page behind a reverse proxy on this machine; empty without one.
            with_names: Ask for names.
            on_request: Called with the connection of each request.
        """
        self._on_request = on_request
        self._votes, self._code, self._title = votes, code, title
        self._public_url, self._with_names = public_url, with_names
        self._start = secrets.token_hex(4)
        """Prefix of versions, so that no version of an earlier process matches."""
        self._changed = asyncio.Event()
        self._waiting: dict[str, int] = {}
        self._has_ended = False
        # A lecture hall may share an address, so an address gets a large share of the limit, but not all of it.
        self._joins, self._joins_here = RateLimit(300, 1000), RateLimit(100, 500)
        self._visits, self._voting = RateLimit(200, 2000), RateLimit(5, 20)
        self._viewing = RateLimit(5, 30)
        self._assets = {
            path.name: path.read_bytes()
            for path in (places.assets() / "room").iterdir()
            if path.suffix in _TYPES
        }
        self._digest = hashlib.sha256(b"".join(self._assets.values())).hexdigest()[:8]

    def app(self) -> web.Application:
        """Return the application of these routes."""
        app = web.Application(client_max_size=requests.MOST_BODY_BYTES, middlewares=[self._answer])
        app.on_response_prepare.append(_add_headers)
        app.add_routes(
            [
                web.get("/", self._show_page),
                web.post("/join", self._join),
                web.get("/view", self._show_view),
                web.post("/vote", self._vote),
                web.get("/assets/{name}", self._show_asset),
                web.get("/{code}", self._show_code),
            ]
        )
        return app

    def wake(self) -> None:
        """Send the new view to all waiting pages."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def end(self) -> None:
        """Report the end of the lecture to all waiting pages."""
        self._has_ended = True
        self.wake()

    # Requests

    async def _show_page(self, request: web.Request) -> web.StreamResponse:
        self._limit(self._visits, requests.address_of(request, self._public_url))
        try:
            view = self._votes.voter_view(token_of(request))
        except UnknownVoter:
            return self._page(vote_page.join_form(with_names=self._with_names))
        said = request.query.get("said", "")
        return self._page(
            vote_page.shown(view, _RECEIPT_LINES.get(said, ""), is_problem=said == "closed"), follows=True
        )

    async def _show_code(self, request: web.Request) -> web.StreamResponse:
        self._limit(self._visits, requests.address_of(request, self._public_url))
        if not (code := typed_code(request.match_info["code"])):
            raise RequestRefused(404, _STATUS_LINES[404])
        self._check(code)
        try:
            self._votes.voter_view(token_of(request))
        except UnknownVoter:
            return self._page(vote_page.join_form(code, with_names=self._with_names))
        return _see_other("/")

    async def _join(self, request: web.Request) -> web.StreamResponse:
        self._limit(
            self._joins_here, requests.address_of(request, self._public_url), "Many are joining at once"
        )
        self._limit(self._joins, "", "Many are joining at once")
        body = await requests.read_body(request, JoinBody)
        self._check(typed_code(body.code))
        token = self._votes.join(body.name)
        if wants_json(request):
            return _json(JoinAnswer(token))
        answer = web.Response(status=204) if wants_part(request) else _see_other("/")
        answer.set_cookie(
            COOKIE, token, max_age=_COOKIE_S, httponly=True, samesite="Strict", secure=self._is_https
        )
        return answer

    async def _show_view(self, request: web.Request) -> web.StreamResponse:
        token = self._voter(request)
        self._limit(self._viewing, token)
        if request.query.get("after") == self._version and not await self._wait(token):
            return web.Response(status=204)
        if self._has_ended:
            raise RequestRefused(410, "The lecture has ended.")
        view = self._votes.voter_view(token)
        if wants_json(request):
            return _json(ViewAnswer(self._version, view))
        return self._part(view)

    async def _vote(self, request: web.Request) -> web.StreamResponse:
        token = self._voter(request)
        self._limit(self._voting, token)
        body = await requests.read_body(request, VoteBody)
        receipt = self._votes.vote(token, body.poll, body.answer)
        status = 409 if receipt.status == "closed" else 200
        if wants_json(request):
            return _json(receipt, status)
        if wants_part(request):
            is_problem = receipt.status == "closed"
            return self._part(self._votes.voter_view(token), receipt.message, status, is_problem=is_problem)
        return _see_other(f"/?said={receipt.status}")

    async def _show_asset(self, request: web.Request) -> web.StreamResponse:
        name = request.match_info["name"]
        if name not in self._assets:
            raise RequestRefused(404, _STATUS_LINES[404])
        headers = {"Cache-Control": "public, max-age=300"}
        return web.Response(
            body=self._assets[name], content_type=_TYPES[Path(name).suffix], charset="utf-8", headers=headers
        )

    # Shared by all requests

    @web.middleware
    async def _answer(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        """Answer a request, and convert each error to a status and a line."""
        self._on_request(request.protocol)
        try:
            requests.check_host(request, self._public_url)
            if request.method == "POST":
                requests.check_origin(request, self._public_url)
            return await handler(request)
        except RequestRefused as refused:
            return self._refusal(request, refused)
        except UnknownVoter as error:
            return self._refusal(request, RequestRefused(401, _sentence(error)))
        except UsageError as error:
            return self._refusal(request, RequestRefused(400, _sentence(error)))
        except TutorError as error:
            return self._refusal(request, RequestRefused(503, f"Not counted. {_sentence(error)}", 2))
        except web.HTTPException as error:
            line = _STATUS_LINES.get(error.status, "The request is not understood.")
            return self._refusal(request, RequestRefused(error.status, line))

    def _refusal(self, request: web.Request, refused: RequestRefused) -> web.StreamResponse:
        headers = {"Retry-After": str(math.ceil(refused.wait_s))} if refused.wait_s else {}
        if headers and request.method == "GET":
            headers["Refresh"] = headers["Retry-After"]  # the browser retries automatically
        if wants_json(request):
            answer = _json(RefusalAnswer(refused.line), refused.status)
            answer.headers.update(headers)
            return answer
        if refused.status == 410:
            body = vote_page.ended()
        else:
            try:
                body = vote_page.shown(
                    self._votes.voter_view(token_of(request)), refused.line, is_problem=True
                )
            except UnknownVoter:
                body = vote_page.join_form(problem=refused.line, with_names=self._with_names)
        if not wants_part(request):
            body = vote_page.page(self._title, body, self._version)
        return web.Response(text=body, content_type="text/html", status=refused.status, headers=headers)

    def _page(self, body: str, *, follows: bool = False) -> web.Response:
        text = vote_page.page(self._title, body, self._version, follows=follows)
        return web.Response(text=text, content_type="text/html")

    def _part(
        self, view: VoterView, said: str = "", status: int = 200, *, is_problem: bool = False
    ) -> web.Response:
        text = vote_page.shown(view, said, is_problem=is_problem)
        headers = {"X-Version": self._version}
        return web.Response(text=text, content_type="text/html", status=status, headers=headers)

    @property
    def _version(self) -> str:
        return f"{self._start}-{self._votes.version}"

    async def _wait(self, token: str) -> bool:
        """Wait for the next view; return False after `_WAIT_S` without a change."""
        if self._waiting.get(token, 0) >= _MOST_WAITING:
            raise RequestRefused(429, "This lecture is open in too many tabs.", 5)
        self._waiting[token] = self._waiting.get(token, 0) + 1
        try:
            async with asyncio.timeout(_WAIT_S):
                await self._changed.wait()
        except TimeoutError:
            return False
        finally:
            self._waiting[token] -= 1
            if not self._waiting[token]:
                del self._waiting[token]
        return True

    def _voter(self, request: web.Request) -> str:
        """Return the token of the voter. Raises UnknownVoter."""
        token = token_of(request)
        self._votes.voter_view(token)
        return token

    def _check(self, code: str) -> None:
        if not hmac.compare_digest(code, self._code):
            raise RequestRefused(404, "No lecture here has this code: check the code on the screen.")

    def _limit(self, limit: RateLimit, key: str, reason: str = "Too many requests") -> None:
        if wait := limit.take(key):
            raise RequestRefused(429, f"{reason}: try again in {math.ceil(wait)} s.", wait)

    @property
    def _is_https(self) -> bool:
        return self._public_url.startswith("https:")


def _see_other(path: str) -> web.Response:
    return web.Response(status=303, headers={"Location": path})


def _json(answer: msgspec.Struct, status: int = 200) -> web.Response:
    return web.Response(body=msgspec.json.encode(answer), content_type="application/json", status=status)


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers["Server"] = "tcptutor"
    for name, value in requests.HEADERS.items():
        response.headers.setdefault(name, value)


def _sentence(error: TutorError) -> str:
    line = str(error)
    return f"{line[:1].upper()}{line[1:]}."
