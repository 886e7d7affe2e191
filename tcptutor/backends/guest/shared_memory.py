"""Memory that the guest shares with us: requests go in by it, and what the agent says comes out."""

from __future__ import annotations

import asyncio
import mmap
import os
from collections.abc import Callable, Iterable

from tcptutor.spec import Change
from tcptutor.wire.ring import SIZE, Ring

_PERIOD = 0.01
"""How often to look, s: memory tells nobody that it has changed."""


class SharedMemory:
    """Owns the memory. It is nowhere in the file system, and gone with the two processes that have it."""

    def __init__(self) -> None:
        self.fd = os.memfd_create("tcptutor", os.MFD_CLOEXEC)
        os.ftruncate(self.fd, SIZE)
        self._ring = Ring(mmap.mmap(self.fd, SIZE))
        self._lines: list[bytes] = []
        self._rest = b""
        self._closed = False

    def submit(self, request: bytes, changes: Iterable[Change] = ()) -> None:
        """Leave a request for a guest that does not move, and `changes` that it is to know of when they are due."""
        self._ring.submit(request, changes)

    @property
    def polls(self) -> int:
        """How often the guest has looked for a request."""
        return self._ring.polls

    def skip(self) -> None:
        """Forget all lines up to now: a snapshot brings the memory that it was taken with."""
        self._ring.skip()

    async def readline(self, alive: Callable[[], bool]) -> bytes:
        """One more line; empty once the guest is not `alive` any more and all has been read."""
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
        """Give the memory back; safe to call twice."""
        if not self._closed:
            self._closed = True
            self._ring.close()
            os.close(self.fd)
