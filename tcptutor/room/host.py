"""Lecture process: `python -m tcptutor.room.host FOLDER`. It owns a lecture while terminals connect and disconnect.

It exits when the teacher ends the lecture, and after three hours without a terminal. A restarted process resumes from
the log in FOLDER.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tcptutor.base import places
from tcptutor.base.errors import TutorError
from tcptutor.room import launch, protocol, records
from tcptutor.room.lecture_state import LectureRecord, Resumed, talk_of
from tcptutor.room.protocol import (
    CommandRefused,
    EndLecture,
    FromTerminal,
    LectureEnded,
    RunBegins,
    RunEvent,
    Shows,
    Tells,
    TerminalHello,
    ToTerminal,
    Welcome,
)
from tcptutor.room.records import LectureLog, OpenedLecture
from tcptutor.room.slides import Lecture, Slide
from tcptutor.room.terminals import ConnectedTerminal

if TYPE_CHECKING:
    from tcptutor.room.lecture_control import LectureControl
    from tcptutor.room.lecture_runs import Play

_IDLE_S = 3 * 3600.0
"""Seconds without a terminal after which the process exits."""
_TICK_S, _SAVE_S = 1.0, 10.0
"""Seconds between updates of the speaker's clock, and between records of the time."""


class LectureProcess:
    """Server of a lecture for its terminals."""

    def __init__(self, folder: Path, opened: OpenedLecture) -> None:
        self._folder, self._opened = folder, opened
        self._log = LectureLog(folder, opened)
        self._terminals = list[ConnectedTerminal]()
        self._sending = set[asyncio.Task[None]]()
        self._ended = asyncio.Event()
        self._reason = ""
        self._talk = talk_of(self._log.state, opened.lecture)
        self._control: LectureControl | None = None
        self._can_obey = asyncio.Event()

    async def serve(self) -> None:
        """Serve terminals until the lecture ends or a signal arrives."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop, "the lecture process was stopped")
        if self._log.state.elapsed_s:
            self._log.append(LectureRecord(at=self._log.state.elapsed_s, happening=Resumed()))
        await self._listen()
        working = asyncio.create_task(self._work())
        ended = asyncio.create_task(self._ended.wait())
        try:
            await asyncio.wait([working, ended], return_when=asyncio.FIRST_COMPLETED)
            if working.done():
                working.result()
        except Exception as error:
            self._stop(f"the lecture process failed ({type(error).__name__}: {error})")
            raise
        finally:
            ended.cancel()
            self._close_socket()
            self._broadcast(LectureEnded(self._reason))
            working.cancel()
            await asyncio.gather(working, *(each.close() for each in self._terminals), return_exceptions=True)
            if self._control is not None:
                await self._control.close()

    async def _listen(self) -> None:
        path = launch.socket_path()
        path.unlink(missing_ok=True)
        self._server = await asyncio.start_unix_server(self._attend, path, limit=protocol.LONGEST_COMMAND)
        path.chmod(0o600)
        self._path = path

    async def _keep_listening(self) -> None:
        """Listen again if the socket was removed, for example by a cleaner of /tmp."""
        if not os.path.lexists(self._path):  # noqa: ASYNC240  # /tmp answers at once
            self._server.close()
            with contextlib.suppress(OSError, TutorError):  # retried at the next tick
                await self._listen()

    def _close_socket(self) -> None:
        self._server.close()
        self._path.unlink(missing_ok=True)

    async def _work(self) -> None:
        """Import and start the control, after a resumed lecture has shown its slide."""
        control = (await asyncio.to_thread(_import_control))(self._folder, self._opened, self._log, self)
        self._control = control
        await control.start()
        self._can_obey.set()
        self.lecture_changed()
        self.run_changed()
        await self._tick(control)

    # Terminals

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        terminal = ConnectedTerminal(reader, writer)
        try:
            hello = await terminal.receive()
            if isinstance(hello, TerminalHello):
                await self._serve_terminal(terminal, hello)
        finally:
            await terminal.close()

    async def _serve_terminal(self, terminal: ConnectedTerminal, hello: TerminalHello) -> None:
        if hello.version != protocol.VERSION:
            terminal.send(
                LectureEnded(
                    "this terminal runs another version of tcptutor than the lecture: start it again"
                )
            )
            return
        terminal.role = hello.role
        lecture = self._opened.lecture
        self._terminals.append(terminal)
        try:
            shown = lecture if terminal.drives else _without_notes(lecture)
            terminal.send(Welcome(shown, seed=self._folder.name))
            self.lecture_changed()
            terminal.send(Shows(self._talk))
            self._spawn(self._send_run(terminal))
            while (message := await terminal.receive()) is not None:
                if terminal.drives:
                    await self._obey(message)
        finally:
            self._terminals.remove(terminal)
            self.lecture_changed()

    async def _obey(self, message: FromTerminal) -> None:
        await self._can_obey.wait()
        assert self._control is not None
        self._control.obey(message)
        if isinstance(message, EndLecture):
            self._stop(f"the lecture has ended: {self._control.report_file} has its times and votes")

    def _broadcast(self, message: ToTerminal, *, to_watchers: bool = True) -> None:
        text = protocol.line(message)
        for terminal in self._terminals:
            if to_watchers or terminal.drives:
                terminal.write(text)

    async def _send_run(self, terminal: ConnectedTerminal) -> None:
        """Send the run on screen from its beginning, unless the terminal has it."""
        play = await self._control.play() if self._control is not None else None
        if play is None or terminal.run == play.id:
            return
        terminal.run = play.id
        terminal.send(RunBegins(play.id, play.source, msgspec.Raw(play.header)))
        for event in play.events:
            terminal.send(RunEvent(play.id, msgspec.Raw(event)))

    # Reports of the lecture

    def lecture_changed(self) -> None:
        """Send the changed state to all terminals, and the speaker's view to driving terminals."""
        control = self._control
        talk = control.talk if control is not None else talk_of(self._log.state, self._opened.lecture)
        fronts = sum(terminal.role == "present" for terminal in self._terminals)
        talk = msgspec.structs.replace(talk, fronts=fronts)
        if talk != self._talk:
            self._talk = talk
            self._broadcast(Shows(talk))
        if control is not None:
            self._broadcast(Tells(control.teacher_view), to_watchers=False)

    def command_refused(self, reason: str) -> None:
        """Send the reason for a refused command to driving terminals."""
        self._broadcast(CommandRefused(reason), to_watchers=False)

    def run_changed(self) -> None:
        """Send the run on screen to every terminal."""
        for terminal in self._terminals:
            self._spawn(self._send_run(terminal))

    def run_grew(self, play: Play, event: bytes) -> None:
        """Send an event to the terminals that show its run."""
        text = protocol.line(RunEvent(play.id, msgspec.Raw(event)))
        for terminal in self._terminals:
            if terminal.run == play.id:
                terminal.write(text)

    # Time

    async def _tick(self, control: LectureControl) -> None:
        last_attended = saved = time.monotonic()
        while True:
            await asyncio.sleep(_TICK_S)
            await self._keep_listening()
            now = time.monotonic()
            if self._terminals:
                last_attended = now
                self.lecture_changed()
            elif now - last_attended > _IDLE_S:
                self._stop("no terminal for three hours")
            if now - saved > _SAVE_S:
                saved = now
                control.pass_time()

    def _stop(self, reason: str) -> None:
        self._reason = self._reason or reason
        self._ended.set()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)


def _import_control() -> type[LectureControl]:
    from tcptutor.room.lecture_control import LectureControl  # noqa: PLC0415

    return LectureControl


def _without_notes(lecture: Lecture) -> Lecture:
    def plain(slide: Slide) -> Slide:
        steps = tuple(msgspec.structs.replace(step, notes="") for step in slide.steps)
        return msgspec.structs.replace(slide, notes="", steps=steps)

    return msgspec.structs.replace(lecture, slides=tuple(map(plain, lecture.slides)))


def _choose_course(opened: OpenedLecture) -> None:
    if opened.course:
        from tcptutor.course.sources import course_folder  # noqa: PLC0415  # not needed for the shipped course

        given = opened.course
        places.choose_course(places.ChosenCourse(given, course_folder(given), opened.lecture.course))


def main() -> None:
    """Serve the lecture in the folder that is the only argument."""
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
