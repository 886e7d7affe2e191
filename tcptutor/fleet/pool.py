"""Several labs at work side by side on one list of experiments."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Sequence

from tcptutor.backends.lab import Lab
from tcptutor.conduct import run_whole
from tcptutor.errors import KernelLacks, LabError, TutorError, UsageError
from tcptutor.fleet.place import Place
from tcptutor.run import Run
from tcptutor.spec import Experiment

PoolResult = tuple[int, Run | TutorError]


async def runs(experiments: Sequence[Experiment], place: Place) -> AsyncGenerator[PoolResult, None]:
    """The number of each experiment with its run, or with why it failed, in the order in which they end.

    Raises LabUnavailable when none can run. Closing it, or cancelling the task, ends every lab.
    """
    labs = [Lab(place.backend, place.clock) for _ in range(min(place.at_once, len(experiments)))]
    todo = iter(enumerate(experiments))
    done: asyncio.Queue[PoolResult | Exception | None] = asyncio.Queue()

    async def work(lab: Lab) -> None:
        for number, experiment in todo:
            try:
                await lab.warm(experiment)  # before the run's time begins
                done.put_nowait((number, await run_whole(lab, experiment)))
            except (LabError, KernelLacks, UsageError) as error:
                done.put_nowait((number, error))
            except Exception as error:  # raised again where the results are read
                done.put_nowait(error)
                return
        done.put_nowait(None)

    tasks: list[asyncio.Task[None]] = []
    try:
        if labs:
            # A snapshot that is missing is built once, before the other labs look for it.
            await labs[0].warm(experiments[0])
        tasks = [asyncio.create_task(work(lab)) for lab in labs]
        working = len(tasks)
        while working:
            result = await done.get()
            if result is None:
                working -= 1
            elif isinstance(result, Exception):
                raise result
            else:
                yield result
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.gather(*(lab.close() for lab in labs))
