"""Client of the fork server, which forks app sessions from a process that has imported the app.

    forks = AppForks(program, environment)
    session = await forks.start_session(environment=..., folder=..., log=..., size=(120, 36))
    session.stdin, session.stdout       # the pipes of Textual's web driver
    session.signal(signal.SIGTERM)      # to its process group
    await session.wait()                # exit code, once the process group is empty
    await forks.close()

If the web server exits for any reason, the fork server ends all sessions. If the fork server exits, the kernel kills
them.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import subprocess
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path

import msgspec

from tcptutor.base import decoding
from tcptutor.base.errors import TutorError
from tcptutor.base.files import PRIVATE, make_private
from tcptutor.serve.fork_server import (
    GRACE,
    MAX_REQUEST,
    Answer,
    ForkEnded,
    ForkStarted,
    Request,
    SignalFork,
    StartFork,
)

_PATIENCE = 3 * GRACE
"""Seconds for the fork server to end all sessions."""
_READ_AHEAD = 1 << 16
"""Bytes of session output to buffer."""
_NO_MORE = "no app can be started: start the server again"


class ForkedSession:
    """Process of a session, with the web server's ends of its pipes."""

    pid = 0
    """Id of the process and of its process group; 0 before the start."""

    def __init__(
        self, number: int, forks: AppForks, stdin: asyncio.StreamWriter, stdout: asyncio.StreamReader
    ) -> None:
        self.number, self._forks = number, forks
        self.stdin, self.stdout = stdin, stdout
        loop = asyncio.get_running_loop()
        self._is_started: asyncio.Future[bool] = loop.create_future()
        self._code: asyncio.Future[int] = loop.create_future()
        self._problem = ""

    @property
    def returncode(self) -> int | None:
        """Exit code, negative for a signal; None while the session runs."""
        return self._code.result() if self._code.done() else None

    def signal(self, number: int) -> None:
        """Send a signal to the session's process group; no-op once the session has ended."""
        if self.returncode is None:
            with contextlib.suppress(TutorError):  # without the fork server the kernel has killed the session
                self._forks.send(SignalFork(self.number, number))

    async def wait(self) -> int:
        """Wait until the session has ended and return its exit code."""
        return await asyncio.shield(self._code)

    async def wait_for_start(self) -> None:
        """Wait for the fork. Raises TutorError if it fails."""
        await self._is_started
        if self._problem:
            raise TutorError(self._problem)

    def take(self, answer: Answer) -> None:
        """Process an answer from the fork server."""
        match answer:
            case ForkStarted(pid=pid):
                self.pid = pid
            case ForkEnded(code=code, problem=problem):
                self._problem = problem
                self._code.set_result(code)
                self.stdin.close()  # stdout stays readable
        if not self._is_started.done():
            self._is_started.set_result(True)


class AppForks:
    """Owner of the fork server process.

    Args:
        program: Command of a program that calls `fork_server.wait_for_session` with its standard input.
        environment: Complete environment of the program, including variables that Textual reads on import.
    """

    def __init__(self, program: Sequence[str], environment: Mapping[str, str]) -> None:
        self._program, self._environment = [*program], dict(environment)
        self._process: subprocess.Popen[bytes] | None = None
        self._socket: socket.socket | None = None
        self._sessions: dict[int, ForkedSession] = {}
        self._numbers = count(1)
        self._decoder: msgspec.msgpack.Decoder[Answer] = decoding.msgpack_decoder(Answer)

    @property
    def pid(self) -> int:
        """Process id of the fork server; 0 if it is not running."""
        return self._process.pid if self._process is not None and self._process.poll() is None else 0

    def start(self) -> None:
        """Start the fork server unless it is running, so that it imports the app before the first session.

        Raises:
            TutorError: The fork server cannot be started.
        """
        if self._socket is not None:
            return
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            try:
                self._process = subprocess.Popen(
                    self._program, env=self._environment, stdin=theirs.fileno(), stdout=subprocess.DEVNULL,
                    start_new_session=True,
                )  # fmt: skip
            except OSError as error:
                ours.close()
                raise TutorError(f"{self._program[0]} cannot be started: {error.strerror}") from error
        ours.setblocking(False)
        self._socket = ours
        asyncio.get_running_loop().add_reader(ours, self._read)

    async def start_session(
        self, *, environment: Mapping[str, str], folder: Path, log: Path, size: tuple[int, int]
    ) -> ForkedSession:
        """Start a session and wait until its process exists. A canceled call leaves no process behind.

        Args:
            environment: Complete environment of the session.
            folder: Working folder.
            log: File for the session's standard error; overwritten.
            size: Columns and rows of the screen.

        Raises:
            TutorError: No process can be started.
        """
        self.start()
        for private in (folder, log.parent):
            make_private(private)
        number = next(self._numbers)
        variables = {**environment, "COLUMNS": str(size[0]), "ROWS": str(size[1])}
        request = StartFork(number, variables, str(folder))
        errors = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, PRIVATE)
        their_in, our_in = os.pipe()
        our_out, their_out = os.pipe()
        session = ForkedSession(number, self, await _writer(our_in), await _reader(our_out))
        self._sessions[number] = session
        try:
            self.send(request, (their_in, their_out, errors))
        except TutorError:
            self._sessions.pop(number, None)
            session.stdin.close()
            raise
        finally:
            for descriptor in (their_in, their_out, errors):
                os.close(descriptor)
        try:
            await session.wait_for_start()
        except asyncio.CancelledError:
            session.signal(signal.SIGKILL)  # as soon as it has started
            raise
        return session

    def send(self, request: Request, streams: Sequence[int] = ()) -> None:
        """Send a request to the fork server. Raises TutorError if it has ended or accepts no requests."""
        message = msgspec.msgpack.encode(request)
        if self._socket is None or len(message) > MAX_REQUEST:
            raise TutorError(_NO_MORE)
        try:
            socket.send_fds(self._socket, [message], streams)
        except OSError as error:
            raise TutorError(_NO_MORE) from error

    async def close(self) -> None:
        """End all sessions and the fork server: SIGTERM, then SIGKILL after `fork_server.GRACE`. Never raises."""
        process = self._process
        if process is None:
            return
        if self._socket is not None:
            self._socket.shutdown(socket.SHUT_WR)
        ending = asyncio.create_task(asyncio.to_thread(process.wait))
        await asyncio.wait([ending], timeout=_PATIENCE)
        if not ending.done():
            os.kill(process.pid, signal.SIGKILL)  # the kernel then kills the sessions
        await ending
        self._read()

    def _read(self) -> None:
        """Process all answers received so far."""
        while self._socket is not None:
            try:
                message = self._socket.recv(MAX_REQUEST)
            except BlockingIOError:
                return
            except OSError:
                message = b""
            if message:
                self._take(self._decoder.decode(message))
            else:
                self._lose_program()

    def _take(self, answer: Answer) -> None:
        self._sessions[answer.number].take(answer)
        if isinstance(answer, ForkEnded):
            del self._sessions[answer.number]

    def _lose_program(self) -> None:
        """Close the socket and mark all sessions as killed: the kernel ends them with the fork server."""
        assert self._socket is not None
        assert self._process is not None
        asyncio.get_running_loop().remove_reader(self._socket)
        self._socket.close()
        self._socket = None
        self._process.wait()
        for number in tuple(self._sessions):
            self._take(ForkEnded(number, -signal.SIGKILL, _NO_MORE))


async def _writer(descriptor: int) -> asyncio.StreamWriter:
    loop = asyncio.get_running_loop()
    transport, protocol = await loop.connect_write_pipe(
        asyncio.streams.FlowControlMixin, os.fdopen(descriptor, "wb", 0)
    )
    return asyncio.StreamWriter(transport, protocol, None, loop)


async def _reader(descriptor: int) -> asyncio.StreamReader:
    reader = asyncio.StreamReader(limit=_READ_AHEAD)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(descriptor, "rb", 0)
    )
    return reader
