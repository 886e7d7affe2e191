"""Session of a student: an app process that outlives its browser, and the browser that shows it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from textual_serve.app_service import AppService
from textual_serve.download_manager import DownloadManager

from tcptutor.base.errors import TutorError
from tcptutor.base.printable import escaped
from tcptutor.serve.browser_output import BrowserOutput, OutputPeer
from tcptutor.serve.students import Student

log = logging.getLogger("tcptutor.serve")

GRACE_S = 12.0
"""Seconds for the app to save and close its lab before its processes are killed."""
START_S = 40.0
"""Start timeout of the app in seconds, long enough for a class that starts at the same time."""
_READY = b"__GANGLION__\n"
_MOST_PACKET = 4 << 20
_MOST_UNREAD = 256 << 10
"""Bytes of input to buffer for an app that does not read; further input is dropped."""
_PREFIX_LINES = 10


class AppProcess(Protocol):
    """Process of a running app, such as a `serve.app_forks.ForkedSession`."""

    stdin: asyncio.StreamWriter
    stdout: asyncio.StreamReader

    def signal(self, number: int) -> None:
        """Send a signal to the app's process group; no-op once the app has ended."""
        ...

    async def wait(self) -> int:
        """Wait until the app's process group is empty, and return the app's exit code."""
        ...


class StartApp(Protocol):
    """Function that starts an app, such as `serve.app_forks.AppForks.start_session`. Raises TutorError or OSError."""

    async def __call__(
        self, *, environment: Mapping[str, str], folder: Path, log: Path, size: tuple[int, int]
    ) -> AppProcess: ...


class SessionFailed(TutorError):
    """Error for an app that did not start."""


class Browser(OutputPeer, Protocol):
    """Methods of a websocket that a session calls."""

    async def close(self, *, code: int, message: bytes) -> Any: ...


class Closing:
    """Close codes of the websocket; `assets/serve/app.js` explains each code to the student."""

    ENDED = 4000
    TAKEN_OVER = 4001
    FULL = 4002
    FAILED = 4003
    IDLE = 4004
    LEAVING = 4005
    DIED = 4006


class BrowserSession(AppService):
    """App session of a student. It lasts until the app exits or `end` is called."""

    def __init__(self, student: Student, downloads: DownloadManager, start: StartApp) -> None:
        super().__init__(
            "tcptutor",
            write_bytes=self._write,
            write_str=self._write,
            close=self._app_left,
            download_manager=downloads,
        )
        self.student = student
        self.has_ended = asyncio.Event()
        """Set once all processes of the session have ended."""
        self.last_input = self.left_at = time.monotonic()
        """Monotonic times of the last key press and of the last disconnect."""
        self._start_process = start
        self._app: AppProcess | None = None
        self._reader: asyncio.Task[None] | None = None
        self._browser: Browser | None = None
        self._output: BrowserOutput | None = None
        self._sender: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._is_ending = False

    @property
    def is_shown(self) -> bool:
        """True while a browser is connected."""
        return self._browser is not None

    @property
    def is_starting(self) -> bool:
        """True until the app has started."""
        return self._reader is None and not self._is_ending

    @property
    def is_ending(self) -> bool:
        """True once the app is shutting down or has ended."""
        return self._is_ending

    async def launch(self, environment: Mapping[str, str], size: tuple[int, int]) -> None:
        """Start the app. On failure or timeout, end its processes and raise SessionFailed."""
        student = self.student
        try:
            async with asyncio.timeout(START_S):
                self._app = await self._start_process(
                    environment=environment, folder=student.files, log=student.log, size=size
                )
                self._stdin = self._app.stdin
                await self._wait_until_ready(self._app.stdout)
        except BaseException as error:
            self._is_ending = True
            await self._finish(0.0)
            if not isinstance(error, OSError | TutorError | ValueError):  # a timeout is an OSError
                raise
            reason = "it took too long" if isinstance(error, TimeoutError) else str(error)
            raise SessionFailed(f"the app did not start ({reason}): see {student.log}") from error
        self._reader = asyncio.create_task(self._read_until_end(self._app))

    async def show(self, browser: Browser, size: tuple[int, int]) -> None:
        """Show the app in `browser`, and disconnect the previous browser."""
        await self.leave(Closing.TAKEN_OVER, "opened in another window")
        self._browser = browser
        self._output = BrowserOutput(browser, self.repaint)
        self._sender = asyncio.create_task(self._output.send())
        self.last_input = time.monotonic()
        await self.set_terminal_size(*size)
        await self.repaint()

    async def leave(self, code: int, reason: str, browser: Browser | None = None) -> None:
        """Disconnect the browser; with `browser`, only if it is still connected. The app keeps running."""
        shown, sender = self._browser, self._sender
        if shown is None or (browser is not None and browser is not shown):
            return
        self._browser = self._output = self._sender = None
        self.left_at = time.monotonic()
        if sender is not None:
            sender.cancel()
        await self.blur()
        # Close in the background: a sleeping browser does not answer.
        closing = asyncio.create_task(_close(shown, code, reason))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)

    async def repaint(self) -> bool:
        """Request a full frame from the app."""
        return await self.send_meta({"type": "repaint"})

    async def end(self, code: int = Closing.ENDED, reason: str = "ended", grace: float | None = None) -> None:
        """End the app with all its processes, and wait until they have ended. Idempotent."""
        if self._is_ending:
            await self.has_ended.wait()
            return
        self._is_ending = True
        await self.leave(code, reason)
        await self._finish(GRACE_S if grace is None else grace)

    async def send_bytes(self, data: bytes) -> bool:
        """Send keys to the app."""
        self.last_input = time.monotonic()
        return await self._send(b"D", data)

    async def send_meta(self, data: dict[str, str | int | bool | None]) -> bool:
        """Send a message to the app's driver."""
        return await self._send(b"M", json.dumps(data).encode())

    async def on_meta(self, data: bytes) -> None:
        """Handle a message from the app's driver; ignore URLs other than HTTP and HTTPS."""
        message = json.loads(data)
        if message["type"] == "open_url" and urlsplit(str(message["url"])).scheme not in ("http", "https"):
            return
        await super().on_meta(data)

    async def _send(self, kind: Any, payload: bytes) -> bool:
        """Send a packet to the app; drop it and return False if the app has stopped reading."""
        stdin = self._stdin
        if stdin is None or stdin.is_closing() or stdin.transport.get_write_buffer_size() > _MOST_UNREAD:
            return False
        stdin.write(self.encode_packet(kind, payload))
        return True

    async def _write(self, data: bytes | str) -> None:
        if self._output is not None:
            self._output.write(data)

    async def _app_left(self) -> None:
        await self.leave(Closing.ENDED, "ended")

    async def _wait_until_ready(self, stdout: asyncio.StreamReader) -> None:
        if self._is_ending:  # `end` was called meanwhile
            raise SessionFailed("the server ends")
        for _ in range(_PREFIX_LINES):
            line = await stdout.readline()
            if line == _READY:
                return
            if not line:
                raise SessionFailed("it ended at once")
        raise SessionFailed("it is not the app")

    async def _read_until_end(self, app: AppProcess) -> None:
        """Read the app's packets until it ends."""
        read = app.stdout.readexactly
        try:
            while True:
                head = await read(5)
                size = int.from_bytes(head[1:], "big")
                if size > _MOST_PACKET:
                    log.error("%s: the app sent a packet of %d bytes", escaped(self.student.name), size)
                    break
                await self._take(head[:1], await read(size))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        except (ValueError, KeyError, TypeError) as error:
            log.warning("%s: a damaged packet: %s", escaped(self.student.name), escaped(str(error)))
        if not self._is_ending:
            self._is_ending = True
            await self.leave(Closing.DIED, "died")  # no-op after the app's own exit message
            await self._finish(GRACE_S)

    async def _take(self, kind: bytes, payload: bytes) -> None:
        if kind == b"D":
            await self.on_data(payload)
        elif kind == b"M":
            await self.on_meta(payload)
        elif kind == b"P":
            await self.on_packed(payload)

    async def _finish(self, grace: float) -> None:
        """Terminate the app's process group, and kill it after `grace` seconds."""
        try:
            await self._download_manager.cancel_app_downloads(app_service_id=self.app_service_id)
            if self._app is not None:
                self._app.signal(signal.SIGTERM)
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(grace):
                        await self._app.wait()
                self._app.signal(signal.SIGKILL)
                await self._app.wait()
                self._app.stdin.close()
            if self._reader is not None and self._reader is not asyncio.current_task():
                self._reader.cancel()
        finally:
            self.has_ended.set()


async def _close(browser: Browser, code: int, reason: str) -> None:
    with contextlib.suppress(ConnectionError, RuntimeError):
        await browser.close(code=code, message=reason.encode())
