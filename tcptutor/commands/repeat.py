"""`tcptutor run --repeat N`: run an experiment with N seeds and print the means."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from tcptutor import course
from tcptutor.analysis import document, expected_throughput
from tcptutor.backends.ending import run_until_signal
from tcptutor.base import units
from tcptutor.base.columns import table
from tcptutor.base.confidence import LEVEL
from tcptutor.base.errors import LabError, TutorError, UsageError
from tcptutor.commands.bar import Bar
from tcptutor.commands.output import print_json, print_lines, toned, warn
from tcptutor.commands.run import open_store, warn_if_unsaved
from tcptutor.commands.words import count, duration, not_valid, rate_with_interval, with_interval
from tcptutor.fleet import place, pool
from tcptutor.fleet.place import Place
from tcptutor.run import Run
from tcptutor.runs.conduct import finish
from tcptutor.runs.store import RunStore
from tcptutor.spec import Experiment
from tcptutor.sweep.grid import Cell
from tcptutor.sweep.points import Point, point
from tcptutor.sweep.row import Row, cell_row


def repeat_experiment(
    experiment: str,
    settings: Mapping[str, str],
    seed: int | None,
    scale: str,
    repeat: int,
    backend: str,
    clock: str,
    as_json: bool,
) -> int:
    """Run all seeds and return the exit code. Raises TutorError before the first run."""
    first = course.experiment(experiment, settings, seed, scale=scale)
    if first.flows.capture:
        raise UsageError("--repeat saves no packets: omit capture, or run one seed with --seed")
    others = [
        course.experiment(experiment, settings, first.seed + step, scale=scale) for step in range(1, repeat)
    ]
    experiments = [first, *others]
    repeats = _Repeats(experiments, as_json, open_store())
    where = asyncio.run(place.find(experiments, backend, clock, None))
    if not as_json:
        runs = f"{count(repeat, 'run')}, {where.backend}, {where.clock} clock, {where.why}"
        about = f"  {runs}: about {duration(place.expected_seconds(experiments, where, expected_throughput))}"
        print_lines([toned(f"{first.name}: {first.title}", "title"), about])
    problem = run_until_signal(repeats.run(where))
    if repeats.rows:
        repeats.tell()
    if problem is not None:
        saved = " and saved" if repeats.all_saved else ""
        warn(f"{problem}; {len(repeats.rows)} of {count(repeat, 'run')} are finished{saved}")
        return problem.exit_code
    return 0 if repeats.all_saved else 1


class _Repeats:
    """Owns the results so far."""

    def __init__(self, experiments: Sequence[Experiment], as_json: bool, store: RunStore) -> None:
        self._experiments, self._as_json, self._store = experiments, as_json, store
        self._documents: dict[int, dict[str, object]] = {}
        self.rows: dict[int, Row] = {}
        self.all_saved = True
        """True while every run could be saved."""

    async def run(self, where: Place) -> TutorError | None:
        """Run all experiments; return the first problem."""
        problem: TutorError | None = None
        try:
            with Bar(self._experiments[0].name, len(self._experiments)) as bar:
                async with aclosing(pool.runs(self._experiments, where)) as results:
                    async for number, result in results:
                        if isinstance(result, TutorError):
                            problem = problem or result
                        else:
                            problem = await self._record(number, result) or problem
                        bar.advance()
        except asyncio.CancelledError:
            return LabError("stopped before the end")
        except TutorError as error:
            return error
        return problem

    async def _record(self, number: int, run: Run) -> TutorError | None:
        """Save and print a run; return the error that makes it unusable."""
        file, unsaved, _ = await asyncio.to_thread(finish, run, self._store)
        warn_if_unsaved(unsaved)
        self.all_saved = self.all_saved and not unsaved
        try:
            new_row = self.rows[number] = cell_row(Cell(number, {}, run.experiment), run)
        except LabError as error:
            return error
        self._documents[number] = document(run, str(file) if file else None)
        if not self._as_json:
            best = new_row.predictions[:1]
            doubt = (
                ""
                if new_row.fidelity == "valid"
                else f"   {': '.join([new_row.fidelity, *new_row.reasons[:1]])}"
            )
            models = f"   measured / {best[0].label} {best[0].ratio:.2f}" if best else ""
            print_lines(
                [
                    f"  seed {new_row.seed}   {units.rate(new_row.throughput_bps)}"
                    f"   {units.or_dash(new_row.losses, lambda n: count(n, 'loss event'))}{models}{doubt}"
                ]
            )
        return None

    def tell(self) -> None:
        """Print the documents with a summary, or the means with their intervals."""
        mean_point = point([self.rows[number] for number in sorted(self.rows)])
        if self._as_json:
            whole = {
                "runs": [self._documents[number] for number in sorted(self._documents)],
                "summary": _summary(mean_point),
            }
            print_json(whole)
        else:
            print_lines(_lines(mean_point))


def _summary(mean_point: Point) -> dict[str, Any]:
    measured = {name: mean_point.measured[name] for name in ("throughput_bps", "loss_rate", "losses")}
    ratios = {name: model.ratio for name, model in mean_point.models.items()}
    whole = {
        "n": len(mean_point.seeds),
        "seeds": mean_point.seeds,
        "confidence": LEVEL,
        **measured,
        "ratios": ratios,
        "limited_by": mean_point.limited_by,
        "not_valid": mean_point.doubtful,
        "doubt": mean_point.doubt,
    }
    return msgspec.to_builtins(whole)  # type: ignore[no-any-return]


def _lines(mean_point: Point) -> list[str]:
    measured = mean_point.measured
    runs = count(len(mean_point.seeds), "run")
    quantities = [
        ("throughput", rate_with_interval(measured["throughput_bps"])),
        ("loss rate", with_interval(measured["loss_rate"], 1e-2, "%")),
        ("losses", with_interval(measured["losses"], 1, "")),
    ]
    ratios = [
        (f"measured / {model.label}", with_interval(model.ratio, 1, ""))
        for model in mean_point.models.values()
    ]
    doubt = [f"    {not_valid(mean_point)}"] if mean_point.doubtful else []
    return [
        f"  mean of {runs}, ± half the {LEVEL:.0%} confidence interval",
        *table(quantities, (11,), indent=4),
        *table(ratios, (35,), indent=4, gap=1),
        *doubt,
    ]
