"""Live captures: packets of an open session for other programs of this user, such as Wireshark.

Each session listens on a Unix socket. A client sends a line with the bytes to keep of each packet and an interface, by
default the bottleneck's; the answer is a line, empty or with an error, and then the capture as a pcap file.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tcptutor.backends.session import Session
from tcptutor.base import sockets
from tcptutor.base.errors import LabError, LabUnavailable, TutorError, UsageError

_NAME = "session"
_MOST = 4
"""Captures at once in a session."""
_REQUEST_BYTES, _REQUEST_S = 200, 5.0
MOST_BYTES = 65535
"""Largest number of bytes to keep of a packet."""
_PIECE = 1 << 16


@asynccontextmanager
async def listening(session: Session) -> AsyncIterator[None]:
    """Accept captures of `session` during the block; a machine that allows no socket has none."""
    clients: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        clients.add(task)
        try:
            await _serve(session, len(clients), reader, writer)
        except (OSError, asyncio.CancelledError):
            pass  # the client or the session has ended
        finally:
            clients.discard(task)
            writer.close()

    path: Path | None = None
    server: asyncio.Server | None = None
    with contextlib.suppress(OSError, TutorError):
        path = _socket(os.getpid())
        path.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(serve, path, limit=_REQUEST_BYTES)
    try:
        yield
    finally:
        if server is not None:
            server.close()
        if path is not None:
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
        for task in clients:
            task.cancel()


async def _serve(
    session: Session, number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    try:
        interface, length = await _request(reader)
        if number > _MOST:
            raise UsageError(f"{_MOST} captures run already: end one of them")
        terminal = session.capture(interface, length)
    except TutorError as error:
        writer.write(f"{error}\n".encode())
        await writer.drain()
        return
    writer.write(b"\n")
    ended = asyncio.create_task(reader.read())
    ended.add_done_callback(lambda _: terminal.close())
    try:
        while terminal.is_whole and (data := await terminal.read()):
            writer.write(data)
            await writer.drain()
    finally:
        ended.cancel()
        terminal.close()


async def _request(reader: asyncio.StreamReader) -> tuple[str, int]:
    try:
        async with asyncio.timeout(_REQUEST_S):
            line = await reader.readline()
    except (ValueError, TimeoutError):
        line = b""
    length, _, interface = line.decode(errors="replace").strip().partition(" ")
    if not (length.isascii() and length.isdigit() and 0 < int(length) <= MOST_BYTES):
        raise UsageError("the request is not a number of bytes and an interface")
    return interface, int(length)


class LiveCapture:
    """A capture of the session that was opened last. Owns a socket; use it as a context manager.

    Raises:
        LabUnavailable: No session is open.
        LabError: The session refuses.
    """

    def __init__(self, interface: str, snap_length: int) -> None:
        self._socket = _connect()
        try:
            self._socket.sendall(f"{snap_length} {interface}\n".encode())
            self._stream = self._socket.makefile("rb")
            answer = self._stream.readline(_PIECE)
        except OSError as error:
            self._socket.close()
            raise LabError("the session has ended: open it again") from error
        if answer != b"\n":
            self._socket.close()
            raise LabError(answer.decode(errors="replace").strip() or "the session has ended: open it again")

    def read(self) -> bytes:
        """Return the next bytes, waiting for some; empty once the session has ended."""
        try:
            return self._stream.read1(_PIECE)
        except OSError:
            return b""

    def __enter__(self) -> LiveCapture:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # the session has ended
            self._socket.shutdown(socket.SHUT_RDWR)  # wakes a thread that reads
        self._stream.close()
        self._socket.close()


def _connect() -> socket.socket:
    pattern = _socket("*")
    for path in sorted(pattern.parent.glob(pattern.name), key=_opened, reverse=True):
        connection = socket.socket(socket.AF_UNIX)
        try:
            connection.connect(os.fspath(path))
        except OSError:
            connection.close()
            with contextlib.suppress(OSError):  # its process was killed
                path.unlink()
            continue
        return connection
    raise LabUnavailable(
        "no lab is open to capture from: open a terminal on a page, or run `tcptutor shell` in another terminal"
    )


def _socket(process: int | str) -> Path:
    place = sockets.path(_NAME)
    return place.with_name(f"{place.name}-{process}")


def _opened(path: Path) -> float:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return 0.0
