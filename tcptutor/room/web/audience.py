"""Web server of a lecture: its connections, and an address and a code that survive a restart."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tcptutor.base import decoding, files, places
from tcptutor.base.errors import MissingTool, TutorError, refused
from tcptutor.room.talk import AudienceView
from tcptutor.room.votes import Votes
from tcptutor.room.web.addresses import (
    DEFAULT_PORT,
    ListenAddress,
    bracketed,
    is_private,
    new_code,
    parse_listen,
    parse_public_url,
    reachable_host,
)

if TYPE_CHECKING:
    from aiohttp.web import AppRunner, RequestHandler

    from tcptutor.room.web.routes import VoteRoutes

_MOST_CONNECTIONS = 4000
_FILES = 1000
"""Open files of the lecture process in addition to connections."""
_LAST_ANSWERS_S = 0.3
"""Time for which a lecture that has ended answers requests, s."""
_SILENT_S = 15.0
"""Longest time until the first request of a connection, s."""
_KIND = files.small_kind("address of a lecture's page")


class KeptAddress(msgspec.Struct, frozen=True):
    """Stored code and port of a lecture's page; a resumed lecture reuses them for the students' phones."""

    code: str
    port: int


class AudienceServer:
    """Serves the page on which students vote."""

    def __init__(
        self,
        votes: Votes,
        folder: Path,
        *,
        title: str = "",
        listen: str = "",
        public_url: str = "",
        with_names: bool = False,
    ) -> None:
        """Prepare a server for `votes`.

        Args:
            votes: Votes of the lecture.
            folder: Folder of the lecture, which stores code and port.
            title: Title of the lecture, shown on the page.
            listen: Address and port, 0 for a free port; by default only this machine, at `DEFAULT_PORT`, or at a
                free port if it is taken and no proxy expects it.
            public_url: URL of the page behind a reverse proxy; empty without one.
            with_names: Ask students for their names.

        Raises:
            UsageError: `listen` is not an address, or `public_url` is not a URL.
        """
        self._votes, self._path = votes, folder / "audience.json"
        self._title, self._with_names = title, with_names
        self._public_url = parse_public_url(public_url) if public_url else ""
        self._listen = (
            parse_listen(listen) if listen else ListenAddress(port=DEFAULT_PORT if public_url else 0)
        )
        kept = self._stored_address()
        self.code = kept.code if kept else new_code()
        """Code of the lecture."""
        usual = () if listen else (DEFAULT_PORT,)
        self._ports = (
            (self._listen.port,) if self._listen.port else (*([kept.port] if kept else []), *usual, 0)
        )
        """Ports to try, in order."""
        self._port = 0
        self._runner: AppRunner | None = None
        self._routes: VoteRoutes | None = None
        self._version = votes.version
        self._silent: dict[RequestHandler, float] = {}
        """Opening times of connections without a request so far."""

    async def start(self) -> None:
        """Listen, and serve until `close`.

        Raises:
            MissingTool: aiohttp is missing.
            TutorError: The address cannot be used.
        """
        try:
            from aiohttp.web import AppRunner  # noqa: PLC0415

            from tcptutor.room.web.routes import VoteRoutes  # noqa: PLC0415
        except ImportError:
            raise MissingTool(f"votes need aiohttp: run {places.pip_install(*places.SERVE)}") from None
        listening = self._bound_socket()
        self._port = listening.getsockname()[1]
        self._store_address()
        _allow_connections()
        self._routes = VoteRoutes(
            self._votes,
            self.code,
            title=self._title,
            public_url=self._public_url,
            with_names=self._with_names,
            on_request=lambda connection: self._silent.pop(connection, None),
        )
        self._runner = AppRunner(
            self._routes.app(),
            access_log=None,
            handler_cancellation=True,
            keepalive_timeout=75,
            max_line_size=2048,
            max_field_size=4096,
            auto_decompress=False,
            logger=_logger(),
            shutdown_timeout=1,
        )
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._connection, sock=listening, backlog=1024)
        self._closing_silent = asyncio.create_task(self._close_silent())

    async def close(self) -> None:
        """Report the end of the lecture to the students, and stop."""
        if self._runner is None or self._routes is None:
            return
        self._routes.end()
        if self._votes.joined:
            await asyncio.sleep(_LAST_ANSWERS_S)  # a page between two requests would call its line lost
        self._closing_silent.cancel()
        self._server.close()
        await self._runner.cleanup()
        self._runner = None

    def wake(self) -> None:
        """Send changed views to the students. Call this method when votes change."""
        if self._routes is not None and self._votes.version != self._version:
            self._version = self._votes.version
            self._routes.wake()

    @property
    def view(self) -> AudienceView:
        """Address and code for joining, and the number of voters who joined."""
        return AudienceView(address=f"{self.url}/{self.code}", code=self.code, joined=self._votes.joined)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Messages for the teacher, a line each."""
        if self._public_url or not is_private(self._listen.host):
            return ()
        return (f"only this machine reaches the page to join: begin with --listen 0.0.0.0:{DEFAULT_PORT}",)

    @property
    def url(self) -> str:
        """URL of the page, without a trailing slash."""
        return self._public_url or f"http://{bracketed(reachable_host(self._listen.host))}:{self._port}"

    def _stored_address(self) -> KeptAddress | None:
        try:
            with files.open_bounded(self._path, _KIND) as text:
                return decoding.decode_json(text, KeptAddress)
        except (TutorError, msgspec.MsgspecError):
            return None

    def _store_address(self) -> None:
        with files.atomic(self._path, "choose another data folder", private=True) as part:
            part.write_bytes(msgspec.json.encode(KeptAddress(self.code, self._port)))

    def _bound_socket(self) -> socket.socket:
        """Return a socket bound to the address. Raises TutorError."""
        is_ipv6 = ":" in self._listen.host
        bound = socket.socket(socket.AF_INET6 if is_ipv6 else socket.AF_INET)
        try:
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if is_ipv6:
                bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, self._listen.host != "::")
            self._bind(bound)
            bound.setblocking(False)
        except OSError as error:
            bound.close()
            reason = refused(error, "choose another address with --listen ADDRESS:PORT")
            raise TutorError(f"cannot listen on {self._listen}: {reason}") from error
        return bound

    def _bind(self, bound: socket.socket) -> None:
        for port in self._ports:
            try:
                return bound.bind((self._listen.host, port))
            except OSError:
                if port == self._ports[-1]:
                    raise
        return None

    def _connection(self) -> asyncio.BaseProtocol:
        assert self._runner is not None
        server = self._runner.server
        assert server is not None
        if len(server.connections) >= _MOST_CONNECTIONS:
            return _RefusedConnection()
        connection = server()
        self._silent[connection] = asyncio.get_running_loop().time()
        return connection

    async def _close_silent(self) -> None:
        """Close connections without a complete first request within `_SILENT_S`."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_SILENT_S / 3)
            for connection, opened in list(self._silent.items()):
                if loop.time() - opened > _SILENT_S:
                    del self._silent[connection]
                    connection.force_close()


class _RefusedConnection(asyncio.Protocol):
    """Connection beyond the server's limit, aborted at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.abort()


def _logger() -> logging.Logger:
    """Return a logger that drops errors about malformed HTTP, which would fill the lecture's log."""
    from aiohttp.http_exceptions import HttpProcessingError  # noqa: PLC0415

    logger = logging.getLogger(__name__)
    if not logger.filters:
        logger.addFilter(
            lambda record: not (record.exc_info and isinstance(record.exc_info[1], HttpProcessingError))
        )
    return logger


def _allow_connections() -> None:
    """Raise this process's limit on open files, up to the hard limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_CONNECTIONS + _FILES
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
