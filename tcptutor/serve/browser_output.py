"""Bounded output to a browser: a slow reader misses frames and gets a full frame after catching up."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Protocol

MOST_BYTES = 256 << 10
"""Bytes that may wait for a browser: about ten full screens."""
_MOST_MESSAGES = 100
"""Text messages that may wait for a browser."""
_PIECE = 32 << 10
"""Bytes of frames to join into a message, as many as `serve.connections` lets the kernel hold unsent."""


class OutputPeer(Protocol):
    """Methods of a websocket that `BrowserOutput` calls."""

    async def send_bytes(self, data: bytes) -> None: ...
    async def send_str(self, data: str) -> None: ...


class BrowserOutput:
    """Output queue of a browser. `write` never waits; `send` runs as a task until canceled or disconnected."""

    def __init__(self, peer: OutputPeer, on_caught_up: Callable[[], Awaitable[object]]) -> None:
        self._peer, self._on_caught_up = peer, on_caught_up
        self._waiting: deque[bytes | str] = deque()
        self._size = 0
        self._has_missed = False
        self._filled = asyncio.Event()

    def write(self, data: bytes | str) -> None:
        """Queue a frame (bytes) or a message (text). A frame that does not fit is dropped with all queued frames."""
        if isinstance(data, bytes):
            if self._has_missed:
                return
            if self._size + len(data) > MOST_BYTES:
                self._waiting = deque(each for each in self._waiting if isinstance(each, str))
                self._size, self._has_missed = 0, True
                self._filled.set()
                return
            self._size += len(data)
        elif sum(isinstance(each, str) for each in self._waiting) >= _MOST_MESSAGES:
            return
        self._waiting.append(data)
        self._filled.set()

    async def send(self) -> None:
        """Send queued output until canceled or disconnected."""
        with contextlib.suppress(ConnectionError):
            while True:
                await self._filled.wait()
                self._filled.clear()
                while self._waiting:
                    await self._send_next()
                if self._has_missed:
                    self._has_missed = False
                    await self._on_caught_up()

    async def _send_next(self) -> None:
        data = self._waiting.popleft()
        if isinstance(data, str):
            await self._peer.send_str(data)
            return
        frames = [data]
        size = len(data)
        while self._waiting and isinstance(self._waiting[0], bytes) and size < _PIECE:
            frames.append(self._waiting[0])
            size += len(self._waiting[0])
            self._waiting.popleft()
        self._size -= size
        await self._peer.send_bytes(b"".join(frames))
