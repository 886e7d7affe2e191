"""The fake at the app's one boundary: a lab that plays what the real one gave."""

from __future__ import annotations

import asyncio
from bisect import bisect_left, bisect_right
from collections.abc import AsyncIterator, Iterable, Sequence
from functools import cache

from tcptutor.errors import LabError, TutorError
from tcptutor.lab.protocol import VERSION, Event, Finished, Phase, Ready, Samples
from tcptutor.run import Environment, Fidelity, Run, Sample, load
from tcptutor.spec import Experiment

from .record import RUNS, SWEPT

GUEST = Environment(
    backend="guest",
    clock="virtual",
    kernel="6.12.41",
    reason="this machine's kernel has no netem, so a guest runs it",
)


def recorded(experiment: Experiment) -> Run:
    """What the real lab gave for `experiment` when it was recorded."""
    return load(RUNS / f"{experiment.name.partition('/')[2]}.tcprun")


class FakeLab:
    """Plays samples as fast as it is read, or `speed` times the lab's clock; `hold` stops it where it is."""

    def __init__(
        self,
        speed: float = 0.0,
        *,
        dies_at: float | None = None,
        unavailable: str = "",
        plays: Run | None = None,
    ) -> None:
        self.plays = plays
        """What it plays whatever it is asked for; else what was recorded of the experiment."""
        self.speed, self.dies_at, self.unavailable = speed, dies_at, unavailable
        self.hold_at: float | None = None
        """Lab seconds at which to wait until `go_on` is set."""
        self.go_on = asyncio.Event()
        self.environment: Environment | None = None
        self.fidelity = Fidelity()
        self.runs = self.stopped = 0
        self.closed = False

    async def warm(self) -> Environment:
        if self.unavailable:
            from tcptutor.errors import LabUnavailable

            raise LabUnavailable(self.unavailable)
        self.environment = GUEST
        return GUEST

    async def run(self, experiment: Experiment) -> AsyncIterator[Event]:
        self.runs += 1
        ended = False
        try:
            run = self.plays or recorded(experiment)
            queue = list(run.queue)
            times = [row.t for row in queue]
            yield Ready(VERSION, GUEST)
            yield Phase("network", "building the network")
            for batch in _batches(list(run.samples), experiment.total_streams * 4):
                if self.hold_at is not None and batch[-1].t > self.hold_at:
                    await self.go_on.wait()
                if self.dies_at is not None and batch[-1].t > self.dies_at:
                    ended = True
                    raise TutorError("the lab's agent ended during the run: press r to run it again")
                if self.speed:
                    await asyncio.sleep(0.2 / self.speed)
                arrived = slice(bisect_left(times, batch[0].t), bisect_right(times, batch[-1].t))
                yield Samples(batch[-1].t, tuple(batch), tuple(queue[arrived]))
            yield Finished(tuple(run.flows), self.fidelity, run.experiment_s)
            ended = True
        finally:
            self.stopped += not ended

    def beside(self) -> None:
        """It works alone."""
        return

    async def close(self) -> None:
        self.closed = True


class SweptLab(FakeLab):
    """Plays the recorded runs of the example's sweep, and may have another one beside it."""

    def __init__(self, other: SweptLab | None = None, fails_at: int = 0) -> None:
        super().__init__()
        self.other, self.fails_at = other, fails_at
        self.asked: list[Experiment] = []

    def beside(self) -> SweptLab | None:
        return self.other

    async def run(self, experiment: Experiment) -> AsyncIterator[Event]:
        self.asked.append(experiment)
        if self.fails_at and experiment.hosts.window == self.fails_at:
            raise LabError("the guest ended: run it again")
        self.plays = next(run for run in swept() if _at_one_value(run.experiment, experiment))
        async for event in super().run(experiment):
            yield event


@cache
def swept() -> tuple[Run, ...]:
    """The recorded runs of the example's sweep, in the order of its axis."""
    return tuple(load(path) for path in sorted(SWEPT.glob("*.tcprun")))


def _at_one_value(one: Experiment, other: Experiment) -> bool:
    return one.hosts == other.hosts


def _batches(rows: Sequence[Sample], size: int) -> Iterable[Sequence[Sample]]:
    for start in range(0, len(rows), size):
        yield rows[start : start + size]
