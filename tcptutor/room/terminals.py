"""A terminal as the lecture process sees it: messages in both directions, and never a wait for a slow one."""

from __future__ import annotations

import asyncio
import contextlib

import msgspec

from tcptutor.room import protocol
from tcptutor.room.protocol import FromTerminal, Role, ToTerminal

_MOST_WAITING = 32 << 20
"""Bytes that may wait for a terminal; one that reads no more is cut off, and gets all anew when it comes back."""


class ConnectedTerminal:
    """A connected terminal."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self.role: Role = "watch"
        self.run = ""
        """Id of the run that was sent last."""

    @property
    def drives(self) -> bool:
        """Whether the terminal may give commands and see the speaker's view."""
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
        """Return the next message; None when the terminal has gone, or sends none of ours."""
        try:
            line = await self._reader.readline()
            return protocol.from_terminal(line) if line.endswith(b"\n") else None
        except (OSError, ValueError, msgspec.MsgspecError):  # ValueError: a line above the limit
            return None

    async def close(self) -> None:
        """Send what waits, for a moment, and close."""
        with contextlib.suppress(OSError, TimeoutError):
            self._writer.close()
            async with asyncio.timeout(1.0):
                await self._writer.wait_closed()
