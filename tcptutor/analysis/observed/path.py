"""The path over time: its rate as the experiment changes it, what its queue's samples tell, and what it lost.

What made a sender cut its window is told event by event: a queue that overflowed or marked, the path, or reordering.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from typing import Literal

from tcptutor.analysis.case import FULL, case_of, path_at
from tcptutor.analysis.observed.flow import Trace
from tcptutor.run import Run
from tcptutor.spec import Experiment, Path

_SOON = 0.1
"""Seconds that the news of a drop may take beside the round trip: delayed and reordered acknowledgements."""

_MORE = 1.05
"""How much more a path must hold for an overflow before its change to be of no more use."""

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

    def rate_at(self, t: float) -> float | None:
        """Return the rate at `t`, bit/s of frames; None when it is not shaped."""
        return _value_at(self._rate, self._changes, t) if self._rate else None

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
        return _value_at(self._loss, self._losses, t) > 0

    @property
    def has_queue(self) -> bool:
        """Whether its queue was sampled."""
        return len(self._t) > 1

    def wait(self, start: float, end: float) -> float | None:
        """Return the mean time that its queue takes to empty, s, each sample by the rate then; None without samples."""
        first, last = self._at(start), self._at(end)
        if not self._rate or last <= first:
            return None
        total, at = 0.0, first
        edges = [change for change, _ in self._changes if self._t[first] < change <= self._t[last]]
        for edge in (*edges, math.inf):
            after = min(bisect_left(self._t, edge), last + 1)
            rate = self.rate_at(self._t[at])
            if rate:
                total += 8 * float(sum(self._bytes[at:after])) / rate
            at = after
        return total / (last + 1 - first)

    def stays_full(self, start: float, end: float) -> bool:
        """Whether it sent at its rate from `start` until the last frame that it sent before `end`."""
        first, last = self._at(start), self._at(end)
        if last <= first:
            return False
        # The last frames are sent somewhere between two samples.
        until = bisect_left(self._sent, self._sent[last], first, last + 1) - 1
        used = self.used(self._t[first], self._t[until]) if until > first else None
        return used is not None and used >= FULL

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
    """Return a flow's loss events and cuts by marks in order of time, each with what it came from.

    Where at least half of what the sender retransmitted had arrived, by the receiver's DSACKs, and segments overtake
    others, it is reordering. Otherwise a queue that dropped in the round trip before tells an overflow. Where it did
    not, or was not measured, the loss is the path's if the experiment says that it loses segments then; else
    reordering if the sender found such, or the path makes it; else it can only have been a queue, unless that was
    sampled and dropped nothing: then nothing tells.

    On a path that loses segments at random, cuts that the sender took back are left out: they hold no window down.
    """
    experiment = run.experiment
    shuffles = experiment.path.jitter > 0 or experiment.path.reorder > 0
    times, cwnds = trace.column("t"), trace.column("cwnd")
    marks, retransmits = trace.column("delivered_ce"), trace.column("retransmits")
    reorderings, dsacks = trace.column("reord_seen"), trace.column("dsack_dups")
    known = experiment.path.rate is not None

    def kind(at: int) -> LossKind | None:
        now, since = news_of_loss(trace, at)
        if marks[at] > marks[at - 1] and retransmits[at] == retransmits[at - 1]:
            return "bottleneck"
        later = min(len(times), bisect_right(times, 2 * now - since)) - 1
        overtaken = reorderings[later] > reorderings[at - 1]
        again, in_vain = (column[later] - column[at - 1] for column in (retransmits, dsacks))
        if (shuffles or overtaken) and not experiment.path.duplicate and 2 * in_vain >= max(1, again):
            return "reordering"
        if link.drops(since, now) > 0:
            return "bottleneck"
        if any(link.loses(t) for t in (since, now)):
            return "random-loss"
        if shuffles or overtaken or in_vain:
            return "reordering"
        return None if link.has_queue or not known else "bottleneck"

    found = {
        at: LossEvent(times[at], kind(at), cwnds[at - 1])
        for at in sorted({*trace.cuts.losses, *trace.cuts.marks})
    }
    taken_back = set(trace.undone) if any(one.kind == "random-loss" for one in found.values()) else set()
    return [one for at, one in found.items() if at not in taken_back]


def news_of_loss(trace: Trace, at: int) -> tuple[float, float]:
    """When the sample `at` found a loss, and since when what it tells of may have happened, s."""
    now: float = trace.column("t")[at]
    return now, now - 1.5 * trace.column("rtt")[at] - _SOON


def holding_loss(
    events: Sequence[LossEvent], start: float, end: float, cwnd: float, last: float, longest: float
) -> LossKind | None:
    """Return the kind of loss that holds the window down between `start` and `end`; None where it grows freely.

    A sawtooth is one thing, not a loss now and growth then: between two losses the window is what they leave of it.
    After the last one that is so until the window, `cwnd` segments on average, is back where it was, and for as long
    as the next loss may take (twice the mean time between losses, `last` being the end of the flow); before the first
    one the window grows. After a queue's overflow it grows as well where a tooth takes more than `longest`, s:
    then no second overflow is near enough to be the limit.
    """
    first, after = (bisect_right(events, t, key=attrgetter("t")) for t in (start, end))
    if inside := [event.kind for event in events[first:after]]:
        return most_common(inside)
    if first == 0:
        return None
    before = events[first - 1]
    following = events[after].t if after < len(events) else last
    if before.kind == "bottleneck" and following - before.t > longest:
        return None
    if cwnd < before.cwnd:
        return before.kind
    if after < len(events):
        return events[after].kind
    spacing = (before.t - events[0].t) / (first - 1) if first > 1 else 0.0
    return before.kind if last - before.t < 2 * spacing else None


def in_force(experiment: Experiment, events: Sequence[LossEvent], t: float) -> list[LossEvent]:
    """Return `events` without those before a change of the path that took away, by `t`, what they came from."""
    if not experiment.path.changes:
        return list(events)
    now = path_at(experiment, t)
    return [each for each in events if not _outdated(each, path_at(experiment, each.t), now)]


def _outdated(event: LossEvent, then: Path, now: Path) -> bool:
    """Whether the path loses no more at random, overtakes no more, or holds more in flight and in its queue."""
    if event.kind == "random-loss":
        return then.loss > 0 and now.loss == 0
    if event.kind == "reordering":
        return then.jitter + then.reorder > 0 and now.jitter + now.reorder == 0
    return _room(now) > _MORE * _room(then)


def _room(path: Path) -> float:
    """Bytes that are under way on a full path and in its full queue."""
    return (path.rate or 0.0) * path.delay / 8 + path.queue


def most_common(kinds: Sequence[LossKind | None]) -> LossKind | None:
    """The one that most losses have; of equal ones the first by name. None where nothing tells of most of them."""
    return max(sorted(set(kinds), key=str), key=kinds.count, default=None)


def _value_at(before: float, changes: list[tuple[float, float]], t: float) -> float:
    """Return what a value of the path that was `before` at first has become by `t`."""
    return next((value for since, value in reversed(changes) if since <= t), before)


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
