"""A session as the app sees it: terminals on lab hosts, and the runs that typed commands produce."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from itertools import count
from pathlib import Path

from tcptutor.backends.events import EventReader, failure
from tcptutor.base import files, places
from tcptutor.base.errors import TutorError, UsageError, quoted
from tcptutor.spec import Experiment, bottleneck_interface, host_names, interface_names
from tcptutor.wire.home_files import MAX_BYTES, MAX_DEPTH, MAX_FILES, pieces
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
__all__ = ["MAX_BYTES", "Home", "is_plain_path"]

_LONGEST_NAME = 100


class LabTerminal:
    """A shell on a lab host, as a byte stream in both directions."""

    def __init__(self, number: int, send: Callable[[Request], None]) -> None:
        self._number, self._send = number, send
        self._arrived: asyncio.Queue[bytes] = asyncio.Queue()
        self._unread, self._room = 0, asyncio.Event()
        self.is_whole = True
        """False once output was dropped because nobody read it."""
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
            self.is_whole = False
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
        return self._open(host, lambda number: OpenTerminal(number, host, rows, columns))

    def capture(self, interface: str, snap_length: int) -> LabTerminal:
        """Capture the packets of `interface`, such as s1-eth2, as a stream in the format of pcap files.

        Args:
            interface: The interface; the bottleneck's if empty.
            snap_length: Bytes to keep of each packet.

        Raises:
            UsageError: The lab has no such interface.
        """
        pairs = self.experiment.pairs
        interface = interface or bottleneck_interface(pairs)
        host = interface.partition("-")[0]
        if host in host_names(pairs) and interface not in (names := interface_names(pairs)):
            raise UsageError(
                f"{quoted(interface)} is not an interface of the lab: use one of {', '.join(names)}"
            )
        command = f"exec tcpdump -Z root -U -s {snap_length:d} -w - -i {interface} 2> /dev/null"
        return self._open(host, lambda number: OpenTerminal(number, host, command=command))

    def _open(self, host: str, request: Callable[[int], OpenTerminal]) -> LabTerminal:
        known = host_names(self.experiment.pairs)
        if host not in known:
            raise UsageError(f"there is no host {quoted(host)}: use one of {', '.join(known)}")
        number = next(self._numbers)
        terminal = self._terminals[number] = LabTerminal(number, self._send)
        self._send(request(number))
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


class Home:
    """The home folder, and the transfer of its files for a session."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or places.home()
        self.omitted: tuple[str, ...] = ()
        """Files that were not copied: too large, or too many."""
        self._brought: set[str] = set()
        self._total = 0
        self._names: set[str] = set()
        self._part: tuple[str, Path] | None = None

    def make(self) -> Path | None:
        """Return the folder, created if necessary; None where it cannot be created."""
        try:
            files.make_private(self.folder.parent)
            self.folder.mkdir(exist_ok=True)
        except OSError:
            return None
        return self.folder

    def export(self) -> Iterator[HomeFile]:
        """Yield the files to copy into the lab, in pieces."""
        for piece in pieces(self.folder) if self.make() else ():
            if isinstance(piece, HomeFile):
                self._brought.add(piece.path)
                yield piece

    def receive(self, event: HomeFile | HomeFiles) -> None:
        """Store a file from the lab, or finish with the list of files.

        Never raises: a file that cannot be written is skipped.
        """
        with contextlib.suppress(OSError):
            if isinstance(event, HomeFile):
                self._receive(event)
            else:
                self._finish()
                self.omitted = tuple(name for name in event.omitted if is_plain_path(name))
                # Files that were copied in and no longer exist were deleted by the student.
                for name in self._brought - set(event.names) - set(event.omitted):
                    with contextlib.suppress(OSError):
                        (self.folder / name).unlink()

    def _receive(self, piece: HomeFile) -> None:
        self._total += len(piece.data)
        self._names.add(piece.path)
        if not is_plain_path(piece.path) or self._total > MAX_BYTES or len(self._names) > MAX_FILES:
            return
        if piece.append:
            if self._part is not None and self._part[0] == piece.path:
                with self._part[1].open("ab") as file:
                    file.write(piece.data)
            return
        self._finish()
        place = self.folder
        for part in Path(piece.path).parts[:-1]:
            place /= part
            if place.is_symlink():
                return
            place.mkdir(exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=self.folder, prefix=".carried-")
        with os.fdopen(descriptor, "wb") as file:
            file.write(piece.data)
            os.fchmod(file.fileno(), 0o755 if piece.executable else 0o644)
        self._part = (piece.path, Path(name))

    def _finish(self) -> None:
        """Move the completed file into place; an existing symbolic link is replaced, not followed."""
        if self._part is not None:
            (name, part), self._part = self._part, None
            try:
                part.replace(self.folder / name)
            except OSError:
                part.unlink(missing_ok=True)

    def abandon(self) -> None:
        """Discard a partly received file after the lab has ended."""
        if self._part is not None:
            self._part[1].unlink(missing_ok=True)
            self._part = None


def is_plain_path(name: str) -> bool:
    """Check that `name` is a relative path of few printable names without ".."."""
    parts = name.split("/")
    return len(parts) <= MAX_DEPTH + 1 and all(
        part not in ("", ".", "..") and len(part) <= _LONGEST_NAME and part.isprintable() for part in parts
    )
