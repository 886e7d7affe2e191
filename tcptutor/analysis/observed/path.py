"""The path over time: its rate as the experiment changes it, what its queue's samples tell, and what it lost.

What made a sender cut its window is told event by event: a queue that overflowed or marked, the path, or reordering.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import Literal

from tcptutor.analysis.case import case_of
from tcptutor.analysis.observed.flow import Trace
from tcptutor.run import Run
from tcptutor.spec import Experiment

_SOON = 0.1
"""Seconds that the news of a drop may take beside the round trip: delayed and reordered acknowledgements."""

LossKind = Literal["random-loss", "bottleneck", "reordering"]
"""What made the sender cut its window: the path, a queue that dropped or marked, or segments out of order."""


class Direction:
    """One direction of the path. Only the way from the first host to the second has samples of its queue."""

    def __init__(self, run: Run, reverse: bool = False) -> None:
        experiment = run.experiment
        self._rate = experiment.path.reverse_rate if reverse else experiment.path.rate
        self._changes = _changes(experiment, "rate") if not reverse else []
        self._losses = [] if reverse else _changes(experiment, "loss")
        self._loss = experiment.path.reverse_loss if reverse else experiment.path.loss
        self._goodput: float = case_of(experiment).ratio
        queue = run.queue if not reverse and experiment.path.rate is not None else run.queue[:0]
        self._t, self._sent, self._drops, self._bytes = (
            queue.column(name) for name in ("t", "sent", "drops", "bytes")
        )

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
        if not rate or last <= first or self._t[last] <= self._t[first]:
            return None
        sent = self._sent[last] - self._sent[first]
        return float(max(0.0, 8 * sent / (self._t[last] - self._t[first]) / rate))

    def loses(self, t: float) -> bool:
        """Whether the experiment says that it loses segments at random at `t`."""
        return _loses(self._loss, self._losses, t)

    @property
    def has_queue(self) -> bool:
        """Whether its queue was sampled."""
        return len(self._t) > 1

    def wait(self, start: float, end: float) -> float | None:
        """Mean of what its queue would take to empty, s; None where it was not sampled."""
        rate, first, last = self.rate(start, end), self._at(start), self._at(end)
        if not rate or last <= first:
            return None
        waiting = self._bytes[first : last + 1]
        return 8 * float(sum(waiting)) / len(waiting) / rate

    def drops(self, start: float, end: float) -> int:
        """Packets that its queue dropped between two times."""
        first, last = self._at(start), self._at(end)
        return max(0, self._drops[last] - self._drops[first]) if last > first else 0

    def _at(self, t: float) -> int:
        """The last sample at or before `t`, or the first one; -1 without samples."""
        return max(0, bisect_right(self._t, t) - 1) if len(self._t) > 1 else -1


Directions = Mapping[bool, Direction]
"""Both directions of the path, by whether it is the way back."""


def directions(run: Run) -> Directions:
    """Made once for a run: each flow has one of them."""
    return {reverse: Direction(run, reverse) for reverse in (False, True)}


@dataclass(frozen=True)
class LossEvent:
    """A sender's answer to a loss or a mark."""

    t: float
    kind: LossKind | None
    """None where nothing tells."""
    cwnd: float
    """Before it, segments."""


Events = Mapping[int, Sequence[LossEvent]]
"""The losses of each flow, by its number."""


def loss_events(run: Run, trace: Trace, link: Direction) -> list[LossEvent]:
    """In order of time.

    A queue that dropped in the round trip before tells an overflow. Where it did not, or was not measured, the loss is
    the path's if the experiment says that it loses segments then; else reordering if the sender found such, or the
    path makes it; else it can only have been a queue, unless that was sampled and dropped nothing: then nothing tells.
    """
    experiment = run.experiment
    shuffles = experiment.path.jitter > 0 or experiment.path.reorder > 0
    times, cwnds = trace.column("t"), trace.column("cwnd")
    marks, retransmits = trace.column("delivered_ce"), trace.column("retransmits")
    found = [trace.column("reord_seen"), trace.column("dsack_dups")]

    known = experiment.path.rate is not None

    def kind(at: int) -> LossKind | None:
        now, since = news_of_loss(trace, at)
        if marks[at] > marks[at - 1] and retransmits[at] == retransmits[at - 1]:
            return "bottleneck"
        if link.drops(since, now) > 0:
            return "bottleneck"
        if any(link.loses(t) for t in (since, now)):
            return "random-loss"
        later = min(len(times), bisect_right(times, 2 * now - since)) - 1
        if shuffles or any(column[later] > column[at - 1] for column in found):
            return "reordering"
        return None if link.has_queue or not known else "bottleneck"

    return [
        LossEvent(times[at], kind(at), cwnds[at - 1])
        for at in sorted({*trace.cuts.losses, *trace.cuts.marks})
    ]


def news_of_loss(trace: Trace, at: int) -> tuple[float, float]:
    """When the sample `at` found a loss, and since when what it tells of may have happened, s."""
    now: float = trace.column("t")[at]
    return now, now - 1.5 * trace.column("rtt")[at] - _SOON


def holding_loss(
    events: Sequence[LossEvent], start: float, end: float, cwnd: float, last: float
) -> LossKind | None:
    """The kind of loss that holds the window down between `start` and `end`; None where it grows freely.

    A sawtooth is one thing, not a loss now and growth then: between two losses the window is what they leave of it.
    After the last one that is so until the window, `cwnd` segments on average, is back where it was, and for as long
    as the next loss may take (twice the mean time between losses, `last` being the end of the flow); before the first
    one the window grows.
    """
    first, after = (bisect_right(events, t, key=attrgetter("t")) for t in (start, end))
    if inside := [event.kind for event in events[first:after]]:
        return most_common(inside)
    if first == 0:
        return None
    before = events[first - 1]
    if cwnd < before.cwnd:
        return before.kind
    if after < len(events):
        return events[after].kind
    spacing = (before.t - events[0].t) / (first - 1) if first > 1 else 0.0
    return before.kind if last - before.t < 2 * spacing else None


def most_common(kinds: Sequence[LossKind | None]) -> LossKind | None:
    """The one that most losses have; of equal ones the first by name. None where nothing tells of most of them."""
    return max(sorted(set(kinds), key=str), key=kinds.count, default=None)


def _loses(before: float, changes: list[tuple[float, float]], t: float) -> bool:
    """Whether segments are lost at random at `t`, by what the experiment says of its path."""
    return next((value for since, value in reversed(changes) if since <= t), before) > 0


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
