"""A run's samples summed up in equal steps of its time, which is all that a screen can show of them.

However long the run, it takes as much memory, and each sample is looked at once.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import TypeAlias

from tcptutor.run import Cut, CutFinder, Run, Table
from tcptutor.ui.widgets.bench.counts import ByteCount

STEPS = 960
"""Steps of a run's time: a terminal of 480 columns has as many dots."""


_BEFORE = 1.0
"""Seconds before a part of a run, and after it, in which each flow was sampled."""

_Row: TypeAlias = tuple[int, float, float, int, int, int, int, int, int, int]


def _unknown() -> array[float]:
    return array("d", [math.nan]) * STEPS


def _none() -> array[float]:
    return array("d", [0.0]) * STEPS


@dataclass
class FlowHistory:
    """One TCP flow, by step; NaN where no sample fell."""

    low: array[float] = field(default_factory=_unknown)
    """The smallest window, segments."""
    high: array[float] = field(default_factory=_unknown)
    last: array[float] = field(default_factory=_unknown)
    rtt: array[float] = field(default_factory=_unknown)
    """The latest smoothed RTT, s."""
    acked: ByteCount = field(default_factory=lambda: ByteCount(STEPS))
    """Payload acknowledged since the flow began."""
    resent: array[float] = field(default_factory=_none)
    """Segments sent again in the step."""
    losses: array[float] = field(default_factory=_none)
    """Loss events in the step."""
    marked: array[float] = field(default_factory=_none)
    """Cuts of the window by marks alone in the step."""
    total_resent: int = 0
    mss: int = 0
    base_rtt: float = math.inf
    until: float = 0.0
    """Time of the latest sample that brought progress, s."""
    samples: int = 0
    _cuts: CutFinder = field(default_factory=CutFinder)
    _bytes: int = 0
    _early: tuple[int, float] | None = None
    """Window and RTT at the latest sample before the time that is summed up."""

    def add(self, step: int | None, t: float, row: _Row) -> None:
        """`step` is None before and after the time that is summed up: what is counted goes on."""
        cwnd, rtt, min_rtt, acked, resent, state, ssthresh, marks, timeouts, mss = row
        self.samples += 1
        if 0 < min_rtt < self.base_rtt:
            self.base_rtt = min_rtt
        if acked > self._bytes:
            self._bytes, self.until = acked, t
        cut = self._cuts.at(state, ssthresh, resent, marks, timeouts, acked)
        self.mss = max(mss, self.mss)
        again = max(0, resent - self.total_resent)
        self.total_resent += again
        self.acked.add(step, t, acked)
        if step is None:
            self._early = cwnd, rtt
            return
        if self._early is not None:
            # What was so as the time begins: the latest sample says it until there is another.
            was, took = self._early
            if step:
                self.low[0] = self.high[0] = self.last[0] = was
                self.rtt[0] = took or math.nan
            self._early = None
        low = self.low[step]
        if isnan(low):  # the first of its step
            self.low[step] = self.high[step] = cwnd
        elif cwnd < low:
            self.low[step] = cwnd
        elif cwnd > self.high[step]:
            self.high[step] = cwnd
        self.last[step] = cwnd
        if rtt:
            self.rtt[step] = rtt
        self.resent[step] += again
        self.losses[step] += cut is Cut.LOSS
        self.marked[step] += cut is Cut.MARK


@dataclass
class UdpHistory:
    """One UDP flow, by step."""

    received: ByteCount = field(default_factory=lambda: ByteCount(STEPS))
    """Payload that has arrived since the flow began."""
    lost: array[float] = field(default_factory=_none)
    """Datagrams lost in the step."""
    total_lost: int = 0
    datagrams: int = 0


class History:
    """Follows one run as it grows, or a part of its time, `seconds` from `start` on.

    Used by one thread at a time, which need not be the one that the run grows in.
    """

    def __init__(self, seconds: float, start: float | None = None) -> None:
        self.seconds, self.start = seconds, start or 0.0
        self.whole = start is None
        """Whether it is of a whole run."""
        self.until = 0.0
        """Time of the latest sample, s."""
        self.flows: dict[int, FlowHistory] = {}
        self.udp: dict[int, UdpHistory] = {}
        self.queue = _unknown()
        """The most that waited at the bottleneck in the step, bytes."""
        self.dropped = _none()
        """Packets that its queue dropped in the step."""
        self.total_dropped = 0
        self._drops_before = not self.whole
        """Whether it is still to be found out what was dropped before the time that is summed up."""
        self._rates: dict[int, tuple[int, array[float]]] = {}
        """The throughput by flow, with the number of samples it was made of."""
        self._seen = {"samples": 0, "queue": 0, "udp": 0}

    @property
    def step(self) -> float:
        """Seconds."""
        return self.seconds / STEPS

    def follow(self, run: Run) -> None:
        """Take what has come since the last time."""
        self._samples(run)
        self._queue(run)
        self._udp(run)

    def _samples(self, run: Run) -> None:
        for flow, t, *row in self._new(
            run.samples, "samples", "bytes_received", "flow", "t", "cwnd", "rtt", "min_rtt", "bytes_acked",
            "retransmits", "ca_state", "ssthresh", "delivered_ce", "total_rto", "mss",
        ):  # fmt: skip
            if (mine := self.flows.get(flow)) is None:
                mine = self.flows[flow] = FlowHistory()
                if not self.whole:  # what is counted had begun before
                    mine.total_resent = row[4]
            mine.add(self._at(t), t, tuple(row))
            self._reach(t)

    def _queue(self, run: Run) -> None:
        for t, waiting, drops in self._new(run.queue, "queue", "sent", "t", "bytes", "drops"):
            if self._drops_before:
                self.total_dropped, self._drops_before = drops, False
            step, more = self._at(t), max(0, drops - self.total_dropped)
            self.total_dropped += more
            if step is None:
                continue
            if not waiting <= self.queue[step]:
                self.queue[step] = waiting
            self.dropped[step] += more

    def _udp(self, run: Run) -> None:
        for flow, t, received, datagrams, lost in self._new(
            run.udp_samples, "udp", "jitter", "flow", "t", "received", "datagrams", "lost"
        ):
            mine = self.udp.setdefault(flow, UdpHistory(total_lost=0 if self.whole else lost))
            step = self._at(t)
            mine.received.add(step, t, received)
            if step is not None:
                mine.lost[step] += max(0, lost - mine.total_lost)
            mine.total_lost, mine.datagrams = lost, datagrams
            self._reach(t)

    def _reach(self, t: float) -> None:
        self.until = max(self.until, t if self.whole else min(t, self.start + self.seconds))

    def throughput(self, flow: int) -> array[float]:
        """Return what was acknowledged of that TCP flow in each step, bit/s, over whole round trips."""
        mine = self.flows[flow]
        if flow not in self._rates or self._rates[flow][0] != mine.samples:
            known = filled(mine.rtt)
            base = mine.base_rtt if mine.base_rtt < math.inf else math.nan
            trips = [base if isnan(rtt) else rtt for rtt in known]
            self._rates[flow] = mine.samples, mine.acked.rates(self.start, self.step, trips)
        return self._rates[flow][1]

    def arriving(self, flow: int, over: float = 0.0) -> array[float]:
        """Return what arrived of that UDP flow in each step, bit/s, each a mean over `over` seconds."""
        return self.udp[flow].received.rates(self.start, self.step, [over] * STEPS if over else ())

    def _new(self, table: Table, name: str, last: str, *columns: str):  # type: ignore[no-untyped-def, type-arg]
        """Rows that have not been seen. `last` is the column that a growing table is given last."""
        first, until = self._seen[name], len(table.column(last))
        if not self.whole:
            # The rates at both ends need counts from outside.
            times = table.column("t")
            first = max(first, bisect_left(times, self.start - _BEFORE, hi=until))
            until = max(first, bisect_right(times, self.start + self.seconds + _BEFORE, hi=until))
        self._seen[name] = until
        return zip(*(table.column(column)[first:until] for column in columns), strict=True)

    def warm_steps(self, warmup: float) -> int:
        """Steps before the measured time; 0 for a part of a run, of which all counts."""
        return math.ceil(warmup / self.seconds * STEPS) if self.whole else 0

    def _at(self, t: float) -> int | None:
        """The step of `t`; outside of a whole run, whose last samples may come late, the nearest one."""
        step = int((t - self.start) / self.seconds * STEPS // 1)
        if not self.whole and not 0 <= step < STEPS:
            return None
        return min(STEPS - 1, max(0, step))


def filled(values: Sequence[float], before: float = math.nan) -> array[float]:
    """`values` with straight lines between what is known; `before` up to the first, NaN after the last."""
    whole = array("d", [math.nan]) * len(values)
    known, value = -1, before
    for at, now in enumerate(values):
        if isnan(now):
            continue
        gap = at - known
        for between in range(1, gap):
            share = between / gap
            whole[known + between] = value + share * (now - value) if known >= 0 else before
        whole[at] = now
        known, value = at, now
    return whole
