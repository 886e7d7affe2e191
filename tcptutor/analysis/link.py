"""The bottleneck over time: its rate as the experiment changes it, and what its queue's samples tell."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Mapping
from itertools import pairwise

from tcptutor.run import Run
from tcptutor.spec import Experiment
from tcptutor.theory import goodput_ratio


class Bottleneck:
    """One direction of the path. Only the way from the first host to the second has samples of its queue."""

    def __init__(self, run: Run, reverse: bool = False) -> None:
        experiment = run.experiment
        self._rate = experiment.path.reverse_rate if reverse else experiment.path.rate
        self._changes = _changes(experiment, "rate") if not reverse else []
        self._goodput: float = goodput_ratio(experiment.hosts.mtu)
        queue = run.queue if not reverse and experiment.path.rate is not None else run.queue[:0]
        self._t, self._sent, self._drops = (queue.column(name) for name in ("t", "sent", "drops"))

    @property
    def sampled(self) -> bool:
        """Whether its queue's length and drops were measured."""
        return len(self._t) > 1

    def rate(self, start: float, end: float) -> float | None:
        """Mean rate between two times, bit/s of frames; None when it is not shaped."""
        return _mean(self._rate, self._changes, start, end) if self._rate else None

    def goodput(self, start: float, end: float) -> float | None:
        """The payload that it carries in full segments, bit/s; None when it is not shaped."""
        rate = self.rate(start, end)
        return rate * self._goodput if rate else None

    def used(self, start: float, end: float) -> float | None:
        """Share of its rate that all traffic took, UDP and acknowledgements included; None where it is not known."""
        rate, first, last = self.rate(start, end), self._at(start), self._at(end)
        if not rate or last <= first:
            return None
        sent = self._sent[last] - self._sent[first]
        return float(max(0.0, 8 * sent / (self._t[last] - self._t[first]) / rate))

    def drops(self, start: float, end: float) -> int:
        """Packets that its queue dropped between two times."""
        first, last = self._at(start), self._at(end)
        return max(0, self._drops[last] - self._drops[first]) if last > first else 0

    def _at(self, t: float) -> int:
        """The last sample at or before `t`, or the first one; -1 without samples."""
        return max(0, bisect_right(self._t, t) - 1) if self.sampled else -1


Links = Mapping[bool, Bottleneck]
"""Both directions of the path, by whether it is the way back."""


def links_of(run: Run) -> Links:
    """Made once for a run: each flow has one of them."""
    return {reverse: Bottleneck(run, reverse) for reverse in (False, True)}


def lossy(experiment: Experiment) -> Callable[[float], bool]:
    """Whether segments are lost at random at a time, by what the experiment says of its path."""
    changes, before = _changes(experiment, "loss"), experiment.path.loss

    def at(t: float) -> bool:
        past = [value for since, value in changes if since <= t]
        return (past[-1] if past else before) > 0

    return at


def _changes(experiment: Experiment, name: str) -> list[tuple[float, float]]:
    return [(change.at, change.value) for change in experiment.path.changes if change.name == name]


def _mean(value: float, changes: list[tuple[float, float]], start: float, end: float) -> float:
    """Of a value that changes in steps, between two times."""
    inside = [(at, new) for at, new in changes if start < at < end]
    for at, new in changes:
        if at <= start:
            value = new
    steps = [(start, value), *inside, (end, 0.0)]
    if end <= start:
        return value
    return sum(one * (until - since) for (since, one), (until, _) in pairwise(steps)) / (end - start)
