"""Validation of changes of the number of streams."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from tcptutor.base.errors import ParameterError
from tcptutor.spec.definition import Experiment
from tcptutor.spec.parts import Change

MOST_FLOWS = 256
"""Largest number of TCP flows of a run in the lab, those that end before it included."""


def check_plausible_streams(experiment: Experiment, most: int) -> None:
    """Raise ParameterError for changes of streams that no run can have, or for more than `most` flows in all."""
    changes = _of_streams(experiment)
    for change in changes:
        if change.value != round(change.value) or not 1 <= change.value <= most:
            raise ParameterError(f"changes: {change.value:g} streams are not possible: use 1 or more")
        if not 0 <= change.pair <= experiment.pairs:
            raise ParameterError(
                f"changes: there is no pair {change.pair} with {experiment.pairs}"
                f" pair{'s' if experiment.pairs > 1 else ''}: use pair 1 to {experiment.pairs}, or set pairs"
            )
    if changes and (opened := _opened(experiment)) > most:
        raise ParameterError(
            f"changes: {opened} flows in all, because a closed flow never returns: at most {most} are possible, use"
            " fewer streams or changes"
        )


def stream_rules(experiment: Experiment) -> Iterator[tuple[bool, str]]:
    """Yield contradictions between changes of streams and other parameters: whether they apply, and a message."""
    flows, changes = experiment.flows, _of_streams(experiment)
    if not changes:
        return
    yield not flows.streams, "changes: streams: a run begins with at least one stream: set streams"
    first = min(change.at for change in changes)
    yield first <= 0, "changes: streams: they change only after 0 s: set streams for the start"
    yield (
        first <= max(flows.starts, default=0.0),
        f"changes: streams: a flow starts at {max(flows.starts, default=0.0):g} s: change them later",
    )
    ends = [life.end for life in experiment.lives if life.end is not None]
    yield (
        min(ends, default=flows.warmup + 1) <= flows.warmup,
        f"changes: streams: a flow closed in the warm-up is never measured: close it after {flows.warmup:g} s",
    )
    yield (
        any(
            one.at == other.at and (one.pair == other.pair or not (one.pair and other.pair))
            for one, other in combinations(changes, 2)
        ),
        "changes: streams: two values at the same time: keep one of them",
    )
    yield (
        bool(ends) and flows.bytes is not None,
        "changes: streams: flows of a fixed amount end by themselves: omit bytes",
    )


def _of_streams(experiment: Experiment) -> list[Change]:
    return [change for change in experiment.path.changes if change.name == "streams"]


def _opened(experiment: Experiment) -> int:
    """Return the number of flows of the run, without their lives, which may be too many."""
    opened, now = experiment.pairs * experiment.flows.streams, [experiment.flows.streams] * experiment.pairs
    for change in _of_streams(experiment):
        for pair in range(experiment.pairs) if not change.pair else (change.pair - 1,):
            opened += max(0, round(change.value) - now[pair])
            now[pair] = round(change.value)
    return opened
