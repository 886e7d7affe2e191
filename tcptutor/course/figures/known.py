"""What is known of an experiment before it runs, by the formulas of the pages and of the analysis."""

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
    """Something known before the run. `of` raises UsageError for an experiment that does not have it."""

    kind: str
    of: Callable[[Experiment], float]


def mathis(experiment: Experiment) -> float:
    """C = √(3/2), of all flows together, bit/s."""
    path = experiment.path
    if not path.loss or not path.delay:
        raise UsageError("Mathis's formula needs a loss and a delay")
    one = theory.mathis(experiment.segment, path.delay, path.loss, c=theory.MATHIS_PERIODIC)
    return experiment.total_streams * one


def link(experiment: Experiment) -> float:
    """Payload that the link carries in full segments, bit/s; infinite where it is not shaped."""
    payload = experiment.segment
    whole = payload + experiment.headers + experiment.framing
    return (experiment.path.rate or math.inf) * payload / whole


def window(experiment: Experiment) -> float:
    """What the receivers' windows allow all flows together, bit/s."""
    size, delay = experiment.hosts.window, experiment.path.delay
    if not size or not delay:
        raise UsageError("the formula needs a window and a delay")
    return experiment.total_streams * theory.window_limited(size, delay)


def mean_window(experiment: Experiment) -> float:
    """Segments, by Mathis."""
    if not experiment.path.loss:
        raise UsageError("Mathis's formula needs a loss")
    return theory.MATHIS_PERIODIC / math.sqrt(experiment.path.loss)


def bdp(experiment: Experiment) -> float:
    """Bytes."""
    if experiment.bdp is None:
        raise UsageError("a path without a rate or a delay has no BDP")
    return experiment.bdp


def queue_delay(experiment: Experiment) -> float:
    """What the bottleneck's full queue takes to empty, s."""
    if not experiment.path.rate:
        raise UsageError("a path without a rate has no queue")
    return 8 * experiment.path.queue / experiment.path.rate


def binding(experiment: Experiment) -> float:
    """What the model that binds says of all flows together, bit/s."""
    from tcptutor.analysis import expect  # noqa: PLC0415  # the course loads without the analysis

    return expect(experiment).binding.throughput_bps


def padhye(experiment: Experiment) -> float:
    """Of all flows together, at most what the link carries, bit/s."""
    from tcptutor.analysis import expect  # noqa: PLC0415

    for prediction in expect(experiment).predictions:
        if prediction.model == ThroughputModel.PADHYE:
            return prediction.throughput_bps
    raise UsageError("Padhye's formula needs a loss")


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
    """What the pages' own formulas make of an experiment, bit/s; infinite where none applies."""
    limits = [link(experiment)]
    for formula in (window, mathis):
        try:
            limits.append(formula(experiment))
        except UsageError:
            continue
    return min(limits)
