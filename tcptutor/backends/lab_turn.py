"""Turns at the labs of a server, on which many apps share a few labs: the side of an app.

The server (`serve.lab_queue`) names its queue in the app's environment. A turn is a connection to the queue: closing
it, or the end of the app, gives the lab to the next student.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple, TypeAlias

import msgspec

from tcptutor.base import decoding
from tcptutor.base.errors import LabError

QUEUE, STUDENT = "TCPTUTOR_LAB_QUEUE", "TCPTUTOR_LAB_STUDENT"
"""Environment variables: the socket of the queue, and the student in whose name to ask."""
_GONE = "the server that shares out the labs does not answer: open the app anew, or tell your teacher"


class AskTurn(msgspec.Struct, frozen=True, tag=True):
    """Ask for a lab, and wait for it or take it only if it is free and nobody waits."""

    student: str
    waits: bool


class TurnWaits(msgspec.Struct, frozen=True, tag=True):
    """Place in the queue, after each change; 1 is next."""

    place: int
    waiting: int


class TurnBegins(msgspec.Struct, frozen=True, tag=True):
    """The lab is this app's."""

    idle_s: float = 0.0
    """Seconds without a key after which a shell gives the lab to others who wait; 0 for no limit."""


class TurnRefused(msgspec.Struct, frozen=True, tag=True):
    """No lab is free."""


class TurnWanted(msgspec.Struct, frozen=True, tag=True):
    """Whether others wait for this lab, after each change."""

    waiting: int


QueueMessage: TypeAlias = TurnWaits | TurnBegins | TurnRefused | TurnWanted


class LabPlace(NamedTuple):
    """A place in the queue for labs."""

    place: int
    waiting: int

    def __str__(self) -> str:
        return f"place {self.place} of {self.waiting}"


class LabDemand(NamedTuple):
    """Students who wait for the lab that this app has, and how long a shell without a key may keep it from them."""

    waiting: int
    idle_s: float
    """0 for no limit."""


class LabTurns:
    """The queue for the lab as one app sees it: it takes a turn, waits for it, and gives it back."""

    def __init__(self, queue: Path, student: str) -> None:
        self._queue, self._student = queue, student
        self.on_place: Callable[[LabPlace | None], object] = lambda _: None
        """Called with each place while `take` waits, and with None at the end."""
        self.on_wanted: Callable[[], object] = lambda: None
        """Called when others begin or cease to wait while this app has a lab."""
        self.waiting = 0
        """Number of students who wait for the lab that this app has."""
        self.idle_s = 0.0
        """Seconds without a key after which a shell gives its lab to them; 0 for no limit."""
        self._writer: asyncio.StreamWriter | None = None
        self._watching: asyncio.Task[None] | None = None
        self._lock = asyncio.Lock()
        self._decoder: msgspec.json.Decoder[QueueMessage] = decoding.json_decoder(QueueMessage)

    async def take(self, *, waits: bool) -> bool:
        """Take a lab, unless this app has one, and return whether it has one now.

        Args:
            waits: wait in the queue; otherwise return False if no lab is free.

        Raises:
            LabError: if the server does not answer.
        """
        async with self._lock:
            if self._writer is None:
                await self._take(waits)
            return self._writer is not None

    def release(self) -> None:
        """Give the lab to the next student; no-op without one."""
        if self._watching is not None:
            self._watching.cancel()
        if self._writer is not None:
            self._writer.close()
        self._watching, self._writer, self.waiting = None, None, 0

    async def _take(self, waits: bool) -> None:
        try:
            reader, writer = await _connect(self._queue)
        except OSError as error:
            raise LabError(_GONE) from error
        was_granted = False
        try:
            writer.write(msgspec.json.encode(AskTurn(self._student, waits)) + b"\n")
            while not was_granted:
                match await self._read(reader):
                    case TurnWaits(place, waiting):
                        self.on_place(LabPlace(place, waiting))
                    case TurnBegins(idle_s):
                        was_granted, self.idle_s = True, idle_s
                    case TurnRefused():
                        return
                    case None:
                        raise LabError(_GONE)
        finally:
            if waits:
                self.on_place(None)
            if not was_granted:
                writer.close()
        self._writer = writer
        self._watching = asyncio.create_task(self._watch(reader))

    async def _read(self, reader: asyncio.StreamReader) -> QueueMessage | None:
        """Return the next message, or None if the server is gone."""
        with contextlib.suppress(OSError, ValueError, msgspec.MsgspecError):
            if line := await reader.readline():
                return self._decoder.decode(line)
        return None

    async def _watch(self, reader: asyncio.StreamReader) -> None:
        while (message := await self._read(reader)) is not None:
            if isinstance(message, TurnWanted):
                self.waiting = message.waiting
                self.on_wanted()


def turns_here(environment: Mapping[str, str] = os.environ) -> LabTurns | None:
    """Return the turns of this app; None if it has a machine to itself."""
    queue = environment.get(QUEUE)
    return LabTurns(Path(queue), environment.get(STUDENT, "")) if queue else None


async def _connect(queue: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.setblocking(False)
        with short_name(queue) as name:
            await asyncio.get_running_loop().sock_connect(connection, name)
        return await asyncio.open_unix_connection(sock=connection)
    except BaseException:
        connection.close()
        raise


@contextlib.contextmanager
def short_name(path: Path) -> Iterator[str]:
    """Yield a name of a socket in a file system whose own name may be longer than the kernel's 107 bytes."""
    folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
