"""Runs and sweeps of the dialogue, executed in sequence, with a progress line every few seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from tcptutor.backends.lab import Lab
from tcptutor.journal import Journal
from tcptutor.plain.console import Console
from tcptutor.plain.result import progress
from tcptutor.run import Environment
from tcptutor.runs.conduct import ConductedRun
from tcptutor.spec import Experiment
from tcptutor.study.live import Live, RunHistory
from tcptutor.study.live_sweep import LiveSweep, SweepRunner
from tcptutor.study.run_runner import RunRunner

STOPPED = "stopped by you"
_PAUSE_S = 5.0
"""Seconds between lines of progress."""
_PATIENCE = 6
"""Pauses after which an unchanged progress line is repeated."""


class Runs:
    """Executes runs and sweeps in the lab, and owns the lab."""

    def __init__(self, lab: Lab, journal: Journal, console: Console) -> None:
        self.lab, self._journal, self._console = lab, journal, console
        self.history = RunHistory()
        self._warming: asyncio.Task[Environment] | None = None
        self._task: asyncio.Task[None] | None = None
        lab.on_build = lambda: console.say("The lab is being rebuilt after an update: a minute or two.")

    @property
    def in_progress(self) -> bool:
        return self._task is not None

    @property
    def replays(self) -> bool:
        """True if the lab only plays recorded runs."""
        here = self.lab.environment
        return here is not None and here.backend == "replay"

    def begin_to_warm(self) -> None:
        """Start the lab in the background, while the student reads."""
        if self.lab.environment is None and (self._warming is None or self._warming.done()):
            self._warming = asyncio.create_task(self.lab.warm())
            self._warming.add_done_callback(_retrieve)

    async def warm(self) -> Environment:
        """Start the lab, or wait for a start under way.

        Raises:
            LabUnavailable: No lab can start on this machine.
        """
        self.begin_to_warm()
        if self._warming is not None:
            # shield: stopping a run must not stop the start of the lab.
            environment = await asyncio.shield(self._warming)
            return self.lab.environment or environment
        assert self.lab.environment is not None
        return self.lab.environment

    def stop(self) -> bool:
        """Stop the run or sweep, keeping its data; return False if none is in progress."""
        if self._task is None:
            return False
        self._task.cancel()
        return True

    async def run(
        self, module: str, step: str, experiment: Experiment, prepare: Callable[[Live], object]
    ) -> Live:
        """Run an experiment of a page to completion; `prepare` receives its view before the start."""
        conducted = ConductedRun(self.lab, experiment, self._journal.runs, STOPPED)
        live = Live(module, step, conducted.run, phase="the lab is starting")
        live.earlier = self.history.before(live)
        prepare(live)
        runner = RunRunner(live, conducted, self._journal, lambda: None)
        await self._follow(asyncio.create_task(runner.run(self.warm)), lambda: progress(live))
        self.history.add(live)
        return live

    async def sweep(self, live: LiveSweep) -> None:
        """Measure the missing points of a sweep."""
        runner = SweepRunner(live, self._journal, lambda: None)
        runner.stopped = STOPPED

        async def conduct() -> None:
            live.environment = await self.warm()
            await runner.run(self.lab)

        axis = live.activity.axis.replace("_", " ")

        def done() -> str:
            at = live.activity.values_in_words(sorted(live.working))
            return f"{live.done} of {live.total} runs are done{f', now at {axis} {at}' if at else ''}."

        await self._follow(asyncio.create_task(conduct()), done)

    async def until_stopped(self, task: asyncio.Task[None]) -> None:
        """Wait for a task that `stop` can cancel. Canceling the wait cancels the task and awaits its end."""
        self._task = task
        try:
            await asyncio.wait([task])
        finally:
            task.cancel()
            await asyncio.wait([task])
            self._task = None
        if not task.cancelled():
            task.result()

    async def _follow(self, task: asyncio.Task[None], progress: Callable[[], str]) -> None:
        """Wait for the task and report its progress."""
        reporting = asyncio.create_task(self._report(progress))
        try:
            await self.until_stopped(task)
        finally:
            reporting.cancel()

    async def _report(self, progress: Callable[[], str]) -> None:
        """Print the progress of a task after a change, and at regular intervals."""
        printed, pauses = "", 0
        while True:
            await asyncio.sleep(_PAUSE_S)
            pauses += 1
            if progress() != printed or pauses % _PATIENCE == 0:
                printed = progress()
                self._console.say(printed)

    async def close(self) -> None:
        """Close the lab. Never raises."""
        if self._warming is not None:
            self._warming.cancel()
            await asyncio.gather(self._warming, return_exceptions=True)
        await self.lab.close()


def _retrieve(task: asyncio.Task[Environment]) -> None:
    """Retrieve the error of a failed start, which the next run reports."""
    if not task.cancelled():
        task.exception()
