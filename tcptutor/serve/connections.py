"""Limits on connections to the server: their number, and timeouts of idle connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import Any, ClassVar

from aiohttp import web

_MOST = 2000
"""Most connections of all browsers; the system's limit on open files is usually below twice this number."""
_NOT_SENT = 32 << 10
"""Unsent bytes that the kernel may hold for a slow reader; newer output waits in `BrowserOutput`, which can drop it."""
_TCP_NOTSENT_LOWAT = 25
"""linux/tcp.h"""


class Connections:
    """Factory of connections for `loop.create_server`."""

    TIMEOUTS: ClassVar[dict[str, Any]] = {
        "keepalive_timeout": 20.0,
        "lingering_time": 2.0,
        "shutdown_timeout": 2.0,
    }
    """Options of aiohttp's server. A connection without a complete request is closed after 20 s."""

    def __init__(self, server: web.Server) -> None:
        self._server = server

    def __call__(self) -> asyncio.Protocol:
        if len(self._server.connections) >= _MOST:
            return _Refused()
        return self._server()

    @staticmethod
    def send_at_the_reader_s_pace(transport: asyncio.Transport | None) -> None:
        """Limit the unsent data that the kernel buffers for a slow reader."""
        connection = transport.get_extra_info("socket") if transport is not None else None
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.setsockopt(socket.IPPROTO_TCP, _TCP_NOTSENT_LOWAT, _NOT_SENT)


class _Refused(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()
