"""The agent's side of the protocol: lines in and out on file descriptors, and a pause that notices a Stop.

Synchronous on purpose: one thread, one order of events, so that a run on the virtual clock is the same each time
(and pyroute2's calls do not work inside an asyncio loop).
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Sequence

from tcptutor.base.errors import ProtocolError
from tcptutor.wire import protocol
from tcptutor.wire.deferred import DeferredChanges
from tcptutor.wire.protocol import Event, Failed, Quit, Request, Stop


class Stopped(Exception):
    """The running experiment is to end now; what was measured is kept."""


class Channel:
    """Requests from the file descriptor `read_fd`, events to `write`."""

    def __init__(self, read_fd: int, write: Callable[[bytes], None]) -> None:
        self._read_fd, self._write = read_fd, write
        self._buffer = b""
        self.closed = False
        """Whether the input has ended, or Quit has come: the agent then ends."""
        self.deferred = DeferredChanges()
        """Of the path, beside those that stand in the request of the run."""

    def send(self, event: Event) -> None:
        self._write(protocol.line(event))

    def receive(self, timeout: float | None = None) -> Request | None:
        """The next request; None after `timeout` seconds or when the input has ended."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            request, _ = self.wait(None if deadline is None else max(0.0, deadline - time.monotonic()))
            over = self.closed or (deadline is not None and time.monotonic() >= deadline)
            if request is not None or over:
                return request

    def wait(self, timeout: float | None, others: Sequence[int] = ()) -> tuple[Request | None, list[int]]:
        """The next request, if one has come, and those of the file descriptors `others` that can be read.

        Returns when there is either, after `timeout` seconds, or when something came that was no whole request.
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
        """The first whole request that is waiting here."""
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
        """Wait that long. Raises Stopped when a Stop or the end of the input comes meanwhile."""
        deadline = time.monotonic() + seconds
        while True:
            request = self.receive(max(0.0, deadline - time.monotonic()))
            if isinstance(request, Stop) or self.closed:
                raise Stopped
            if request is None:
                return
            self.send(Failed("an experiment is running: stop it first", "protocol"))


def to_descriptor(write_fd: int) -> Callable[[bytes], None]:
    """Writes all of what it is given to `write_fd`, however little the other side takes at a time."""

    def write(data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[os.write(write_fd, rest) :]

    return write
