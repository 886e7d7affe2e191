"""Runs that are made and put into the cache."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from tcptutor.errors import TutorError
from tcptutor.fleet import pool
from tcptutor.fleet.cache import RunCache
from tcptutor.fleet.place import Place
from tcptutor.run import Run
from tcptutor.spec import Experiment


async def made(
    experiments: Sequence[Experiment], where: Place, cache: RunCache
) -> AsyncGenerator[tuple[int, str], None]:
    """Make a run of each and put it into the cache: its number with why there is none, empty where there is one, in
    the order in which they end.

    Raises LabUnavailable when none can run. Closing it, or cancelling the task, ends every lab.
    """
    async with aclosing(pool.runs(experiments, where)) as runs:
        async for number, run in runs:
            yield number, await asyncio.to_thread(_put, cache, experiments[number], run)


def _put(cache: RunCache, experiment: Experiment, run: Run | TutorError) -> str:
    if isinstance(run, TutorError):
        return str(run)
    if not run.complete:
        return run.note or "the run was cut short"
    cache.put(experiment, run)
    return ""
