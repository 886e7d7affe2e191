"""`tcptutor run`: run an experiment and print its report with the models' predictions."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

from tcptutor.analysis import Report, Throughput, capture_size, document, report
from tcptutor.backends.lab import Lab
from tcptutor.backends.programs import run_until_signal
from tcptutor.base import places, units
from tcptutor.base.errors import LabError, TutorError
from tcptutor.base.window import Window
from tcptutor.commands.names import find_experiment
from tcptutor.commands.output import error_width, print_json, print_lines, remark, warn
from tcptutor.commands.report import report_lines
from tcptutor.commands.unmarked import remark_no_marks
from tcptutor.course import experiments
from tcptutor.exchange.captured import captured_rtts
from tcptutor.run import Run
from tcptutor.runs.conduct import ConductedRun
from tcptutor.runs.store import RunStore
from tcptutor.spec import Experiment
from tcptutor.wire.protocol import Event, Phase, Samples

_PROGRESS_PERIOD = 0.2


class _Progress:
    """A progress line on standard error; hidden when standard error is not a terminal."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._shown = sys.stderr.isatty()
        self._window = Window(os.environ, lambda text: remark(text, newline=False))
        self._throughput = Throughput()
        self._last = 0.0

    def show(self, event: Event) -> None:
        match event:
            case Phase(text=text):
                self.write(text)
            case Samples():
                self._samples(event)

    def _samples(self, event: Samples) -> None:
        self._throughput.add(event.rows)
        if time.monotonic() - self._last < _PROGRESS_PERIOD:
            return
        self._last = time.monotonic()
        now = self._throughput.points[-1][1] if self._throughput.points else 0.0
        if self._shown:
            self._window.show_progress(event.t / self._experiment.seconds)
        self.write(f"{event.t:5.1f} of {self._experiment.seconds:g} s   {units.rate(now)}")

    def write(self, text: str) -> None:
        if self._shown:
            line = f"{self._experiment.name}   {text}"
            remark(f"\r\x1b[K{line[: error_width() - 1]}", newline=False)

    def clear(self) -> None:
        if self._shown:
            remark("\r\x1b[K", newline=False)
            self._window.end_progress(rings=False)


async def _conduct(
    experiment: Experiment, backend: str, clock: str, store: RunStore
) -> tuple[ConductedRun, TutorError | None]:
    """Run the experiment; return the run and the error that cut it short. Raises TutorError before it has begun."""
    lab, progress = Lab(backend, clock), _Progress(experiment)
    try:
        progress.write("starting the lab")
        try:
            await lab.warm(experiment)
        except asyncio.CancelledError:
            raise LabError("stopped before the experiment began") from None
        conducted = ConductedRun(lab, experiment, store)
        try:
            async with conducted:
                async for event in conducted:
                    progress.show(event)
        except LabError as error:
            return conducted, error
        except asyncio.CancelledError:
            return conducted, LabError(conducted.stopped)
        return conducted, None
    finally:
        progress.clear()
        await lab.close()


def open_store() -> RunStore:
    """Open the user's run files, and recover the runs of killed programs."""
    store = RunStore(places.runs())
    store.recover(warn)
    return store


def run_experiment(
    experiment: str,
    settings: Mapping[str, str],
    seed: int | None,
    scale: str,
    backend: str,
    clock: str,
    as_json: bool,
    all_flows: bool,
) -> int:
    """Run an experiment and return the exit code: 1 without a measurement or when saving failed.

    Raises TutorError before the run.
    """
    name = find_experiment(experiment, "tcptutor run")
    chosen = experiments.build(name, settings, seed, scale=scale)
    remark_no_marks()
    if expected := capture_size(chosen):
        remark(expected.sentence)
    conducted, problem = run_until_signal(_conduct(chosen, backend, clock, open_store()))
    run, file = conducted.run, conducted.file
    warn_if_unsaved(conducted.unsaved)
    if conducted.packets_unsaved:
        warn(conducted.packets_unsaved)
    saved = f"; {run.experiment_s:.1f} s of it are saved in {file}" if file else ""
    rtts = captured_rtts(run, file)
    result = report(run, rtts=rtts)
    if as_json and (file or not result.is_empty):
        print_json(document(run, str(file) if file else None, rtts))
    if result.is_empty:
        problem = problem or LabError(f"nothing was measured: {run.unmeasured_reason}")
    elif not as_json:
        print_report(run, result, file, all_flows)
    if problem is not None:
        warn(f"{problem}{saved}")
        return problem.exit_code
    return 1 if conducted.unsaved or conducted.packets_unsaved else 0


def warn_if_unsaved(why: str) -> None:
    """Warn that a run could not be saved, unless `why` is empty."""
    if why:
        warn(f"the run was not saved: {why}")


def print_report(
    run: Run, result: Report, file: Path | None, all_flows: bool = False, of_path: bool = True
) -> None:
    """Print the report of `run`; `of_path` as in `report_lines`."""
    print_lines(report_lines(run, result, file, all_flows, of_path))
