"""Loads runs and computes analyses in a thread, so that the event loop stays responsive.

Imports the analysis in that thread as well: it takes 0.1 s, and the first frame does not need it.
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
from tcptutor.study.live import Live

if TYPE_CHECKING:
    from tcptutor.analysis import Expectation, Insight, Report

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


class Fork:
    """Marks a process forked from a parent that had imported the program."""

    has_frozen_program = False


class ComparedRuns(NamedTuple):
    """Comparison of a what-if with its base run, as rows of (figure, before, after, change)."""

    sentence: str
    """Summary, including the time up to which both runs are identical."""
    differs_at: float | None
    """Time of the first difference, s; None if the runs are identical."""
    limits: tuple[str, str, str, str]
    since: list[tuple[str, str, str, str]]
    whole: list[tuple[str, str, str, str]]


class Rates:
    """Throughput of all flows, computed as samples arrive."""

    def __init__(self) -> None:
        from tcptutor.analysis import Throughput  # noqa: PLC0415

        self._throughput = Throughput()

    def add(self, samples: Iterable[Sample]) -> list[tuple[float, float]]:
        """Add samples and return all points so far, (s, bit/s)."""
        self._throughput.add(samples)
        return self._throughput.points


async def expectation(experiment: Experiment) -> Expectation:
    """Return the models' predictions."""
    return await in_thread(expected, experiment)


async def report(run: Run) -> Report | None:
    """Compare the run with the models; None if it ended before the measured period."""
    if run.sampled_until <= run.experiment.flows.warmup:
        return None
    try:
        return await in_thread(_report, run)
    except TutorError:
        return None  # too few samples to compare: the chart still shows them


async def insight(run: Run) -> Insight:
    """Return the analysis that explains any instant of the run."""
    return await in_thread(_insight, run)


async def compared(before: Run, after: Run) -> ComparedRuns:
    """Compare a what-if with its base run."""
    return await in_thread(_compared, before, after)


async def flow_results(run: Run) -> tuple[FlowResult, ...]:
    """Return each flow's results, also for an aborted run."""
    return await in_thread(_flow_results, run)


async def first_readable(files: Iterable[str]) -> Run | None:
    """Load the first readable run, advancing `files` no further than that."""
    for file in files:
        run = await asyncio.to_thread(store.first_readable, [file])
        if run is not None:
            return run
    return None


async def recall(module: str, step: str, run: Run) -> Live:
    """Restore a stored run with chart data, report and predictions."""
    live = await measured(module, step, run)
    live.expectation = await expectation(run.experiment) if await in_thread(_path_known, run) else None
    return live


async def measured(module: str, step: str, run: Run) -> Live:
    """Restore a stored run with its report, but without predictions."""
    live = Live(module, step, run, state="ended")
    live.rates = await in_thread(lambda: Rates().add(run.samples))
    live.report = await report(run)
    return live


async def in_thread(
    work: Callable[_Arguments, _Result], *args: _Arguments.args, **named: _Arguments.kwargs
) -> _Result:
    """Call `work` in a thread that has the analysis imported."""

    def with_analysis() -> _Result:
        _import()
        return work(*args, **named)

    return await asyncio.to_thread(with_analysis)


@cache
def _import() -> None:
    import tcptutor.analysis  # noqa: F401, PLC0415

    freeze_gc()


def freeze_gc() -> None:
    """Exempt all current objects, such as the program and the course, from garbage collection.

    A full collection visits every object and stops all threads for 50 ms or more. In a forked session program and
    course are frozen, and unfreezing would copy the memory that all sessions share.
    """
    if Fork.has_frozen_program:
        return
    gc.unfreeze()
    gc.collect()
    gc.freeze()
    # Collect the oldest generation, which holds Textual's line caches, a fifth as often.
    gc.set_threshold(700, 10, 50)


def expected(experiment: Experiment) -> Expectation:
    """Return the models' predictions with trajectories of cwnd. Takes up to 50 ms and imports the analysis."""
    from tcptutor.analysis import expect, window_trajectories  # noqa: PLC0415

    return replace(expect(experiment), trajectory=window_trajectories(experiment))


@dataclass(frozen=True)
class Forecast:
    """Predictions for an experiment, and the estimated time of its run."""

    experiment: Experiment
    expectation: Expectation
    seconds: float | None
    """Estimated wall-clock time; None if the lab is down or replays recordings."""


async def forecast(experiment: Experiment, here: Environment | None) -> Forecast:
    """Compute a forecast in a thread. `here` is the environment of the run; None while the lab is starting."""
    return await in_thread(_forecast, experiment, here)


def _forecast(experiment: Experiment, here: Environment | None) -> Forecast:
    from tcptutor.fleet.pool import run_seconds  # noqa: PLC0415  # with the analysis, which no first frame needs

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
    from tcptutor.analysis.compared import what_if as words  # noqa: PLC0415

    comparison = what_if(before, after)
    return ComparedRuns(
        words.sentence(comparison, before, after),
        comparison.shared.differs_at,
        words.limits(comparison),
        words.rows(comparison.figures_after),
        words.rows(comparison.figures),
    )


def _flow_results(run: Run) -> tuple[FlowResult, ...]:
    from tcptutor.analysis import flow_results  # noqa: PLC0415

    return flow_results(run)


def _path_known(run: Run) -> bool:
    from tcptutor.analysis import is_path_known  # noqa: PLC0415

    return is_path_known(run)
