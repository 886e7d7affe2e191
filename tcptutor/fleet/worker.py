"""Code that runs on a worker of a Dask cluster, and the encoding of its answers."""

from __future__ import annotations

import asyncio
import importlib
import socket
from collections.abc import Callable
from typing import TypeVar

import msgspec

from tcptutor import __version__
from tcptutor.backends.lab import Lab
from tcptutor.base.errors import LabError, LabUnavailable, TutorError, UsageError
from tcptutor.run import Run
from tcptutor.spec import Experiment

_T = TypeVar("_T")
_CHECK_S = 0.5
"""Seconds between two checks whether the run is still wanted."""
_ERRORS: dict[int, type[TutorError]] = {
    error.exit_code: error for error in (LabError, UsageError, LabUnavailable)
}


class WorkerAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Answer of a worker."""

    result: msgspec.Raw = msgspec.Raw(b"null")
    """Result as JSON."""
    problem: str = ""
    """Reason for a missing result as a line of text; empty on success."""
    exit_code: int = 0


def run_experiment(experiment: bytes, function: str, clock: str, version: str) -> bytes:
    """Run `experiment` (JSON) and return the encoded answer with `function` of its run, for `read`.

    `function` is "module:function", a function of a Run with a JSON-encodable result. `version` is the caller's
    tcptutor.
    """
    import distributed  # noqa: PLC0415

    worker = distributed.get_worker()
    key = worker.get_current_task()

    def is_wanted() -> bool:
        # A worker that has lost its scheduler closes, and waits for its tasks without changing their state.
        if worker.status not in (distributed.core.Status.running, distributed.core.Status.paused):
            return False
        task = worker.state.tasks.get(key)
        return task is not None and task.state == "executing"

    def run() -> object:
        result = asyncio.run(_run_while(is_wanted, msgspec.json.decode(experiment, type=Experiment), clock))
        return _import(function)(result)

    return _answer(run, version)


def call(argument: bytes, function: str, version: str) -> bytes:
    """Call `function` with `argument` and return the encoded answer, for `read`; no lab is involved.

    `function` is "module:function", a function of bytes with a JSON-encodable result. `version` is the caller's
    tcptutor.
    """
    return _answer(lambda: _import(function)(argument), version)


def _import(path: str) -> Callable[..., object]:
    module, _, name = path.partition(":")
    function: Callable[..., object] = getattr(importlib.import_module(module), name)
    return function


def _answer(work: Callable[[], object], version: str) -> bytes:
    where = f"on {socket.gethostname()}: "
    if version != __version__:
        reason = f"tcptutor is {__version__}, not {version}: install the same version everywhere"
        return msgspec.json.encode(WorkerAnswer(problem=where + reason, exit_code=TutorError.exit_code))
    try:
        return msgspec.json.encode(WorkerAnswer(result=msgspec.Raw(msgspec.json.encode(work()))))
    except TutorError as error:
        return msgspec.json.encode(WorkerAnswer(problem=f"{where}{error}", exit_code=error.exit_code))


def read(answer: bytes, kind: type[_T]) -> _T | TutorError:
    """Decode a worker's answer: the result as `kind`, or the error with its exit code."""
    decoded = msgspec.json.decode(answer, type=WorkerAnswer)
    if decoded.problem:
        return _ERRORS.get(decoded.exit_code, TutorError)(decoded.problem)
    return msgspec.json.decode(decoded.result, type=kind)


async def _run_while(is_wanted: Callable[[], bool], experiment: Experiment, clock: str) -> Run:
    """Run `experiment` while it is wanted: Dask does not interrupt a task after its client has left."""
    task = asyncio.create_task(_run(experiment, clock))
    while not (await asyncio.wait({task}, timeout=_CHECK_S))[0]:
        if not is_wanted():
            task.cancel()
            await asyncio.wait({task})
            raise LabError("the client no longer waits for this run")
    return task.result()


async def _run(experiment: Experiment, clock: str) -> Run:
    lab = Lab("guest", clock)
    try:
        # Safe in several threads of a worker: `Snapshots.build` holds a file lock.
        await lab.warm(experiment)
        return await lab.run_whole(experiment)
    finally:
        await lab.close()
