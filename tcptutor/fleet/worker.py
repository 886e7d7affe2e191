"""What runs on a worker of a Dask cluster, an experiment in a guest or a function; and how its answer travels."""

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
from tcptutor.runs.conduct import run_whole
from tcptutor.spec import Experiment

_T = TypeVar("_T")
_LOOK = 0.5
"""Seconds between two looks whether the run is still wanted."""
_ERRORS: dict[int, type[TutorError]] = {
    error.exit_code: error for error in (LabError, UsageError, LabUnavailable)
}


class WorkerAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """What came of an experiment on a worker."""

    result: msgspec.Raw = msgspec.Raw(b"null")
    """JSON of what was asked of the run."""
    problem: str = ""
    """Why there is no result, one line; empty when there is one."""
    exit_code: int = 0


def run_experiment(experiment: bytes, of: str, clock: str, version: str) -> bytes:
    """Run `experiment` (JSON) and give `of` its run, to be understood by `read`.

    of: "module:function", a function of a Run whose result msgspec can write. version: of the tcptutor that asks.
    """
    import distributed  # noqa: PLC0415

    worker = distributed.get_worker()
    key = worker.get_current_task()

    def wanted() -> bool:
        task = worker.state.tasks.get(key)
        return task is not None and task.state == "executing"

    def run() -> object:
        whole = asyncio.run(_while(wanted, msgspec.json.decode(experiment, type=Experiment), clock))
        return _function(of)(whole)

    return _answer(run, version)


def call(argument: bytes, of: str, version: str) -> bytes:
    """Give `of` its argument, to be understood by `read`; for what needs no lab.

    of: "module:function", a function of bytes whose result msgspec can write. version: of the tcptutor that asks.
    """
    return _answer(lambda: _function(of)(argument), version)


def _function(of: str) -> Callable[..., object]:
    module, _, name = of.partition(":")
    found: Callable[..., object] = getattr(importlib.import_module(module), name)
    return found


def _answer(work: Callable[[], object], version: str) -> bytes:
    where = f"on {socket.gethostname()}: "
    if version != __version__:
        reason = (
            f"tcptutor {__version__} is there, not {version}: all must be of one version of the repository"
        )
        return msgspec.json.encode(WorkerAnswer(problem=where + reason, exit_code=TutorError.exit_code))
    try:
        return msgspec.json.encode(WorkerAnswer(result=msgspec.Raw(msgspec.json.encode(work()))))
    except TutorError as error:
        return msgspec.json.encode(WorkerAnswer(problem=f"{where}{error}", exit_code=error.exit_code))


def read(answer: bytes, kind: type[_T]) -> _T | TutorError:
    """What `run_experiment` gave: the result as `kind`, or the error there was, with its exit code."""
    told = msgspec.json.decode(answer, type=WorkerAnswer)
    if told.problem:
        return _ERRORS.get(told.exit_code, TutorError)(told.problem)
    return msgspec.json.decode(told.result, type=kind)


async def _while(wanted: Callable[[], bool], experiment: Experiment, clock: str) -> Run:
    """Run `experiment` as long as it is wanted: Dask does not interrupt a task whose client has left."""
    task = asyncio.create_task(_run(experiment, clock))
    while not (await asyncio.wait({task}, timeout=_LOOK))[0]:
        if not wanted():
            task.cancel()
            await asyncio.wait({task})
            raise LabError("not wanted any more")
    return task.result()


async def _run(experiment: Experiment, clock: str) -> Run:
    lab = Lab("guest", clock)
    try:
        # Two threads of a worker do not both build a missing snapshot: `Snapshots.build` holds a lock on a file.
        await lab.warm(experiment)
        return await run_whole(lab, experiment)
    finally:
        await lab.close()
