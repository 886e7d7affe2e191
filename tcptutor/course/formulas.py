"""Figures known before a run, from the formulas on the pages and in the analysis."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from tcptutor import theory
from tcptutor.base.errors import UsageError
from tcptutor.course.claim import Subject
from tcptutor.spec import Experiment
from tcptutor.theory.models import ThroughputModel


class KnownValue(NamedTuple):
    """Figure known before the run. `of` raises UsageError for an experiment without it."""

    kind: str
    compute: Callable[[Experiment], float]


def mathis(experiment: Experiment) -> float:
    """Return the sum of all flows' throughput by Mathis, bit/s, with C = √(3/2)."""
    path = experiment.path
    if not path.loss or not path.delay:
        raise UsageError("Mathis's formula needs a loss and a delay")
    one = theory.mathis(experiment.segment, path.delay, path.loss, c=theory.MATHIS_PERIODIC)
    return experiment.total_streams * one


def link(experiment: Experiment) -> float:
    """Return the goodput of the link with full segments, bit/s; infinite if it is not shaped."""
    payload = experiment.segment
    whole = payload + experiment.headers + experiment.framing
    return (experiment.path.rate or math.inf) * payload / whole


def window(experiment: Experiment) -> float:
    """Return the sum of all flows' throughput allowed by the receive windows, bit/s."""
    size, delay = experiment.hosts.window, experiment.path.delay
    if not size or not delay:
        raise UsageError("the formula needs a window and a delay")
    return experiment.total_streams * theory.window_limited(size, delay)


def mean_window(experiment: Experiment) -> float:
    """Return the mean window by Mathis's formula, segments."""
    if not experiment.path.loss:
        raise UsageError("Mathis's formula needs a loss")
    return theory.MATHIS_PERIODIC / math.sqrt(experiment.path.loss)


def bdp(experiment: Experiment) -> float:
    """Return the bandwidth-delay product, bytes."""
    if experiment.bdp is None:
        raise UsageError("a path without a rate or a delay has no BDP")
    return experiment.bdp


def queue_delay(experiment: Experiment) -> float:
    """Return the time to drain the bottleneck's full queue, s."""
    if not experiment.path.rate:
        raise UsageError("a path without a rate has no queue")
    return 8 * experiment.path.queue / experiment.path.rate


def binding(experiment: Experiment) -> float:
    """Return the sum of all flows' throughput by the binding model, bit/s."""
    from tcptutor.analysis import expect  # noqa: PLC0415  # the course loads without the analysis

    return expect(experiment).binding.throughput_bps


def padhye(experiment: Experiment) -> float:
    """Return the sum of all flows' throughput by Padhye, at most the link's goodput, bit/s."""
    from tcptutor.analysis import expect  # noqa: PLC0415

    for prediction in expect(experiment).predictions:
        if prediction.model == ThroughputModel.PADHYE:
            return prediction.throughput_bps
    raise UsageError("Padhye's formula needs a loss rate")


KNOWN: dict[Subject, KnownValue] = {
    "mathis": KnownValue("rate", mathis),
    "link": KnownValue("rate", link),
    "window": KnownValue("rate", window),
    "mean-window": KnownValue("number", mean_window),
    "bdp": KnownValue("size", bdp),
    "queue-delay": KnownValue("time", queue_delay),
    "segment": KnownValue("size", lambda experiment: experiment.segment),
    "padhye": KnownValue("rate", padhye),
    "binding": KnownValue("rate", binding),
}


def least_limit(experiment: Experiment) -> float:
    """Return the smallest limit by the pages' own formulas, bit/s; infinite if none applies."""
    limits = [link(experiment)]
    for formula in (window, mathis):
        try:
            limits.append(formula(experiment))
        except UsageError:
            continue
    return min(limits)
