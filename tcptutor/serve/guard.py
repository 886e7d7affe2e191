"""Security checks for every request, and headers for every response.

A foreign site in a student's browser can send requests to this server, and with DNS rebinding even under its own name.
Both are refused: Host must name this server, and requests with side effects must come from its pages.
"""

from __future__ import annotations

import contextlib
import ipaddress
import time
from collections.abc import Awaitable, Callable
from urllib.parse import urlsplit

import msgspec
from aiohttp import hdrs, web
from aiohttp.typedefs import Middleware

from tcptutor.base.errors import UsageError, quoted
from tcptutor.base.site_urls import USUAL_PORTS, site_of

_LOOPBACK = ("localhost", "127.0.0.1", "[::1]")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; connect-src 'self'; font-src 'self'; img-src 'self' data:;"
        # xterm.js writes its styles into the page.
        " style-src 'self' 'unsafe-inline'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
}

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class ServerAddress(msgspec.Struct, frozen=True):
    """Listening address of the server, and the URL for browsers."""

    host: str
    port: int
    public_url: str = ""
    """URL of the server's proxy, without a trailing slash; empty without a proxy."""

    @property
    def is_loopback(self) -> bool:
        """True if only programs on this machine can reach the server."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return self.host == "localhost"

    @property
    def is_secure(self) -> bool:
        """True if browsers reach the server by HTTPS."""
        return self.public_url.startswith("https:")

    def url(self, port: int) -> str:
        """Return the URL to open, without a trailing slash.

        Args:
            port: The port on which the server listens.
        """
        host = "127.0.0.1" if self.host in ("0.0.0.0", "::", "") else self.host  # noqa: S104
        return self.public_url or f"http://{f'[{host}]' if ':' in host else host}:{port}"

    def hosts(self, port: int, reached: str) -> frozenset[str]:
        """Return the values of the Host header that name this server.

        Args:
            port: The port on which the server listens.
            reached: Local address of the connection; DNS rebinding cannot make a browser send it as Host.
        """
        names = {f"[{reached}]" if ":" in reached else reached}
        if ipaddress.ip_address(reached.partition("%")[0]).is_loopback:
            names |= {*_LOOPBACK}
        if not self._is_number:
            names.add(self.host.lower())
        direct = {name if port == USUAL_PORTS["http"] else f"{name}:{port}" for name in names}
        # A proxy may replace Host with the address that it connects to.
        return frozenset(direct | ({urlsplit(self.public_url).netloc} if self.public_url else set()))

    def origins(self, port: int, reached: str) -> frozenset[str]:
        """Return the origins of the server's pages; arguments as for `hosts`."""
        if self.public_url:
            parts = urlsplit(self.public_url)
            return frozenset({f"{parts.scheme}://{parts.netloc}"})
        return frozenset(f"http://{host}" for host in self.hosts(port, reached))

    @property
    def _is_number(self) -> bool:
        try:
            ipaddress.ip_address(self.host)
        except ValueError:
            return False
        return True


def parse_address(text: str, public_url: str = "") -> ServerAddress:
    """Parse ADDRESS:PORT and a public URL. Raises UsageError."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not (colon and host and port.isascii() and port.isdigit() and int(port) < 1 << 16):
        raise UsageError(f"{quoted(text)} is no address: give one such as 127.0.0.1:8787 or 0.0.0.0:8787")
    return ServerAddress(host, int(port), _parse_public_url(public_url) if public_url else "")


def _parse_public_url(text: str) -> str:
    with contextlib.suppress(ValueError):
        parts = urlsplit(text)
        if not (parts.query or parts.fragment):
            return f"{site_of(parts)}{parts.path}".rstrip("/")
    raise UsageError(f"{quoted(text)} is no URL of a server: give one such as https://lab.example.edu")


def guard(address: ServerAddress) -> Middleware:
    """Return the middleware that checks Host and Origin."""

    @web.middleware
    async def check(request: web.Request, handler: _Handler) -> web.StreamResponse:
        _check_source(request, address)
        return await handler(request)

    return check


async def add_headers(_request: web.Request, answer: web.StreamResponse) -> None:
    """Add the common headers to a response, errors included. Signal handler for `on_response_prepare`."""
    answer.headers["Server"] = "tcptutor"
    for name, value in _HEADERS.items():
        answer.headers.setdefault(name, value)


def _check_source(request: web.Request, address: ServerAddress) -> None:
    """Raise HTTPException unless Host names this server and unsafe requests come from its pages."""
    transport = request.transport
    if transport is None:
        raise web.HTTPBadRequest(text="the connection is gone\n")
    reached, port = transport.get_extra_info("sockname")[:2]
    named = request.headers.getall(hdrs.HOST, [])
    if len(named) != 1 or named[0].lower() not in address.hosts(port, reached):
        raise web.HTTPMisdirectedRequest(
            text="this server has another name: use the link that you were given\n"
        )
    is_websocket = hdrs.UPGRADE in request.headers
    if request.method not in ("GET", "HEAD") or is_websocket:
        sources = request.headers.getall(hdrs.ORIGIN, [])
        if len(sources) != 1 or sources[0].lower() not in address.origins(port, reached):
            raise web.HTTPForbidden(text="this must come from a page of this server\n")
        if request.headers.get("Sec-Fetch-Site", "same-origin") != "same-origin":
            raise web.HTTPForbidden(text="this must come from a page of this server\n")


class Budget:
    """Token bucket: `rate` tokens per second on average, `burst` at a time."""

    def __init__(self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left, self._at = burst, clock()

    def take(self, amount: float = 1.0) -> float:
        """Take `amount` tokens, and return the seconds until they are refilled; 0 within the limit."""
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._rate) - amount
        self._at = now
        return max(0.0, -self._left / self._rate)

    def try_take(self) -> bool:
        """Take a token and return True, or return False if the bucket is empty."""
        if self.take():
            self._left += 1.0
            return False
        return True
