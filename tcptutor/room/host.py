"""The lecture process: `python -m tcptutor.room.host FOLDER`. It owns a lecture while terminals come and go.

It ends when the teacher ends the lecture, and after three hours without a terminal; killed, it resumes from the log in
FOLDER.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Coroutine
from pathlib import Path

import msgspec

from tcptutor.base import places
from tcptutor.base.errors import TutorError
from tcptutor.room import launch, protocol, records
from tcptutor.room.lecture_control import LectureControl
from tcptutor.room.lecture_runs import Play
from tcptutor.room.protocol import (
    Ended,
    EndLecture,
    Hello,
    RunBegins,
    RunEvent,
    Shows,
    Tells,
    ToTerminal,
    Welcome,
)
from tcptutor.room.records import OpenedLecture
from tcptutor.room.slides import Lecture, Slide
from tcptutor.room.talk import Talk
from tcptutor.room.terminals import ConnectedTerminal

_IDLE_S = 3 * 3600.0
"""Longest time without a terminal."""
_TICK_S, _SAVE_S = 1.0, 10.0
"""Seconds between two views of the speaker's clock, and between two records of it."""


class LectureProcess:
    """A lecture and its terminals."""

    def __init__(self, folder: Path, opened: OpenedLecture) -> None:
        self._terminals = list[ConnectedTerminal]()
        self._sending = set[asyncio.Task[None]]()
        self._ended = asyncio.Event()
        self._reason = ""
        self._talk = Talk()
        self._control = LectureControl(folder, opened, self)

    async def serve(self) -> None:
        """Serve terminals until the lecture ends or a signal arrives."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop, "the lecture process was stopped")
        await self._control.start()
        path = launch.socket_path()
        path.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(self._attend, path, limit=protocol.LONGEST_COMMAND)
        path.chmod(0o600)
        ticking = asyncio.create_task(self._tick())
        try:
            await self._ended.wait()
        finally:
            ticking.cancel()
            server.close()
            path.unlink(missing_ok=True)
            self._broadcast(Ended(self._reason))
            await asyncio.gather(*(terminal.close() for terminal in self._terminals), self._control.close())

    # Terminals

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        terminal = ConnectedTerminal(reader, writer)
        try:
            hello = await terminal.receive()
            if isinstance(hello, Hello):
                await self._serve_terminal(terminal, hello)
        finally:
            await terminal.close()

    async def _serve_terminal(self, terminal: ConnectedTerminal, hello: Hello) -> None:
        if hello.version != protocol.VERSION:
            terminal.send(
                Ended("this terminal runs another version of tcptutor than the lecture: start it again")
            )
            return
        terminal.role = hello.role
        lecture = self._control.lecture
        self._terminals.append(terminal)
        try:
            terminal.send(Welcome(lecture if terminal.drives else _without_notes(lecture)))
            self.lecture_changed()
            terminal.send(Shows(self._talk))
            await self._send_run(terminal)
            while (message := await terminal.receive()) is not None:
                if terminal.drives:
                    self._control.obey(message)
                    if isinstance(message, EndLecture):
                        self._stop(
                            f"the lecture has ended: {self._control.report_file} has its times and votes"
                        )
        finally:
            self._terminals.remove(terminal)
            self.lecture_changed()

    def _broadcast(self, message: ToTerminal, *, to_watchers: bool = True) -> None:
        text = protocol.line(message)
        for terminal in self._terminals:
            if to_watchers or terminal.drives:
                terminal.write(text)

    async def _send_run(self, terminal: ConnectedTerminal) -> None:
        """Send the run on screen from its beginning, unless the terminal has it."""
        play = await self._control.play()
        if play is None or terminal.run == play.id:
            return
        terminal.run = play.id
        terminal.send(RunBegins(play.id, play.source, msgspec.Raw(play.header)))
        for event in play.events:
            terminal.send(RunEvent(play.id, msgspec.Raw(event)))

    # What the lecture reports

    def lecture_changed(self) -> None:
        """Show the room what has changed, and the speaker's view to those who drive."""
        fronts = sum(terminal.role == "present" for terminal in self._terminals)
        talk = msgspec.structs.replace(self._control.talk, fronts=fronts)
        if talk != self._talk:
            self._talk = talk
            self._broadcast(Shows(talk))
        self._broadcast(Tells(self._control.teacher_view), to_watchers=False)

    def run_changed(self) -> None:
        """Send every terminal the run on screen."""
        for terminal in self._terminals:
            self._spawn(self._send_run(terminal))

    def run_grew(self, play: Play, event: bytes) -> None:
        """Send an event to the terminals that show its run."""
        text = protocol.line(RunEvent(play.id, msgspec.Raw(event)))
        for terminal in self._terminals:
            if terminal.run == play.id:
                terminal.write(text)

    # Time

    async def _tick(self) -> None:
        alone_since = saved = time.monotonic()
        while True:
            await asyncio.sleep(_TICK_S)
            now = time.monotonic()
            if self._terminals:
                alone_since = now
                self.lecture_changed()
            elif now - alone_since > _IDLE_S:
                self._stop("no terminal for three hours")
            if now - saved > _SAVE_S:
                saved = now
                self._control.pass_time()

    def _stop(self, reason: str) -> None:
        self._reason = self._reason or reason
        self._ended.set()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)


def _without_notes(lecture: Lecture) -> Lecture:
    def plain(slide: Slide) -> Slide:
        steps = tuple(msgspec.structs.replace(step, notes="") for step in slide.steps)
        return msgspec.structs.replace(slide, notes="", steps=steps)

    return msgspec.structs.replace(lecture, slides=tuple(map(plain, lecture.slides)))


def _choose_course(opened: OpenedLecture) -> None:
    if opened.course:
        from tcptutor.course.pack import course_folder  # noqa: PLC0415  # the shipped course needs none

        given = Path(opened.course)
        places.choose_course(places.ChosenCourse(given, course_folder(given), opened.lecture.course))


def main() -> None:
    """Serve the lecture whose folder is the only argument."""
    folder = Path(sys.argv[1])
    os.umask(0o077)
    try:
        opened = records.read_opened(folder)
        _choose_course(opened)
        with launch.only_process(folder) as is_only:
            if is_only and not records.read_state(folder).is_over:
                asyncio.run(LectureProcess(folder, opened).serve())
    except TutorError as error:
        raise SystemExit(str(error)) from error


if __name__ == "__main__":
    main()
