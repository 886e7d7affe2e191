"""Samples of one flow as columns, intervals of them, and the figures of an interval.

No row objects are built, so long runs with many flows stay fast.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from operator import itemgetter
from typing import Any

import msgspec

from tcptutor.run import (
    CA_STATES,
    Cuts,
    SampleTable,
    arrived_bytes,
    cuts_at,
    hystart_exits,
)
from tcptutor.run.flow_columns import FlowColumns

OPEN, DISORDER, CWR, RECOVERY, LOSS = range(len(CA_STATES))
"""Congestion-avoidance states of the kernel (enum tcp_ca_state); from CWR on the sender responds to a loss."""

ARRIVED = "arrived"
"""Name of a derived column, `run.arrived_bytes`."""

_STALL = 0.15
"""Seconds without an acknowledged byte that exceed a round trip; Linux's least timeout is 0.2 s."""

_ROOM = 0.9
"""Share of the window in flight below which the window has room for more."""

_MOST_OF_TIME = 0.5
"""Share of a flow's time from which the bytes written approximate the bytes received."""

_SETTLED = 0.5
"""Seconds after a change of delay during which the smoothed RTT still contains the old delay."""

_SAME = 1e-3
"""Relative difference up to which two pacing rates are equal."""

_UNPACED = 1e15
"""Pacing rates from here on mean no pacing, bit/s."""


class Trace(FlowColumns):
    """Samples of a flow in order of time; counters are cumulative."""

    def __init__(
        self, flow: int, samples: SampleTable, rows: Sequence[int], unknown: frozenset[str] | None = None
    ) -> None:
        super().__init__(samples, rows)
        self.flow = flow
        self.has_kernel_state = unknown is None
        """False for imported runs, which lack states, timeouts and busy time."""
        self.missing_figures = unknown or frozenset()
        """Names of flow results that an imported file leaves out."""

    def column(self, name: str) -> list[Any]:
        """Return a field of all samples, or `arrived`, the bytes at the receiver."""
        if name == ARRIVED and name not in self._columns:
            fields = ("bytes_acked", "delivered", "mss", "ca_state")
            self._columns[name] = arrived_bytes(*map(self.column, fields))
        return super().column(name)

    @cached_property
    def cuts(self) -> Cuts:
        """Indexes of samples at which a loss event or a cut by marks began, as the lab counts them."""
        if not self.has_kernel_state:
            return Cuts((), ())
        names = ("ca_state", "ssthresh", "retransmits", "delivered_ce", "total_rto", "bytes_acked")
        return cuts_at(*map(self.column, names))

    @cached_property
    def spurious_events(self) -> tuple[int, ...]:
        """Loss events without a loss: all retransmitted segments had arrived, by the receiver's DSACKs.

        Events without any retransmission are included.
        """
        times, rtts, states = (self.column(name) for name in ("t", "rtt", "ca_state"))
        counters = [self.column(name) for name in ("retransmits", "dsack_dups", "total_rto")]
        found, losses = [], self.cuts.losses
        for at, following in pairwise((*losses, len(times))):
            over = next((row for row in range(at, following) if states[row] < RECOVERY), following - 1)
            later = min(bisect_right(times, times[over] + 2 * rtts[over]), following) - 1
            retransmits, spurious, timeouts = (counter[later] - counter[at - 1] for counter in counters)
            if spurious >= retransmits and not timeouts:
                found.append(at)
        return tuple(found)

    @cached_property
    def hystart_exits(self) -> tuple[int, ...]:
        """Indexes of samples at which ssthresh left infinity without a loss or mark."""
        return hystart_exits(
            *(self.column(name) for name in ("ssthresh", "ca_state", "retransmits", "delivered_ce"))
        )

    @cached_property
    def connected_at(self) -> float:
        """Time of the handshake's end, s; until then only the SYN is in flight. Infinite if it failed."""
        columns = (self.column(name) for name in ("t", "segs_out", "unacked", "rtt"))
        rows = zip(*columns, strict=True)
        return next((t for t, sent, unacked, rtt in rows if sent or not unacked or rtt > 0), math.inf)

    @cached_property
    def is_starved(self) -> tuple[bool, ...]:
        """Per sample, True if the sender has no data left although its window has room.

        The kernel's app_limited flag alone stays set until all earlier data is delivered, a round trip or more.
        """
        flags = self.column("app_limited")
        if not any(flags):
            return (False,) * len(self)
        columns = (self.column(name) for name in ("t", "notsent", "mss", "unacked", "cwnd"))
        return tuple(
            bool(flag) and t >= self.connected_at and waiting < max(1, mss) and unacked < max(1, cwnd)
            for flag, t, waiting, mss, unacked, cwnd in zip(flags, *columns, strict=True)
        )

    @cached_property
    def is_host_limited(self) -> tuple[bool, ...]:
        """Per sample, True if data waits in the sender although both windows have room and nothing was lost.

        Then only the sender's host holds the data back: socket pacing or its queue discipline.
        """
        columns = (self.column(name) for name in ("notsent", "mss", "unacked", "cwnd", "snd_wnd", "ca_state"))
        return tuple(
            waiting >= mss > 0
            and state < CWR
            and (unacked + 1) * mss < _ROOM * min(cwnd * mss, window or math.inf)
            for waiting, mss, unacked, cwnd, window, state in zip(*columns, strict=True)
        )

    @cached_property
    def stalls(self) -> tuple[tuple[float, float], ...]:
        """Start and end of each stall: no acknowledged byte for longer than a round trip, ended by a timeout.

        Only stalls with data or a SYN in flight count. An idle flow waits for no timeout, and a slow path is no
        timeout. A stall ends when data flows again, even while the kernel stays in its loss state.
        """
        if not self.has_kernel_state:
            return ()
        times, acked, states, busy = (self.column(name) for name in ("t", "bytes_acked", "ca_state", "busy"))
        rtts, last = self.column("rtt"), len(times) - 1
        patience = max(_STALL, 2 * math.fsum(rtts) / len(rtts))
        progress = [at for at, (before, now) in enumerate(pairwise(acked), start=1) if now > before]
        spans = [
            (before, now - 1)
            for before, now in pairwise([0, *progress, last + 1])
            if now > before + 1  # most often an ACK arrives with every sample
        ]
        # A counter that grows with each timeout; retransmissions if the kernel does not count timeouts.
        is_counted = self.column("delivered")[-1] > 0 or LOSS in states
        counter = self.column("total_rto" if is_counted else "retransmits")
        found: list[tuple[float, float]] = []
        for start, end in spans:
            length = times[end] - times[start]
            connecting = times[end] <= self.connected_at
            idle = not connecting and busy[last] > 0 and busy[end] - busy[start] <= 0.5 * length
            if length <= patience or idle:
                continue
            lost = LOSS in states[start : min(end, last - 1) + 2]
            if lost or counter[min(end + 1, last)] > counter[start]:
                found.append((times[start], times[end]))
        return tuple(found)


class Interval:
    """Part of a trace: samples `first` to `end`, exclusive."""

    def __init__(self, trace: Trace, first: int, end: int) -> None:
        self.trace, self.flow = trace, trace.flow
        self.first, self.end = first, end
        times = trace.column("t")
        self.start: float = times[first]
        """Time of the first sample, s; that sample closes the time before it."""
        self.until: float = times[end - 1]
        """Time of the last sample, s."""
        self.seconds: float = self.until - self.start

    def column(self, name: str) -> Sequence[Any]:
        return self.trace.column(name)[self.first : self.end]

    def growth(self, column: str) -> float:
        """Return the growth of a counter, at least 0."""
        values = self.trace.column(column)
        return max(0.0, float(values[self.end - 1] - values[self.first]))

    def mean(self, column: str) -> float:
        """Return the mean over the samples, which arrive at a steady rate."""
        values = self.column(column)
        return float(sum(values)) / len(values)

    @property
    def last_progress(self) -> float:
        """Time of the last progress in acknowledged bytes, s; a fixed-size transfer ends here."""
        acked = self.column("bytes_acked")
        return float(self.column("t")[max(1, bisect_left(acked, acked[-1]))])

    @property
    def throughput(self) -> float:
        """Payload received, bit/s."""
        return 8 * self.growth(ARRIVED) / self.seconds

    @property
    def loss_events(self) -> int | None:
        """Loss events of `Trace.cuts` in the interval; None if unknown."""
        return self._within(self.trace.cuts.losses) if self.has_figure("losses") else None

    @property
    def spurious_events(self) -> int:
        """Loss events of `Trace.spurious_events` in the interval."""
        return self._within(self.trace.spurious_events)

    @property
    def retransmits(self) -> int | None:
        """Retransmissions in the interval; None if unknown."""
        return round(self.growth("retransmits")) if self.has_figure("retransmits") else None

    @property
    def mean_rtt(self) -> float | None:
        """Mean smoothed RTT, s; None if not measured."""
        return self.mean("rtt") if self.has_figure("mean_rtt_s") else None

    def has_figure(self, figure: str) -> bool:
        """Return whether the samples contain that result of a flow."""
        return figure not in self.trace.missing_figures

    @property
    def mark_cuts(self) -> int:
        """Cuts by marks of `Trace.cuts` in the interval."""
        return self._within(self.trace.cuts.marks)

    def _within(self, events: Sequence[int]) -> int:
        return bisect_left(events, self.end) - bisect_left(events, self.first + 1)


class IntervalFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that evidence needs of a flow's samples in an interval, as plain values."""

    flow: int
    start: float
    until: float
    is_most_of_flow: bool
    """True if the interval covers at least half of the flow's samples in time."""
    has_kernel_state: bool

    # Counters
    arrived: float
    """Payload received, bytes."""
    throughput: float
    """Payload received, bit/s."""
    segments: float
    """Segments sent."""
    resent: float
    """Retransmissions, 0 if unknown."""
    retransmits: int | None
    loss_events: int | None
    mark_cuts: int
    marks: float
    """Segments delivered with a mark."""
    needless: float
    """Retransmissions of segments that had arrived, by DSACK."""
    reorderings: float
    timeouts: float

    # Shares of the time
    busy_seconds: float
    busy: float
    """Share of the connected time with data to send."""
    rwnd_limited: float
    """Share of the busy time with the receiver's window full."""
    sndbuf_limited: float
    """Share of the busy time with the send buffer full."""
    starved: float
    """Share of samples in `Trace.is_starved`."""
    host_limited: float
    """Share of samples in `Trace.is_host_limited`."""
    recovering: float
    """Share of samples in the kernel's recovery state."""
    stalled: float
    """Share of the time in `Trace.stalls`."""

    # Means
    mean_rtt: float | None
    """Mean smoothed RTT, s; None if not measured."""
    sampled_rtt: float
    """Mean of the RTT's column, s, even if not measured."""
    least_rtt: float
    """Least RTT so far, s; 0 if unknown."""
    rtt_rise: float
    """Mean RTT above the least, s; 0 while the delay changes."""
    cwnd: float
    """segments"""
    cwnd_bytes: float
    cwnd_quarters: tuple[float, float]
    """Mean cwnd of the first and of the last quarter, segments."""
    receiver_window: float
    """bytes"""
    buffered: float
    """Mean fill of the send buffer: unacknowledged or waiting to be sent, bytes."""
    steady_pace: float
    """Pacing rate if it never changes, otherwise 0; bit/s."""


def interval_figures(interval: Interval, delay_changes: Sequence[float]) -> IntervalFigures:
    """Return the figures of `interval`.

    Args:
        interval: Part of a flow's samples.
        delay_changes: Times at which the path's delay changes, s, in order.
    """
    trace, seconds, start, until = interval.trace, interval.seconds, interval.start, interval.until
    samples = slice(interval.first, interval.end)
    count, times = interval.end - interval.first, trace.column("t")
    busy, arrived = interval.growth("busy"), interval.growth(ARRIVED)
    cwnds, mss, rtt = interval.column("cwnd"), interval.mean("mss"), interval.mean("rtt")
    cwnd = float(sum(cwnds)) / count
    least_rtt = _least_rtt(interval, [t for t in delay_changes if t < until])
    changes_inside = any(start < t < until for t in delay_changes)
    resent = interval.growth("retransmits")
    return IntervalFigures(
        flow=interval.flow,
        start=start,
        until=until,
        is_most_of_flow=bool(seconds >= _MOST_OF_TIME * (times[-1] - times[0])),
        has_kernel_state=trace.has_kernel_state,
        arrived=arrived,
        throughput=8 * arrived / seconds,
        segments=interval.growth("segs_out"),
        resent=resent,
        retransmits=interval.retransmits,
        loss_events=interval.loss_events,
        mark_cuts=interval.mark_cuts,
        marks=interval.growth("delivered_ce"),
        needless=interval.growth("dsack_dups"),
        reorderings=interval.growth("reord_seen"),
        timeouts=interval.growth("total_rto"),
        busy_seconds=busy,
        busy=_busy_share(interval, busy, arrived),
        rwnd_limited=min(1.0, interval.growth("rwnd_limited") / max(busy, 1e-9)),
        sndbuf_limited=min(1.0, interval.growth("sndbuf_limited") / max(busy, 1e-9)),
        starved=sum(trace.is_starved[samples]) / count,
        host_limited=sum(trace.is_host_limited[samples]) / count,
        recovering=sum(state == RECOVERY for state in interval.column("ca_state")) / count,
        stalled=_stalled_seconds(trace.stalls, start, until) / seconds,
        mean_rtt=interval.mean_rtt,
        sampled_rtt=rtt,
        least_rtt=least_rtt,
        rtt_rise=max(0.0, rtt - least_rtt) if least_rtt and not changes_inside else 0.0,
        cwnd=cwnd,
        cwnd_bytes=cwnd * mss,
        cwnd_quarters=_quarters(cwnds),
        receiver_window=interval.mean("snd_wnd"),
        buffered=interval.mean("unacked") * mss + interval.mean("notsent"),
        steady_pace=_steady_pace(interval.column("pacing_rate")),
    )


def _least_rtt(interval: Interval, delay_changes: Sequence[float]) -> float:
    """Return a flow's least RTT so far, s: the kernel's, or the least since the delay last changed."""
    if not delay_changes:
        return min((rtt for rtt in interval.column("min_rtt") if rtt > 0), default=0.0)
    times, rtts = interval.trace.column("t"), interval.trace.column("rtt")
    first = bisect_left(times, delay_changes[-1] + _SETTLED)
    since = rtts[first : interval.end] or interval.column("rtt")
    return min((rtt for rtt in since if rtt > 0), default=0.0)


def _busy_share(interval: Interval, busy: float, arrived: float) -> float:
    if not busy and arrived:
        return 1.0
    connected = max(0.0, interval.until - max(interval.start, interval.trace.connected_at))
    return min(1.0, busy / connected) if connected else 1.0


def _stalled_seconds(stalls: Sequence[tuple[float, float]], start: float, until: float) -> float:
    first = bisect_right(stalls, start, key=itemgetter(1))
    after = bisect_left(stalls, until, key=itemgetter(0))
    return math.fsum(min(until, to) - max(start, since) for since, to in stalls[first:after])


def _quarters(values: Sequence[float]) -> tuple[float, float]:
    quarter = max(1, len(values) // 4)
    return math.fsum(values[:quarter]) / quarter, math.fsum(values[-quarter:]) / quarter


def _steady_pace(rates: Sequence[float]) -> float:
    """Return a pacing rate that does not change; by default the kernel's changes with every ACK."""
    lowest, highest = min(rates), max(rates)
    return 0.0 if lowest <= 0 or lowest < (1 - _SAME) * highest or highest >= _UNPACED else highest
