"""The cells of a sweep on the workers of a Dask cluster, each worker with guests of its own."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import Any

import msgspec

from tcptutor import __version__
from tcptutor.errors import LabError, LabUnavailable, MissingTool, TutorError, UsageError
from tcptutor.sweep.cell import Outcome, failed
from tcptutor.sweep.grid import Cell
from tcptutor.sweep.place import Place

TIMEOUT = 10.0
"""Seconds in which a scheduler must answer, and have a worker."""


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

    async def __aenter__(self) -> Cluster:
        # What Dask logs while a connection ends is for its developers: we say it in one line.
        for name in list(logging.root.manager.loggerDict):
            if name.partition(".")[0] == "distributed":
                logging.getLogger(name).setLevel(logging.CRITICAL)
        connected = False
        try:
            with warnings.catch_warnings():
                # Dask warns of packages that differ on the workers; what we send there is text.
                warnings.simplefilter("ignore")
                self._client = self._distributed.Client(
                    self._address, asynchronous=True, timeout=TIMEOUT, set_as_default=False
                )
                await self._client
                connected = True
                await self._client.wait_for_workers(1, timeout=TIMEOUT)
        except (OSError, ValueError) as error:
            await self._close()
            if connected:
                raise LabUnavailable(
                    f"the Dask scheduler at {self._address} has no worker: start one with `dask worker`"
                ) from error
            raise LabUnavailable(
                f"no Dask scheduler answers at {self._address}: start one with `dask scheduler`,"
                " or correct the address"
            ) from error
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
        launch = _launcher()
        by_future = {
            self._client.submit(launch, msgspec.json.encode(cell), where.clock, __version__, pure=False): cell
            for cell in cells
        }
        try:
            async for future in self._distributed.as_completed(by_future, loop=self._client.loop):
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


def _launcher() -> Callable[[bytes, str, str], bytes]:
    """The function that is sent. As it is a local one, Dask sends it whole: the scheduler needs no tcptutor to pass
    it on, and a worker without tcptutor can say so.
    """

    def launch(request: bytes, clock: str, version: str) -> bytes:
        from tcptutor.sweep.worker import run_cell  # noqa: PLC0415

        return run_cell(request, clock, version)

    return launch
