"""Control of a lecture: executes commands of terminals, and computes the views for room and speaker."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Protocol

import msgspec

from tcptutor.backends.lab import Lab
from tcptutor.backends.replay import playback
from tcptutor.base import decoding, files, places
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.room.flows import FlowMeter, FlowsPlan
from tcptutor.room.lecture_pages import LecturePages
from tcptutor.room.lecture_polls import LecturePolls, PollCommand
from tcptutor.room.lecture_report import report_text
from tcptutor.room.lecture_runs import LectureRuns, Play
from tcptutor.room.lecture_state import (
    FlowsAsked,
    FlowsPlanned,
    Happening,
    LectureRecord,
    LectureState,
    Over,
    Passed,
    Polled,
    RunAsked,
    RunBegan,
    RunOver,
    moved,
    question_of,
    run_of,
    shown_run,
    talk_of,
    teacher_view,
)
from tcptutor.room.protocol import (
    ClosePoll,
    Discuss,
    EndLecture,
    FromTerminal,
    OpenPoll,
    StartRun,
    StopRun,
)
from tcptutor.room.records import LectureLog, OpenedLecture
from tcptutor.room.slides import FlowsShown
from tcptutor.room.talk import FlowsView, LecturePlace, MarkedValue, RunSource, Talk, TeacherView
from tcptutor.run import Run
from tcptutor.spec import Experiment
from tcptutor.wire.protocol import Event


class LectureListener(Protocol):
    """Receiver of all changes of a lecture."""

    def lecture_changed(self) -> None:
        """Handle a new `LectureControl.talk` or `LectureControl.teacher_view`."""

    def command_refused(self, reason: str) -> None:
        """Handle a refused command."""

    def run_changed(self) -> None:
        """Handle a new run on screen, `LectureControl.play`."""

    def run_grew(self, play: Play, event: bytes) -> None:
        """Handle an event of a run, on screen or not."""


class LectureControl:
    """Control of the lecture in a folder, without its terminals."""

    def __init__(
        self, folder: Path, opened: OpenedLecture, log: LectureLog, listener: LectureListener
    ) -> None:
        self.lecture, self._listener = opened.lecture, listener
        self.report_file = folder / "report.txt"
        """Report that is written at the end of the lecture."""
        self._log = log
        self._began = time.monotonic() - self.state.elapsed_s
        self._pages = LecturePages(opened.lecture, folder.name)
        self._runs = LectureRuns(folder, lambda: Lab(opened.backend, opened.clock), self)
        self._polls = LecturePolls(folder, opened, listener.lecture_changed)
        self._meter: FlowMeter | None = None
        """Rates of the room experiment that was last run or shown."""
        self._metered: LecturePlace | None = None
        self._with_prepared = dict[LecturePlace, bool]()
        self._remarks = list[str]()
        self._starting: LecturePlace | None = None
        """Place of the step with a run that is being planned."""
        self._tasks = set[asyncio.Task[None]]()

    async def start(self) -> None:
        """Resume a killed lecture, and open the students' page in the background."""
        await asyncio.to_thread(self._runs.recover)
        if self._log.damaged:
            self._remarks.append(f"{self._log.damaged} damaged records of the lecture are left out")
        self._enter_run()
        self._spawn(self._polls.start())

    async def close(self) -> None:
        """Stop the run, the lab and the page of the students."""
        for task in self._tasks:
            task.cancel()
        await self._runs.close()
        await self._polls.close()

    # State

    @property
    def state(self) -> LectureState:
        """State derived from the records."""
        return self._log.state

    @property
    def talk(self) -> Talk:
        """State of the screen."""
        shown = self._shown
        has_prepared = shown is not None and self._with_prepared.get(shown, False)
        return msgspec.structs.replace(
            talk_of(self.state, self.lecture, has_prepared=has_prepared),
            poll=self._polls.view(self.lecture.slides[self.state.place.slide]),
            audience=self._polls.audience,
            flows=self._flows,
        )

    @property
    def teacher_view(self) -> TeacherView:
        """Private view of the speaker."""
        view = teacher_view(self.state, self.lecture, self._now)
        remarks = tuple(self._remarks) + ((self._log.problem,) if self._log.problem else ())
        return self._polls.speaker_view(msgspec.structs.replace(view, remarks=remarks))

    async def play(self) -> Play | None:
        """Return the run on screen; None before its first event."""
        shown = self._shown
        run = run_of(self.state, shown)
        return await self._runs.play_of(shown, run.id, run.source) if shown is not None and run.id else None

    def pass_time(self) -> None:
        """Record the elapsed time."""
        self._append(Passed())

    @property
    def _shown(self) -> LecturePlace | None:
        """Place of the step that shows the run on screen."""
        return shown_run(self.lecture, self.state.place)

    @property
    def _flows(self) -> FlowsView | None:
        """Room experiment on screen."""
        if self._meter is None or self._shown != self._metered:
            return None
        view = msgspec.structs.replace(self._meter.view(), earlier=self._polls.earlier_flows)
        is_over = run_of(self.state, self._metered).state in ("ended", "failed")
        return msgspec.structs.replace(view, state="stopped") if is_over and view.state == "running" else view

    @property
    def _now(self) -> float:
        return time.monotonic() - self._began

    def _append(self, happening: Happening) -> None:
        self._log.append(LectureRecord(at=self._now, happening=happening))

    # Commands

    def obey(self, message: FromTerminal) -> None:
        """Execute a command."""
        self._remarks.clear()
        match message:
            case StartRun():
                self._spawn(self._start_run(message))
            case StopRun():
                self._spawn(self._runs.stop())
            case OpenPoll() | ClosePoll() | Discuss():
                self._spawn(self._poll(message))
            case EndLecture():
                self._append(Over())
                self._write_report()
            case _:
                self._move(message)
        self._listener.lecture_changed()

    def _move(self, message: FromTerminal) -> None:
        before = self._shown
        if happening := moved(self.state, self.lecture, message):
            self._append(happening)
        if self._shown != before:
            self._enter_run()

    async def _start_run(self, asked: StartRun) -> None:
        shown = self._shown
        if shown is None or self._is_busy(shown):
            self._refuse("there is no run on this slide yet" if shown is None else "the run is in progress")
            return
        self._starting = shown
        try:
            experiment = await self._experiment(shown, asked.source)
            await self._runs.stop()
            if self._runs.shown is None:
                self._append(RunAsked(shown, asked.source))
                self._runs.start(shown, experiment, asked.source)
                self._listener.lecture_changed()
        except TutorError as error:
            self._refuse(str(error))
        finally:
            self._starting = None

    def _is_busy(self, shown: LecturePlace) -> bool:
        """Return whether the run of a step is being planned or in progress."""
        return shown in (self._starting, self._runs.shown)

    async def _experiment(self, shown: LecturePlace, source: RunSource) -> Experiment:
        """Return the experiment to run, with a new seed for each live run. Raises UsageError."""
        step = self.lecture.slides[shown.slide].steps[shown.step]
        number = run_of(self.state, shown).live_runs if source == "live" else 0
        if isinstance(step, FlowsShown):
            self._polls.check_picks(source)
            picks = self._polls.picks if source == "live" else {}
            plan = await asyncio.to_thread(self._pages.plan_flows, step, picks, number)
            self._append(FlowsPlanned(shown, msgspec.Raw(msgspec.json.encode(plan))))
            self._show_flows(FlowMeter(plan), shown)
            return plan.experiment
        experiment = await asyncio.to_thread(self._pages.experiment, shown)
        if experiment is None:
            raise UsageError("the course has this run no longer")
        return msgspec.structs.replace(experiment, seed=experiment.seed + number)

    async def _poll(self, command: PollCommand) -> None:
        place = question_of(self.lecture, self.state.place)
        try:
            asked = None
            if isinstance(command, OpenPoll):
                if place is None:
                    raise UsageError("there is no question on this slide yet")
                if self._flows_asked(place) and self._is_busy(place):
                    raise UsageError("the run of these flows is in progress: x stops it")
                run = await self._run_on_slide()
                asked = await asyncio.to_thread(self._pages.ask, place, run)
            self._append(Polled(command))
            self._polls.obey(command, asked)
            if isinstance(command, OpenPoll) and place is not None and self._flows_asked(place):
                self._append(FlowsAsked(place))
                self._meter = self._metered = None
                self._polls.show_flows(None)
        except TutorError as error:
            self._refuse(str(error))
        await self._compare()

    def _flows_asked(self, place: LecturePlace) -> bool:
        """Return whether the question at `place` asks the room to pick its flows."""
        return isinstance(self.lecture.slides[place.slide].steps[place.step], FlowsShown)

    async def _compare(self) -> None:
        """Compare the room's prediction with models and with the latest run, once the run has ended."""
        asked, slide = self._polls.asked, self.state.place.slide
        if asked is None or not asked.is_prediction or self._polls.view(self.lecture.slides[slide]) is None:
            return
        is_running = self._runs.shown is not None and self._runs.shown.slide == slide
        run = None if is_running else await self._run_on_slide()
        compared: tuple[float | None, tuple[MarkedValue, ...]] | None = None, ()
        if run is not None and run.complete:
            compared = await asyncio.to_thread(self._pages.compare, asked, run)
        if compared is not None and self._polls.asked == asked:
            self._polls.compare(*compared)

    async def _run_on_slide(self) -> Run | None:
        """Return the latest ended run on the slide."""
        slide = self.state.place.slide
        ended = (run.id for at, run in self.state.runs.items() if at.slide == slide and run.state == "ended")
        ids = [*ended]
        return await self._runs.load(ids[-1]) if ids else None

    def _write_report(self) -> None:
        votes = self._polls.report()
        texts = {"report.txt": report_text(self.lecture, self.state, votes.text() if votes else "")}
        if votes is not None:
            texts |= {"votes.csv": votes.csv(), "votes.json": votes.json()}
        try:
            for name, text in texts.items():
                path = self.report_file.with_name(name)
                with files.atomic(path, places.STATE_ELSEWHERE, private=True) as part:
                    part.write_text(text, encoding="utf-8")
        except TutorError as error:
            self.remark(str(error))

    # Reports of runs

    def run_began(self, play: Play) -> None:
        """Record the start of a run."""
        self._append(RunBegan(play.shown, play.id, play.source))
        if play.shown == self._shown:
            self._listener.run_changed()
        self._listener.lecture_changed()
        self._spawn(self._compare())

    def run_took(self, play: Play, event: Event, text: bytes) -> None:
        """Forward an event of a run to the terminals and the flow meter."""
        self._listener.run_grew(play, text)
        if self._meter is not None and play.shown == self._metered:
            self._meter.take(event)
            self._listener.lecture_changed()

    def run_over(self, shown: LecturePlace, problem: str, *, is_stopped: bool) -> None:
        """Record the end of a run."""
        self._append(RunOver(shown, problem, is_stopped))
        if shown == self._metered:
            self._polls.show_flows(self._meter)
        self._listener.lecture_changed()
        self._spawn(self._compare())

    def remark(self, text: str) -> None:
        """Show a problem to the speaker."""
        self._remarks.append(text)
        self._listener.lecture_changed()

    def _refuse(self, reason: str) -> None:
        self._listener.command_refused(reason)
        self.remark(reason)

    # The run on screen

    def _enter_run(self) -> None:
        self._spawn(self._prepare_run())
        self._listener.run_changed()

    async def _prepare_run(self) -> None:
        """Look for a prepared run of the experiment on screen, and start the lab for it."""
        shown = self._shown
        experiment = await asyncio.to_thread(self._pages.experiment, shown) if shown is not None else None
        if shown is None or experiment is None:
            return
        if shown in self.state.plans:
            await self._resume_flows(shown)
        self._runs.warm(experiment)
        self._with_prepared[shown] = await self._runs.has_prepared(experiment)
        self._listener.lecture_changed()

    async def _resume_flows(self, shown: LecturePlace) -> None:
        """Compute the rates of an earlier room experiment from its plan and run."""
        run = await self._runs.load(run_of(self.state, shown).id)
        meter = FlowMeter(decoding.decode_json(self.state.plans[shown], FlowsPlan))
        if run is not None and self._shown == shown != self._metered and shown in self.state.plans:
            for event in playback(run):
                meter.take(event)
            self._show_flows(meter, shown)

    def _show_flows(self, meter: FlowMeter, shown: LecturePlace) -> None:
        self._meter, self._metered = meter, shown
        self._polls.show_flows(meter)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
