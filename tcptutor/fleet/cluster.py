"""Work on a Dask cluster: experiments, for which each worker has its own guests, and functions that need no lab."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from itertools import islice
from typing import Any, TypeVar

import msgspec

from tcptutor import __version__
from tcptutor.base.errors import LabError, LabUnavailable, MissingTool, TutorError
from tcptutor.base.places import pip_install
from tcptutor.fleet import worker
from tcptutor.run import Run
from tcptutor.spec import Experiment

_T = TypeVar("_T")

DISTRIBUTED = "distributed>=2024.1"
"""Requirement of the extra `cluster` in pyproject.toml."""
TIMEOUT = 10.0
"""Seconds in which a scheduler must answer and have a worker."""


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
        calls = (("call", argument, _name(function), __version__) for argument in arguments)
        return self._results(calls, kind, few_at_a_time=True)

    async def _results(
        self, calls: Iterable[tuple[object, ...]], kind: type[_T], few_at_a_time: bool = False
    ) -> AsyncGenerator[tuple[int, _T | TutorError], None]:
        """Call functions of `worker`, each of `calls` with its name and arguments."""
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
                    yield number, worker.read(await future.result(), kind)
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
        from tcptutor.fleet import worker  # noqa: PLC0415

        function: Callable[..., bytes] = getattr(worker, name)
        return function(*arguments)

    return launch
