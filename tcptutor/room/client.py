"""Connection of a terminal to the lecture process.

    async with TerminalConnection("present") as connection:
        connection.send(Step())
        async for message in connection:
            ...

A lost connection is restored automatically: a killed lecture process is restarted, and sends the lecture, its state
and the run on the slide again. Until then the terminal reads an `Interrupted`.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from tcptutor.base.errors import TutorError
from tcptutor.room import launch, protocol, records
from tcptutor.room.protocol import (
    FromTerminal,
    LectureEnded,
    Role,
    TerminalHello,
    ToTerminal,
)

_RETRY_S = 0.1
_PATIENCE_S = 30.0
"""Seconds without a lecture process after which the connection gives up."""
_MOST_LOST = 5
"""Most disconnects within `_PATIENCE_S` before the connection gives up."""


class Interrupted(msgspec.Struct, frozen=True):
    """Report that the connection is lost and is being restored."""

    problem: str


class TerminalConnection:
    """Connection of a terminal to the lecture process. Iteration ends after `LectureEnded`."""

    def __init__(self, role: Role) -> None:
        self.role: Role = role
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._folder: Path | None = None
        self._lost: list[float] = []
        """Times of recent disconnects."""

    async def __aenter__(self) -> Self:
        """Connect. Raises TutorError if no lecture process answers."""
        try:
            await self._connect()
        except OSError as error:
            raise TutorError("no lecture is running: start one with `tcptutor present`") from error
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._close()

    def send(self, message: FromTerminal) -> None:
        """Send a command; drop it while the connection is lost."""
        if self._writer is not None and not self._writer.is_closing():
            self._writer.write(protocol.line(message))

    async def __aiter__(self) -> AsyncIterator[ToTerminal | Interrupted]:
        """Yield messages up to `LectureEnded`. Raises TutorError if a lost connection cannot be restored."""
        while True:
            async for message in self._messages():
                yield message
                if isinstance(message, LectureEnded):
                    return
            if await self._is_over():
                yield LectureEnded("the lecture has ended")
                return
            yield Interrupted("the lecture process does not answer: connecting again")
            await self._reconnect()

    async def _messages(self) -> AsyncIterator[ToTerminal]:
        assert self._reader is not None
        with contextlib.suppress(OSError, asyncio.LimitOverrunError, ValueError, msgspec.MsgspecError):
            while (line := await self._reader.readline()).endswith(b"\n"):
                yield protocol.to_terminal(line)

    async def _is_over(self) -> bool:
        if self._folder is None:
            return False
        return (await asyncio.to_thread(records.read_state, self._folder)).is_over

    async def _connect(self) -> None:
        self._reader, self._writer = await asyncio.open_unix_connection(
            launch.socket_path(), limit=protocol.LONGEST_MESSAGE
        )
        self._folder = launch.running()
        self._writer.write(protocol.line(TerminalHello(self.role)))

    async def _reconnect(self) -> None:
        await self._close()
        loop = asyncio.get_running_loop()
        self._lost = [at for at in self._lost if at > loop.time() - _PATIENCE_S] + [loop.time()]
        deadline = loop.time() + _PATIENCE_S
        while len(self._lost) <= _MOST_LOST and loop.time() < deadline:
            if self.role != "watch" and self._folder is not None and launch.running() is None:
                await asyncio.to_thread(launch.start, self._folder)
            with contextlib.suppress(OSError):
                await self._connect()
                return
            await asyncio.sleep(_RETRY_S)
        raise TutorError("the lecture process has ended: `tcptutor present --resume` continues the lecture")

    async def _close(self) -> None:
        writer, self._reader, self._writer = self._writer, None, None
        if writer is not None:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()
