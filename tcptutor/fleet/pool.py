"""Many experiments at once: the place for them, the same for all, and a pool of labs that work in parallel."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import NamedTuple, TypeVar

from tcptutor.backends.guest import sizes
from tcptutor.backends.lab import Lab
from tcptutor.backends.selection import choose
from tcptutor.base.errors import KernelLacks, LabError, TutorError, UsageError
from tcptutor.run import Run
from tcptutor.spec import Experiment

_START = 2.5
"""Overhead of a run besides its traffic, seconds; measured."""
_SEGMENT = 0.5e-3
"""CPU time per segment and its acknowledgment in an emulated guest, seconds; measured."""
_PAYLOAD = 1448


class Place(NamedTuple):
    """A backend and clock, resolved from "auto"."""

    backend: str
    clock: str
    at_once: int
    why: str
    """Explanation of the number run in parallel."""


async def find_place(experiments: Sequence[Experiment], backend: str, clock: str, jobs: int | None) -> Place:
    """Return the place that can run all of `experiments`: the guest as soon as any experiment needs it.

    Raises LabUnavailable or KernelLacks when none can run here, UsageError for parallel `jobs` in real time.
    """
    chosen, failure = None, None
    by_features = {(each.qdiscs, each.congestion_controls): each for each in experiments}
    for experiment in by_features.values():
        try:
            choice = await choose(experiment, backend, clock)
        except KernelLacks as error:
            failure = error  # only this experiment fails
            continue
        if chosen is None or choice.name == "guest":
            chosen = choice
    if chosen is None:
        assert failure is not None
        raise failure
    if chosen.clock == "virtual":
        at_once = jobs or min(len(os.sched_getaffinity(0)), _max_guests(experiments))
        why = f"{at_once} guests at a time" if at_once > 1 else "one guest at a time"
        return Place(chosen.name, chosen.clock, at_once, why)
    if jobs is not None and jobs > 1:
        raise UsageError(
            "--jobs: runs in real time disturb each other: leave it out, or use --backend guest --clock virtual"
        )
    return Place(chosen.name, chosen.clock, 1, "one run at a time, as runs in real time disturb each other")


def _max_guests(experiments: Sequence[Experiment]) -> int:
    largest = sizes.DEFAULT_SIZE
    for experiment in experiments:
        with contextlib.suppress(KernelLacks):  # only this experiment fails
            largest = max(largest, sizes.size(experiment))
    return sizes.guests_that_fit(largest)


def expected_seconds(
    experiments: Sequence[Experiment], place: Place, throughput: Callable[[Experiment], float]
) -> float:
    """Estimate the time to run `experiments`, seconds; `throughput` predicts an experiment's TCP flows, bit/s."""
    total = 0.0
    for experiment in experiments:
        has_flows = place.clock == "virtual" and experiment.total_streams
        total += run_seconds(experiment, place.clock, throughput(experiment) if has_flows else 0.0)
    return total / place.at_once


def run_seconds(experiment: Experiment, clock: str, throughput: float) -> float:
    """Estimate the time of a run, seconds, when its TCP flows carry `throughput` bit/s in total."""
    if clock != "virtual":
        return _START + experiment.seconds
    flows = experiment.flows
    rate = throughput + experiment.pairs * flows.udp_streams * flows.udp_rate
    return _START + _SEGMENT * rate * experiment.seconds / 8 / _PAYLOAD


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
