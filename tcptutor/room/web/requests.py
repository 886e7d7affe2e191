"""Requests to the students' page: their sender, their content, and reasons to refuse them."""

from __future__ import annotations

import asyncio
from typing import TypeVar
from urllib.parse import parse_qsl

import msgspec
from aiohttp import web

from tcptutor.base import decoding
from tcptutor.room.web.addresses import is_own_name
from tcptutor.room.web.limits import network_of

COOKIE = "tcptutor_voter"
MOST_BODY_BYTES = 4096
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
        "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
    "X-Robots-Tag": "noindex",
}
"""Default headers of every response."""
_BODY_S = 10.0
_LOOPBACK = ("127.0.0.1", "::1")
_T = TypeVar("_T")


class RequestRefused(Exception):
    """Error for a request that is refused with a status and a line."""

    def __init__(self, status: int, line: str, wait_s: float = 0.0) -> None:
        """Refuse with `line`; the sender may try again after `wait_s` seconds unless it is 0."""
        super().__init__(line)
        self.status, self.line, self.wait_s = status, line, wait_s


def token_of(request: web.Request) -> str:
    """Return the token of a request; empty without a token."""
    scheme, _, token = request.headers.get("Authorization", "").partition(" ")
    return token if scheme == "Bearer" else request.cookies.get(COOKIE, "")


def wants_json(request: web.Request) -> bool:
    """Return True if the client is a program."""
    return "application/json" in request.headers.get("Accept", "")


def wants_part(request: web.Request) -> bool:
    """Return True if the page's script requests the changing part of the page."""
    return "X-Part" in request.headers


def address_of(request: web.Request, public_url: str) -> str:
    """Return the network of a visitor; behind a local proxy, of the last address in X-Forwarded-For."""
    peer = request.remote or ""
    if public_url and peer in _LOOPBACK:
        peer = request.headers.get("X-Forwarded-For", peer).rpartition(",")[2].strip()
    return network_of(peer)


def check_host(request: web.Request, public_url: str) -> None:
    """Refuse a request with a foreign Host header. Raises RequestRefused."""
    named = request.headers.getall("Host", [])
    if len(named) != 1 or not is_own_name(named[0], public_url):
        where = f": open {public_url}" if public_url else ": open the address on the screen"
        raise RequestRefused(421, f"This page has another address{where}.")


def check_origin(request: web.Request, public_url: str) -> None:
    """Refuse a request from a page of a foreign site. Raises RequestRefused."""
    origin = request.headers.get("Origin")
    own = (public_url, f"http://{request.host}", f"https://{request.host}")
    site = request.headers.get("Sec-Fetch-Site", "none")
    if (origin is not None and origin not in own) or site not in ("same-origin", "none"):
        raise RequestRefused(403, "This request comes from another site.")


async def read_body(request: web.Request, kind: type[_T]) -> _T:
    """Return the body of a request, a form or JSON.

    Raises:
        RequestRefused: The body is malformed, has a different type, or does not arrive in time.
        HTTPRequestEntityTooLarge: The body is too long.
    """
    try:
        async with asyncio.timeout(_BODY_S):
            data = await request.read()
    except TimeoutError:
        raise RequestRefused(408, "The request did not arrive.") from None
    try:
        match request.content_type:
            case "application/json":
                return decoding.decode_json(data, kind)
            case "application/x-www-form-urlencoded":
                fields = parse_qsl(data.decode("ascii"), True, errors="strict", max_num_fields=8)
                return decoding.convert(dict(fields), kind)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        raise RequestRefused(400, "The request is malformed.") from None
    raise RequestRefused(415, "The request is neither a form nor JSON.")
