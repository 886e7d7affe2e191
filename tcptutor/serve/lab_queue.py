"""Fair queue for the labs of a server, shared by the students of many sessions.

    async with LabQueue(folder, labs=2) as queue:
        environment |= queue.environment        # for the apps, which request turns with `backends.lab_turn`

A free lab goes to the student with the fewest labs, then to students who had no turn yet, then to the student whose
latest turn ended first. A turn is a connection: it ends when the app exits or crashes.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import msgspec

from tcptutor.backends.guest import sizes
from tcptutor.backends.lab_turn import (
    QUEUE,
    AskTurn,
    QueueMessage,
    TurnBegins,
    TurnRefused,
    TurnWaits,
    TurnWanted,
    short_name,
)
from tcptutor.base import decoding
from tcptutor.base.errors import TutorError, refused
from tcptutor.base.files import make_private

_SOCKET = "labs-{}.sock"
"""Socket name with the process id, because a user may run several servers."""
_MOST_CONNECTIONS = 1000
_ASK_S = 10.0
"""Seconds for a new connection to send its request."""
_MOST_UNSENT = 1 << 16
"""Bytes that an app may leave unread."""


def usual_labs() -> int:
    """Return the number of labs for this machine: each needs a core and the memory of a guest."""
    return max(1, min(len(os.sched_getaffinity(0)), sizes.room_for(sizes.DEFAULT_SIZE)))


@dataclass(eq=False)
class _Asker:
    """App that waits for a lab or holds it."""

    student: str
    writer: asyncio.StreamWriter
    number: int
    latest: QueueMessage | None = field(default=None)
    """Latest message to the app."""


class LabQueue:
    """Scheduler of a server's labs.

    Args:
        folder: Private folder for the socket.
        labs: Number of labs that run at a time.
        idle_s: Seconds without a key press after which a shell gives up its lab if students wait; 0 for no limit.
    """

    def __init__(self, folder: Path, labs: int, idle_s: float = 0.0) -> None:
        self._folder, self._labs, self._begins = folder, labs, TurnBegins(idle_s)
        self._server: asyncio.Server | None = None
        self._numbers = count(1)
        self._waiting: list[_Asker] = []
        self._holding: list[_Asker] = []
        self._given_back: dict[str, int] = {}
        """Sequence numbers of each student's latest release of a lab."""

    async def __aenter__(self) -> LabQueue:
        """Start listening. Raises TutorError if the folder cannot be used."""
        listener = socket.socket(socket.AF_UNIX)
        try:
            make_private(self._folder)
            self._remove_sockets_of_killed_servers()
            with short_name(self._path) as name:
                listener.bind(name)
            self._path.chmod(0o600)
            self._server = await asyncio.start_unix_server(self._serve, sock=listener, limit=1024)
        except OSError as error:
            listener.close()
            raise TutorError(f"cannot use {self._folder}: {refused(error)}") from error
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for asker in (*self._waiting, *self._holding):
            asker.writer.close()
        with contextlib.suppress(OSError):
            self._path.unlink(missing_ok=True)

    @property
    def _path(self) -> Path:
        return self._folder / _SOCKET.format(os.getpid())

    @property
    def waiting(self) -> tuple[str, ...]:
        """Students in the queue, the next student first."""
        return tuple(asker.student for asker in self._waiting)

    @property
    def holding(self) -> tuple[str, ...]:
        """Students who hold a lab."""
        return tuple(asker.student for asker in self._holding)

    @property
    def environment(self) -> dict[str, str]:
        """Environment variables that point an app to the queue."""
        return {QUEUE: str(self._path)}

    def _remove_sockets_of_killed_servers(self) -> None:
        for path in self._folder.glob(_SOCKET.format("*")):
            server = path.stem.partition("-")[2]
            if path == self._path or not Path("/proc", server).exists():
                path.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, ValueError, TimeoutError, msgspec.MsgspecError):
                if len(self._waiting) + len(self._holding) < _MOST_CONNECTIONS:
                    async with asyncio.timeout(_ASK_S):
                        asked = decoding.decode_json(await reader.readline(), AskTurn)
                    await self._keep_until_closed(asked, reader, writer)
        finally:
            writer.close()

    async def _keep_until_closed(
        self, asked: AskTurn, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        asker = _Asker(asked.student, writer, next(self._numbers))
        if not asked.waits and (self._waiting or len(self._holding) >= self._labs):
            _send(asker, TurnRefused())
            return
        self._waiting.append(asker)
        self._share_out()
        try:
            while await reader.read(1024):
                pass
        finally:
            if asker in self._holding:
                self._holding.remove(asker)
                self._given_back[asker.student] = next(self._numbers)
            else:
                self._waiting.remove(asker)
            self._share_out()

    def _share_out(self) -> None:
        """Assign free labs to the next students, and send apps their place or the length of the queue."""
        while self._waiting and len(self._holding) < self._labs:
            self._waiting.sort(key=self._turn_of)
            asker = self._waiting.pop(0)
            self._holding.append(asker)
            _send(asker, self._begins)
        self._waiting.sort(key=self._turn_of)
        for place, asker in enumerate(self._waiting, 1):
            _send(asker, TurnWaits(place, len(self._waiting)))
        for asker in self._holding:
            if self._waiting or asker.latest != self._begins:
                _send(asker, TurnWanted(len(self._waiting)))

    def _turn_of(self, asker: _Asker) -> tuple[int, int, int]:
        """Return the sort key: number of labs held, then latest release, then order of arrival."""
        holds = sum(each.student == asker.student for each in self._holding)
        return holds, self._given_back.get(asker.student, 0), asker.number


def _send(asker: _Asker, message: QueueMessage) -> None:
    if asker.latest == message:
        return
    asker.latest = message
    if asker.writer.transport.get_write_buffer_size() > _MOST_UNSENT:
        asker.writer.transport.abort()  # the app hangs
    elif not asker.writer.is_closing():
        asker.writer.write(msgspec.json.encode(message) + b"\n")
