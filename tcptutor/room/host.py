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

from tcptutor.backends.lab import Lab
from tcptutor.base import places
from tcptutor.base.errors import TutorError
from tcptutor.room import launch, protocol, records
from tcptutor.room.lecture_pages import LecturePages
from tcptutor.room.lecture_runs import LectureRuns, Play
from tcptutor.room.lecture_state import (
    Happening,
    LectureRecord,
    Over,
    Passed,
    Resumed,
    RunAsked,
    RunBegan,
    RunOver,
    ShownRun,
    moved,
    run_of,
    shown_run,
    teacher_view,
)
from tcptutor.room.protocol import (
    Ended,
    EndLecture,
    FromTerminal,
    Hello,
    RunBegins,
    RunEvent,
    Shows,
    StartRun,
    StopRun,
    Tells,
    ToTerminal,
    Welcome,
)
from tcptutor.room.records import LectureLog, OpenedLecture
from tcptutor.room.slides import Lecture, Slide
from tcptutor.room.talk import AudienceView, Place, RunView, Talk
from tcptutor.room.terminals import ConnectedTerminal

_IDLE_S = 3 * 3600.0
"""Longest time without a terminal."""
_TICK_S, _SAVE_S = 1.0, 10.0
"""Seconds between two views of the speaker's clock, and between two records of it."""


class LectureProcess:
    """The lecture in a folder, and its terminals."""

    def __init__(self, folder: Path, opened: OpenedLecture) -> None:
        self._folder, self._lecture = folder, opened.lecture
        self._log = LectureLog(folder, opened)
        self._began = time.monotonic() - self._log.state.elapsed_s
        self._pages = LecturePages(opened.lecture)
        self._runs = LectureRuns(folder, lambda: Lab(opened.backend, opened.clock), self)
        self._terminals = list[ConnectedTerminal]()
        self._tasks = set[asyncio.Task[None]]()
        self._ended = asyncio.Event()
        self._reason = ""
        self._remarks = list[str]()
        self._talk = Talk()
        self._with_prepared = dict[Place, bool]()

    async def serve(self) -> None:
        """Serve terminals until the lecture ends or a signal arrives."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, self._stop, "the lecture process was stopped")
        await asyncio.to_thread(self._runs.recover)
        if self._log.state.elapsed_s:
            self._append(Resumed())
        if self._log.damaged:
            self.remark(f"{self._log.damaged} damaged records of the lecture are left out")
        path = launch.socket_path()
        path.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(self._attend, path, limit=protocol.LONGEST_COMMAND)
        path.chmod(0o600)
        self._changed()
        self._spawn(self._prepare_run())
        ticking = asyncio.create_task(self._tick())
        try:
            await self._ended.wait()
        finally:
            ticking.cancel()
            server.close()
            path.unlink(missing_ok=True)
            await self._runs.close()
            for task in self._tasks:
                task.cancel()
            self._broadcast(Ended(self._reason))
            await asyncio.gather(*(terminal.close() for terminal in self._terminals))

    # Terminals

    async def _attend(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        terminal = ConnectedTerminal(reader, writer)
        try:
            hello = await terminal.receive()
            if isinstance(hello, Hello):
                await self._talk_with(terminal, hello)
        finally:
            await terminal.close()

    async def _talk_with(self, terminal: ConnectedTerminal, hello: Hello) -> None:
        if hello.version != protocol.VERSION:
            terminal.send(
                Ended("this terminal runs another version of tcptutor than the lecture: start it again")
            )
            return
        terminal.role = hello.role
        self._terminals.append(terminal)
        try:
            terminal.send(Welcome(self._lecture if terminal.drives else _without_notes(self._lecture)))
            self._changed()
            terminal.send(Shows(self._talk))
            await self._send_run(terminal)
            while (message := await terminal.receive()) is not None:
                if terminal.drives:
                    self._obey(message)
        finally:
            self._terminals.remove(terminal)
            self._changed()

    def _broadcast(self, message: ToTerminal, *, to_watchers: bool = True) -> None:
        text = protocol.line(message)
        for terminal in self._terminals:
            if to_watchers or terminal.drives:
                terminal.write(text)

    # Commands

    def _obey(self, message: FromTerminal) -> None:
        self._remarks.clear()
        match message:
            case StartRun():
                self._spawn(self._start_run(message))
            case StopRun():
                self._spawn(self._runs.stop())
            case EndLecture():
                self._append(Over())
                self._stop(f"the lecture has ended; its record is in {self._folder}")
            case _:
                before = self._shown
                if happening := moved(self._log.state, self._lecture, message):
                    self._append(happening)
                if self._shown != before:
                    self._show_run()
        self._changed()

    def _show_run(self) -> None:
        self._spawn(self._prepare_run())
        for terminal in self._terminals:
            self._spawn(self._send_run(terminal))

    async def _start_run(self, asked: StartRun) -> None:
        shown = self._shown
        if shown is not None and self._runs.shown == shown:
            return
        experiment = await asyncio.to_thread(self._pages.experiment, shown) if shown is not None else None
        if shown is None or experiment is None:
            self.remark(
                "there is no run on this slide" if shown is None else "the course has this run no longer"
            )
            return
        await self._runs.stop()
        if self._runs.shown is not None:
            return
        if asked.source == "live":
            seed = experiment.seed + run_of(self._log.state, shown).live_runs
            experiment = msgspec.structs.replace(experiment, seed=seed)
        self._append(RunAsked(shown, asked.source))
        self._runs.start(shown, experiment, asked.source)
        self._changed()

    # What runs report

    def run_began(self, play: Play) -> None:
        self._append(RunBegan(play.shown, play.id, play.source))
        for terminal in self._terminals:
            if play.shown == self._shown:
                self._send_play(terminal, play)
        self._changed()

    def run_took(self, play: Play, event: bytes) -> None:
        text = protocol.line(RunEvent(play.id, msgspec.Raw(event)))
        for terminal in self._terminals:
            if terminal.run == play.id:
                terminal.write(text)

    def run_over(self, shown: Place, problem: str) -> None:
        self._append(RunOver(shown, problem))
        self._changed()

    def remark(self, text: str) -> None:
        self._remarks.append(text)
        self._changed()

    # The run on screen

    @property
    def _shown(self) -> Place | None:
        return shown_run(self._lecture, self._log.state.place)

    async def _prepare_run(self) -> None:
        """Find out whether the run on screen is prepared, and warm the lab for it."""
        shown = self._shown
        experiment = await asyncio.to_thread(self._pages.experiment, shown) if shown is not None else None
        if shown is None or experiment is None:
            return
        self._runs.warm(experiment)
        self._with_prepared[shown] = await self._runs.has_prepared(experiment)
        self._changed()

    async def _send_run(self, terminal: ConnectedTerminal) -> None:
        """Send the run on screen from its beginning, unless the terminal has it."""
        shown = self._shown
        run = run_of(self._log.state, shown)
        if shown is None or not run.id or terminal.run == run.id:
            return
        play = await self._runs.play_of(shown, run.id, run.source)
        if play is not None and self._shown == shown and terminal.run != run.id:
            self._send_play(terminal, play)

    def _send_play(self, terminal: ConnectedTerminal, play: Play) -> None:
        terminal.run = play.id
        terminal.send(RunBegins(play.id, play.source, msgspec.Raw(play.header)))
        for event in play.events:
            terminal.send(RunEvent(play.id, msgspec.Raw(event)))

    # State

    @property
    def _now(self) -> float:
        return time.monotonic() - self._began

    def _append(self, happening: Happening) -> None:
        self._log.append(LectureRecord(at=self._now, happening=happening))

    def _changed(self) -> None:
        """Show the room what has changed, and the speaker's view to those who drive."""
        state = self._log.state
        shown = self._shown
        talk = Talk(
            place=state.place,
            is_black=state.is_black,
            run=_run_view(run_of(state, shown), shown is not None and self._with_prepared.get(shown, False)),
            audience=AudienceView(),
            fronts=sum(terminal.role == "present" for terminal in self._terminals),
        )
        if talk != self._talk:
            self._talk = talk
            self._broadcast(Shows(talk))
        self._tell()

    def _tell(self) -> None:
        view = teacher_view(self._log.state, self._lecture, self._now)
        remarks = tuple(self._remarks) + ((self._log.problem,) if self._log.problem else ())
        self._broadcast(Tells(msgspec.structs.replace(view, remarks=remarks)), to_watchers=False)

    async def _tick(self) -> None:
        alone_since = saved = time.monotonic()
        while True:
            await asyncio.sleep(_TICK_S)
            now = time.monotonic()
            if self._terminals:
                alone_since = now
                self._tell()
            elif now - alone_since > _IDLE_S:
                self._stop("no terminal for three hours")
            if now - saved > _SAVE_S:
                saved = now
                self._append(Passed())

    def _stop(self, reason: str) -> None:
        self._reason = self._reason or reason
        self._ended.set()

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _run_view(run: ShownRun, has_prepared: bool) -> RunView:
    return RunView(
        state=run.state, source=run.source, id=run.id, problem=run.problem, has_prepared=has_prepared
    )


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
