"""Runs of a lecture in sequence, live in the lab or prepared, stored as run files in the lecture's folder."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Protocol

import msgspec

from tcptutor.backends.lab import Lab
from tcptutor.backends.replay import playback
from tcptutor.base.errors import LabUnavailable, TutorError
from tcptutor.room.prepared import PreparedRuns
from tcptutor.room.talk import LecturePlace, RunSource
from tcptutor.run import Fidelity, Run, load, save
from tcptutor.run.files import text_lines
from tcptutor.runs.conduct import ConductedRun
from tcptutor.runs.store import RunStore
from tcptutor.spec import Experiment
from tcptutor.wire import protocol
from tcptutor.wire.protocol import CapturedPackets, Event

_LONGEST_PLAY_S = 20.0
"""Longest time to play a prepared run, s; longer runs are played faster."""
_MOST_PLAYS = 4
"""Most runs with events in memory, a few megabytes each."""


class Play(msgspec.Struct, kw_only=True):
    """Run as sent to terminals: its header and its events so far."""

    shown: LecturePlace
    source: RunSource
    id: str
    header: bytes
    """First line of the run's file, as at the start of the run."""
    events: list[bytes] = []


class RunListener(Protocol):
    """Receiver of all changes of runs."""

    def run_began(self, play: Play) -> None:
        """Announce a run, before its first event."""

    def run_took(self, play: Play, event: Event, text: bytes) -> None:
        """Announce an event and its text."""

    def run_over(self, shown: LecturePlace, problem: str, *, is_stopped: bool) -> None:
        """Announce the end of a run, possibly before its first event; `problem` is empty unless it failed."""

    def remark(self, text: str) -> None:
        """Report a problem that does not affect the run to the speaker."""


class LectureRuns:
    """Executes the lecture's runs in sequence."""

    def __init__(self, folder: Path, make_lab: Callable[[], Lab], listener: RunListener) -> None:
        self._store = RunStore(folder / "runs")
        self._make_lab, self._listener = make_lab, listener
        self._prepared_runs = PreparedRuns()
        self._lab: Lab | None = None
        self._task: asyncio.Task[None] | None = None
        self._warming: asyncio.Task[None] | None = None
        self._plays: dict[str, Play] = {}
        self.shown: LecturePlace | None = None
        """Place of the step with the run in progress; None without a run."""

    def recover(self) -> None:
        """Turn the unfinished run of a killed lecture process into a run file. Blocks."""
        self._store.recover()

    def warm(self, experiment: Experiment) -> None:
        """Start the lab for a likely run, in the background."""
        if self._task is None and (self._warming is None or self._warming.done()):
            self._warming = asyncio.create_task(self._warm(experiment))

    def start(self, shown: LecturePlace, experiment: Experiment, source: RunSource) -> None:
        """Start the run of a step. The run in progress must have been stopped."""
        assert self._task is None
        self.shown = shown
        self._task = asyncio.create_task(self._run(shown, experiment, source))

    async def stop(self) -> None:
        """Stop the run in progress, if any, and save its data."""
        task = self._task
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

    async def close(self) -> None:
        """Stop the run and shut the lab down."""
        await self.stop()
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.wait([self._warming])
        if self._lab is not None:
            await self._lab.close()

    async def play_of(self, shown: LecturePlace, id_: str, source: RunSource) -> Play | None:
        """Return an earlier run from memory or its file; None if it is lost."""
        if id_ in self._plays:
            return self._plays[id_]
        file = self._store.file(id_)
        assert file is not None
        try:
            play = await asyncio.to_thread(_play_of_file, file, shown, source)
        except TutorError:
            return None
        self._keep(play)
        return play

    async def load(self, id_: str) -> Run | None:
        """Return an earlier run from its file; None if it is lost."""
        file = self._store.file(id_)
        assert file is not None
        try:
            return await asyncio.to_thread(load, file)
        except TutorError:
            return None

    async def has_prepared(self, experiment: Experiment) -> bool:
        """Return whether the experiment has a prepared run."""
        return await asyncio.to_thread(self._prepared_runs.find, experiment) is not None

    async def _warm(self, experiment: Experiment) -> None:
        with contextlib.suppress(TutorError):
            await self._open_lab().warm(experiment)

    def _open_lab(self) -> Lab:
        self._lab = self._lab or self._make_lab()
        return self._lab

    async def _run(self, shown: LecturePlace, experiment: Experiment, source: RunSource) -> None:
        problem, is_stopped = "", False
        try:
            if source == "live":
                await self._run_live(shown, experiment)
            else:
                await self._play_prepared(shown, experiment)
        except TutorError as error:
            problem = str(error)
        except asyncio.CancelledError:
            is_stopped = True
            raise
        finally:
            self._task = self.shown = None
            self._listener.run_over(shown, problem, is_stopped=is_stopped)

    async def _run_live(self, shown: LecturePlace, experiment: Experiment) -> None:
        lab, play = self._open_lab(), None
        if self._warming is not None:
            await asyncio.wait([self._warming])
        environment = await lab.warm(experiment)
        # Without a lab a recording is played, which the room must not mistake for a live run.
        source: RunSource = "prepared" if environment.backend == "replay" else "live"
        conducted = ConductedRun(lab, experiment, self._store)
        async with conducted:
            async for event in conducted:
                play = play or self._begin(shown, source, conducted.run)
                self._take(play, event)
        if conducted.unsaved:
            self._listener.remark(conducted.unsaved)

    async def _play_prepared(self, shown: LecturePlace, experiment: Experiment) -> None:
        run = await asyncio.to_thread(self._prepared_runs.find, experiment)
        if run is None:
            raise LabUnavailable("there is no prepared run: `tcptutor present --check` makes it")
        # Terminals identify a run by its id, so that each playback needs a new id.
        run = msgspec.structs.replace(run, id=f"{run.id}-{secrets.token_hex(3)}")
        await asyncio.to_thread(self._save_copy, run)
        beginning = msgspec.structs.replace(
            run, flows=[], udp=[], fidelity=Fidelity(), experiment_s=0.0, complete=False
        )
        play = self._begin(shown, "prepared", beginning)
        async with aclosing(_play_at_pace(run)) as events:
            async for event in events:
                self._take(play, event)

    def _save_copy(self, run: Run) -> None:
        file = self._store.file(run.id)
        if file is not None:
            save(run, file, private=True)

    def _begin(self, shown: LecturePlace, source: RunSource, run: Run) -> Play:
        play = Play(shown=shown, source=source, id=run.id, header=_header(run))
        self._keep(play)
        self._listener.run_began(play)
        return play

    def _take(self, play: Play, event: Event) -> None:
        if not isinstance(event, CapturedPackets):
            text = protocol.line(event)[:-1]
            play.events.append(text)
            self._listener.run_took(play, event, text)

    def _keep(self, play: Play) -> None:
        self._plays.pop(play.id, None)
        self._plays[play.id] = play
        while len(self._plays) > _MOST_PLAYS:
            self._plays.pop(next(iter(self._plays)))


def _play_of_file(file: Path, shown: LecturePlace, source: RunSource) -> Play:
    run = load(file)
    events = [protocol.line(event)[:-1] for event in playback(run)]
    return Play(shown=shown, source=source, id=run.id, header=_header(run), events=events)


def _header(run: Run) -> bytes:
    return next(text_lines(run))[:-1]


async def _play_at_pace(run: Run) -> AsyncGenerator[Event, None]:
    """Yield the events of a run at its original pace, or faster for a long run."""
    loop = asyncio.get_running_loop()
    began, speed = loop.time(), max(1.0, run.experiment_s / _LONGEST_PLAY_S)
    for event in playback(run):
        if isinstance(event, protocol.Samples):
            await asyncio.sleep(max(0.0, began + event.t / speed - loop.time()))
        yield event
