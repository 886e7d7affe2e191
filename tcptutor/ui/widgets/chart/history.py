"""Samples of a run, aggregated in equal time steps at the resolution of the screen.

Memory does not depend on the length of the run, and each sample is read once.
"""

from __future__ import annotations

import math
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import TypeAlias

from tcptutor.run import Cut, CutFinder, Run, Table

STEPS = 960
"""Steps of a run's time: a terminal of 480 columns has as many dots."""


STRIP_SPACINGS, CHART_SPACINGS = 4, 12
"""Minimum spacings of samples in an averaging window, so interpolation at both ends matters little.

A chart has more steps than a strip and shows smaller errors: a burst each round trip is timed to a sample only.
"""

_MARGIN_S = 1.0
"""Seconds around a part of a run from which samples are read for its first and last rates."""

_Row: TypeAlias = tuple[int, float, float, int, int, int, int, int, int, int]


def _unknown() -> array[float]:
    return array("d", [math.nan]) * STEPS


def _zeros() -> array[float]:
    return array("d", [0.0]) * STEPS


@dataclass
class FlowHistory:
    """TCP flow by step; NaN in steps without samples."""

    low: array[float] = field(default_factory=_unknown)
    """Smallest cwnd, segments."""
    high: array[float] = field(default_factory=_unknown)
    last: array[float] = field(default_factory=_unknown)
    rtt: array[float] = field(default_factory=_unknown)
    """Latest smoothed RTT, s."""
    bytes_acked: ByteCount = field(default_factory=lambda: ByteCount(STEPS))
    """Payload acknowledged since the flow started."""
    retransmits: array[float] = field(default_factory=_zeros)
    """Retransmitted segments per step."""
    losses: array[float] = field(default_factory=_zeros)
    """Loss events per step."""
    mark_reductions: array[float] = field(default_factory=_zeros)
    """Window reductions per step by ECN marks without loss."""
    total_retransmits: int = 0
    mss: int = 0
    base_rtt: float = math.inf
    until: float = 0.0
    """Time of the latest sample with progress, s."""
    samples: int = 0
    _cuts: CutFinder = field(default_factory=CutFinder)
    _acked_so_far: int = 0
    _before_start: tuple[int, float] | None = None
    """Cwnd and RTT at the latest sample before the recorded time."""

    def add(self, step: int | None, t: float, row: _Row) -> None:
        """Add a sample; `step` is None outside the recorded time, where only counters advance."""
        cwnd, rtt, min_rtt, bytes_acked, retransmits, state, ssthresh, marks, timeouts, mss = row
        self.samples += 1
        if 0 < min_rtt < self.base_rtt:
            self.base_rtt = min_rtt
        if bytes_acked > self._acked_so_far:
            self._acked_so_far, self.until = bytes_acked, t
        reduction = self._cuts.at(state, ssthresh, retransmits, marks, timeouts, bytes_acked)
        self.mss = max(mss, self.mss)
        added = max(0, retransmits - self.total_retransmits)
        self.total_retransmits += added
        self.bytes_acked.add(step, t, bytes_acked)
        if step is None:
            self._before_start = cwnd, rtt
            return
        if self._before_start is not None:
            # The value at the start of the recorded time is that of the latest sample before.
            earlier_cwnd, earlier_rtt = self._before_start
            if step:
                self.low[0] = self.high[0] = self.last[0] = earlier_cwnd
                self.rtt[0] = earlier_rtt or math.nan
            self._before_start = None
        low = self.low[step]
        if isnan(low):  # first sample of the step
            self.low[step] = self.high[step] = cwnd
        elif cwnd < low:
            self.low[step] = cwnd
        elif cwnd > self.high[step]:
            self.high[step] = cwnd
        self.last[step] = cwnd
        if rtt:
            self.rtt[step] = rtt
        self.retransmits[step] += added
        self.losses[step] += reduction is Cut.LOSS
        self.mark_reductions[step] += reduction is Cut.MARK


@dataclass
class UdpHistory:
    """UDP flow by step."""

    received: ByteCount = field(default_factory=lambda: ByteCount(STEPS))
    """Payload received since the flow started."""
    lost: array[float] = field(default_factory=_zeros)
    """Datagrams lost per step."""
    total_lost: int = 0
    datagrams: int = 0


class QueueHistory:
    """Queue of a bottleneck by step."""

    def __init__(self, is_whole: bool) -> None:
        self.waiting = _unknown()
        """Maximum backlog per step, bytes."""
        self.dropped = _zeros()
        """Packets dropped per step."""
        self.total_dropped = 0
        self._drops_before = not is_whole
        """Whether the drops before the recorded time are still unknown."""

    def add(self, step: int | None, waiting: float, drops: int) -> None:
        """Add a sample; `step` is None outside the recorded time."""
        if self._drops_before:
            self.total_dropped, self._drops_before = drops, False
        new_drops = max(0, drops - self.total_dropped)
        self.total_dropped += new_drops
        if step is None:
            return
        if not waiting <= self.waiting[step]:
            self.waiting[step] = waiting
        self.dropped[step] += new_drops


class History:
    """History of a run as it grows, or of `seconds` of it from `start`.

    Not thread-safe, but the run may grow in another thread.
    """

    def __init__(self, seconds: float, start: float | None = None) -> None:
        self.seconds, self.start = seconds, start or 0.0
        self.is_whole = start is None
        self.until = 0.0
        """Time of the latest sample, s."""
        self.flows: dict[int, FlowHistory] = {}
        self.udp: dict[int, UdpHistory] = {}
        self.queues = QueueHistory(self.is_whole), QueueHistory(self.is_whole)
        """Queues of the bottleneck, and of a second bottleneck."""
        self._rates: dict[tuple[int, int], tuple[int, array[float]]] = {}
        """Cached throughput by flow and spacings, with the number of samples it was computed from."""
        self._read_rows = {"samples": 0, "queue0": 0, "queue1": 0, "udp": 0}

    @property
    def step(self) -> float:
        """Length of a step, s."""
        return self.seconds / STEPS

    def follow(self, run: Run) -> None:
        """Read the samples added since the last call."""
        self._samples(run)
        self._queue(run)
        self._udp(run)

    def _samples(self, run: Run) -> None:
        for flow, t, *row in self._unread(
            run.samples, "samples", "bytes_received", "flow", "t", "cwnd", "rtt", "min_rtt", "bytes_acked",
            "retransmits", "ca_state", "ssthresh", "delivered_ce", "total_rto", "mss",
        ):  # fmt: skip
            if (flow_history := self.flows.get(flow)) is None:
                flow_history = self.flows[flow] = FlowHistory()
                if not self.is_whole:  # counters started earlier
                    flow_history.total_retransmits = row[4]
            flow_history.add(self._step_at(t), t, tuple(row))
            self._extend_until(t)

    def _queue(self, run: Run) -> None:
        for link, (table, queue) in enumerate(zip(run.queues, self.queues, strict=False)):
            for t, waiting, drops in self._unread(table, f"queue{link}", "sent", "t", "bytes", "drops"):
                queue.add(self._step_at(t), waiting, drops)

    def _udp(self, run: Run) -> None:
        for flow, t, received, datagrams, lost in self._unread(
            run.udp_samples, "udp", "jitter", "flow", "t", "received", "datagrams", "lost"
        ):
            flow_history = self.udp.setdefault(flow, UdpHistory(total_lost=0 if self.is_whole else lost))
            step = self._step_at(t)
            flow_history.received.add(step, t, received)
            if step is not None:
                flow_history.lost[step] += max(0, lost - flow_history.total_lost)
            flow_history.total_lost, flow_history.datagrams = lost, datagrams
            self._extend_until(t)

    def _extend_until(self, t: float) -> None:
        self.until = max(self.until, t if self.is_whole else min(t, self.start + self.seconds))

    def throughput(self, flow: int, spacings: int = STRIP_SPACINGS) -> array[float]:
        """Return the acknowledged throughput of a TCP flow in each step, bit/s, over complete round trips.

        Args:
            flow: The flow.
            spacings: Minimum spacings of samples to average over.
        """
        flow_history = self.flows[flow]
        cached = self._rates.get((flow, spacings))
        if cached is None or cached[0] != flow_history.samples:
            known = interpolate(flow_history.rtt)
            base = flow_history.base_rtt if flow_history.base_rtt < math.inf else math.nan
            trips = [base if isnan(rtt) else rtt for rtt in known]
            rates = flow_history.bytes_acked.rates(self.start, self.step, trips, spacings)
            cached = self._rates[flow, spacings] = (flow_history.samples, rates)
        return cached[1]

    def arrival_rate(self, flow: int, over: float = 0.0) -> array[float]:
        """Return the arrival rate of a UDP flow in each step, bit/s, averaged over `over` seconds."""
        return self.udp[flow].received.rates(self.start, self.step, [over] * STEPS if over else ())

    def _unread(self, table: Table, name: str, last: str, *columns: str):  # type: ignore[no-untyped-def, type-arg]
        """Yield unread rows; `last` is the column that a growing table fills last."""
        first, until = self._read_rows[name], len(table.column(last))
        if not self.is_whole:
            # Rates at both ends need counters from outside.
            times = table.column("t")
            first = max(first, bisect_left(times, self.start - _MARGIN_S, hi=until))
            until = max(first, bisect_right(times, self.start + self.seconds + _MARGIN_S, hi=until))
        self._read_rows[name] = until
        return zip(*(table.column(column)[first:until] for column in columns), strict=True)

    def warm_steps(self, warmup: float) -> int:
        """Return the number of steps before the measured time; 0 for a part of a run."""
        return math.ceil(warmup / self.seconds * STEPS) if self.is_whole else 0

    def _step_at(self, t: float) -> int | None:
        """Return the step of `t`; None outside a part, the nearest step for late samples of a complete run."""
        step = int((t - self.start) / self.seconds * STEPS // 1)
        if not self.is_whole and not 0 <= step < STEPS:
            return None
        return min(STEPS - 1, max(0, step))


def interpolate(values: Sequence[float], before: float = math.nan) -> array[float]:
    """Interpolate linearly between known values; `before` fills up to the first, NaN follows the last."""
    result = array("d", [math.nan]) * len(values)
    known, value = -1, before
    for at, now in enumerate(values):
        if isnan(now):
            continue
        gap = at - known
        for between in range(1, gap):
            share = between / gap
            result[known + between] = value + share * (now - value) if known >= 0 else before
        result[at] = now
        known, value = at, now
    return result


_NEGLIGIBLE = 1e-6
"""RTT relative to a width from which multiples of the RTT no longer matter, or could overflow."""


class ByteCount:
    """Byte counter of a flow: the last sample in each step, with its time."""

    def __init__(self, steps: int) -> None:
        self._times = array("d", [math.nan]) * steps
        self._bytes = array("d", [math.nan]) * steps
        self._has_begun = False
        self._before: list[tuple[float, float]] = []
        self._after: list[tuple[float, float]] = []

    def add(self, step: int | None, t: float, count: float) -> None:
        """Add a sample; `step` is None outside the shown time, where samples serve the first and last rates."""
        if step is not None:
            self._times[step], self._bytes[step] = t, count
            self._has_begun = True
        else:
            (self._after if self._has_begun else self._before).append((t, count))

    def rates(
        self, start: float, step: float, round_trips: Sequence[float] = (), spacings: int = STRIP_SPACINGS
    ) -> array[float]:
        """Return the throughput around the middle of each step, bit/s; NaN outside the samples.

        A sender with a full window sends once per round trip. Its throughput is even only over complete round
        trips, so each rate is the mean over as many round trips as the spacing of samples requires. Near the
        first and last sample the window is moved, not shortened.

        Args:
            start: Start of the first step, s.
            step: Length of a step, s.
            round_trips: RTT in each step, s; NaN where unknown.
            spacings: Minimum spacings of samples to average over.
        """
        result = array("d", [math.nan]) * len(self._times)
        points = list(self._points())
        if len(points) < 2:
            return result
        first, last = points[0][0], points[-1][0]
        least = max(step, spacings * (last - first) / (len(points) - 1) if round_trips else 0.0)
        starts, ends = _Interpolation(points), _Interpolation(points)
        for at in range(len(result)):
            middle = start + (at + 0.5) * step
            if not first - step / 2 <= middle <= last + step / 2:
                continue
            begin, end = _window(
                middle, _window_width(round_trips[at] if round_trips else 0.0, least), first, last
            )
            if end > begin:
                result[at] = max(0.0, 8 * (ends.at(end) - starts.at(begin)) / (end - begin))
        return result

    def _points(self) -> Iterator[tuple[float, float]]:
        yield from self._before
        yield from (each for each in zip(self._times, self._bytes, strict=True) if not isnan(each[0]))
        yield from self._after


def _window_width(round_trip: float, least: float) -> float:
    """Return the shortest multiple of the RTT that is at least `least` seconds; `least` for an unknown RTT, NaN."""
    if round_trip > least * _NEGLIGIBLE:
        return round_trip * max(1, math.ceil(least / round_trip - 1e-9))
    return least


def _window(middle: float, width: float, first: float, last: float) -> tuple[float, float]:
    begin = max(first, min(middle - width / 2, last - width))
    return begin, min(last, begin + width)


class _Interpolation:
    """Linear interpolation of samples, efficient for increasing times."""

    def __init__(self, points: Sequence[tuple[float, float]]) -> None:
        self._points, self._next = points, 1

    def at(self, t: float) -> float:
        points = self._points
        while self._next < len(points) - 1 and points[self._next][0] < t:
            self._next += 1
        while self._next > 1 and points[self._next - 1][0] > t:
            self._next -= 1
        (t0, y0), (t1, y1) = points[self._next - 1], points[self._next]
        return y0 + (y1 - y0) * (t - t0) / (t1 - t0) if t1 > t0 else y1
