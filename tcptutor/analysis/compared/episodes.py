"""Episodes: periods in which one cause limited most of the traffic.

A sentence about a run consists of episodes, each supported by the samples of its own time.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from tcptutor.analysis.compared.seconds import Second
from tcptutor.base.causes import LimitedBy
from tcptutor.spec import Experiment

_ORDER: tuple[LimitedBy, ...] = (
    "application", "timeout", "pacing", "bottleneck", "receive-window", "send-buffer", "reordering", "random-loss",
    "growing", "unexplained",
)  # fmt: skip
"""Precedence of causes with equal shares."""

_SLACK = 0.05
"""Tolerance for the start of the same second in different flows, s."""

_TELLING = 0.5
"""Least length of an episode in a sentence, s."""


@dataclass(frozen=True)
class Episode:
    """Period in which the same cause limited the flows that carried most bytes."""

    limited_by: LimitedBy
    start: float
    end: float

    @property
    def seconds(self) -> float:
        """Length, s."""
        return self.end - self.start


def episodes(flows: Iterable[Sequence[Second]], experiment: Experiment) -> list[Episode]:
    """Return the causes in order over the measured time, each second judged by bytes carried.

    A change of the path ends a second, so the cause before the change never labels the time after it.
    """
    changes = [change.at for change in experiment.path.changes]
    by_second: dict[tuple[int, int], list[Second]] = defaultdict(list)
    for flow_seconds in flows:
        for second in flow_seconds:
            start = second.start + _SLACK
            if start >= experiment.flows.warmup:
                by_second[int(start), sum(change <= start for change in changes)].append(second)
    turns = [
        Episode(_most(found), min(each.start for each in found), max(each.end for each in found))
        for _, found in sorted(by_second.items())
    ]
    joined = []
    for limited_by, group in groupby(turns, key=lambda turn: turn.limited_by):
        same_cause = list(group)
        joined.append(Episode(limited_by, same_cause[0].start, same_cause[-1].end))
    return joined


def clip_episodes(found: Sequence[Episode], start: float, end: float) -> list[Episode]:
    """Return the parts of episodes from `start` to `end`, without very short ones."""
    parts = [Episode(one.limited_by, max(start, one.start), min(end, one.end)) for one in found]
    return [one for one in parts if one.seconds > _SLACK]


def notable_episodes(found: Sequence[Episode]) -> list[Episode]:
    """Return the episodes that are long enough for a sentence."""
    return [one for one in found if one.seconds >= _TELLING]


def longest(found: Sequence[Episode], limited_by: LimitedBy) -> Episode | None:
    """Return the longest episode of a cause; None if the cause does not occur."""
    return max(
        (one for one in found if one.limited_by == limited_by), key=lambda one: one.seconds, default=None
    )


def shares(parts: Iterable[tuple[LimitedBy, float]]) -> dict[LimitedBy, float]:
    """Return each cause's share of the total, the largest first."""
    seconds: dict[LimitedBy, float] = {}
    for name, part in parts:
        seconds[name] = seconds.get(name, 0.0) + part
    total = math.fsum(seconds.values())
    if total <= 0:
        return {}
    ranked = sorted(seconds, key=lambda name: (-round(seconds[name], 6), _ORDER.index(name)))
    return {name: seconds[name] / total for name in ranked}


def shares_of_flows(flows: Sequence[tuple[Mapping[LimitedBy, float], float]]) -> dict[LimitedBy, float]:
    """Return each cause's share over several flows, weighted by their bytes.

    Args:
        flows: Each flow's shares, and the bytes it carried.
    """
    carried = math.fsum(weight for _, weight in flows)
    return shares(
        (name, share * (weight if carried else 1.0))
        for flow_shares, weight in flows
        for name, share in flow_shares.items()
    )


def _most(found: Sequence[Second]) -> LimitedBy:
    """Return the cause of most bytes in a second, or of most flows if no bytes arrived."""
    carried = [8 * each.evidence.throughput_bps * (each.end - each.start) for each in found]
    weights = carried if any(carried) else [1.0] * len(found)
    return next(iter(shares((each.limited_by, weight) for each, weight in zip(found, weights, strict=True))))
