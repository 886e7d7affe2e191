"""Memory shared with the guest: requests go in, and the agent's output comes out."""

from __future__ import annotations

import asyncio
import mmap
import os
from collections.abc import Callable, Iterable

from tcptutor.spec import Change
from tcptutor.wire.ring import SIZE, Ring

_PERIOD = 0.01
"""Polling period, seconds: a change of memory raises no event."""


class SharedMemory:
    """Owner of anonymous memory shared with QEMU; it disappears with the two processes."""

    def __init__(self) -> None:
        self.fd = os.memfd_create("tcptutor", os.MFD_CLOEXEC)
        os.ftruncate(self.fd, SIZE)
        self._ring = Ring(mmap.mmap(self.fd, SIZE))
        self._lines: list[bytes] = []
        self._rest = b""
        self._closed = False

    def submit(self, request: bytes, changes: Iterable[Change] = ()) -> None:
        """Write a request for a stopped guest, and `changes` that the guest may read once they are due."""
        self._ring.submit(request, changes)

    @property
    def polls(self) -> int:
        """Number of times the guest has polled for a request."""
        return self._ring.polls

    def skip(self) -> None:
        """Discard all lines so far: restoring a snapshot also restores its shared memory."""
        self._ring.skip()

    async def readline(self, alive: Callable[[], bool]) -> bytes:
        """Return the next line; empty once the guest is not `alive` and all output was read."""
        while not self._lines:
            living = alive()
            parts = (self._rest + self._ring.read()).split(b"\n")
            self._rest = parts.pop()
            self._lines = [part + b"\n" for part in reversed(parts)]
            if not self._lines:
                if not living:
                    return b""
                await asyncio.sleep(_PERIOD)
        return self._lines.pop()

    def close(self) -> None:
        """Release the memory; safe to call twice."""
        if not self._closed:
            self._closed = True
            self._ring.close()
            os.close(self.fd)
