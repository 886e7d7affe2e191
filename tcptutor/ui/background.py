"""Opens runs and asks the analysis about them, off the event loop.

The analysis is imported there as well: the first frame needs none of it, and the import takes a tenth of a second.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, NamedTuple, ParamSpec, TypeVar

from msgspec.structs import replace

from tcptutor.base.errors import TutorError
from tcptutor.run import Environment, FlowResult, Run, Sample
from tcptutor.runs import store
from tcptutor.spec import Experiment
from tcptutor.ui.live import Live

if TYPE_CHECKING:
    from tcptutor.analysis import Expectation, Insight, Report

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class ComparedRuns(NamedTuple):
    """Two runs in words: what it is, before, after, and by how much; of all the time, and from where they differ."""

    sentence: str
    """Up to when they are the same."""
    differs_at: float | None
    """s; None where nothing differs."""
    limits: tuple[str, str, str, str]
    since: list[tuple[str, str, str, str]]
    whole: list[tuple[str, str, str, str]]


class Rates:
    """Throughput of all flows together while samples arrive."""

    def __init__(self) -> None:
        from tcptutor.analysis import Throughput  # noqa: PLC0415

        self._throughput = Throughput()

    def add(self, samples: Iterable[Sample]) -> list[tuple[float, float]]:
        """All points so far: (s, bit/s)."""
        self._throughput.add(samples)
        return self._throughput.points


async def expectation(experiment: Experiment) -> Expectation:
    """What the models say about it."""
    return await in_thread(expected, experiment)


async def report(run: Run) -> Report | None:
    """The run beside the models; None when it ended before the measured part began."""
    if run.sampled_until <= run.experiment.flows.warmup:
        return None
    try:
        return await in_thread(_report, run)
    except TutorError:
        return None  # too little to compare: the chart still shows what arrived


async def insight(run: Run) -> Insight:
    """What can be told of any instant of it."""
    return await in_thread(_insight, run)


async def compared(before: Run, after: Run) -> ComparedRuns:
    """A what-if beside the run that it was changed from."""
    return await in_thread(_compared, before, after)


async def flow_results(run: Run) -> tuple[FlowResult, ...]:
    """Each flow's part of the run, also of one that was cut short."""
    return await in_thread(_flow_results, run)


async def first_readable(files: Iterable[str]) -> Run | None:
    """The first run of these files that loads. `files` is asked for the next one where this was awaited."""
    for file in files:
        run = await asyncio.to_thread(store.first_readable, [file])
        if run is not None:
            return run
    return None


async def recall(module: str, step: str, run: Run) -> Live:
    """A run from the journal, as it stood on the screen when it ended."""
    live = await measured(module, step, run)
    live.expectation = await expectation(run.experiment) if await in_thread(_path_known, run) else None
    return live


async def measured(module: str, step: str, run: Run) -> Live:
    """A run from the journal, in numbers: nothing to draw it from, and no models beside it."""
    live = Live(module, step, run, state="ended")
    live.rates = await in_thread(lambda: Rates().add(run.samples))
    live.report = await report(run)
    return live


async def in_thread(
    work: Callable[_Arguments, _Result], *args: _Arguments.args, **named: _Arguments.kwargs
) -> _Result:
    """What `work` gives, done in a thread that has the analysis."""

    def with_analysis() -> _Result:
        _import()
        return work(*args, **named)

    return await asyncio.to_thread(with_analysis)


@cache
def _import() -> None:
    import tcptutor.analysis  # noqa: F401, PLC0415

    freeze_gc()


def freeze_gc() -> None:
    """Let later collections pass over all that is in use now, such as the program itself and the course.

    A collection looks at every object and stops all threads meanwhile, for a twentieth of a second and more.
    """
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    # Of the oldest generation, which holds what Textual keeps of each line that it draws, a fifth as often.
    gc.set_threshold(700, 10, 50)


def expected(experiment: Experiment) -> Expectation:
    """What the models say about it, with the windows over time; takes some 50 ms at most, and imports the analysis."""
    from tcptutor.analysis import expect, window_courses  # noqa: PLC0415

    return replace(expect(experiment), trajectory=window_courses(experiment))


@dataclass(frozen=True)
class Forecast:
    """Of one experiment."""

    experiment: Experiment
    expectation: Expectation
    seconds: float | None
    """That the run takes here, about; None where the lab is not up, or plays recordings."""


async def forecast(experiment: Experiment, here: Environment | None) -> Forecast:
    """Worked out in a thread; `here` is where it would run, None while the lab is starting."""
    return await in_thread(_forecast, experiment, here)


def _forecast(experiment: Experiment, here: Environment | None) -> Forecast:
    from tcptutor.fleet.place import run_seconds  # noqa: PLC0415  # with the analysis, which no first frame needs

    expectation = expected(experiment)
    seconds = None
    if here is not None and here.backend != "replay":
        throughput = expectation.binding.throughput_bps if experiment.total_streams else 0.0
        seconds = run_seconds(experiment, here.clock, throughput)
    return Forecast(experiment, expectation, seconds)


def _report(run: Run) -> Report:
    from tcptutor.analysis import report  # noqa: PLC0415

    return report(run)


def _insight(run: Run) -> Insight:
    from tcptutor.analysis import insight  # noqa: PLC0415

    return insight(run)


def _compared(before: Run, after: Run) -> ComparedRuns:
    from tcptutor.analysis import what_if  # noqa: PLC0415
    from tcptutor.analysis.compared import whatif_words as words  # noqa: PLC0415

    what = what_if(before, after)
    return ComparedRuns(
        words.sentence(what, before, after),
        what.shared.differs_at,
        words.limits(what),
        words.rows(what.since),
        words.rows(what.whole),
    )


def _flow_results(run: Run) -> tuple[FlowResult, ...]:
    from tcptutor.analysis import flow_results  # noqa: PLC0415

    return flow_results(run)


def _path_known(run: Run) -> bool:
    from tcptutor.analysis import path_known  # noqa: PLC0415

    return path_known(run)
