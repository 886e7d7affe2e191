"""The path over time: rate, queue samples, and the cause of each loss.

Each cut of cwnd is attributed to a queue that overflowed or marked, to random loss on the path, or to reordering.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal, NamedTuple

import msgspec

from tcptutor.analysis.case import payload_ratio
from tcptutor.analysis.observed.flow import Trace
from tcptutor.analysis.observed.measured import Measured, is_imported
from tcptutor.analysis.observed.path_doubt import path_doubt
from tcptutor.run import Run

FULL = 0.95
"""Link utilization from which the link is full, with or without a queue."""

SATURATED = 0.98
"""Link utilization above which a larger window or buffer gains nothing."""

QUEUED = 0.85
"""Link utilization from which a link with a standing queue is full most of the time."""

_SOON = 0.1
"""Seconds beyond the RTT until a drop is noticed, from delayed and reordered ACKs."""

LossKind = Literal["random-loss", "bottleneck", "reordering"]
"""Cause of a cut: random loss on the path, a queue that dropped or marked, or reordering."""


class LinkFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a direction over a time span; see the functions of `Direction`."""

    rate: float | None
    goodput: float | None
    utilization: float | None
    queueing_delay: float | None
    drops: int


class Steps(NamedTuple):
    """Value that changes at instants; `changes` are pairs of time in s and new value."""

    initial: float
    changes: Sequence[tuple[float, float]]

    def at(self, t: float) -> float:
        """Return the value at `t`, s."""
        return next((value for since, value in reversed(self.changes) if since <= t), self.initial)

    def mean(self, start: float, end: float) -> float:
        """Return the mean from `start` to `end`, s."""
        value = self.at(start)
        if end <= start:
            return value
        inside = [(at, new) for at, new in self.changes if start < at < end]
        steps = [(start, value), *inside, (end, 0.0)]
        return sum(one * (until - since) for (since, one), (until, _) in pairwise(steps)) / (end - start)


class Direction:
    """A direction of the path; only the forward direction has queue samples and changes.

    With two bottlenecks in a row, the forward direction of one of them, number `link`.
    """

    def __init__(self, run: Run, reverse: bool = False, link: int = 0) -> None:
        self._experiment = run.experiment.at_link(link)
        path = self._experiment.path
        changes: dict[str, list[tuple[float, float]]] = {"rate": [], "loss": []}
        for change in () if reverse else path.all_changes:
            changes.setdefault(change.name, []).append((change.at, change.value))
        rate, loss = (path.reverse_rate, path.reverse_loss) if reverse else (path.rate, path.loss)
        self._rate = Steps(rate, changes["rate"]) if rate else None
        self._loss = Steps(loss, changes["loss"])
        queue = run.queues[link] if not reverse and path.rate is not None else run.queue[:0]
        self._t, self._sent, self._drops, self._bytes = (
            queue.column(name) for name in ("t", "sent", "drops", "bytes")
        )

    def rate_at(self, t: float) -> float | None:
        """Return the rate at `t`, bit/s of frames; None if unshaped."""
        return self._rate.at(t) if self._rate else None

    def rate(self, start: float, end: float) -> float | None:
        """Return the mean rate from `start` to `end`, bit/s of frames; None if unshaped."""
        return self._rate.mean(start, end) if self._rate else None

    def goodput(self, start: float, end: float) -> float | None:
        """Return the payload capacity in full segments, bit/s; None if unshaped."""
        rate = self.rate(start, end)
        return rate * payload_ratio(self._experiment) if rate else None

    def utilization(self, start: float, end: float) -> float | None:
        """Return the utilization by all traffic, including UDP and ACKs; None if unknown."""
        rate, first, last = self.rate(start, end), self._at(start), self._at(end)
        if not rate or last <= first or self._t[last] <= self._t[first]:
            return None
        sent = self._sent[last] - self._sent[first]
        return float(max(0.0, 8 * sent / (self._t[last] - self._t[first]) / rate))

    def has_random_loss(self, t: float) -> bool:
        """Return whether the experiment sets random loss at `t`."""
        return self._loss.at(t) > 0

    @property
    def has_samples(self) -> bool:
        """True if the queue was sampled."""
        return len(self._t) > 1

    def queueing_delay(self, start: float, end: float) -> float | None:
        """Return the mean queueing delay, s, with each sample at the rate of its time; None without samples."""
        first, last = self._at(start), self._at(end)
        if not self._rate or last <= first:
            return None
        total, at = 0.0, first
        edges = [change for change, _ in self._rate.changes if self._t[first] < change <= self._t[last]]
        for edge in (*edges, math.inf):
            after = min(bisect_left(self._t, edge), last + 1)
            rate = self._rate.at(self._t[at])
            if rate:
                total += 8 * float(sum(self._bytes[at:after])) / rate
            at = after
        return total / (last + 1 - first)

    def queueing_delays(self, start: float, end: float) -> list[tuple[float, float]]:
        """Return time and queueing delay, s, of each sample from `start` to `end`; none while the link is cut."""
        first, last = self._at(start), self._at(end)
        if not self._rate or last <= first:
            return []
        rates = (
            (t, size, self._rate.at(t))
            for t, size in zip(self._t[first : last + 1], self._bytes[first : last + 1], strict=True)
        )
        return [(t, 8 * size / rate) for t, size, rate in rates if rate]

    def stays_full(self, start: float, end: float) -> bool:
        """Return whether the link sent at full rate from `start` to its last frame before `end`."""
        first, last = self._at(start), self._at(end)
        if last <= first:
            return False
        # The last frames left somewhere between two samples.
        until = bisect_left(self._sent, self._sent[last], first, last + 1) - 1
        used = self.utilization(self._t[first], self._t[until]) if until > first else None
        return used is not None and used >= FULL

    def drops(self, start: float, end: float) -> int:
        """Return the packets that the queue dropped from `start` to `end`."""
        first, last = self._at(start), self._at(end)
        return max(0, self._drops[last] - self._drops[first]) if last > first else 0

    def over(self, start: float, end: float) -> LinkFigures:
        """Return all figures from `start` to `end`."""
        rate = self.rate(start, end)
        return LinkFigures(
            rate=rate,
            goodput=rate * payload_ratio(self._experiment) if rate else None,
            utilization=self.utilization(start, end),
            queueing_delay=self.queueing_delay(start, end),
            drops=self.drops(start, end),
        )

    def _at(self, t: float) -> int:
        """Return the index of the last sample at or before `t`, or 0 before the first; -1 without samples."""
        return max(0, bisect_right(self._t, t) - 1) if len(self._t) > 1 else -1


class LinksInRow(Direction):
    """Two bottlenecks in a row, as a flow over both meets them: the slower rate, and the waiting times added up."""

    def __init__(self, run: Run) -> None:
        super().__init__(run)
        self._links = tuple(Direction(run, link=link) for link in range(run.experiment.link_count))

    def rate_at(self, t: float) -> float | None:
        """Return the rate of the slower link at `t`, bit/s of frames."""
        return min((rate for link in self._links if (rate := link.rate_at(t))), default=None)

    def rate(self, start: float, end: float) -> float | None:
        """Return the mean rate of the slower link from `start` to `end`, bit/s of frames."""
        return min((rate for link in self._links if (rate := link.rate(start, end))), default=None)

    def utilization(self, start: float, end: float) -> float | None:
        """Return the utilization of the fuller link; None if unknown."""
        known = [used for link in self._links if (used := link.utilization(start, end)) is not None]
        return max(known, default=None)

    def queueing_delay(self, start: float, end: float) -> float | None:
        """Return the sum of the links' mean queueing delays, s; None without samples."""
        delays = [link.queueing_delay(start, end) for link in self._links]
        known = [delay for delay in delays if delay is not None]
        return math.fsum(known) if len(known) == len(delays) else None

    def queueing_delays(self, start: float, end: float) -> list[tuple[float, float]]:
        """Return time and the sum of the links' queueing delays, s, of each sample from `start` to `end`."""
        each = [link.queueing_delays(start, end) for link in self._links]
        return [(rows[0][0], math.fsum(delay for _, delay in rows)) for rows in zip(*each, strict=False)]

    def stays_full(self, start: float, end: float) -> bool:
        """Return whether a link sent at full rate from `start` to its last frame before `end`."""
        return any(link.stays_full(start, end) for link in self._links)

    def drops(self, start: float, end: float) -> int:
        """Return the packets that both queues dropped from `start` to `end`."""
        return sum(link.drops(start, end) for link in self._links)


Directions = Mapping[bool, Direction]
"""Both directions of the path; True is the reverse path."""

Events = Mapping[int, Sequence["LossEvent"]]
"""Loss events by flow number."""


@dataclass(frozen=True)
class ObservedPath:
    """Links and loss events of a run, with any doubt about its path."""

    run: Run
    links: Directions
    crossed: Mapping[tuple[int, ...], Direction]
    """What the forward flows meet, by the bottlenecks that they cross: (0,), or (1,) and (0, 1) as well."""
    events: Events
    is_imported: bool
    doubt: str
    """Reason why the models cannot be applied to the path; empty if they can."""

    def link_of(self, flow: int) -> Direction:
        """Return what TCP flow number `flow` meets on its way."""
        experiment = self.run.experiment
        if experiment.reversed(flow):
            return self.links[True]
        return self.crossed[experiment.links_of(experiment.pair_of(flow))]


def observe_path(measured: Measured) -> ObservedPath:
    """Return both directions of the path, and the loss events of each flow with their causes."""
    run = measured.run
    links = {reverse: Direction(run, reverse) for reverse in (False, True)}
    crossed: dict[tuple[int, ...], Direction] = {(0,): links[False]}
    if run.experiment.link_count > 1:
        crossed |= {(1,): Direction(run, link=1), (0, 1): LinksInRow(run)}
    path = ObservedPath(
        run=run, links=links, crossed=crossed, events={}, is_imported=is_imported(run), doubt=path_doubt(run)
    )
    events = {trace.flow: loss_events(run, trace, path.link_of(trace.flow)) for trace in measured.traces}
    return replace(path, events=events)


@dataclass(frozen=True)
class LossEvent:
    """Response of a sender to a loss or a mark."""

    at: int
    """Index of its sample in the flow's trace."""
    t: float
    kind: LossKind | None
    """None if the cause is unknown."""
    cwnd: float
    """cwnd before the event, segments."""


def loss_events(run: Run, trace: Trace, link: Direction) -> list[LossEvent]:
    """Return a flow's loss events and cuts by marks in order of time, each with its cause.

    The first rule that applies decides:

    1. At least half of the retransmissions were needless (DSACK) and segments were overtaken: reordering.
    2. The queue dropped or marked within the last round trip: bottleneck.
    3. The experiment sets random loss at this time: random loss.
    4. The sender detected reordering, or the path causes it: reordering.
    5. The queue was not sampled: bottleneck. Otherwise the cause is unknown.

    On a path with random loss, cuts that the sender undid are left out because they hold no window down.
    """
    experiment = run.experiment
    shuffles = experiment.path.jitter > 0 or experiment.path.reorder > 0
    times, cwnds = trace.column("t"), trace.column("cwnd")
    marks, retransmits = trace.column("delivered_ce"), trace.column("retransmits")
    reorderings, dsacks = trace.column("reord_seen"), trace.column("dsack_dups")
    is_shaped = experiment.path.rate is not None

    def kind(at: int) -> LossKind | None:
        now, since = loss_time_range(trace, at)
        if marks[at] > marks[at - 1] and retransmits[at] == retransmits[at - 1]:
            return "bottleneck"
        later = min(len(times), bisect_right(times, 2 * now - since)) - 1
        overtaken = reorderings[later] > reorderings[at - 1]
        retransmitted, needless = (column[later] - column[at - 1] for column in (retransmits, dsacks))
        if (
            (shuffles or overtaken)
            and not experiment.path.duplicate
            and 2 * needless >= max(1, retransmitted)
        ):
            return "reordering"
        if link.drops(since, now) > 0:
            return "bottleneck"
        if any(link.has_random_loss(t) for t in (since, now)):
            return "random-loss"
        if shuffles or overtaken or needless:
            return "reordering"
        return None if link.has_samples or not is_shaped else "bottleneck"

    found = {
        at: LossEvent(at, times[at], kind(at), cwnds[at - 1])
        for at in sorted({*trace.cuts.losses, *trace.cuts.marks})
    }
    spurious = (
        set(trace.spurious_events) if any(one.kind == "random-loss" for one in found.values()) else set()
    )
    return [one for at, one in found.items() if at not in spurious]


def loss_time_range(trace: Trace, at: int) -> tuple[float, float]:
    """Return the time of sample `at`, and the earliest time at which the reported loss can have happened, s."""
    now: float = trace.column("t")[at]
    return now, now - 1.5 * trace.column("rtt")[at] - _SOON
