"""Short flows that arrive at random: a Poisson process of the run's seed, with sizes of a distribution."""

from __future__ import annotations

import math
import random
from typing import NamedTuple

from tcptutor.spec.definition import Experiment

MOST = 2000
"""Largest expected number of short flows in a run."""
PARETO_SHAPE = 1.5
"""Exponent of the Pareto distribution: finite mean, infinite variance, as measured for files on the web."""
PARETO_SPAN = 300.0
"""Largest payload over the smallest, so that a single flow cannot take the whole run."""
_STREAM = 0x5348
"""Marks the random numbers as those of short flows."""


class Arrival(NamedTuple):
    """Short flow to start."""

    at: float
    """Seconds since the traffic began."""
    pair: int
    bytes: int
    """Payload."""


def arrivals_per_second(experiment: Experiment) -> float:
    """Return the mean number of short flows that begin per second, over all pairs."""
    flows, path = experiment.flows, experiment.path
    if flows.short_load is None:
        return flows.short_arrivals
    segment = experiment.segment
    share = segment / (segment + experiment.headers + experiment.framing)
    return flows.short_load * (path.rate or 0.0) * share / (8 * flows.short_size)


def expected_number(experiment: Experiment) -> float:
    """Return the mean number of short flows in a run."""
    return arrivals_per_second(experiment) * experiment.seconds


def arrivals(experiment: Experiment) -> tuple[Arrival, ...]:
    """Return the short flows of a run in order of time; the same for the same seed."""
    rate = arrivals_per_second(experiment)
    if rate <= 0:
        return ()
    draw = random.Random(experiment.seed << 16 | _STREAM).random
    at, found = 0.0, list[Arrival]()
    while len(found) < 2 * MOST:
        at -= math.log(1 - draw()) / rate
        if at >= experiment.seconds:
            break
        size = _size(experiment.flows.short_sizes, experiment.flows.short_size, draw())
        found.append(Arrival(round(at, 6), int(draw() * experiment.pairs), size))
    return tuple(found)


def _size(distribution: str, mean: int, uniform: float) -> int:
    """Return the payload at the quantile `uniform`, 0 to 1, bytes."""
    if distribution == "exponential":
        return max(1, round(-mean * math.log(1 - uniform)))
    if distribution == "pareto":
        shape, span = PARETO_SHAPE, PARETO_SPAN
        # Mean and quantile of a Pareto distribution that is cut off at `span` times its smallest value.
        ratio: float = shape / (shape - 1) * (1 - span ** (1 - shape)) / (1 - span**-shape)
        quantile: float = (1 - uniform * (1 - span**-shape)) ** (-1 / shape)
        payload = mean / ratio * quantile
        return max(1, round(payload))
    return mean
