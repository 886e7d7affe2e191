"""Some cells run again, with the same seeds, on the lab as it is: what they measure beside what was kept of them.

Another lab sends at other microseconds, so that some other segments are lost: the two agree within chance where their
difference is at most a few of its standard errors, which follow from the loss events of both. They are closer than
those of two seeds, as many of the losses are the same.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Sequence
from contextlib import aclosing

import msgspec

from tcptutor.backends.programs import run_until_signal
from tcptutor.base import units
from tcptutor.base.errors import TutorError
from tcptutor.fleet import pool
from tcptutor.sweep.grid import Cell
from tests.validation import judge, kept, plan
from tests.validation.kept import Result

LEAST = 0.01
"""Relative standard error that two measurements have without any loss: their ends cut a round trip."""
FAR = 3.0
"""Standard errors between two measurements of one cell beyond which it is not chance: one in 370 is farther."""

_NOT_KEPT = ""
"""In place of the commit that a kept cell names."""


class Again(msgspec.Struct, frozen=True):
    """One cell, twice."""

    kept: Result
    now: Result

    @property
    def apart(self) -> float:
        """The second throughput over the first, less 1, in standard errors."""
        chance = math.hypot(LEAST, judge.chance(self.kept), judge.chance(self.now))
        return (self.now.throughput / self.kept.throughput - 1) / chance


def chosen(count: int) -> list[Result]:
    """`count` of what is kept, always the same ones: by a hash of study and settings."""
    return sorted(kept.results(), key=_by_hash)[:count]


def run(count: int, jobs: int | None) -> int:
    """Run `count` cells again and print them; the exit code is 1 where one is farther off than chance."""
    cells = chosen(count)
    experiments = [cell.experiment for cell in cells]
    where = asyncio.run(pool.find_place(experiments, "guest", "virtual", jobs))
    seconds = sum(plan.cost(experiment) for experiment in experiments) / where.at_once
    print(f"{len(cells)} cells, {where.why}: about {seconds / 60:.0f} minutes", flush=True)
    found: list[Again] = []
    problem = run_until_signal(_fill(cells, where, found))
    if problem is not None:
        raise problem
    far = sum(abs(one.apart) > FAR for one in found)
    square = sum(one.apart**2 for one in found) / len(found)
    print(
        f"{far} of {len(found)} farther apart than {FAR:g} standard errors; mean square {square:.2f}, 1 for other seeds"
    )
    return int(far > 0)


async def _fill(cells: Sequence[Result], where: pool.Place, found: list[Again]) -> TutorError | None:
    async with aclosing(pool.runs([cell.experiment for cell in cells], where)) as runs:
        async for number, result in runs:
            if isinstance(result, TutorError):
                return result
            before = cells[number]
            cell = Cell(before.row.cell, before.row.point, before.experiment)
            one = Again(before, msgspec.structs.replace(before, row=kept.keep(cell, result, _NOT_KEPT)))
            found.append(one)
            print(
                f"{before.study}: {', '.join(before.row.point.values())}: {units.rate(before.throughput)} and "
                f"{units.rate(one.now.throughput)}, {before.events} and {one.now.events} loss events: "
                f"{one.apart:+.1f} standard errors",
                flush=True,
            )
    return None


def _by_hash(cell: Result) -> bytes:
    return hashlib.sha256(f"{cell.study} {cell.row.point}".encode()).digest()
