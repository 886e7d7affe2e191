"""The bench: owns the lab and the one run that goes on. Knows no widgets; says what happened in messages."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tcptutor.errors import JournalError, LabUnavailable, TutorError
from tcptutor.journal import Journal
from tcptutor.lab.protocol import Event, Phase, Ready, Samples
from tcptutor.run import Environment
from tcptutor.runs.recording import Recording
from tcptutor.spec import Experiment
from tcptutor.ui import reading
from tcptutor.ui.lab import LabLike, LabState
from tcptutor.ui.live import Live
from tcptutor.ui.messages import LabChanged, RunEnded, RunMoved

if TYPE_CHECKING:
    from textual.message import Message

STOPPED = "stopped by you"
CLOSED = "tcptutor was closed"


class Bench:
    """One run at a time. `post` takes the messages; the app is behind it."""

    def __init__(self, lab: LabLike, journal: Journal, post: Callable[[Message], object]) -> None:
        self._lab, self._journal, self._post = lab, journal, post
        self._warming: asyncio.Task[Environment] | None = None
        self._running: asyncio.Task[None] | None = None
        self._cut_note = STOPPED
        self.state = LabState("starting")
        self.live: Live | None = None
        """The run that goes on, else the latest of this session."""

    @property
    def busy(self) -> bool:
        return self._running is not None and not self._running.done()

    async def warm(self) -> Environment:
        """Bring the lab up, once however many ask at the same time. Raises LabUnavailable."""
        if self._lab.environment is None and (self._warming is None or self._warming.done()):
            self._tell(LabState("starting"))
            self._warming = asyncio.create_task(self._lab.warm())
        if self._warming is None:
            assert self._lab.environment is not None
            self._tell(LabState("ready", self._lab.environment))
            return self._lab.environment
        try:
            # shield: a run that is stopped while the lab starts must not stop the start.
            environment = await asyncio.shield(self._warming)
        except LabUnavailable as error:
            self._tell(LabState("none", problem=str(error)))
            raise
        self._tell(LabState("ready", self._lab.environment or environment))
        return self._lab.environment or environment

    def start(self, module: str, step: str, experiment: Experiment) -> None:
        """Run it in the background. Does nothing while another one goes on."""
        if not self.busy:
            self._running = asyncio.create_task(self._run(module, step, experiment))

    def stop(self) -> None:
        """End the run; what arrived is kept."""
        if self._running is not None:
            self._running.cancel()

    async def close(self) -> None:
        """Stop what goes on and close the lab. Never raises."""
        self._cut_note = CLOSED
        tasks = [task for task in (self._running, self._warming) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._lab.close()

    async def _run(self, module: str, step: str, experiment: Experiment) -> None:
        # A placeholder environment until the lab has said where it is; the run shows from the first moment.
        unknown = self._lab.environment or Environment(backend="", clock="", kernel="")
        recording = Recording(experiment, unknown)
        live = self.live = Live(module, step, recording.run, phase="the lab is starting")
        self._post(RunMoved(live))
        try:
            recording.run.environment = await self.warm()
            live.expectation = await reading.expectation(experiment)
            with _unsaved(live):
                self._journal.begin_run(recording.run, module, step)
            await self._follow(live, recording)
        except asyncio.CancelledError:
            recording.cut(self._cut_note)
        except TutorError as error:
            live.problem = str(error)
            recording.cut(live.problem)
        except Exception as error:  # a defect of ours must not take the page away from the student
            live.problem = (
                f"the run failed unexpectedly ({type(error).__name__}: {error}): press r to try again"
            )
            recording.cut(live.problem)
        await self._finish(live)

    async def _follow(self, live: Live, recording: Recording) -> None:
        rates, thinner = reading.Rates(), reading.Thinner()
        live.state = "running"
        async with contextlib.aclosing(self._lab.run(recording.run.experiment)) as events:  # type: ignore[type-var]
            async for event in events:
                recording.take(event)
                self._journal.extend_run(recording.run, event)
                self._note(live, rates, thinner, event)

    def _note(self, live: Live, rates: reading.Rates, thinner: reading.Thinner, event: Event) -> None:
        match event:
            case Ready(environment=environment):
                # The lab chooses its place for each experiment: it may have moved since it was warmed.
                self._tell(LabState("ready", environment))
            case Phase(text=text):
                live.phase = text
            case Samples(rows=rows):
                live.rates = rates.add(rows)
                live.drawn += thinner.take(rows)
            case _:
                pass
        self._post(RunMoved(live))

    async def _finish(self, live: Live) -> None:
        live.state, live.phase = "ended", ""
        with contextlib.suppress(asyncio.CancelledError):  # the app is closing: the report can be made again
            live.report = await reading.report(live.run)
        with _unsaved(live):
            self._journal.finish_run(live.run)
        self._post(RunEnded(live))

    def _tell(self, state: LabState) -> None:
        if state != self.state or state.stage == "starting":
            self.state = state
            self._post(LabChanged(state))


@contextlib.contextmanager
def _unsaved(live: Live) -> Iterator[None]:
    """A run goes on when the journal cannot keep it; the student is told."""
    try:
        yield
    except JournalError as error:
        live.unsaved = str(error)
