"""Asks the analysis about a run, off the event loop; imported late: the first frame needs none of it."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from tcptutor.errors import TutorError
from tcptutor.run import Run, Sample
from tcptutor.spec import Experiment
from tcptutor.ui.live import Live

if TYPE_CHECKING:
    from tcptutor.analysis.model import Expectation, Report


class Rates:
    """Throughput of all flows together while samples arrive."""

    def __init__(self) -> None:
        from tcptutor.analysis.series import Throughput  # noqa: PLC0415

        self._throughput = Throughput()

    def add(self, samples: Iterable[Sample]) -> list[tuple[float, float]]:
        """All points so far: (s, bit/s)."""
        self._throughput.add(samples)
        return self._throughput.points


class Thinner:
    """Lets through what a chart can show: of each flow the first sample in each twentieth of a second."""

    HZ = 20

    def __init__(self) -> None:
        self._last: dict[int, int] = {}

    def take(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Those of `samples` to draw, in order."""
        for sample in samples:
            # A hair of slack: a sample of the next step may come at 0.9999 of it.
            step = int(sample.t * self.HZ + 0.01)
            if self._last.get(sample.flow) != step:
                self._last[sample.flow] = step
                yield sample


async def expectation(experiment: Experiment) -> Expectation:
    """What the models say about it."""
    from tcptutor.analysis import expect  # noqa: PLC0415

    def computed() -> Expectation:
        expected = expect(experiment)
        _ = expected.trajectory  # it is kept: the chart must not wait for it
        return expected

    return await asyncio.to_thread(computed)


async def report(run: Run) -> Report | None:
    """The run beside the models; None when it ended before the measured part began."""
    from tcptutor import analysis  # noqa: PLC0415

    if not run.samples or run.samples[-1].t <= run.experiment.flows.warmup:
        return None
    try:
        return await asyncio.to_thread(analysis.report, run)
    except TutorError:
        return None  # too little to compare: the chart still shows what arrived


async def recall(module: str, step: str, run: Run) -> Live:
    """A run from the journal, as it stood on the screen when it ended."""
    from tcptutor.analysis import path_known  # noqa: PLC0415

    rates = Rates()
    live = Live(module, step, run, state="ended")
    live.expectation = await expectation(run.experiment) if path_known(run) else None
    live.rates = await asyncio.to_thread(rates.add, run.samples)
    live.drawn = await asyncio.to_thread(lambda: list(Thinner().take(run.samples)))
    live.report = await report(run)
    return live
