"""Episodes: times in which one cause limited most of the traffic, each with its own evidence.

A sentence about a run is made of its episodes, and says of each nothing but what the samples of that time show.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from tcptutor.analysis.compared.seconds import Second
from tcptutor.spec import Experiment
from tcptutor.theory.models import LimitedBy

_ORDER: tuple[LimitedBy, ...] = (
    "application", "timeout", "pacing", "bottleneck", "receive-window", "send-buffer", "reordering", "random-loss",
    "growing", "unexplained",
)  # fmt: skip
"""Of two causes with equal shares of the time the first."""

_SLACK = 0.05
"""Seconds by which flows' seconds may begin apart and still be the same second."""

_TELLING = 0.5
"""Seconds from which an episode is worth telling."""


@dataclass(frozen=True)
class Episode:
    """A time in which one cause limited the flows that carried most."""

    limited_by: LimitedBy
    start: float
    end: float

    @property
    def seconds(self) -> float:
        """Its length, s."""
        return self.end - self.start


def episodes(flows: Iterable[Sequence[Second]], experiment: Experiment) -> list[Episode]:
    """Return the causes in turn over the measured time, in each second that of the flows that carried most bytes.

    A change of the path ends a second, so that no episode is named by what came before the change.
    """
    changes = [change.at for change in experiment.path.changes]
    together: dict[tuple[int, int], list[Second]] = defaultdict(list)
    for mine in flows:
        for second in mine:
            start = second.start + _SLACK
            if start >= experiment.flows.warmup:
                together[int(start), sum(change <= start for change in changes)].append(second)
    turns = [
        Episode(_most(found), min(each.start for each in found), max(each.end for each in found))
        for _, found in sorted(together.items())
    ]
    joined = []
    for limited_by, group in groupby(turns, key=lambda turn: turn.limited_by):
        these = list(group)
        joined.append(Episode(limited_by, these[0].start, these[-1].end))
    return joined


def within(found: Sequence[Episode], start: float, end: float) -> list[Episode]:
    """Return the parts of episodes from `start` to `end` that last long enough to tell of."""
    parts = [Episode(one.limited_by, max(start, one.start), min(end, one.end)) for one in found]
    return [one for one in parts if one.seconds > _SLACK]


def telling(found: Sequence[Episode]) -> list[Episode]:
    """Return those long enough to be told as a turn."""
    return [one for one in found if one.seconds >= _TELLING]


def longest(found: Sequence[Episode], limited_by: LimitedBy) -> Episode | None:
    """Return the longest episode of one cause; None where there is none."""
    return max(
        (one for one in found if one.limited_by == limited_by), key=lambda one: one.seconds, default=None
    )


def shares(parts: Iterable[tuple[LimitedBy, float]]) -> dict[LimitedBy, float]:
    """Return the share of each cause in the sum of all parts, the largest first."""
    took: dict[LimitedBy, float] = {}
    for name, part in parts:
        took[name] = took.get(name, 0.0) + part
    total = math.fsum(took.values())
    if total <= 0:
        return {}
    ranked = sorted(took, key=lambda name: (-round(took[name], 6), _ORDER.index(name)))
    return {name: took[name] / total for name in ranked}


def shares_of_flows(flows: Sequence[tuple[Mapping[LimitedBy, float], float]]) -> dict[LimitedBy, float]:
    """Return the share of each cause over several flows, each with its own shares and the bytes that it carried."""
    carried = math.fsum(weight for _, weight in flows)
    return shares(
        (name, share * (weight if carried else 1.0)) for mine, weight in flows for name, share in mine.items()
    )


def _most(found: Sequence[Second]) -> LimitedBy:
    """Return the cause of the flows that carried most bytes in a second; where none carried any, of most flows."""
    carried = [8 * each.evidence.throughput_bps * (each.end - each.start) for each in found]
    weights = carried if any(carried) else [1.0] * len(found)
    return next(iter(shares((each.limited_by, weight) for each, weight in zip(found, weights, strict=True))))
