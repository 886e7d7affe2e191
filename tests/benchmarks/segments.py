"""How quick an exact run is: `python -m tests.benchmarks.segments [FOLDER] [--rounds N]`.

Data segments a wall second from the first sample on, of one flow that fills 40 Mbit/s, of eight with 0.1 % loss at 50,
and of two guests at once; and the wall time from the request to the first sample. FOLDER is that of another
`backends.guest.Snapshots`. On a machine that does nothing else; the median of the rounds.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import time
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.guest.snapshots import Snapshots
from tcptutor.run import Finished
from tcptutor.spec import Experiment, Flows, Hosts
from tcptutor.spec import Path as NetworkPath
from tcptutor.wire.protocol import Samples

ONE = Experiment(
    name="one full flow",
    path=NetworkPath(rate=4e7, delay=0.02, queue=100_000),
    hosts=Hosts(algorithm="reno"),
    flows=Flows(duration=8.0, warmup=0.0),
)
EIGHT = Experiment(
    name="eight lossy flows",
    path=NetworkPath(rate=5e7, delay=0.02, loss=0.001, queue=200_000),
    hosts=Hosts(algorithm="reno"),
    flows=Flows(duration=6.0, warmup=0.0, streams=8),
)


class Speed(NamedTuple):
    """Of a run."""

    segments: float
    """Data segments a wall second, from the first sample on."""
    first: float
    """Wall seconds from the request to the first sample."""


async def speed(backend: GuestBackend, experiment: Experiment) -> Speed:
    await backend.open()
    asked = time.perf_counter()
    first = 0.0
    async with aclosing(backend.run(experiment)) as events:
        async for event in events:
            if isinstance(event, Samples) and not first:
                first = time.perf_counter()
            elif isinstance(event, Finished):
                segments = sum(flow.segments for flow in event.flows)
                return Speed(segments / (time.perf_counter() - first), first - asked)
    raise AssertionError("the run did not finish")


async def main(folder: Path | None, rounds: int) -> None:
    backends = [GuestBackend("virtual", Snapshots(folder)) for _ in range(2)]
    one, eight, both = list[Speed](), list[Speed](), list[float]()
    try:
        for _ in range(rounds):
            one.append(await speed(backends[0], ONE))
            eight.append(await speed(backends[0], EIGHT))
            two = await asyncio.gather(*(speed(backend, ONE) for backend in backends))
            both.append(sum(each.segments for each in two))
    finally:
        for backend in backends:
            await backend.close()
    alone = statistics.median(each.segments for each in one)
    print(f"one full flow:        {alone:6.0f} segments a wall second")
    print(f"eight lossy flows:    {statistics.median(each.segments for each in eight):6.0f}")
    print(
        f"two guests:           {statistics.median(both):6.0f}, {statistics.median(both) / alone:.2f} times one"
    )
    print(f"request to first sample: {statistics.median(each.first for each in one):.2f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.segments", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    asyncio.run(main(given.folder, given.rounds))
