"""What runs on a worker of a Dask cluster: one cell, in a guest of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable

import msgspec

from tcptutor import __version__
from tcptutor.backends.lab import Lab
from tcptutor.errors import TutorError
from tcptutor.sweep.cell import Failed, Outcome, failed, play, row
from tcptutor.sweep.grid import Cell

_LOOK = 0.5
"""Seconds between two looks whether the cell is still wanted."""
_warming = threading.Lock()


def run_cell(request: bytes, clock: str, version: str) -> bytes:
    """Run `request`, a cell as JSON, and give its outcome as JSON. `version` is that of the tcptutor that asks."""
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
