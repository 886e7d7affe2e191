"""`tcptutor sweep`: says what will run, runs what is missing, keeps each result at once, and tells what came out."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

import click
import msgspec

from tcptutor import places, units
from tcptutor.backends.ending import run_until_signal
from tcptutor.course.experiments import Catalogue
from tcptutor.errors import LabError, TutorError
from tcptutor.sweep import cluster, place, plot, pool, said
from tcptutor.sweep.cell import Outcome, Row, failed, row
from tcptutor.sweep.grid import Cell, cells, parameter_name, read_axes
from tcptutor.sweep.place import Place
from tcptutor.sweep.progress import Bar
from tcptutor.sweep.table import SUFFIX, Definition, Store, define


class Request(msgspec.Struct, frozen=True, kw_only=True):
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
    x: str | None = None
    y: str | None = None
    group: str | None = None
    as_json: bool = False
    dry_run: bool = False


def run_sweep(request: Request) -> int:
    """The exit code. Raises TutorError; what is in the file then stays there."""
    axes = read_axes(request.grid)
    if request.plot is not None:
        plot.check(axes, request.x, request.y or plot.USUAL, request.group, request.plot)
    settings = {parameter_name(name): value for name, value in request.settings.items()}
    whole = cells(
        Catalogue(places.lessons()), request.experiment, settings, axes, request.seed, request.scale
    )
    if request.cluster is None:
        experiments = [cell.experiment for cell in whole]
        where = asyncio.run(place.find(experiments, request.backend, request.clock, request.jobs))
    else:
        where = cluster.place(request.backend, request.clock, request.jobs)
    definition = define(
        request.experiment, request.scale, settings, axes, request.seed, (where.backend, where.clock), whole
    )
    if request.dry_run:
        _announce(request, whole, where)
        return 0
    path = request.output or Path(request.experiment.replace("/", "-") + SUFFIX)
    with Store(path, definition) as store:
        return _fill(request, store, whole, where)


def _fill(request: Request, store: Store, whole: Sequence[Cell], where: Place) -> int:
    missing = [cell for cell in whole if cell.index not in store.table.rows]
    if store.table.damaged:
        _tell(
            f"{said.count(store.table.damaged, 'damaged line')} in {store.path}: their cells run again",
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
        click.echo(json.dumps(said.document(store.table, str(store.path)), allow_nan=False))
    else:
        for line in said.lines(store.table):
            click.echo(line)
        click.echo(f"file  {store.path}")
    if request.plot is not None and store.table.rows:
        plot.draw(store.table, request.x, request.plot, request.y or plot.USUAL, request.group)
        if not request.as_json:
            click.echo(f"plot  {request.plot}")
    return _end(store, problem, store.table.definition)


def _end(store: Store, problem: TutorError | None, definition: Definition) -> int:
    kept = f"{len(store.table.rows)} of {said.count(definition.cells, 'cell')} are kept in {store.path}"
    if problem is not None:
        click.echo(f"tcptutor: {problem}; {kept}: the same command goes on", err=True)
        return problem.exit_code
    failures = list(store.table.failures.values())
    if failures:
        first = failures[0]
        at = ", ".join(f"{name}={value}" for name, value in first.point.items()) or f"seed {first.seed}"
        click.echo(
            f"tcptutor: {said.count(len(failures), 'cell')} failed, the first ({at}): {first.reason}; {kept}: "
            "the same command tries them again",
            err=True,
        )
        return 3 if all(one.exit_code == 3 for one in failures) and not store.table.rows else 1
    return 0


async def _run(
    request: Request, store: Store, missing: Sequence[Cell], where: Place, total: int
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


async def _outcomes(request: Request, missing: Sequence[Cell], where: Place) -> AsyncGenerator[Outcome, None]:
    if request.cluster is not None:
        async with (
            cluster.Cluster(request.cluster) as workers,
            aclosing(workers.outcomes(missing, where)) as outcomes,
        ):
            async for outcome in outcomes:
                yield outcome
        return
    async with aclosing(pool.runs([cell.experiment for cell in missing], where)) as results:
        async for number, result in results:
            cell = missing[number]
            yield failed(cell, result) if isinstance(result, TutorError) else row(cell, result)


def _announce(request: Request, missing: Sequence[Cell], where: Place, done: int = 0) -> None:
    """How many cells, how long, and where, before anything runs."""
    there = f"{done} are done, " if done else ""
    text = (
        f"{there}{said.count(len(missing), 'cell')} to run, {where.backend}, {where.clock} clock, {where.why}"
    )
    if request.cluster is None:
        expected = place.expected_seconds([cell.experiment for cell in missing], where)
        text += f": about {said.duration(expected)}"
    _tell(text, request)


def _tell(text: str, request: Request) -> None:
    """To a reader: never into JSON, and not into the errors of a script."""
    if not request.as_json:
        click.echo(text)
    elif sys.stderr.isatty():
        click.echo(text, err=True)
