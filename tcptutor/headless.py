"""The commands that need no app: run an experiment, list the course, check its files."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from itertools import zip_longest
from pathlib import Path

from tcptutor import course, exchange, places, spec, units
from tcptutor.analysis import Report, document, report
from tcptutor.analysis.series import Throughput
from tcptutor.backends.ending import run_until_signal
from tcptutor.backends.lab import Lab
from tcptutor.errors import JournalError, LabError, LabUnavailable, TutorError, UsageError
from tcptutor.lab.protocol import Phase, Samples
from tcptutor.run import Run
from tcptutor.runs.recording import Recording
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

    def phase(self, text: str) -> None:
        self._write(text)

    def samples(self, event: Samples) -> None:
        self._throughput.add(event.rows)
        if time.monotonic() - self._last < _PROGRESS_PERIOD:
            return
        self._last = time.monotonic()
        now = self._throughput.points[-1][1] if self._throughput.points else 0.0
        self._write(f"{event.t:5.1f} of {self._experiment.seconds:g} s   {units.rate(now)}")

    def _write(self, text: str) -> None:
        if self._shown:
            print(f"\r\x1b[K{self._experiment.name}   {text}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        if self._shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


async def _run(
    experiment: Experiment, backend: str, clock: str, files: RunStore
) -> tuple[Run, TutorError | None]:
    """The run, whole or cut short, and what cut it short; what arrives is kept in `files` as it does."""
    lab, progress = Lab(backend, clock), _Progress(experiment)
    problem: TutorError | None = None
    try:
        progress.phase("starting the lab")
        recording = Recording(experiment, await lab.warm(experiment))
        files.begin(recording.run)
        try:
            async with aclosing(lab.run(experiment)) as events:
                async for event in events:
                    recording.take(event)
                    files.take(recording.run, event)
                    if isinstance(event, Samples):
                        progress.samples(event)
                    elif isinstance(event, Phase):
                        progress.phase(event.text)
        except LabUnavailable:
            files.finish(recording.run)  # nothing had arrived: nothing stays
            raise
        except LabError as error:
            problem = error
        except asyncio.CancelledError:
            problem = LabError("stopped before the end")
        if problem is not None:
            recording.cut(str(problem))
        return recording.run, problem
    except asyncio.CancelledError:
        raise LabError("stopped before the experiment began") from None
    finally:
        progress.clear()
        await lab.close()


def store(run: Run, files: RunStore) -> Path | None:
    """Keep the run; None, with a line that says why, when it cannot be kept."""
    try:
        file = files.finish(run)
    except JournalError as error:
        print(f"tcptutor: the run is not kept: {error}", file=sys.stderr)
        return None
    return Path(file) if file else None


def run_experiment(
    name: str,
    settings: Mapping[str, str],
    seed: int | None,
    scale: str,
    backend: str,
    clock: str,
    as_json: bool,
) -> int:
    """`tcptutor run`: the exit code. Raises TutorError before anything has run."""
    experiment = course.experiment(name, settings, seed, scale=scale)
    files = RunStore(places.runs())
    files.recover()
    run, problem = run_until_signal(_run(experiment, backend, clock, files))
    path = store(run, files)
    if as_json:
        print(json.dumps(document(run, str(path) if path else None), allow_nan=False))
    else:
        print_report(run, report(run), path)
    if problem is not None:
        kept = f"; {run.experiment_s:.1f} s of it are kept" if path else ""
        print(f"tcptutor: {problem}{kept}", file=sys.stderr)
        return problem.exit_code
    return 0


def repeat_experiment(
    name: str,
    settings: Mapping[str, str],
    seed: int | None,
    scale: str,
    repeat: int,
    backend: str,
    clock: str,
    as_json: bool,
) -> int:
    """`tcptutor run --repeat`: the exit code. Raises TutorError before anything has run."""
    from tcptutor.sweep.repeat import run_repeated  # noqa: PLC0415

    first = course.experiment(name, settings, seed, scale=scale)
    others = [course.experiment(name, settings, first.seed + step, scale=scale) for step in range(1, repeat)]
    files = RunStore(places.runs())
    files.recover()
    return run_repeated([first, *others], backend, clock, as_json, lambda run: store(run, files))


def print_report(run: Run, result: Report, path: Path | None) -> None:
    """What came out of `run`, for people."""
    experiment, environment = run.experiment, run.environment
    print(f"{experiment.name}: {experiment.title}")
    where = (
        f"{environment.backend}, {environment.clock} clock, Linux {environment.kernel} ({environment.reason})"
    )
    print(
        f"  NOT RUN    {environment.reason}" if environment.backend == "replay" else f"  ran on     {where}"
    )
    streams = f"{experiment.total_streams} flow" + "s" * (experiment.total_streams > 1)
    print(
        f"  measured   {units.rate(result.throughput_bps)}   {streams}, {result.loss_events} loss events,"
        f" {result.retransmits} retransmissions"
    )
    if result.compared:
        print("  models     and how far the measurement is from each (±: its tolerance)")
    for compared, after in zip_longest(result.compared, result.compared[1:]):
        prediction, mark = compared.prediction, "✓" if compared.within else " "
        off = f"{units.signed_percent(compared.difference)} (±{100 * prediction.tolerance:.0f} %)"
        rate = units.rate(prediction.throughput_bps)
        print(f"  {mark} {prediction.label:<24} {rate:>12}   {off:<14}   {prediction.formula}")
        if compared.reason and (after is None or after.reason != compared.reason):
            print(f"      {compared.reason}")
    print(f"  why        {result.verdict.sentence}")
    if result.note:
        print(f"             {result.note}")
    print(
        f"  fidelity   {run.fidelity.status}"
        + "".join(f"\n             {reason}" for reason in run.fidelity.reasons)
    )
    print(f"  took       {run.wall_s:.1f} s for {run.experiment_s:.1f} s of the lab's time")
    if path:
        print(f"  file       {path}")


def list_course(as_json: bool) -> int:
    """`tcptutor list`: the exit code."""
    whole, problems = course.read_course()
    modules = [
        {
            "id": module.id,
            "title": module.title,
            "steps": [
                {"id": step.id, "title": step.title, "kinds": list(step.kinds)} for step in module.steps
            ],
            "experiments": [
                {
                    "id": name,
                    "title": each.title,
                    "parameters": each.parameters,
                    "sources": list(each.sources),
                }
                for name, each in module.experiments.items()
            ],
        }
        for module in whole.modules
    ]
    if as_json:
        print(json.dumps({"modules": modules}, allow_nan=False))
    else:
        for module in whole.modules:
            print(
                f"{module.number}  {module.id}: {module.title}, {len(module.steps)} steps, {module.minutes} minutes"
            )
            for name, each in module.experiments.items():
                text = ", ".join(f"{key} {value}" for key, value in spec.settings(each).items())
                print(f"     {name}: {each.title}\n         {text}")
    for problem in problems:
        print(f"tcptutor: {problem}", file=sys.stderr)
    return 1 if problems else 0


def lint_course(folder: str | None) -> int:
    """`tcptutor lint`: the exit code."""
    problems = course.lint(Path(folder) if folder else places.lessons())
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems" if problems else "the course is well-formed")
    return 1 if problems else 0


def print_document(run: Run, path: Path) -> None:
    """`tcptutor show --json`."""
    print(json.dumps(document(run, str(path)), allow_nan=False))


def export_runs(names: Sequence[str], kind: str, output: str | None, as_json: bool) -> int:
    """`tcptutor export`: the exit code. Raises TutorError."""
    from tcptutor.exchange import export  # noqa: PLC0415

    opened = [exchange.open_run(name) for name in names]
    if output == "-":
        if len(opened) > 1:
            raise UsageError("standard output takes one run: give a folder with -o for several")
        run, path = opened[0]
        print(export.as_json(run, str(path)) if kind == "json" else export.as_csv(run.samples).rstrip("\n"))
        return 0
    target = Path(output) if output else None
    into = target is not None and (target.is_dir() or len(opened) > 1)
    if into and target is not None and target.is_file():
        raise UsageError(f"{target} is a file: give a folder with -o for several runs")
    files = []
    for run, path in opened:
        place = target / f"{path.stem}.{kind}" if into and target else target
        files += export.write(run, path, kind, place)
    _print_files(files, as_json)
    return 0


def plot_files(
    names: Sequence[str], output: str, what: str, across: Mapping[str, str | None], as_json: bool
) -> int:
    """`tcptutor plot`: the exit code. `across` is a sweep's x, y and group. Raises TutorError."""
    from tcptutor.sweep.table import is_sweep  # noqa: PLC0415

    target = Path(output)
    sweeps = [name for name in names if is_sweep(Path(name))]
    if sweeps:
        if len(names) > len(sweeps):
            raise UsageError(f"{sweeps[0]} is a sweep, and others are not: plot runs and sweeps one by one")
        if len(sweeps) > 1:
            raise UsageError(f"{len(sweeps)} sweeps do not go into one plot: give one")
        if what:
            raise UsageError("--what is for runs: say with --y what a sweep's plot shows")
        _plot_sweep(Path(sweeps[0]), target, across)
    else:
        from tcptutor.exchange.plot import plot  # noqa: PLC0415

        if given := [f"--{name}" for name, value in across.items() if value is not None]:
            raise UsageError(
                f"{given[0]} is for the file of a sweep: say with --what which parts of a run to plot"
            )
        quantities = [name.strip() for name in what.split(",") if name.strip()]
        plot([exchange.open_run(name)[0] for name in names], target, quantities)
    _print_files([target], as_json)
    return 0


def _plot_sweep(file: Path, target: Path, across: Mapping[str, str | None]) -> None:
    from tcptutor.sweep import plot, said  # noqa: PLC0415
    from tcptutor.sweep.table import load  # noqa: PLC0415

    table = load(file)
    if table.damaged:
        lines = said.count(table.damaged, "damaged line")
        print(
            f"tcptutor: {lines} in {file} left out: the sweep runs {'it' if table.damaged == 1 else 'them'} again",
            file=sys.stderr,
        )
    plot.draw(table, across["x"], target, across["y"] or plot.USUAL, across["group"])


def import_file(file: str, output: str | None, path: Mapping[str, str], as_json: bool) -> int:
    """`tcptutor import`: the exit code. Raises TutorError."""
    run = exchange.import_run(Path(file), path)
    kept = exchange.save_run(run, Path(output) if output else None)
    if as_json:
        print_document(run, kept)
    else:
        print(kept)
        if not run.complete:
            print(f"tcptutor: {run.note}: what is whole is kept", file=sys.stderr)
    return 0


def _print_files(files: Sequence[Path], as_json: bool) -> None:
    print(json.dumps({"files": [str(file) for file in files]}) if as_json else "\n".join(map(str, files)))
