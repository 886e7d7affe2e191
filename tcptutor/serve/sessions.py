"""Sessions of a server: a single session per student, an overall limit, and timeouts for unused sessions."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping

import msgspec
from textual_serve.download_manager import DownloadManager

from tcptutor.backends.lab_turn import STUDENT
from tcptutor.base.errors import TutorError
from tcptutor.base.printable import escaped
from tcptutor.serve.browser_session import Browser, BrowserSession, Closing, SessionFailed, StartApp
from tcptutor.serve.students import Student

log = logging.getLogger("tcptutor.serve")

_STARTS = 4
"""Most apps that start at the same time; more would delay every start."""
_AWAY_S = 60.0
"""Seconds without a browser after which a full server may end a session to free its place."""
_LOOK_EVERY_S = 5.0


class SessionLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Limits on the number and the lifetime of sessions."""

    sessions: int = 30
    keep_s: float = 600.0
    """Seconds that an app keeps running without a browser."""
    idle_s: float = 3600.0
    """Seconds without a key press after which an app ends."""


class ServerFull(SessionFailed):
    """Error for a server without a free place."""


class Sessions:
    """Running sessions of a server."""

    def __init__(
        self,
        limits: SessionLimits,
        start: StartApp,
        server: Mapping[str, str],
        prepare: Callable[[Student], object] = lambda _: None,
    ) -> None:
        """Create the manager, without sessions.

        Args:
            limits: Limits on the number and lifetime of sessions.
            start: Starts an app.
            server: The server's environment variables.
            prepare: Called in a thread before each start of an app.
        """
        self.downloads = DownloadManager()
        self._limits, self._start, self._environment = limits, start, server
        self._prepare = prepare
        self._sessions: dict[str, BrowserSession] = {}
        self._locks: dict[str, asyncio.Lock] = {}
        self._starts = asyncio.Semaphore(_STARTS)
        self._watch: asyncio.Task[None] | None = None
        self._ending: set[asyncio.Task[None]] = set()

    def __len__(self) -> int:
        return len(self._sessions)

    def find(self, student: str) -> BrowserSession | None:
        """Return the student's session; None without one."""
        return self._sessions.get(student)

    def watch(self) -> None:
        """Start to end unused sessions in the background."""
        self._watch = asyncio.create_task(self._end_unused())

    async def show(self, student: Student, browser: Browser, size: tuple[int, int]) -> BrowserSession:
        """Show the student's app in the browser, starting the app if necessary.

        Raises:
            ServerFull: All places are taken.
            SessionFailed: The app did not start.
        """
        async with self._locks.setdefault(student.name, asyncio.Lock()):
            session = self._sessions.get(student.name)
            if session is not None and session.is_ending:
                await session.has_ended.wait()
                self._forget(session)
                session = None
            if session is None:
                session = await self._new(student, size)
            await session.show(browser, size)
            return session

    async def end(self, student: str) -> None:
        """End the session of a student; no-op without a session."""
        if session := self._sessions.get(student):
            await session.end()
            self._forget(session)

    async def close(self) -> None:
        """End all sessions."""
        if self._watch is not None:
            self._watch.cancel()
        sessions = [*self._sessions.values()]
        await asyncio.gather(
            *(each.end(Closing.LEAVING, "the server ends") for each in sessions), *self._ending
        )
        self._sessions.clear()

    async def _new(self, student: Student, size: tuple[int, int]) -> BrowserSession:
        while len(self._sessions) >= self._limits.sessions:
            await self._make_room()
        session = BrowserSession(student, self.downloads, self._start)
        self._sessions[student.name] = session
        try:
            async with self._starts:
                await asyncio.to_thread(self._prepare, student)
                own = {**student.environment(self._environment), STUDENT: student.name}
                await session.launch(own, size)
        except BaseException as error:
            self._forget(session)
            if isinstance(error, TutorError):
                log.warning("%s: %s", escaped(student.name), escaped(str(error)))
            if isinstance(error, TutorError) and not isinstance(error, SessionFailed):
                raise SessionFailed(str(error)) from error
            raise
        log.info("%s: session begins (%d of %d)", escaped(student.name), len(self), self._limits.sessions)
        return session

    async def _make_room(self) -> None:
        """End the session that has been without a browser for longest. Raises ServerFull if none qualifies."""
        self._collect_ended()
        if len(self._sessions) < self._limits.sessions:
            return
        now = time.monotonic()
        away = [
            each
            for each in self._sessions.values()
            if not (each.is_shown or each.is_starting) and now - each.left_at > _AWAY_S
        ]
        if not away:
            raise ServerFull(f"all {self._limits.sessions} places are taken: try again in a few minutes")
        longest = min(away, key=lambda each: each.left_at)
        await longest.end()
        self._forget(longest)

    def _forget(self, session: BrowserSession) -> None:
        if self._sessions.get(session.student.name) is session:
            del self._sessions[session.student.name]
            log.info("%s: session ended", escaped(session.student.name))

    def _collect_ended(self) -> None:
        for session in [each for each in self._sessions.values() if each.has_ended.is_set()]:
            self._forget(session)

    async def _end_unused(self) -> None:
        while True:
            await asyncio.sleep(min(_LOOK_EVERY_S, self._limits.keep_s))
            self._collect_ended()
            now = time.monotonic()
            for session in [*self._sessions.values()]:
                if session.is_starting or session.is_ending:
                    continue
                if now - session.last_input > self._limits.idle_s:
                    self._end_in_background(session, "not used")
                elif not session.is_shown and now - session.left_at > self._limits.keep_s:
                    self._end_in_background(session, "not shown")

    def _end_in_background(self, session: BrowserSession, reason: str) -> None:
        task = asyncio.create_task(session.end(Closing.IDLE, reason))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)
