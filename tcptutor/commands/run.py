"""`tcptutor run`: one experiment without the app, what came out of it beside the models' predictions."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Mapping
from itertools import zip_longest
from pathlib import Path

import click

from tcptutor import course, places, units
from tcptutor.analysis import Report, Throughput, document, report
from tcptutor.backends.ending import run_until_signal
from tcptutor.backends.lab import Lab
from tcptutor.columns import table
from tcptutor.commands.output import print_json, print_lines, warn
from tcptutor.conduct import ConductedRun
from tcptutor.errors import LabError, TutorError
from tcptutor.lab.protocol import Event, Phase, Samples
from tcptutor.run import Run
from tcptutor.runs.store import RunStore
from tcptutor.spec import Experiment

_PROGRESS_PERIOD = 0.2


class _Progress:
    """One line on standard error that follows the run; nothing when that is not a terminal."""

    def __init__(self, experiment: Experiment) -> None:
        self._experiment = experiment
        self._shown = sys.stderr.isatty()
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
        self.write(f"{event.t:5.1f} of {self._experiment.seconds:g} s   {units.rate(now)}")

    def write(self, text: str) -> None:
        if self._shown:
            click.echo(f"\r\x1b[K{self._experiment.name}   {text}", nl=False, err=True)

    def clear(self) -> None:
        if self._shown:
            click.echo("\r\x1b[K", nl=False, err=True)


async def _conduct(
    experiment: Experiment, backend: str, clock: str, store: RunStore
) -> tuple[ConductedRun, TutorError | None]:
    """The run, whole or cut short, and what cut it short. Raises TutorError before it has begun."""
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
    """The user's runs; what killed programs left behind is in files of its own then."""
    store = RunStore(places.runs())
    store.recover()
    return store


def run_experiment(
    experiment: str,
    settings: Mapping[str, str],
    seed: int | None,
    scale: str,
    backend: str,
    clock: str,
    as_json: bool,
) -> int:
    """The exit code. Raises TutorError before anything has run."""
    wanted = course.experiment(experiment, settings, seed, scale=scale)
    conducted, problem = run_until_signal(_conduct(wanted, backend, clock, open_store()))
    run, file = conducted.run, conducted.file
    warn_if_unsaved(conducted.unsaved)
    if as_json:
        print_json(document(run, str(file) if file else None))
    else:
        print_report(run, report(run), file)
    if problem is not None:
        kept = f"; {run.experiment_s:.1f} s of it are kept" if file else ""
        warn(f"{problem}{kept}")
        return problem.exit_code
    return 0


def warn_if_unsaved(why: str) -> None:
    """Say why a run could not be kept; nothing for an empty `why`."""
    if why:
        warn(f"the run is not kept: {why}")


def print_report(run: Run, result: Report, file: Path | None) -> None:
    """What came out of `run`, for people."""
    experiment, environment = run.experiment, run.environment
    where = (
        f"{environment.backend}, {environment.clock} clock, Linux {environment.kernel} ({environment.reason})"
    )
    streams = f"{experiment.total_streams} flow" + "s" * (experiment.total_streams > 1)
    click.echo(f"{experiment.name}: {experiment.title}")
    _print_facts(
        ("NOT RUN", environment.reason) if environment.backend == "replay" else ("ran on", where),
        (
            "measured",
            f"{units.rate(result.throughput_bps)}   {streams}, {result.loss_events} loss events,"
            f" {result.retransmits} retransmissions",
        ),
    )
    _print_models(result)
    _print_facts(
        ("why", result.verdict.sentence),
        *((("", result.note),) if result.note else ()),
        ("fidelity", run.fidelity.status),
        *(("", reason) for reason in run.fidelity.reasons),
        ("took", f"{run.wall_s:.1f} s for {run.experiment_s:.1f} s of the lab's time"),
        *((("file", str(file)),) if file else ()),
    )


def _print_facts(*facts: tuple[str, str]) -> None:
    print_lines(table(facts, (9,)))


def _print_models(result: Report) -> None:
    """A line for each prediction, and why it is off; the same reason of several once, below the last of them."""
    if result.compared:
        _print_facts(("models", "and how far the measurement is from each (±: its tolerance)"))
    for compared, after in zip_longest(result.compared, result.compared[1:]):
        prediction, mark = compared.prediction, "✓" if compared.within else " "
        off = f"{units.signed_percent(compared.difference)} (±{100 * prediction.tolerance:.0f} %)"
        rate = units.rate(prediction.throughput_bps)
        click.echo(f"  {mark} {prediction.label:<24} {rate:>12}   {off:<14}   {prediction.formula}")
        if compared.reason and (after is None or after.reason != compared.reason):
            click.echo(f"      {compared.reason}")
