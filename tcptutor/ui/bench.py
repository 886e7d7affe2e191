"""The bench: owns the lab and its current run, sweep or session, and reports by messages. Knows no widgets."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from tcptutor.base.errors import LabUnavailable
from tcptutor.base.key_names import key_name
from tcptutor.journal import Journal
from tcptutor.run import Environment, Run
from tcptutor.runs.conduct import ConductedRun
from tcptutor.spec import Experiment
from tcptutor.study import background
from tcptutor.study.lab_state import LabState
from tcptutor.study.live import Live, RunHistory, figures_of
from tcptutor.study.live_sweep import LiveSweep, SweepRunner
from tcptutor.study.run_runner import RunRunner
from tcptutor.ui.lab_session import LabSession
from tcptutor.ui.messages import LabChanged, RunFinished, RunUpdated, SessionUpdated, SweepEnded, SweepUpdated

if TYPE_CHECKING:
    from textual.message import Message

    from tcptutor.backends.lab import Lab
    from tcptutor.backends.lab_turn import LabPlace
    from tcptutor.course.activities.shell import ShellActivity

STOPPED = "stopped by you"
CLOSED = "tcptutor was closed"


class Bench:
    """Runs a single experiment, sweep or session at a time, and passes messages to `post`."""

    def __init__(self, lab: Lab, journal: Journal, post: Callable[[Message], object]) -> None:
        self._lab, self._journal, self._post = lab, journal, post
        lab.on_build = lambda: self._set_state(LabState("starting", is_building=True))
        lab.on_place = self._show_place
        self._warming: asyncio.Task[Environment] | None = None
        self._running: asyncio.Task[None] | None = None
        self._conducted: ConductedRun | None = None
        self.state = LabState("starting")
        self.machine = self.state
        """State of the lab after start-up. Single runs may use other environments."""
        self.live: Live | None = None
        """The current or latest run of this app."""
        self.sweep: LiveSweep | None = None
        """The current or latest sweep of this app."""
        self._sweeping: SweepRunner | None = None
        self.history = RunHistory()
        self.session = LabSession(lab, journal, post)
        self._expected: Experiment | None = None
        """The experiment likely to be run next."""

    @property
    def busy(self) -> bool:
        """True while a run or a sweep is in progress."""
        return self._running is not None and not self._running.done()

    @property
    def replays(self) -> bool:
        """True if the lab only plays recorded runs."""
        here = self.state.environment
        return here is not None and here.backend == "replay"

    @property
    def obstacle(self) -> str:
        """Reason why no run, sweep or session can start now; empty if the bench is free."""
        if self.session.in_progress:
            if self.session.stage == "ending":
                return "The terminal is closing."
            return f"The terminal is open: press {key_name('lesson.end-terminal')} to close it."
        return f"Another run is in progress: press {key_name('lesson.stop')} to stop it." if self.busy else ""

    async def warm(self) -> Environment:
        """Start the lab; concurrent calls share the start.

        Raises:
            LabUnavailable: if no lab can start on this machine.
        """
        if self._lab.environment is None and (self._warming is None or self._warming.done()):
            self._set_state(LabState("starting"))
            self._warming = asyncio.create_task(self._lab.warm())
        if self._warming is None:
            assert self._lab.environment is not None
            self._set_state(LabState("ready", self._lab.environment))
            return self._lab.environment
        try:
            # shield: stopping a run must not stop the start of the lab.
            environment = await asyncio.shield(self._warming)
        except LabUnavailable as error:
            self._set_state(LabState("none", problem=str(error)))
            raise
        self._set_state(LabState("ready", self._lab.environment or environment))
        self._prefetch_if_idle()
        return self._lab.environment or environment

    def expect(self, experiment: Experiment | None) -> None:
        """Let the lab prefetch the experiment likely to be run next; None cancels prefetching."""
        self._expected = experiment
        if experiment is None:
            self._lab.prefetch(None)
        else:
            self._prefetch_if_idle()

    def _prefetch_if_idle(self) -> None:
        if self._expected is not None and self._lab.environment is not None and not self.obstacle:
            self._lab.prefetch(self._expected)

    def start(self, module: str, step: str, experiment: Experiment, base: Live | None = None) -> None:
        """Run an experiment in the background, as a what-if if `base` is given. No-op if the bench is busy."""
        if not self.obstacle:
            self._expected = None
            self._running = asyncio.create_task(self._run(module, step, experiment, base))

    def start_what_if(self, module: str, step: str, base: Run, experiment: Experiment) -> None:
        """Run a what-if on `base` in the background, ending any session. No-op while a run is in progress.

        Repeats `base` first if its seed would give a different history in this lab.
        """
        if not self.busy:
            self._expected = None
            self._running = asyncio.create_task(self._what_if(module, step, base, experiment))

    def start_sweep(self, sweep: LiveSweep) -> None:
        """Run the missing points of a sweep in the background. No-op if the bench is busy."""
        if not self.obstacle:
            self.expect(None)
            self.sweep = sweep
            self._sweeping = SweepRunner(sweep, self._journal, lambda: self._post(SweepUpdated(sweep)))
            self._sweeping.stopped = STOPPED
            self._running = asyncio.create_task(self._sweep(sweep, self._sweeping))

    def open_session(
        self, module: str, step: str, experiment: Experiment, shell: ShellActivity | None = None
    ) -> None:
        """Open a shell session in the background. No-op if the bench is busy."""
        if not self.obstacle:
            self.expect(None)
            self.session.open(module, step, experiment, shell)

    def stop(self) -> None:
        """Stop the run or sweep, keeping its data."""
        if self._running is not None:
            self._running.cancel()

    def stop_for_exit(self) -> None:
        """Stop the run or sweep because the app is closing, keeping its data."""
        if self._conducted is not None:
            self._conducted.stopped = CLOSED
        if self._sweeping is not None:
            self._sweeping.stopped = CLOSED
        self.stop()

    async def close(self) -> None:
        """Stop everything and close the lab. Never raises."""
        self.stop_for_exit()
        if self._warming is not None:
            self._warming.cancel()
        tasks = [task for task in (self._running, self._warming) if task is not None]
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
            self._set_state(LabState("ready", self._lab.environment))
        self._post(SweepEnded(sweep))

    async def _what_if(self, module: str, step: str, base: Run, experiment: Experiment) -> None:
        await self.session.close()
        with contextlib.suppress(LabUnavailable):  # the next run reports it
            if needs_rerun(base.environment, await self.warm()):
                await self._run(module, step, base.experiment, None)
                assert self.live is not None
                base = self.live.run
                if not base.complete:
                    return
        await self._run(module, step, experiment, await background.measured(module, step, base))

    async def _run(self, module: str, step: str, experiment: Experiment, base: Live | None) -> None:
        # Show the run at once, before its environment is known.
        conducted = self._conducted = ConductedRun(self._lab, experiment, self._journal.runs, STOPPED)
        live = self.live = Live(
            module,
            step,
            conducted.run,
            phase="the recording is opened" if self.replays else "the lab is starting",
        )
        if base is None:
            live.earlier = self.history.before(live)
        else:
            figures = figures_of(base)
            live.changed_from, live.earlier = base.run, (figures,) if figures else ()
        self._post(RunUpdated(live))

        def moved() -> None:
            if live is self.live:
                self._post(RunUpdated(live))

        runner = RunRunner(live, conducted, self._journal, moved)
        # The lab chooses an environment per experiment, so it may differ from the one after start-up.
        runner.ready_handler = lambda environment: self._set_state(LabState("ready", environment))
        await runner.run(self.warm)
        self.history.add(live)
        self._post(RunFinished(live))

    def _show_place(self, place: LabPlace | None) -> None:
        """Show the place in a server's queue for labs; None at the end of the wait."""
        here = self._lab.environment
        self._set_state(LabState("starting" if place or here is None else "ready", here, place=place))
        if self.live is not None and self.live.state == "starting":
            self.live.phase = f"waiting for a lab: {place}" if place else "the lab is starting"
            self._post(RunUpdated(self.live))
        if self.session.stage == "starting":
            self._post(SessionUpdated())

    def _set_state(self, state: LabState) -> None:
        if state.stage != "ready" or self.machine.stage != "ready":
            self.machine = state
        if state != self.state or state.stage == "starting":
            self.state = state
            self._post(LabChanged(state))


def needs_rerun(base: Environment, here: Environment) -> bool:
    """Return True if `here` repeats seeds exactly, but with a different history than `base`."""
    there = base.backend, base.clock, base.snapshot
    return here.clock == "virtual" and there != (here.backend, here.clock, here.snapshot)
