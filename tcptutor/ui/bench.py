"""The bench: owns the lab and the run, sweep or session that goes on. Knows no widgets; tells by messages."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tcptutor.base.errors import JournalError, LabUnavailable, TutorError
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.journal import Journal
from tcptutor.run import Environment, Run
from tcptutor.runs.conduct import ConductedRun
from tcptutor.spec import Experiment
from tcptutor.ui import background
from tcptutor.ui.history import RunHistory, figures_of
from tcptutor.ui.lab_session import LabSession
from tcptutor.ui.lab_state import LabState
from tcptutor.ui.live import Live
from tcptutor.ui.live_sweep import LiveSweep
from tcptutor.ui.messages import LabChanged, RunFinished, RunUpdated, SweepEnded, SweepUpdated
from tcptutor.ui.sweep_runner import SweepRunner
from tcptutor.wire.protocol import Event, Phase, Ready, Samples

if TYPE_CHECKING:
    from textual.message import Message

    from tcptutor.backends.lab import Lab

STOPPED = "stopped by you"
CLOSED = "tcptutor was closed"


class Bench:
    """One thing at a time. `post` takes the messages; the app is behind it."""

    def __init__(self, lab: Lab, journal: Journal, post: Callable[[Message], object]) -> None:
        self._lab, self._journal, self._post = lab, journal, post
        self._warming: asyncio.Task[Environment] | None = None
        self._running: asyncio.Task[None] | None = None
        self._conducted: ConductedRun | None = None
        self.state = LabState("starting")
        self.machine = self.state
        """The lab as it came up, wherever a page's run may have taken place since."""
        self.live: Live | None = None
        """The run that goes on, else the latest of this session."""
        self.sweep: LiveSweep | None = None
        """The sweep that goes on, else the latest of this session."""
        self._sweeping: SweepRunner | None = None
        self.history = RunHistory()
        self.session = LabSession(lab, journal, post)
        """The lab in the student's hands."""
        self._expected: Experiment | None = None
        """What will probably be run next."""

    @property
    def busy(self) -> bool:
        """Whether a run or a sweep goes on."""
        return self._running is not None and not self._running.done()

    @property
    def obstacle(self) -> str:
        """Why no run, sweep or session can begin now, one line; empty when it can."""
        if self.session.in_progress:
            ending = self.session.stage == "ending"
            return f"A terminal is open on the network: {'it ends now' if ending else 'T ends it'}."
        return "Another run goes on: s stops it." if self.busy else ""

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
        self._begin_expected()
        return self._lab.environment or environment

    def expect(self, experiment: Experiment | None) -> None:
        """That run will probably be asked for next: the lab may begin it before. None for no run."""
        self._expected = experiment
        if experiment is None:
            self._lab.expect(None)
        else:
            self._begin_expected()

    def _begin_expected(self) -> None:
        """If the lab is up, and nothing else goes on in it."""
        if self._expected is not None and self._lab.environment is not None and not self.obstacle:
            self._lab.expect(self._expected)

    def start(self, module: str, step: str, experiment: Experiment, base: Live | None = None) -> None:
        """Run it in the background; as a what-if of `base`, if given. Does nothing while something else goes on."""
        if not self.obstacle:
            self._expected = None
            self._running = asyncio.create_task(self._run(module, step, experiment, base))

    def start_what_if(self, module: str, step: str, base: Run, experiment: Experiment) -> None:
        """Run `base` with one thing changed, in the background; does nothing while a run goes on.

        Where `base` would give another history here, it is run once more first. A session is ended for it.
        """
        if not self.busy:
            self._expected = None
            self._running = asyncio.create_task(self._what_if(module, step, base, experiment))

    def start_sweep(self, sweep: LiveSweep) -> None:
        """Run what is missing of it in the background. Does nothing while something else goes on."""
        if not self.obstacle:
            self.expect(None)
            self.sweep = sweep
            self._sweeping = SweepRunner(sweep, self._journal, lambda: self._post(SweepUpdated(sweep)))
            self._sweeping.stopped = STOPPED
            self._running = asyncio.create_task(self._sweep(sweep, self._sweeping))

    def open_session(
        self, module: str, step: str, experiment: Experiment, shell: ShellActivity | None = None
    ) -> None:
        """Set the lab up for work by hand, in the background. Does nothing while something else goes on."""
        if not self.obstacle:
            self.expect(None)
            self.session.open(module, step, experiment, shell)

    def stop(self) -> None:
        """End the run or the sweep; what arrived is kept."""
        if self._running is not None:
            self._running.cancel()

    async def over(self) -> None:
        """Wait until nothing goes on. Never raises."""
        if self._running is not None:
            await asyncio.wait([self._running])

    async def close(self) -> None:
        """Stop what goes on and close the lab. Never raises."""
        if self._conducted is not None:
            self._conducted.stopped = CLOSED
        if self._sweeping is not None:
            self._sweeping.stopped = CLOSED
        tasks = [task for task in (self._running, self._warming) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(self.session.close(), *tasks, return_exceptions=True)
        await self._lab.close()

    async def _sweep(self, sweep: LiveSweep, sweeping: SweepRunner) -> None:
        sweep.state = "starting"
        self._post(SweepUpdated(sweep))
        try:
            environment = await self.warm()
            sweep.environment = environment
            await sweeping.run(self._lab)
        except asyncio.CancelledError:
            sweep.state = "ended"
        except LabUnavailable as error:
            sweep.state, sweep.problem = "ended", str(error)
        if self._lab.environment is not None:
            self._tell(LabState("ready", self._lab.environment))
        self._post(SweepEnded(sweep))

    async def _what_if(self, module: str, step: str, base: Run, experiment: Experiment) -> None:
        await self.session.close()
        with contextlib.suppress(LabUnavailable):  # the run says so
            if stale(base.environment, await self.warm()):
                await self._run(module, step, base.experiment, None)
                assert self.live is not None
                base = self.live.run
                if not base.complete:
                    return
        await self._run(module, step, experiment, await background.measured(module, step, base))

    async def _run(self, module: str, step: str, experiment: Experiment, base: Live | None) -> None:
        # The run shows from the first moment, before the lab has said where it is.
        conducted = self._conducted = ConductedRun(self._lab, experiment, self._journal.runs, STOPPED)
        live = self.live = Live(module, step, conducted.run, phase="the lab is starting")
        if base is None:
            live.earlier = self.history.before(live)
        else:
            figures = figures_of(base)
            live.changed_from, live.earlier = base.run, (figures,) if figures else ()
        self._post(RunUpdated(live))
        try:
            async with conducted:
                await self._follow(live, conducted)
        except asyncio.CancelledError:
            pass  # the student's wish
        except TutorError as error:
            live.problem = str(error)
        live.unsaved = live.unsaved or conducted.unsaved or conducted.packets_unsaved
        await self._finish(live, conducted)

    async def _follow(self, live: Live, conducted: ConductedRun) -> None:
        """Raises TutorError, also for a defect of ours: it must not take the page away from the student."""
        try:
            await self.warm()
            live.expectation = await background.expectation(live.run.experiment)
            rates = background.Rates()
            async for event in conducted:
                self._note(live, rates, event)
        except TutorError:
            raise
        except Exception as error:
            raise TutorError(
                f"the run failed unexpectedly ({type(error).__name__}: {error}): press r to try again"
            ) from error

    def _note(self, live: Live, rates: background.Rates, event: Event) -> None:
        match event:
            case Ready(environment=environment):
                # The lab chooses its place for each experiment: it may have moved since it was warmed.
                self._tell(LabState("ready", environment))
                if live.state == "starting":  # a replay says twice where it is
                    live.state = "running"
                    with _unsaved(live):
                        base = live.changed_from.id if live.changed_from else ""
                        self._journal.begin_run(live.run, live.module, live.step, base)
            case Phase(text=text):
                live.phase = text
            case Samples(rows=rows):
                live.rates = rates.add(rows)
            case _:
                pass
        self._post(RunUpdated(live))

    async def _finish(self, live: Live, conducted: ConductedRun) -> None:
        began = live.state == "running"
        live.state, live.phase = "ended", ""
        if began and conducted.unsaved:
            # If it can be saved until the app ends; else the next start makes its file of the part.
            self._journal.finish_run_later(live.run, conducted.unsaved, lambda: self._saved(live))
        elif began:
            with _unsaved(live):
                self._journal.finish_run(live.run, conducted.file)
        with contextlib.suppress(asyncio.CancelledError):  # the app is closing: the report can be made again
            live.report = await background.report(live.run)
            self.history.add(live)
        self._post(RunFinished(live))

    def _saved(self, live: Live) -> None:
        """It was written at last."""
        live.unsaved = ""
        if live is self.live:
            self._post(RunUpdated(live))

    def _tell(self, state: LabState) -> None:
        if state.stage != "ready" or self.machine.stage != "ready":
            self.machine = state
        if state != self.state or state.stage == "starting":
            self.state = state
            self._post(LabChanged(state))


def stale(base: Environment, here: Environment) -> bool:
    """Whether the seed of a run that was made in `base` gives another history in `here`, where it could repeat it."""
    there = base.backend, base.clock, base.snapshot
    return here.clock == "virtual" and there != (here.backend, here.clock, here.snapshot)


@contextlib.contextmanager
def _unsaved(live: Live) -> Iterator[None]:
    """A run goes on when the journal cannot keep it; the student is told."""
    try:
        yield
    except JournalError as error:
        live.unsaved = str(error)
