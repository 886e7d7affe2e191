"""Terminals connected to the lecture process: messages in both directions, without waiting for slow readers."""

from __future__ import annotations

import asyncio
import contextlib

import msgspec

from tcptutor.room import protocol
from tcptutor.room.protocol import FromTerminal, Role, ToTerminal

_MOST_WAITING = 32 << 20
"""Bytes that may wait for a terminal; beyond them it is disconnected, and gets the full state on reconnect."""


class ConnectedTerminal:
    """Connection to a terminal."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.role: Role = "watch"
        self.run = ""
        """Id of the latest run that was sent."""

    @property
    def drives(self) -> bool:
        """True if the terminal may send commands and see the speaker's view."""
        return self.role != "watch"

    def send(self, message: ToTerminal) -> None:
        """Send a message. Never blocks or raises."""
        self.write(protocol.line(message))

    def write(self, line: bytes) -> None:
        """Send an encoded message. Never blocks or raises."""
        if self._writer.is_closing():
            return
        self._writer.write(line)
        if self._writer.transport.get_write_buffer_size() > _MOST_WAITING:
            self._writer.transport.abort()

    async def receive(self) -> FromTerminal | None:
        """Return the next message; None after a disconnect or an invalid message."""
        try:
            line = await self._reader.readline()
            return protocol.from_terminal(line) if line.endswith(b"\n") else None
        except (OSError, ValueError, msgspec.MsgspecError):  # ValueError: a line above the limit
            return None

    async def close(self) -> None:
        """Close the connection, allowing up to 1 s for queued messages."""
        with contextlib.suppress(OSError, TimeoutError):
            self._writer.close()
            async with asyncio.timeout(1.0):
                await self._writer.wait_closed()
