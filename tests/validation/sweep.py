"""Runs what the plan has and the results have not, on every core, and keeps each cell at once."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack, aclosing

from tcptutor.backends.programs import run_until_signal
from tcptutor.base import units
from tcptutor.base.errors import LabError, TutorError
from tcptutor.commands.output import Bar, count, duration
from tcptutor.fleet import pool
from tcptutor.sweep.grid import Cell
from tcptutor.sweep.results import cell_failure
from tcptutor.sweep.results_file import Store
from tests.validation import kept, plan


def run(names: Sequence[str], jobs: int | None = None) -> int:
    """Run the missing cells of the studies `names`; the exit code. Stopped, it keeps what was finished."""
    every = plan.studies()
    with ExitStack() as stack:
        stores = {
            name: stack.enter_context(kept.open_store(every[name], kept.path_of(every[name])))
            for name in names
        }
        cells = [(name, cell) for name in names for cell in every[name].cells()]
        missing = plan.in_order(
            (name, cell) for name, cell in cells if cell.index not in stores[name].table.rows
        )
        if not missing:
            print(f"all {count(len(cells), 'cell')} are there")
            return 0
        where = asyncio.run(
            pool.find_place([cell.experiment for _, cell in missing], "guest", "virtual", jobs)
        )
        seconds = sum(plan.cost(cell.experiment) for _, cell in missing) / where.at_once
        print(
            f"{count(len(missing), 'cell')} to run of {len(cells)}, {where.why}: about {duration(seconds)}",
            flush=True,
        )
        problem = run_until_signal(_fill(stores, missing, where, len(cells)))
    if problem is not None:
        print(f"{problem}: the same command goes on")
        return problem.exit_code
    return 0


async def _fill(
    stores: dict[str, Store], missing: Sequence[tuple[str, Cell]], where: pool.Place, total: int
) -> TutorError | None:
    commit = kept.commit()
    first: TutorError | None = None
    try:
        with Bar("validation", total, total - len(missing)) as bar:
            async with aclosing(pool.runs([cell.experiment for _, cell in missing], where)) as runs:
                async for number, result in runs:
                    name, cell = missing[number]
                    if isinstance(result, TutorError):
                        first = first or result
                        stores[name].add(cell_failure(cell, result))
                        told = f"failed: {result}"
                    else:
                        made = kept.keep(cell, result, commit)
                        stores[name].add(made)
                        told = f"{units.rate(made.throughput_bps)}, {count(made.losses, 'loss event')}"
                        told += f", {made.limited_by}, {made.fidelity}, {made.wall_s:.0f} s"
                    what = ", ".join(f"{key} {value}" for key, value in cell.point.items())
                    print(f"{name}: {what}: {told}", flush=True)
                    bar.advance()
    except asyncio.CancelledError:
        return LabError("stopped")
    except TutorError as error:
        return error
    return first
