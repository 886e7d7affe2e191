"""A pool of labs working in parallel on a list of experiments."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import TypeVar

from tcptutor.backends.lab import Lab
from tcptutor.base.errors import KernelLacks, LabError, TutorError, UsageError
from tcptutor.fleet.place import Place
from tcptutor.run import Run
from tcptutor.spec import Experiment

PoolResult = tuple[int, Run | TutorError]
_Lab = TypeVar("_Lab", bound=Lab)


async def runs(experiments: Sequence[Experiment], place: Place) -> AsyncGenerator[PoolResult, None]:
    """Run `experiments` and yield the number of each with its run or error, in the order of completion.

    Closing the generator, or cancelling the task, ends every lab. Raises LabUnavailable when none can run.
    """
    labs = [Lab(place.backend, place.clock) for _ in range(min(place.at_once, len(experiments)))]

    async def conduct(lab: Lab, number: int) -> Run:
        await lab.warm(experiments[number])  # before the run's time begins
        return await lab.run_whole(experiments[number])

    try:
        if labs:
            # Build a missing snapshot once, before the other labs need it.
            await labs[0].warm(experiments[0])
        async with aclosing(side_by_side(labs, len(experiments), conduct)) as results:
            async for result in results:
                yield result
    finally:
        await asyncio.gather(*(lab.close() for lab in labs))


async def side_by_side(
    labs: Sequence[_Lab], number: int, conduct: Callable[[_Lab, int], Awaitable[Run]]
) -> AsyncGenerator[PoolResult, None]:
    """Call `conduct` for the numbers 0 to `number` - 1, each on the next free lab; yield results or errors.

    Closing the generator, or cancelling the task, cancels pending work and waits for its end. The labs stay open.
    """
    todo = iter(range(number))
    done: asyncio.Queue[PoolResult | Exception | None] = asyncio.Queue()

    async def work(lab: _Lab) -> None:
        for index in todo:
            try:
                done.put_nowait((index, await conduct(lab, index)))
            except (LabError, KernelLacks, UsageError) as error:
                done.put_nowait((index, error))
            except Exception as error:  # re-raised by the reader
                done.put_nowait(error)
                return
        done.put_nowait(None)

    tasks = [asyncio.create_task(work(lab)) for lab in labs]
    try:
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
