"""`tcptutor sweep`: says what will run, runs what is missing, keeps each result at once, and tells what came out."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from tcptutor.backends.ending import run_until_signal
from tcptutor.base import places, units
from tcptutor.base.columns import table
from tcptutor.base.errors import LabError, TutorError, UsageError
from tcptutor.commands.bar import Bar
from tcptutor.commands.output import print_json, print_lines, remark, warn, width
from tcptutor.commands.targets import check_regular, check_targets
from tcptutor.commands.words import count, difference, duration, not_valid, rate_with_interval
from tcptutor.course import read_course
from tcptutor.course.activities.sweep import SweepActivity
from tcptutor.course.experiments import Catalogue
from tcptutor.fleet import place, pool
from tcptutor.fleet.cluster import Cluster
from tcptutor.fleet.place import Place
from tcptutor.run import Run
from tcptutor.sweep import page, plot
from tcptutor.sweep.confidence import LEVEL
from tcptutor.sweep.definition import Definition
from tcptutor.sweep.grid import Cell, cells, parameter_name, read_axes
from tcptutor.sweep.points import Point, points
from tcptutor.sweep.row import Outcome, Row, assign_cell, cell_failure, cell_row, run_row
from tcptutor.sweep.table import SUFFIX, Store, SweepTable, define, load


class SweepRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asks for."""

    experiment: str
    grid: Sequence[str]
    settings: Mapping[str, str] = {}
    seed: int | None = None
    scale: str = "bench"
    backend: str = "auto"
    clock: str = "auto"
    output: Path | None = None
    jobs: int | None = None
    cluster: str | None = None
    plot: Path | None = None
    replace: bool = False
    """A plot that is there may be written over."""
    x: str | None = None
    y: str | None = None
    group: str | None = None
    as_json: bool = False
    dry_run: bool = False


def run_sweep(request: SweepRequest) -> int:
    """The exit code. Raises TutorError; what is in the file then stays there."""
    if request.grid:
        catalogue = Catalogue(places.lessons())
        request = msgspec.structs.replace(request, experiment=catalogue.full_name(request.experiment))
        axes = read_axes(request.grid)
        settings = {parameter_name(name): value for name, value in request.settings.items()}
        whole = cells(catalogue, request.experiment, settings, axes, request.seed, request.scale)
    else:
        swept = _of_page(request)
        axes, settings, whole = page.axes(swept), swept.settings, page.cells(swept)
    path = request.output or Path(request.experiment.replace("/", "-") + SUFFIX)
    check_regular(path)
    if request.plot is not None:
        plot.check(axes, request.x, request.y or plot.USUAL, request.group, request.plot)
        replace = request.replace or _is_plot_of_before(request, path)
        check_targets([request.plot], [path], replace=replace, elsewhere="give another --plot")
    if request.cluster is None:
        experiments = [cell.experiment for cell in whole]
        where = asyncio.run(place.find(experiments, request.backend, request.clock, request.jobs))
    else:
        where = _on_cluster(request)
    definition = define(
        request.experiment, request.scale, settings, axes, request.seed, (where.backend, where.clock), whole
    )
    if request.dry_run:
        _announce(request, whole, where)
        return 0
    with Store(path, definition) as store:
        return _fill(request, store, whole, where)


def _is_plot_of_before(request: SweepRequest, path: Path) -> bool:
    """Whether what is in the plot's place is what this sweep drew when it ended last: the same command goes on."""
    if request.plot is None or not (request.plot.is_file() and path.is_file()):
        return False
    try:
        done = load(path)
    except TutorError:
        return False
    return plot.is_drawn(done, request.x, request.plot, request.y or plot.USUAL, request.group)


def _of_page(request: SweepRequest) -> SweepActivity:
    """The sweep of the page that is named in place of an experiment. Raises UsageError."""
    if request.settings or request.seed is not None or request.scale != "bench":
        raise UsageError(
            "without --grid a page's own sweep is run as it is: leave --set, --seed and --scale out, or give --grid"
        )
    whole, _ = read_course()
    swept = {
        f"{module.id}/{step.id}": step.sweep
        for module in whole.modules
        for step in module.steps
        if step.sweep
    }
    if request.experiment not in swept:
        pages = f"or name a page that sweeps: {', '.join(swept)}" if swept else "no page of the course sweeps"
        raise UsageError(f"Missing option '--grid': write it like --grid loss=0.01%,0.1%,1%; {pages}")
    return swept[request.experiment]


def _on_cluster(request: SweepRequest) -> Place:
    """Guests with the virtual clock. Raises UsageError when anything else is asked for."""
    if request.backend == "host" or request.clock == "real":
        raise UsageError(
            "--cluster: runs in real time disturb each other: leave --backend and --clock out, for the virtual clock"
        )
    if request.jobs is not None:
        raise UsageError("--cluster: each worker runs as many cells as it has threads: leave --jobs out")
    return Place("guest", "virtual", 1, "on the cluster")


def _fill(request: SweepRequest, store: Store, whole: Sequence[Cell], where: Place) -> int:
    missing = [cell for cell in whole if cell.index not in store.table.rows]
    if store.table.damaged:
        _tell(
            f"{count(store.table.damaged, 'damaged line')} in {store.path}: their cells run again",
            request,
        )
    if missing:
        _announce(request, missing, where, done=len(whole) - len(missing))
        problem = run_until_signal(_run(request, store, missing, where, len(whole)))
    else:
        problem = None
    if not (store.table.rows or store.table.failures):
        return _end(store, problem, store.table.definition)
    if request.as_json:
        print_json(document(store.table, str(store.path)))
    else:
        print_lines(lines(store.table))
        print_lines([f"file  {store.path}"])
    if request.plot is not None and store.table.rows:
        plot.draw(store.table, request.x, request.plot, request.y or plot.USUAL, request.group)
        if not request.as_json:
            print_lines([f"plot  {request.plot}"])
    return _end(store, problem, store.table.definition)


def _end(store: Store, problem: TutorError | None, definition: Definition) -> int:
    kept = f"{len(store.table.rows)} of {count(definition.cells, 'cell')} are kept in {store.path}"
    if problem is not None:
        warn(f"{problem}; {kept}: the same command goes on")
        return problem.exit_code
    failures = list(store.table.failures.values())
    if failures:
        first = failures[0]
        at = ", ".join(f"{name}={value}" for name, value in first.point.items()) or f"seed {first.seed}"
        warn(
            f"{count(len(failures), 'cell')} failed, the first ({at}): {first.reason}; {kept}: "
            "the same command tries them again"
        )
        return 3 if all(one.exit_code == 3 for one in failures) and not store.table.rows else 1
    return 0


async def _run(
    request: SweepRequest, store: Store, missing: Sequence[Cell], where: Place, total: int
) -> TutorError | None:
    """Run the `missing` cells and keep what comes out; gives what ended it too early."""
    try:
        with Bar(request.experiment, total, total - len(missing)) as bar:
            async with aclosing(_outcomes(request, missing, where)) as outcomes:
                async for outcome in outcomes:
                    store.add(outcome)
                    told = units.rate(outcome.throughput_bps) if isinstance(outcome, Row) else "failed"
                    bar.one_more(told)
    except asyncio.CancelledError:
        return LabError("stopped")
    except TutorError as error:
        return error
    return None


async def _outcomes(
    request: SweepRequest, missing: Sequence[Cell], where: Place
) -> AsyncGenerator[Outcome, None]:
    experiments = [cell.experiment for cell in missing]
    if request.cluster is not None:
        async with (
            Cluster(request.cluster) as workers,
            aclosing(workers.results(experiments, where.clock, run_row, Row)) as rows,
        ):
            async for number, made in rows:
                cell = missing[number]
                yield cell_failure(cell, made) if isinstance(made, TutorError) else assign_cell(made, cell)
        return
    async with aclosing(pool.runs(experiments, where)) as runs:
        async for number, run in runs:
            cell = missing[number]
            yield _outcome(cell, run)


def _outcome(cell: Cell, run: Run | TutorError) -> Outcome:
    if isinstance(run, TutorError):
        return cell_failure(cell, run)
    try:
        return cell_row(cell, run)
    except LabError as error:
        return cell_failure(cell, error)


def _announce(request: SweepRequest, missing: Sequence[Cell], where: Place, done: int = 0) -> None:
    """How many cells, how long, and where, before anything runs."""
    there = f"{done} are done, " if done else ""
    text = f"{there}{count(len(missing), 'cell')} to run, {where.backend}, {where.clock} clock, {where.why}"
    if request.cluster is None:
        expected = place.expected_seconds([cell.experiment for cell in missing], where)
        text += f": about {duration(expected)}"
    _tell(text, request)


def _tell(text: str, request: SweepRequest) -> None:
    """To a reader: never into JSON, and not into the errors of a script."""
    if not request.as_json:
        print_lines([text])
    elif sys.stderr.isatty():
        remark(text)


def lines(results: SweepTable) -> list[str]:
    """A line for each point, in columns, with a head; why runs are not valid is below where a terminal is narrow."""
    found = points(results.sorted_rows())
    if not found:
        return []
    names = list(found[0].point)
    rows = [[*names, "runs", "throughput", "model", "difference", "limited by"]]
    rows += [_cells(point, names) for point in found]
    doubts = ["", *map(not_valid, found)]
    told, room = table([[*row, doubt] for row, doubt in zip(rows, doubts, strict=True)], indent=0), width()
    if room is not None and max(map(len, told)) > room:
        told = []
        for line, doubt in zip(table(rows, indent=0), doubts, strict=True):
            told += [line, *(table([(doubt,)], indent=4, fold=True, width=room) if doubt else [])]
    if any(len(point.seeds) > 1 for point in found):
        told.append(f"± is half the {LEVEL:.0%} confidence interval of the mean over the seeds")
    return told


def _cells(point: Point, names: Sequence[str]) -> list[str]:
    model = next(iter(point.models.values()), None)
    return [
        *(point.point[name] for name in names),
        str(len(point.seeds)),
        rate_with_interval(point.measured["throughput_bps"]),
        model.label if model else "",
        difference(model.ratio) if model else "",
        ", ".join(point.limited_by),
    ]


def document(results: SweepTable, file: str) -> dict[str, Any]:
    """A sweep as plain JSON: what was asked for, each row, each failure, and the points with their intervals."""
    whole: dict[str, Any] = msgspec.to_builtins(
        {
            "file": file,
            "definition": results.definition,
            "confidence": LEVEL,
            "points": points(results.sorted_rows()),
            "rows": results.sorted_rows(),
            "failures": [results.failures[cell] for cell in sorted(results.failures)],
        }
    )
    for each in (*whole["rows"], *whole["failures"]):
        del each["type"]  # the file's own mark
    return whole
