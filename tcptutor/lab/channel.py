"""The agent's side of the protocol: lines in and out on file descriptors, and a pause that notices a Stop.

Synchronous on purpose: one thread, one order of events, so that a run on the virtual clock is the same each time
(and pyroute2's calls do not work inside an asyncio loop).
"""

from __future__ import annotations

import os
import select
import time

import msgspec

from tcptutor.lab import protocol
from tcptutor.lab.protocol import Event, Failed, Quit, Request, Stop


class Stopped(Exception):
    """The running experiment is to end now; what was measured is kept."""


class Channel:
    """Requests from `read_fd`, events to `write_fd` (they may be the same)."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd, self._write_fd = read_fd, write_fd
        self._buffer = b""
        self.closed = False
        """Whether the input has ended, or Quit has come: the agent then ends."""

    def send(self, event: Event) -> None:
        # A virtio port takes 32 KiB at a time and says so.
        data = memoryview(protocol.line(event))
        while data:
            data = data[os.write(self._write_fd, data) :]

    def receive(self, timeout: float | None = None) -> Request | None:
        """The next request; None after `timeout` seconds or when the input has ended."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            while b"\n" in self._buffer:
                line, self._buffer = self._buffer.split(b"\n", 1)
                request = self._decode(line)
                if request is not None:
                    return request
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if self.closed or not select.select([self._read_fd], [], [], left)[0]:
                return None
            data = os.read(self._read_fd, 65536)
            self._buffer += data
            self.closed = not data

    def _decode(self, line: bytes) -> Request | None:
        try:
            request = protocol.request_decoder.decode(line)
        except msgspec.MsgspecError as error:
            self.send(Failed(f"not a request of protocol {protocol.VERSION}: {error}", "protocol"))
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
