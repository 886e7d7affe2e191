"""What is to be expected of an experiment before it is run, and how long the run will take here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tcptutor.run import Environment
from tcptutor.spec import Experiment
from tcptutor.ui import background

if TYPE_CHECKING:
    from tcptutor.analysis import Expectation


@dataclass(frozen=True)
class Forecast:
    """Of one experiment."""

    experiment: Experiment
    expectation: Expectation
    seconds: float | None
    """That the run takes here, about; None where the lab is not up, or plays recordings."""


async def forecast(experiment: Experiment, here: Environment | None) -> Forecast:
    """Worked out in a thread; `here` is where it would run, None while the lab is starting."""
    return await background.in_thread(_forecast, experiment, here)


def _forecast(experiment: Experiment, here: Environment | None) -> Forecast:
    from tcptutor.fleet.place import run_seconds  # noqa: PLC0415  # with the analysis, which no first frame needs

    expectation = background.expected(experiment)
    seconds = None
    if here is not None and here.backend != "replay":
        throughput = expectation.binding.throughput_bps if experiment.total_streams else 0.0
        seconds = run_seconds(experiment, here.clock, throughput)
    return Forecast(experiment, expectation, seconds)
