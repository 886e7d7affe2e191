"""Agent's end of the protocol: messages on file descriptors, and a pause that notices a Stop.

Synchronous on purpose: a single thread fixes the order of events, so that a run on the virtual clock is repeatable.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Sequence

from tcptutor.base.errors import ProtocolError
from tcptutor.wire import protocol
from tcptutor.wire.protocol import Event, Failed, Quit, Request, Stop
from tcptutor.wire.ring import DeferredChanges


class Stopped(Exception):
    """Request to end the running experiment now and keep its measurements."""


class Channel:
    """Requests from a file descriptor, and events to a `write` function."""

    def __init__(self, read_fd: int, write: Callable[[bytes], None]) -> None:
        self._read_fd, self._write = read_fd, write
        self._buffer = b""
        self.closed = False
        """True after the end of the input or a Quit: the agent then exits."""
        self.deferred = DeferredChanges()
        """Path changes that the run's request does not contain."""

    def send(self, event: Event) -> None:
        self._write(protocol.line(event))

    def receive(self, timeout: float | None = None) -> Request | None:
        """Return the next request; None after `timeout` seconds or at the end of the input."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            request, _ = self.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
            done = self.closed or (deadline is not None and time.monotonic() >= deadline)
            if request is not None or done:
                return request

    def wait(self, timeout: float | None, others: Sequence[int] = ()) -> tuple[Request | None, list[int]]:
        """Wait for a request or for input on any of the file descriptors `others`.

        Returns early, with neither, after an incomplete request.

        Returns:
            The request or None, and the readable descriptors among `others`.
        """
        if (request := self._next()) is not None:
            return request, []
        if self.closed:
            return None, []
        ready = select.select([self._read_fd, *others], [], [], timeout)[0]
        if self._read_fd not in ready:
            return None, ready
        ready.remove(self._read_fd)
        data = os.read(self._read_fd, 65536)
        self._buffer += data
        self.closed = not data
        return self._next(), ready

    def _next(self) -> Request | None:
        while b"\n" in self._buffer:
            line, self._buffer = self._buffer.split(b"\n", 1)
            if (request := self._decode(line)) is not None:
                return request
        return None

    def _decode(self, line: bytes) -> Request | None:
        try:
            request = protocol.request(line)
        except ProtocolError as error:
            self.send(Failed(str(error), "protocol"))
            return None
        if isinstance(request, Quit):
            self.closed = True
            return None
        return request

    def pause(self, seconds: float) -> None:
        """Sleep. Raises Stopped if a Stop or the end of the input arrives meanwhile."""
        deadline = time.monotonic() + seconds
        while True:
            request = self.receive(max(0.0, deadline - time.monotonic()))
            if isinstance(request, Stop) or self.closed:
                raise Stopped
            if request is None:
                return
            self.send(Failed("an experiment is running: stop it first", "protocol"))


def to_descriptor(write_fd: int) -> Callable[[bytes], None]:
    """Return a function that writes all its data to `write_fd`, in as many parts as the reader takes."""

    def write(data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(write_fd, rest) :]

    return write
