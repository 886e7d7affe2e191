"""Runs that are made and put into the cache."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path

from tcptutor.base.errors import TutorError
from tcptutor.fleet import pool
from tcptutor.fleet.cache import RunCache
from tcptutor.fleet.cluster import Cluster
from tcptutor.fleet.place import Place
from tcptutor.run import Run, lab_parts, load, save
from tcptutor.spec import Experiment


async def made(
    experiments: Sequence[Experiment], where: Place, cache: RunCache, cluster: str | None = None
) -> AsyncGenerator[tuple[int, str], None]:
    """Make a run of each and put it into the cache: its number with why there is none, empty where there is one, in
    the order in which they end.

    cluster: the address of the Dask scheduler whose workers make them. Raises LabUnavailable when none can run. Closing
    it, or cancelling the task, ends every lab.
    """
    if cluster is not None:
        async with (
            Cluster(cluster) as workers,
            aclosing(workers.results(experiments, where.clock, packed, bytes)) as files,
        ):
            async for number, file in files:
                yield number, await asyncio.to_thread(_put_file, cache, experiments[number], file)
        return
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


def packed(run: Run) -> bytes:
    """As it stands in a run file."""
    with tempfile.TemporaryDirectory(prefix="tcptutor-") as folder:
        file = Path(folder) / "run"
        save(run, file)
        return file.read_bytes()


def _put_file(cache: RunCache, experiment: Experiment, file: bytes | TutorError) -> str:
    if isinstance(file, TutorError):
        return str(file)
    run = load(Path("the worker's run"), file)
    if run.environment.snapshot != lab_parts.fingerprint(cache.lab_of(experiment)):
        return "the worker's lab is another one than here: `tcptutor lab pack` and `setup --from` make them the same"
    return _put(cache, experiment, run)
