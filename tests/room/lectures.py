"""Lectures for tests, and a terminal that a test drives."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec

from tcptutor.backends.events import add
from tcptutor.room import launch, records
from tcptutor.room.client import Interrupted, TerminalConnection
from tcptutor.room.host import LectureProcess
from tcptutor.room.protocol import FromTerminal, Role, RunBegins, RunEvent, Shows, Tells, ToTerminal, Welcome
from tcptutor.room.records import OpenedLecture
from tcptutor.room.slides import Lecture, RunShown, Sentence, Slide, VerdictShown
from tcptutor.room.talk import Talk, TeacherView
from tcptutor.run import Run
from tcptutor.wire.protocol import Event, event_decoder
from tests import patience

RUN_PAGES = (
    ("congestion-algorithms", "slow-start"),
    ("pacing", "a-burst-before-a-short-queue"),
)


def slide(headline: str, module: str = "", page: str = "", minutes: float = 1.0) -> Slide:
    """A slide of two lines, or of a page with a run."""
    run = (RunShown(notes="secret"), VerdictShown()) if page else (Sentence(text="second"),)
    return Slide(
        headline=headline,
        module=module,
        page=page,
        minutes=minutes,
        notes="secret",
        steps=(Sentence(text="first", notes="secret"), *run),
    )


def opened(*slides: Slide, backend: str = "replay") -> OpenedLecture:
    """A lecture of these slides, whose page has a free port."""
    return OpenedLecture(
        lecture=Lecture(title="A lecture", slides=slides),
        started="2026-01-01T00:00:00+00:00",
        backend=backend,
        listen="127.0.0.1:0",
    )


class FollowedRun:
    """The run on the slide as its messages arrive; None before the first."""

    def __init__(self) -> None:
        self.run: Run | None = None
        self.id = ""

    def take(self, message: RunBegins | RunEvent) -> Event | None:
        """Apply a message and return the event in it."""
        if isinstance(message, RunBegins):
            self.run, self.id = msgspec.json.decode(message.header, type=Run), message.id
            return None
        if self.run is None or message.id != self.id:
            return None
        event = event_decoder.decode(message.event)
        add(self.run, event)
        return event


class DrivenTerminal:
    """A connected terminal that keeps what it was shown last."""

    def __init__(self, connection: TerminalConnection) -> None:
        self.connection = connection
        self.lecture: Lecture | None = None
        self.talk: Talk | None = None
        self.view: TeacherView | None = None
        self.followed = FollowedRun()
        self.received: list[ToTerminal | Interrupted] = []
        self._news = asyncio.Event()

    async def listen(self) -> None:
        async for message in self.connection:
            self.received.append(message)
            match message:
                case Welcome(lecture=lecture):
                    self.lecture = lecture
                case Shows(talk=talk):
                    self.talk = talk
                case Tells(view=view):
                    self.view = view
                case RunBegins() | RunEvent():
                    self.followed.take(message)
            self._news.set()

    def send(self, message: FromTerminal) -> None:
        self.connection.send(message)

    async def until(self, is_so: Callable[[Talk], bool], seconds: float = 10.0) -> Talk:
        """Wait until the terminal shows a state."""
        async with asyncio.timeout(patience.seconds(seconds)):
            while self.talk is None or not is_so(self.talk):
                self._news.clear()
                await self._news.wait()
        return self.talk

    async def heard(self, is_so: Callable[[], bool], seconds: float = 10.0) -> None:
        """Wait until something else is so, checked with each message."""
        async with asyncio.timeout(patience.seconds(seconds)):
            while not is_so():
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def terminal(role: Role = "present") -> AsyncIterator[DrivenTerminal]:
    """A terminal connected to the running lecture."""
    async with TerminalConnection(role) as connection:
        driven = DrivenTerminal(connection)
        listening = asyncio.create_task(driven.listen())
        try:
            yield driven
        finally:
            listening.cancel()
            await asyncio.wait([listening])


def process_of(folder: Path) -> int:
    """The id of the process of the lecture in `folder`."""
    deadline = patience.Deadline(10)
    while deadline.left:
        for each in Path("/proc").glob("[0-9]*"):
            try:
                words = (each / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if os.fsencode(folder) in words and b"tcptutor.room.host" in words:
                return int(each.name)
        time.sleep(0.02)
    raise AssertionError(f"no process of {folder}")


def start(given: OpenedLecture) -> Path:
    """Start the process of a new lecture; return its folder."""
    folder = records.create(given)
    launch.start(folder)
    return folder


@asynccontextmanager
async def served_here(given: OpenedLecture) -> AsyncIterator[Path]:
    """A new lecture that is served in this process and loop; yields its folder."""
    folder = records.create(given)
    with launch.only_process(folder):
        serving = asyncio.create_task(LectureProcess(folder, given).serve())
        try:
            async with asyncio.timeout(patience.seconds(10)):
                while not launch.socket_path().exists():  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            yield folder
        finally:
            if not serving.done():
                os.kill(os.getpid(), signal.SIGTERM)
            await serving


def wait_for_end(process: int) -> None:
    """Wait until a process has ended, reaped or not."""
    deadline = patience.Deadline(10)
    while deadline.left:
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return
        except OSError:
            return
        time.sleep(0.02)
    raise AssertionError(f"process {process} lives on")
