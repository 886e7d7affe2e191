"""A session as the app sees it: terminals on lab hosts, and the runs that come of what is typed there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count

from tcptutor.backends.answers import failure
from tcptutor.backends.home import Home
from tcptutor.backends.reading import Reading
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.spec import Experiment, host_names
from tcptutor.wire.kernel_state import SessionState
from tcptutor.wire.protocol import (
    CloseTerminal,
    Event,
    Failed,
    HomeFile,
    HomeFiles,
    OpenTerminal,
    Request,
    ResizeTerminal,
    SessionEnded,
    Stop,
    TerminalInput,
    TerminalOutput,
)

_MOST = 1 << 16
"""Bytes of a terminal's output that may wait to be read; then the lab waits."""

_PATIENCE = 1.0
"""Seconds without a reader after which a terminal is one that nobody reads."""

_UNREAD = 16 << 20
"""Bytes of a terminal that nobody reads which are kept: of a flood the first go."""

_END = 5.0
"""Longest silence while what is still to come when a session ends is waited for, s."""


class Terminal:
    """A shell on a lab host: bytes both ways."""

    def __init__(self, number: int, send: Callable[[Request], None]) -> None:
        self._number, self._send = number, send
        self._arrived: asyncio.Queue[bytes] = asyncio.Queue()
        self._waiting, self._room = 0, asyncio.Event()
        self._room.set()
        self._is_read = True
        self._over = False

    async def read(self) -> bytes:
        """What it has written since the last call, waiting for something; empty once the shell has ended."""
        if self._over and self._arrived.empty():
            return b""
        data = await self._arrived.get()
        while data and not self._arrived.empty():
            data += self._arrived.get_nowait()
        self._waiting -= len(data)
        if self._waiting < _MOST:
            self._room.set()
        self._is_read = True
        return data

    def write(self, data: bytes) -> None:
        """Type into it."""
        if not self._over:
            self._send(TerminalInput(self._number, data))

    def resize(self, rows: int, columns: int) -> None:
        """The screen has another size now, characters."""
        if not self._over:
            self._send(ResizeTerminal(self._number, rows, columns))

    def close(self) -> None:
        """Hang up; `read` then comes to its end."""
        if not self._over:
            self._send(CloseTerminal(self._number))

    def arrived(self, data: bytes) -> None:
        """For the session: what the agent sent, empty at the end."""
        self._over = self._over or not data
        self._waiting += len(data)
        if self._waiting >= _MOST:
            self._room.clear()
        self._arrived.put_nowait(data)
        while self._waiting > _UNREAD:
            self._waiting -= len(self._arrived.get_nowait())

    async def room(self) -> None:
        """For the session: wait until enough of it was read.

        What waits here is what a flood shows long after it was interrupted: it waits in the lab instead, whose
        programs then write no faster than is read. Where nobody reads, nobody is waited for.
        """
        if self._is_read and not self._room.is_set():
            try:
                async with asyncio.timeout(_PATIENCE):
                    await self._room.wait()
            except TimeoutError:
                self._is_read = False

    def let_go(self) -> None:
        """For the session, at its end: nobody waits for what is not read."""
        self._waiting = -(1 << 60)
        self._room.set()


class Session:
    """The lab in somebody's hands, until `leave`.

    Iterating over it gives SessionState, CommandEnded, RunDetected, Samples and Finished as they come; it ends with the
    session and raises LabError when the lab does. The backend that opened it takes down what is left.
    """

    def __init__(
        self,
        experiment: Experiment,
        send: Callable[[Request], None],
        receive: Callable[[], Awaitable[Event]],
        home: Home,
    ) -> None:
        """`home`: where what comes out of the lab's `~` is kept."""
        self.experiment, self.home = experiment, home
        self._send, self._receive = send, receive
        self._terminals: dict[int, Terminal] = {}
        self._numbers = count(1)
        self._events: asyncio.Queue[Event | TutorError | None] = asyncio.Queue()
        self._pump: asyncio.Task[None] | None = None
        self._reading = Reading()
        self._progress = 0
        """Grows while files come at the end."""

    async def begin(self, carry: bool = False) -> None:
        """Wait until the lab is set up, and `carry` the student's files there.

        Raises LabError, or KernelLacks when this kernel cannot be set up so.
        """
        while True:
            event = await self._receive()
            if isinstance(event, Failed):
                raise failure(event)
            self._events.put_nowait(event)
            if isinstance(event, SessionState):
                break
        for piece in self.home.bring() if carry else ():
            self._send(piece)
        self._pump = asyncio.create_task(self._take())

    async def _take(self) -> None:
        last: TutorError | None = None
        try:
            while True:
                event = await self._reading.read(await self._receive())
                match event:
                    case TerminalOutput(terminal=number, data=data):
                        if number in self._terminals:
                            self._terminals[number].arrived(data)
                            await self._terminals[number].room()
                    case HomeFile() | HomeFiles():
                        self._progress += 1
                        self.home.take(event)
                    case SessionEnded():
                        return
                    case Failed(kind="lab" | "kernel"):
                        last = failure(event)
                        return
                    case _:
                        self._events.put_nowait(event)
        except TutorError as error:
            last = error
        finally:
            for terminal in self._terminals.values():
                terminal.arrived(b"")
            self._events.put_nowait(last)

    async def __aiter__(self) -> AsyncIterator[Event]:
        while (event := await self._events.get()) is not None:
            if isinstance(event, TutorError):
                raise event
            yield event

    def shell(self, host: str, rows: int = 24, columns: int = 80) -> Terminal:
        """A shell on `host`: h1 and so on, s1 or s2. Raises UsageError when there is no such host."""
        known = host_names(self.experiment.pairs)
        if host not in known:
            raise UsageError(f"there is no host {host!r}: take one of {', '.join(known)}")
        number = next(self._numbers)
        terminal = self._terminals[number] = Terminal(number, self._send)
        self._send(OpenTerminal(number, host, rows, columns))
        return terminal

    async def leave(self) -> None:
        """End it in order: a run that goes on is finished as cut short. Never raises."""
        for terminal in self._terminals.values():
            terminal.let_go()
        if self._pump is not None and not self._pump.done():
            self._send(Stop())
            before = -1
            while not self._pump.done() and self._progress > before:
                before = self._progress
                await asyncio.wait([self._pump], timeout=_END)

    async def abandon(self) -> None:
        """For the backend: nothing will come any more."""
        self.home.abandon()
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.wait([self._pump])
