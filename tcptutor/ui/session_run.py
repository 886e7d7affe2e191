"""A run detected in a shell session, as the screen shows it. Its duration is unknown until it ends."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from tcptutor.base.errors import TutorError
from tcptutor.run import Run
from tcptutor.runs.conduct import GrowingRun
from tcptutor.spec import Experiment
from tcptutor.study import background
from tcptutor.study.live import Live
from tcptutor.ui.messages import RunFinished, RunUpdated
from tcptutor.wire.kernel_state import SessionState
from tcptutor.wire.protocol import Event, RunDetected, Samples

if TYPE_CHECKING:
    from textual.message import Message

    from tcptutor.analysis import Expectation

FIRST_CHART_S = 10.0
"""Initial length of the chart in s, doubled whenever the run exceeds it."""


async def _expectation(experiment: Experiment) -> Expectation | None:
    """Return predictions; None for a path that could not be read or that no model covers."""
    if experiment.path.unread:
        return None
    try:
        return await background.expectation(experiment)
    except (TutorError, ArithmeticError, ValueError):
        return None


class SessionRun:
    """Keeps `live` up to date while a detected run grows.

    `built` returns the network without its fault while the student is searching for the fault, otherwise None.
    """

    def __init__(
        self,
        module: str,
        step: str,
        growing: GrowingRun,
        post: Callable[[Message], object],
        built: Callable[[], Experiment | None] = lambda: None,
    ) -> None:
        self.growing, self._post, self._built = growing, post, built
        self._seconds = FIRST_CHART_S
        self._rates = background.Rates()
        self._expecting: asyncio.Task[None] | None = None
        self.live = Live(
            module, step, self._chart_run(), state="running", phase="traffic flows", from_shell=True
        )
        self.live.hides_fault = built() is not None

    def take(self, event: Event) -> None:
        """Update after an event that belongs to the run."""
        match event:
            case Samples(rows=rows, t=t):
                self.live.rates = self._rates.add(rows)
                while t > self._seconds:
                    self._seconds *= 2
                    self._restart_predictions()
            case RunDetected() | SessionState():
                self._restart_predictions()
            case _:
                pass
        self.live.run = self._chart_run()
        self._post(RunUpdated(self.live))

    async def end(self) -> None:
        """Explain the run and post RunFinished."""
        if self._expecting is not None:
            self._expecting.cancel()
        live, run = self.live, self.growing.run
        live.hides_fault = self._built() is not None
        live.run, live.state, live.phase = self._without_fault(run), "ended", ""
        live.unsaved = self.growing.unsaved
        live.problem = "" if run.complete else run.note
        live.expectation = await _expectation(live.run.experiment)
        live.report = None if live.hides_fault else await background.report(run)
        self._post(RunFinished(live))

    def _chart_run(self) -> Run:
        """Return the run so far, with the chart's length as its duration."""
        shown = self._without_fault(self.growing.run)
        shown.experiment = self._with_chart_duration(shown.experiment)
        return shown

    def _without_fault(self, run: Run) -> Run:
        """Use the path without its fault while the student is searching for the fault."""
        shown, built = copy.copy(run), self._built()
        if built is not None:
            hosts = msgspec.structs.replace(built.hosts, algorithm=run.experiment.hosts.algorithm)
            shown.experiment = msgspec.structs.replace(run.experiment, path=built.path, hosts=hosts)
        return shown

    def _with_chart_duration(self, experiment: Experiment) -> Experiment:
        return msgspec.structs.replace(
            experiment, flows=msgspec.structs.replace(experiment.flows, duration=self._seconds)
        )

    def _restart_predictions(self) -> None:
        if self._expecting is not None:
            self._expecting.cancel()
        self._expecting = asyncio.create_task(self._predict(self._chart_run().experiment))

    async def _predict(self, experiment: Experiment) -> None:
        expected = await _expectation(experiment)
        if self.live.in_progress:
            self.live.expectation = expected
            self._post(RunUpdated(self.live))
