"""Cache of runs on the virtual clock: equal settings and seed in an equal lab give equal runs."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing
from pathlib import Path

import msgspec

from tcptutor.backends.guest import sizes
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.base import places
from tcptutor.base.errors import TutorError
from tcptutor.fleet import pool
from tcptutor.fleet.cluster import Cluster
from tcptutor.fleet.pool import Place
from tcptutor.run import Run, lab_parts, load, save
from tcptutor.spec import Experiment

_ELSEWHERE = "set XDG_CACHE_HOME to a folder that can be written"


class RunCache:
    """Complete runs in a folder, a file each, by experiment and lab.

    `version` is the lab's fingerprint, by default that of this machine's guest; LabUnavailable is raised without a
    guest.
    """

    def __init__(self, version: str | None = None, folder: Path | None = None) -> None:
        self._version = Snapshots().version() if version is None else version
        self._folder = folder or places.cache() / "measured"
        self._labs: dict[int, dict[str, str]] = {}
        """Parts of the labs here, by memory of the guest in MiB."""

    def key(self, experiment: Experiment) -> str:
        """Return the cache key; equal settings and seed give equal keys, and titles do not matter."""
        plain = msgspec.structs.replace(experiment, title="", sources=(), scale="bench")
        content = msgspec.json.encode([self._version, plain], order="deterministic")
        return hashlib.sha256(content).hexdigest()[:32]

    def lab_of(self, experiment: Experiment) -> dict[str, str]:
        """Return the parts of the lab that runs `experiment` here. Raises KernelLacks if no guest can hold it."""
        memory = sizes.size(experiment)
        if memory not in self._labs:
            self._labs[memory] = Snapshots(memory=memory).composition("virtual")
        return self._labs[memory]

    def has(self, experiment: Experiment) -> bool:
        """Check for a run of `experiment` without reading it."""
        return self._file(experiment).exists()

    def get(self, experiment: Experiment) -> Run | None:
        """Return the run of `experiment`; None when it is missing, or damaged and now removed."""
        file = self._file(experiment)
        try:
            run = load(file)
        except TutorError:
            with contextlib.suppress(OSError):
                file.unlink(missing_ok=True)
            return None
        with contextlib.suppress(OSError):
            os.utime(file)
        return run

    def put(self, experiment: Experiment, run: Run) -> None:
        """Store `run`. Raises TutorError when it cannot be written."""
        save(run, self._file(experiment), _ELSEWHERE)

    def prune(self) -> None:
        """Remove runs that were not used for a long time."""
        places.remove_unused(self._folder.glob("*.tcprun"))

    def _file(self, experiment: Experiment) -> Path:
        return self._folder / f"{self.key(experiment)}.tcprun"


async def run_into_cache(
    experiments: Sequence[Experiment], where: Place, cache: RunCache, cluster: str | None = None
) -> AsyncGenerator[tuple[int, str], None]:
    """Run `experiments` and store the runs in `cache`; yield each number with a problem, empty for success.

    Results come in the order of completion. With `cluster`, the address of a Dask scheduler, its workers run the
    experiments. Closing the generator, or cancelling the task, ends every lab. Raises LabUnavailable when no
    experiment can run.
    """
    if cluster is not None:
        async with (
            Cluster(cluster) as workers,
            aclosing(workers.results(experiments, where.clock, run_file, bytes)) as files,
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


def run_file(run: Run) -> bytes:
    """Return `run` as the content of a run file."""
    with tempfile.TemporaryDirectory(prefix="tcptutor-") as folder:
        file = Path(folder) / "run"
        save(run, file)
        return file.read_bytes()


def _put_file(cache: RunCache, experiment: Experiment, file: bytes | TutorError) -> str:
    if isinstance(file, TutorError):
        return str(file)
    run = load(Path("the worker's run"), file)
    if run.environment.snapshot != lab_parts.fingerprint(cache.lab_of(experiment)):
        return "the worker's lab differs from this one: copy this one with `tcptutor lab pack` and `setup --from`"
    return _put(cache, experiment, run)
