"""Work for a Dask cluster: experiments, each worker with guests of its own, and functions that need no lab."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import aclosing
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
"""As the extra `cluster` of pyproject.toml asks for it."""
TIMEOUT = 10.0
"""Seconds in which a scheduler must answer, and have a worker."""


def _distributed() -> Any:
    try:
        import distributed  # noqa: PLC0415
    except ImportError:
        raise MissingTool(f"--cluster needs Dask: run {pip_install(DISTRIBUTED)}") from None
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

    async def results(
        self, experiments: Sequence[Experiment], clock: str, of: Callable[[Run], _T], kind: type[_T]
    ) -> AsyncGenerator[tuple[int, _T | TutorError], None]:
        """The number of each experiment with `of` its run, or with why it failed, in the order in which they end.

        `of` is a function at the top of a module, and is called on the worker; what it gives travels as JSON and is
        read as `kind`. Closing the iterator ends what is running. Raises LabError when the scheduler goes away.
        """
        launch = _launcher()
        calls = (
            (launch, msgspec.json.encode(experiment), _name(of), clock, __version__)
            for experiment in experiments
        )
        async with aclosing(self._results(calls, kind)) as found:
            async for each in found:
                yield each

    async def calls(
        self, arguments: Iterable[bytes], of: Callable[[bytes], _T], kind: type[_T]
    ) -> AsyncGenerator[tuple[int, _T | TutorError], None]:
        """As `results`, of a function that needs no lab, with each of the arguments.

        So many are on their way as keep all workers busy: what waits takes the memory of the scheduler.
        """
        launch, threads = _caller(), sum((await self._client.nthreads()).values())
        calls = ((launch, argument, _name(of), __version__) for argument in arguments)
        async with aclosing(self._results(calls, kind, 2 * threads + 2)) as found:
            async for each in found:
                yield each

    async def _results(
        self, calls: Iterable[tuple[object, ...]], kind: type[_T], at_once: int | None = None
    ) -> AsyncGenerator[tuple[int, _T | TutorError], None]:
        numbers: dict[Any, int] = {}
        todo = enumerate(calls)
        waiting = self._distributed.as_completed(loop=self._client.loop)

        def submit(most: int | None) -> None:
            for number, (launch, *arguments) in islice(todo, most):
                future = self._client.submit(launch, *arguments, pure=False)
                numbers[future] = number
                waiting.add(future)

        submit(at_once)
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


def _name(of: Callable[..., object]) -> str:
    return f"{of.__module__}:{of.__qualname__}"


def _reason(error: BaseException) -> str:
    if isinstance(error, ModuleNotFoundError):
        return f"a worker has no {error.name}: tcptutor {__version__} must be there as well, from the same repository"
    if type(error).__name__ == "KilledWorker":
        return "the worker ended while it ran this, more than once: look at its memory"
    text = str(error).strip().splitlines()
    return f"the worker could not run it: {type(error).__name__} {text[0] if text else ''}".strip()


def _launcher() -> Callable[[bytes, str, str, str], bytes]:
    """The function that is sent. As it is a local one, Dask sends it whole: the scheduler needs no tcptutor to pass
    it on, and a worker without tcptutor can say so.
    """

    def launch(experiment: bytes, of: str, clock: str, version: str) -> bytes:
        from tcptutor.fleet.worker import run_experiment  # noqa: PLC0415

        return run_experiment(experiment, of, clock, version)

    return launch


def _caller() -> Callable[[bytes, str, str], bytes]:
    def launch(argument: bytes, of: str, version: str) -> bytes:
        from tcptutor.fleet.worker import call  # noqa: PLC0415

        return call(argument, of, version)

    return launch
