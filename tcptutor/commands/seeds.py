"""`tcptutor run --seeds`: run an experiment with several seeds, and print each result and the means."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from typing import Any

import msgspec

from tcptutor.analysis import document, expected_throughput
from tcptutor.backends.programs import run_until_signal
from tcptutor.base import units
from tcptutor.base.columns import table
from tcptutor.base.confidence import LEVEL
from tcptutor.base.errors import LabError, TutorError, UsageError
from tcptutor.commands.names import find_experiment
from tcptutor.commands.output import (
    Bar,
    count,
    duration,
    not_valid,
    print_json,
    print_lines,
    rate_with_interval,
    toned,
    warn,
    with_interval,
)
from tcptutor.commands.run import open_store, warn_if_unsaved
from tcptutor.commands.unmarked import remark_no_marks
from tcptutor.course import experiments
from tcptutor.fleet import pool
from tcptutor.fleet.pool import Place
from tcptutor.run import Run
from tcptutor.runs.conduct import finish
from tcptutor.spec import Experiment
from tcptutor.sweep.grid import Cell
from tcptutor.sweep.results import Point, Row, cell_row, point


def run_seeds(
    experiment: str,
    settings: Mapping[str, str],
    seed: int | None,
    scale: str,
    seeds: tuple[int | None, int],
    backend: str,
    clock: str,
    as_json: bool,
) -> int:
    """Run all seeds and return the exit code. Raises TutorError before the first run.

    `seeds` is the first seed and the count; without a first seed, start at `seed` or at the experiment's seed.
    """
    start, number = seeds
    if start is not None and seed is not None:
        raise UsageError("--seeds FIRST..LAST names the first seed: omit --seed")
    name = find_experiment(experiment, "tcptutor run")
    first = experiments.build(name, settings, seed if start is None else start, scale=scale)
    if first.flows.capture:
        raise UsageError("--seeds saves no packets: omit capture, or run one seed with --seed")
    seeded = [first] + [
        experiments.build(name, settings, first.seed + step, scale=scale) for step in range(1, number)
    ]
    remark_no_marks()
    results = _SeedRuns(seeded, as_json)
    where = asyncio.run(pool.find_place(seeded, backend, clock, None))
    if not as_json:
        runs = f"{count(number, 'run')}, {where.backend}, {where.clock} clock, {where.why}"
        about = f"  {runs}: about {duration(pool.expected_seconds(seeded, where, expected_throughput))}"
        print_lines([toned(f"{first.name}: {first.title}", "title"), about])
    problem = run_until_signal(results.run(where))
    if results.rows:
        results.print_summary()
    if problem is not None:
        saved = " and saved" if results.all_saved else ""
        warn(f"{problem}; {len(results.rows)} of {count(number, 'run')} are finished{saved}")
        return problem.exit_code
    return 0 if results.all_saved else 1


class _SeedRuns:
    """Owns the results so far."""

    def __init__(self, experiments: Sequence[Experiment], as_json: bool) -> None:
        self._experiments, self._as_json, self._store = experiments, as_json, open_store()
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
                        failure = (
                            result if isinstance(result, TutorError) else await self._record(number, result)
                        )
                        problem = problem or failure
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
            row = self.rows[number] = cell_row(Cell(number, {}, run.experiment), run)
        except LabError as error:
            return error
        self._documents[number] = document(run, str(file) if file else None)
        if not self._as_json:
            models = [f"measured / {best.label} {best.ratio:.2f}" for best in row.predictions[:1]]
            doubt = [] if row.fidelity == "valid" else [": ".join([row.fidelity, *row.reasons[:1]])]
            losses = units.or_dash(row.losses, lambda n: count(n, "loss event"))
            print_lines(
                [
                    "  "
                    + "   ".join(
                        [f"seed {row.seed}", units.rate(row.throughput_bps), losses, *models, *doubt]
                    )
                ]
            )
        return None

    def print_summary(self) -> None:
        """Print the documents with a summary, or the means with their intervals."""
        mean = point([self.rows[number] for number in sorted(self.rows)])
        if self._as_json:
            runs = [self._documents[number] for number in sorted(self._documents)]
            print_json({"runs": runs, "summary": _summary(mean)})
        else:
            print_lines(_lines(mean))


def _summary(mean: Point) -> dict[str, Any]:
    whole = {
        "n": len(mean.seeds),
        "seeds": mean.seeds,
        "confidence": LEVEL,
        **{name: mean.measured[name] for name in ("throughput_bps", "loss_rate", "losses")},
        "ratios": {name: model.ratio for name, model in mean.models.items()},
        "limited_by": mean.limited_by,
        "not_valid": mean.doubtful,
        "doubt": mean.doubt,
    }
    return msgspec.to_builtins(whole)  # type: ignore[no-any-return]


def _lines(mean: Point) -> list[str]:
    measured = mean.measured
    quantities = [
        ("throughput", rate_with_interval(measured["throughput_bps"])),
        ("loss rate", with_interval(measured["loss_rate"], 1e-2, "%")),
        ("losses", with_interval(measured["losses"], 1, "")),
    ]
    models = mean.models.values()
    ratios = [(f"measured / {model.label}", with_interval(model.ratio, 1, "")) for model in models]
    return [
        f"  mean of {count(len(mean.seeds), 'run')}, ± half the {LEVEL:.0%} confidence interval",
        *table(quantities, (11,), indent=4),
        *table(ratios, (35,), indent=4, gap=1),
        *([f"    {not_valid(mean)}"] if mean.doubtful else []),
    ]
