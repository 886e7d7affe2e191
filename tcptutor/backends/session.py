"""A session as the app sees it: terminals on lab hosts, and the runs that typed commands produce."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count

from tcptutor.backends.agent_events import EventReader, failure
from tcptutor.backends.home_folder import Home
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

_HOLD_BACK_BYTES = 1 << 16
"""Unread bytes of a terminal's output above which the lab is held back."""

_READER_TIMEOUT_S = 1.0
"""Seconds without a reader after which a terminal counts as unread and no longer holds the lab back."""

_BUFFER_BYTES = 16 << 20
"""Maximum of unread bytes to buffer per terminal; older output is dropped first."""

_FINAL_SILENCE_S = 5.0
"""Longest silence while waiting for the final events of a session, seconds."""


class LabTerminal:
    """A shell on a lab host, as a byte stream in both directions."""

    def __init__(self, number: int, send: Callable[[Request], None]) -> None:
        self._number, self._send = number, send
        self._arrived: asyncio.Queue[bytes] = asyncio.Queue()
        self._unread, self._room = 0, asyncio.Event()
        self._room.set()
        self._is_read = True
        self._has_ended = False

    async def read(self) -> bytes:
        """Return the output since the last call, waiting for some; empty once the shell has ended."""
        if self._has_ended and self._arrived.empty():
            return b""
        data = await self._arrived.get()
        while data and not self._arrived.empty():
            data += self._arrived.get_nowait()
        self._unread -= len(data)
        if self._unread < _HOLD_BACK_BYTES:
            self._room.set()
        self._is_read = True
        return data

    def write(self, data: bytes) -> None:
        """Send keyboard input to the shell."""
        if not self._has_ended:
            self._send(TerminalInput(self._number, data))

    def resize(self, rows: int, columns: int) -> None:
        """Set the size of the screen, in characters."""
        if not self._has_ended:
            self._send(ResizeTerminal(self._number, rows, columns))

    def close(self) -> None:
        """Hang up; `read` then returns the rest and ends."""
        if not self._has_ended:
            self._send(CloseTerminal(self._number))

    def feed(self, data: bytes) -> None:
        """Append output from the agent; empty output marks the end. Called by the session."""
        self._has_ended = self._has_ended or not data
        self._unread += len(data)
        if self._unread >= _HOLD_BACK_BYTES:
            self._room.clear()
        self._arrived.put_nowait(data)
        while self._unread > _BUFFER_BYTES:
            self._unread -= len(self._arrived.get_nowait())

    async def wait_for_reader(self) -> None:
        """Wait until the reader has caught up. Called by the session.

        Holding back the agent slows down the program that floods the terminal, so that Ctrl-C takes effect on the
        screen at once. A terminal without a reader is not waited for.
        """
        if self._is_read and not self._room.is_set():
            try:
                async with asyncio.timeout(_READER_TIMEOUT_S):
                    await self._room.wait()
            except TimeoutError:
                self._is_read = False

    def stop_waiting(self) -> None:
        """Stop holding back the agent. Called by the session at its end."""
        self._unread = -(1 << 60)
        self._room.set()


class Session:
    """An open interactive lab, until `leave`.

    Iterating over it yields SessionState, CommandEnded, RunDetected, Samples and Finished events; iteration ends with
    the session and raises LabError when the lab fails. The backend that opened the session cleans up.
    """

    def __init__(
        self,
        experiment: Experiment,
        send: Callable[[Request], None],
        receive: Callable[[], Awaitable[Event]],
        home: Home,
    ) -> None:
        self.experiment, self.home = experiment, home
        self._send, self._receive = send, receive
        self._terminals: dict[int, LabTerminal] = {}
        self._numbers = count(1)
        self._events: asyncio.Queue[Event | TutorError | None] = asyncio.Queue()
        self._pump: asyncio.Task[None] | None = None
        self._reading = EventReader()
        self._progress = 0
        """Number of files received at the end."""

    async def begin(self, carry: bool = False) -> None:
        """Wait until the lab is set up; with `carry`, copy the student's files into it.

        Raises LabError, or KernelLacks when this kernel lacks a feature.
        """
        while True:
            event = await self._receive()
            if isinstance(event, Failed):
                raise failure(event)
            self._events.put_nowait(event)
            if isinstance(event, SessionState):
                break
        for piece in self.home.export() if carry else ():
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
                            self._terminals[number].feed(data)
                            await self._terminals[number].wait_for_reader()
                    case HomeFile() | HomeFiles():
                        self._progress += 1
                        self.home.receive(event)
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
                terminal.feed(b"")
            self._events.put_nowait(last)

    async def __aiter__(self) -> AsyncIterator[Event]:
        while (event := await self._events.get()) is not None:
            if isinstance(event, TutorError):
                raise event
            yield event

    def shell(self, host: str, rows: int = 24, columns: int = 80) -> LabTerminal:
        """Open a shell on `host`: h1, h2 ..., s1 or s2. Raises UsageError for an unknown host."""
        known = host_names(self.experiment.pairs)
        if host not in known:
            raise UsageError(f"there is no host {host!r}: use one of {', '.join(known)}")
        number = next(self._numbers)
        terminal = self._terminals[number] = LabTerminal(number, self._send)
        self._send(OpenTerminal(number, host, rows, columns))
        return terminal

    async def leave(self) -> None:
        """End the session in order; an active run is finished as cut short. Never raises."""
        for terminal in self._terminals.values():
            terminal.stop_waiting()
        if self._pump is not None and not self._pump.done():
            self._send(Stop())
            before = -1
            while not self._pump.done() and self._progress > before:
                before = self._progress
                await asyncio.wait([self._pump], timeout=_FINAL_SILENCE_S)

    async def abandon(self) -> None:
        """Stop waiting for events. Called by the backend once the lab is gone."""
        self.home.abandon()
        if self._pump is not None:
            self._pump.cancel()
            await asyncio.wait([self._pump])
