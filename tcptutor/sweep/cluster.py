"""The cells of a sweep on the workers of a Dask cluster, each worker with guests of its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import threading
import warnings
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import msgspec

from tcptutor import __version__
from tcptutor.backends.lab import Lab
from tcptutor.errors import LabError, LabUnavailable, MissingTool, TutorError, UsageError
from tcptutor.sweep.cell import Failed, Outcome, failed, play, row
from tcptutor.sweep.grid import Cell
from tcptutor.sweep.place import Place

TIMEOUT = 10.0
"""Seconds in which a scheduler must answer, and have a worker."""
_LOOK = 0.5
"""Seconds between two looks of a worker whether its cell is still wanted."""
_warming = threading.Lock()


def place(backend: str, clock: str, jobs: int | None) -> Place:
    """Where cells run on a cluster: in guests with the virtual clock. Raises UsageError for anything else."""
    if backend == "host" or clock == "real":
        raise UsageError(
            "--cluster: runs in real time disturb each other: leave --backend and --clock out, for the virtual clock"
        )
    if jobs is not None:
        raise UsageError("--cluster: each worker runs as many cells as it has threads: leave --jobs out")
    return Place("guest", "virtual", 1, "on the cluster")


def _distributed() -> Any:
    try:
        import distributed  # noqa: PLC0415
    except ImportError:
        raise MissingTool("--cluster needs Dask: run pip install 'tcptutor[cluster]'") from None
    return distributed


class Cluster:
    """A connection to a scheduler; `async with` opens and closes it."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._distributed = _distributed()
        self._client: Any = None
        self.threads = 0
        """How many cells run at a time, on all workers together."""

    async def __aenter__(self) -> Cluster:
        # What Dask logs while a connection ends is for its developers: we say it in one line.
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        try:
            with warnings.catch_warnings():
                # Dask warns of packages that differ on the workers; what we send there is text.
                warnings.simplefilter("ignore")
                self._client = await self._distributed.Client(
                    self._address, asynchronous=True, timeout=TIMEOUT, set_as_default=False
                )
                await self._client.wait_for_workers(1, timeout=TIMEOUT)
        except (OSError, ValueError) as error:
            connected = self._client is not None
            await self._close()
            if connected:
                raise LabUnavailable(
                    f"the Dask scheduler at {self._address} has no worker: start one with `dask worker`"
                ) from error
            raise LabUnavailable(
                f"no Dask scheduler answers at {self._address} in {TIMEOUT:g} s: start one with `dask scheduler`,"
                " or correct the address"
            ) from error
        self.threads = sum((await self._client.ncores()).values())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._close()

    async def _close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            with contextlib.suppress(OSError, TimeoutError):
                await client.close()

    async def outcomes(self, cells: Sequence[Cell], where: Place) -> AsyncGenerator[Outcome, None]:
        """What came out of each cell, in the order in which they end. Closing it ends those that are running.

        Raises LabError when the scheduler goes away.
        """
        by_future = {
            self._client.submit(
                run_remotely, msgspec.json.encode(cell), where.clock, __version__, pure=False
            ): cell
            for cell in cells
        }
        try:
            async for future in self._distributed.as_completed(by_future):
                cell = by_future[future]
                if future.status == "finished":
                    yield msgspec.json.decode(await future.result(), type=Outcome)
                elif future.status == "error":
                    yield failed(cell, TutorError(_reason(await future.exception())))
                else:
                    raise LabError(f"the Dask scheduler at {self._address} has gone away")
        finally:
            with contextlib.suppress(OSError, TimeoutError, AttributeError):
                await self._client.cancel(list(by_future))


def _reason(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"a worker has no {error.name}: install tcptutor {__version__} where the workers are"
    if type(error).__name__ == "KilledWorker":
        return "the worker ended while it ran this cell, more than once: look at its memory"
    text = str(error).strip().splitlines()
    return f"the worker could not run it: {type(error).__name__} {text[0] if text else ''}".strip()


def run_remotely(request: bytes, clock: str, version: str) -> bytes:
    """On a worker: run one cell, as JSON, in a guest of its own, and give its outcome, as JSON."""
    import distributed  # noqa: PLC0415

    worker = distributed.get_worker()
    key = worker.get_current_task()

    def wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state == "executing"

    cell = msgspec.json.decode(request, type=Cell)
    where = f"on {socket.gethostname()}: "
    if version != __version__:
        reason = f"tcptutor {__version__} is there, not {version}: install the same everywhere"
        return msgspec.json.encode(failed(cell, TutorError(where + reason)))
    try:
        return msgspec.json.encode(asyncio.run(_while(wanted, cell, clock)))
    except TutorError as error:
        return msgspec.json.encode(failed(cell, error, where))


async def _while(wanted: Callable[[], bool], cell: Cell, clock: str) -> Outcome:
    """Run `cell` as long as it is wanted: Dask does not interrupt a task whose client has left."""
    task = asyncio.create_task(_outcome(cell, clock))
    while not (await asyncio.wait({task}, timeout=_LOOK))[0]:
        if not wanted():
            task.cancel()
            await asyncio.wait({task})
            return Failed(
                cell=cell.index, point=cell.point, seed=cell.experiment.seed, reason="not wanted any more"
            )
    return task.result()


async def _outcome(cell: Cell, clock: str) -> Outcome:
    lab = Lab("guest", clock)
    try:
        # Two threads of a worker must not both build a snapshot that is missing.
        with _warming:
            await lab.warm(cell.experiment)
        return row(cell, await play(lab, cell.experiment))
    finally:
        await lab.close()
