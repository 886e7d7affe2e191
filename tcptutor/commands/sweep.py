"""`tcptutor sweep`: run missing cells of a grid, save each result at once, and print the table."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec

from tcptutor.analysis import expected_throughput
from tcptutor.backends.programs import run_until_signal
from tcptutor.base import places, units
from tcptutor.base.columns import table
from tcptutor.base.confidence import LEVEL
from tcptutor.base.errors import LabError, TutorError, UsageError
from tcptutor.commands.names import all_pages, find_experiment, find_page, is_page_name, page_numbers
from tcptutor.commands.output import (
    Bar,
    count,
    difference,
    duration,
    not_valid,
    print_chart,
    print_json,
    print_lines,
    rate_with_interval,
    remark,
    warn,
    width,
)
from tcptutor.commands.targets import TERMINAL, check_plot, check_regular
from tcptutor.commands.unmarked import remark_no_marks
from tcptutor.course.activities.run import SweepActivity
from tcptutor.course.experiments import Catalogue
from tcptutor.exchange.plot import save_chart
from tcptutor.fleet import pool
from tcptutor.fleet.cluster import Cluster
from tcptutor.fleet.pool import Place
from tcptutor.run import Run
from tcptutor.sweep import figure
from tcptutor.sweep.grid import Axis, Cell, cells, parameter_name, read_axes
from tcptutor.sweep.results import Outcome, Point, Row, assign_cell, cell_failure, cell_row, points, run_row
from tcptutor.sweep.results_file import SUFFIX, Definition, Store, SweepTable, define, load


class SweepRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Arguments of `tcptutor sweep`."""

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
    """Overwrite an existing plot."""
    x: str | None = None
    y: str | None = None
    group: str | None = None
    as_json: bool = False
    dry_run: bool = False


def run_sweep(request: SweepRequest) -> int:
    """Run the sweep and return the exit code. Raises TutorError; saved results stay in the file."""
    if request.grid:
        catalogue = Catalogue(places.lessons())
        request = msgspec.structs.replace(
            request, experiment=find_experiment(request.experiment, "tcptutor sweep")
        )
        axes = read_axes(request.grid)
        settings = {parameter_name(name): value for name, value in request.settings.items()}
        name, scale = request.experiment, request.scale
        all_cells = cells(
            lambda values, seed: catalogue.build(name, values, seed, scale), settings, axes, request.seed
        )
    else:
        page, swept = _of_page(request)
        request = msgspec.structs.replace(request, experiment=page)
        axes, settings, all_cells = _page_axes(swept), swept.settings, _page_cells(swept)
    path = request.output or Path(request.experiment.replace("/", "-") + SUFFIX)
    check_regular(path)
    if request.plot is not None:
        figure.check(axes, request.x, request.y or figure.USUAL, request.group)
        replace = request.replace or _is_own_plot(request, path)
        check_plot(request.plot, [path], replace=replace, as_json=request.as_json)
    if request.cluster is None:
        experiments = [cell.experiment for cell in all_cells]
        where = asyncio.run(pool.find_place(experiments, request.backend, request.clock, request.jobs))
    else:
        where = _on_cluster(request)
    definition = define(
        request.experiment,
        request.scale,
        settings,
        axes,
        request.seed,
        (where.backend, where.clock),
        all_cells,
    )
    if request.dry_run:
        _print_plan(request, all_cells, where)
        return 0
    remark_no_marks()
    with Store(path, definition) as store:
        return _fill(request, store, all_cells, where)


def _is_own_plot(request: SweepRequest, path: Path) -> bool:
    """Return True if the existing plot was drawn by this sweep when it last ended."""
    if request.plot is None or not (request.plot.is_file() and path.is_file()):
        return False
    try:
        done = load(path)
    except TutorError:
        return False
    return figure.is_drawn(done, request.x, request.plot, request.y or figure.USUAL, request.group)


def _of_page(request: SweepRequest) -> tuple[str, SweepActivity]:
    """Return the page named in place of an experiment, as MODULE/PAGE, and its sweep. Raises UsageError."""
    if request.settings or request.seed is not None or request.scale != "bench":
        raise UsageError(
            "without --grid a page's own sweep runs unchanged: omit --set, --seed and --scale, or add --grid"
        )
    name, swept = request.experiment, [(module, step) for module, step in all_pages() if step.sweep]
    if not is_page_name(name) or name in Catalogue(places.lessons()).names:
        find_experiment(name, "tcptutor sweep")
        pages = f"; or name a page that sweeps: {page_numbers(swept)}" if swept else ""
        raise UsageError(f"missing option '--grid': write it like --grid loss=0.01%,0.1%,1%{pages}")
    module, step = find_page(name)
    if step.sweep is None:
        of_module = [page for page in swept if page[0].id == module.id]
        pages = f"pages that sweep are {page_numbers(of_module or swept)}" if swept else "no page sweeps"
        raise UsageError(f"{module.id}/{step.id} has no sweep: {pages}; an experiment needs --grid")
    return f"{module.id}/{step.id}", step.sweep


def _page_axes(sweep: SweepActivity) -> tuple[Axis, ...]:
    seeds = [experiment.seed for at, experiment in sweep.cells() if at == 0]
    return (Axis(sweep.axis, sweep.values), Axis("seed", tuple(map(str, seeds))))


def _page_cells(sweep: SweepActivity) -> list[Cell]:
    return [
        Cell(number, {sweep.axis: sweep.values[at]}, experiment)
        for number, (at, experiment) in enumerate(sweep.cells())
    ]


def _on_cluster(request: SweepRequest) -> Place:
    """Return guests with the virtual clock. Raises UsageError for any other choice."""
    if request.backend == "host" or request.clock == "real":
        raise UsageError(
            "--cluster: real-time runs disturb each other: omit --backend and --clock to use the virtual clock"
        )
    if request.jobs is not None:
        raise UsageError("--cluster: each worker runs as many cells as it has threads: omit --jobs")
    return Place("guest", "virtual", 1, "on the cluster")


def _fill(request: SweepRequest, store: Store, all_cells: Sequence[Cell], where: Place) -> int:
    missing = [cell for cell in all_cells if cell.index not in store.table.rows]
    if store.table.damaged:
        _print_progress(
            f"{count(store.table.damaged, 'damaged line')} in {store.path}: their cells run again",
            request,
        )
    if missing:
        _print_plan(request, missing, where, done=len(all_cells) - len(missing))
        problem = run_until_signal(_run(request, store, missing, where, len(all_cells)))
    else:
        problem = None
    if not (store.table.rows or store.table.failures):
        return _exit_code(store, problem, store.table.definition)
    if request.as_json:
        print_json(document(store.table, str(store.path)))
    else:
        print_lines(lines(store.table))
        print_lines([f"file  {store.path}"])
    if request.plot is not None and store.table.rows:
        chart = figure.chart(store.table, request.x, request.y or figure.USUAL, request.group)
        if request.plot == TERMINAL:
            print_chart(chart)
        else:
            save_chart(chart, request.plot)
            if not request.as_json:
                print_lines([f"plot  {request.plot}"])
    return _exit_code(store, problem, store.table.definition)


def _exit_code(store: Store, problem: TutorError | None, definition: Definition) -> int:
    saved = f"{len(store.table.rows)} of {count(definition.cells, 'cell')} are saved in {store.path}"
    if problem is not None:
        warn(f"{problem}; {saved}: repeat the command to continue")
        return problem.exit_code
    failures = list(store.table.failures.values())
    if failures:
        first = failures[0]
        at = ", ".join(f"{name}={value}" for name, value in first.point.items()) or f"seed {first.seed}"
        warn(
            f"{count(len(failures), 'cell')} failed, the first ({at}): {first.reason}; {saved}: "
            "repeat the command to retry them"
        )
        return 3 if all(one.exit_code == 3 for one in failures) and not store.table.rows else 1
    return 0


async def _run(
    request: SweepRequest, store: Store, missing: Sequence[Cell], where: Place, total: int
) -> TutorError | None:
    """Run the `missing` cells and save the results; return the error that ended the sweep early."""
    try:
        with Bar(request.experiment, total, total - len(missing)) as bar:
            async with aclosing(_outcomes(request, missing, where)) as outcomes:
                async for outcome in outcomes:
                    store.add(outcome)
                    output = units.rate(outcome.throughput_bps) if isinstance(outcome, Row) else "failed"
                    bar.advance(output)
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
            async for number, result in rows:
                cell = missing[number]
                yield (
                    cell_failure(cell, result)
                    if isinstance(result, TutorError)
                    else assign_cell(result, cell)
                )
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


def _print_plan(request: SweepRequest, missing: Sequence[Cell], where: Place, done: int = 0) -> None:
    progress = f"{done} are done, " if done else ""
    text = (
        f"{progress}{count(len(missing), 'cell')} to run, {where.backend}, {where.clock} clock, {where.why}"
    )
    if request.cluster is None:
        expected = pool.expected_seconds([cell.experiment for cell in missing], where, expected_throughput)
        text += f": about {duration(expected)}"
    _print_progress(text, request)


def _print_progress(text: str, request: SweepRequest) -> None:
    """Print progress, but never into JSON or a script's errors."""
    if not request.as_json:
        print_lines([text])
    elif sys.stderr.isatty():
        remark(text)


def lines(results: SweepTable) -> list[str]:
    """Format a line per point below a head; reasons for invalid runs go below if the terminal is narrow."""
    grid_points = points(results.sorted_rows())
    if not grid_points:
        return []
    names = list(grid_points[0].point)
    rows = [[*names, "runs", "throughput", "model", "difference", "limited by"]]
    rows += [_cells(point, names) for point in grid_points]
    doubts = ["", *map(not_valid, grid_points)]
    output, room = table([[*row, doubt] for row, doubt in zip(rows, doubts, strict=True)], indent=0), width()
    if room is not None and max(map(len, output)) > room:
        output = []
        for line, doubt in zip(table(rows, indent=0), doubts, strict=True):
            output += [line, *(table([(doubt,)], indent=4, fold=True, width=room) if doubt else [])]
    if any(len(point.seeds) > 1 for point in grid_points):
        output.append(f"± is half the {LEVEL:.0%} confidence interval of the mean over the seeds")
    return output


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
    """Return a sweep as plain JSON: definition, rows, failures, and points with intervals."""
    all_cells: dict[str, Any] = msgspec.to_builtins(
        {
            "file": file,
            "definition": results.definition,
            "confidence": LEVEL,
            "points": points(results.sorted_rows()),
            "rows": results.sorted_rows(),
            "failures": [results.failures[cell] for cell in sorted(results.failures)],
        }
    )
    for each in (*all_cells["rows"], *all_cells["failures"]):
        del each["type"]  # internal tag of the file
    return all_cells
