"""Work on a Dask cluster: experiments, for which each worker has its own guests, and functions that need no lab."""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import logging
import socket
import warnings
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar

import msgspec

from tcptutor import __version__
from tcptutor.backends.lab import Lab
from tcptutor.base import decoding
from tcptutor.base.errors import LabError, LabUnavailable, MissingTool, TutorError, UsageError
from tcptutor.base.places import pip_install
from tcptutor.run import Run
from tcptutor.spec import Experiment

_T = TypeVar("_T")

DISTRIBUTED = "distributed>=2024.1"
"""Requirement of the extra `cluster` in pyproject.toml."""
TIMEOUT = 10.0
"""Seconds in which a scheduler must answer and have a worker."""
_CHECK_S = 0.5
"""Seconds between two checks whether the run is still wanted."""
_ERRORS: dict[int, type[TutorError]] = {
    error.exit_code: error for error in (LabError, UsageError, LabUnavailable)
}


def _distributed() -> Any:
    try:
        import distributed  # noqa: PLC0415
    except ImportError:
        raise MissingTool(f"--cluster needs Dask: run {pip_install(DISTRIBUTED)}") from None
    return distributed


class Cluster:
    """A connection to a scheduler, opened and closed by `async with`."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._distributed = _distributed()
        self._client: Any = None

    async def __aenter__(self) -> Cluster:
        # Silence Dask's log of lost connections; our error says it in one line.
        for name in list(logging.root.manager.loggerDict):
            if name.partition(".")[0] == "distributed":
                logging.getLogger(name).setLevel(logging.CRITICAL)
        connected = False
        try:
            with warnings.catch_warnings():
                # Dask warns of different package versions on the workers, which does not matter for JSON.
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
                    f"the Dask scheduler at {self._address} has no worker: start one with `dask worker {self._address}`"
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

    def results(
        self, experiments: Sequence[Experiment], clock: str, function: Callable[[Run], _T], kind: type[_T]
    ) -> AsyncGenerator[tuple[int, _T | TutorError], None]:
        """Run `experiments` and yield the number of each with `function` of its run, or the error, as they complete.

        `function` is a module-level function and is called on the worker; its result travels as JSON and is decoded
        as `kind`. Closing the iterator ends running experiments. Raises LabError when the scheduler is lost.
        """
        calls = (
            ("run_experiment", msgspec.json.encode(experiment), _name(function), clock, __version__)
            for experiment in experiments
        )
        return self._results(calls, kind)

    def calls(
        self, arguments: Iterable[bytes], function: Callable[[bytes], _T], kind: type[_T]
    ) -> AsyncGenerator[tuple[int, _T | TutorError], None]:
        """Call `function` with each of `arguments` on a worker, and yield results as `results` does.

        No lab is involved. Only as many calls are submitted at a time as keep all workers busy, because queued calls
        take the scheduler's memory.
        """
        calls = (("call_function", argument, _name(function), __version__) for argument in arguments)
        return self._results(calls, kind, few_at_a_time=True)

    async def _results(
        self, calls: Iterable[tuple[object, ...]], kind: type[_T], few_at_a_time: bool = False
    ) -> AsyncGenerator[tuple[int, _T | TutorError], None]:
        """Call functions of this module, each of `calls` with its name and arguments."""
        launch, numbers, todo = _launcher(), dict[Any, int](), enumerate(calls)
        waiting = self._distributed.as_completed(loop=self._client.loop)

        def submit(limit: int | None) -> None:
            for number, call in islice(todo, limit):
                future = self._client.submit(launch, *call, pure=False)
                numbers[future] = number
                waiting.add(future)

        threads = sum((await self._client.nthreads()).values()) if few_at_a_time else 0
        submit(2 * threads + 2 if few_at_a_time else None)
        try:
            async for future in waiting:
                number = numbers.pop(future)
                submit(1)
                if future.status == "finished":
                    yield number, read_answer(await future.result(), kind)
                elif future.status == "error":
                    yield number, TutorError(_reason(await future.exception()))
                else:
                    raise LabError(f"the Dask scheduler at {self._address} has gone away")
        finally:
            with contextlib.suppress(OSError, TimeoutError, AttributeError):
                await self._client.cancel(list(numbers))


def _name(function: Callable[..., object]) -> str:
    return f"{function.__module__}:{function.__qualname__}"


def _reason(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"a worker has no {error.name}: install version {__version__} there from this repository"
    if type(error).__name__ == "KilledWorker":
        return "the worker died repeatedly while it ran this: check its memory"
    text = str(error).strip().splitlines()
    return f"the worker could not run it: {type(error).__name__} {text[0] if text else ''}".strip()


def _launcher() -> Callable[..., bytes]:
    """Return the function to send to a worker, as a closure.

    Dask pickles a closure by value: the scheduler needs no tcptutor, and a worker without tcptutor can say so.
    """

    def launch(name: str, *arguments: object) -> bytes:
        module = importlib.import_module("tcptutor.fleet.cluster")
        function: Callable[..., bytes] = getattr(module, name)
        return function(*arguments)

    return launch


class WorkerAnswer(msgspec.Struct, frozen=True, kw_only=True):
    """Answer of a worker."""

    result: msgspec.Raw = msgspec.Raw(b"null")
    """Result as JSON."""
    problem: str = ""
    """Reason for a missing result as a line of text; empty on success."""
    exit_code: int = 0


def run_experiment(experiment: bytes, function: str, clock: str, version: str) -> bytes:
    """Run `experiment` (JSON) and return the encoded answer with `function` of its run, for `read_answer`.

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
        result = asyncio.run(_run_while(is_wanted, decoding.decode_json(experiment, Experiment), clock))
        return _import(function)(result)

    return _answer(run, version)


def call_function(argument: bytes, function: str, version: str) -> bytes:
    """Call `function` with `argument` and return the encoded answer, for `read_answer`; no lab is involved.

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


def read_answer(answer: bytes, kind: type[_T]) -> _T | TutorError:
    """Decode a worker's answer: the result as `kind`, or the error with its exit code."""
    decoded = decoding.decode_json(answer, WorkerAnswer)
    if decoded.problem:
        return _ERRORS.get(decoded.exit_code, TutorError)(decoded.problem)
    return decoding.decode_json(decoded.result, kind)


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
