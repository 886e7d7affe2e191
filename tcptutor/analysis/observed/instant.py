"""What the samples say of one instant of a run: each flow, the queue, and all together. None where they say nothing.

Nothing is interpolated: a state is that of the latest sample at or before the instant, a rate that of the samples
around it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cached_property

import msgspec
from msgspec.structs import replace

from tcptutor.analysis.observed.flow import ARRIVED, Trace, traces
from tcptutor.analysis.observed.path import Direction
from tcptutor.run import SSTHRESH_INFINITE, AckTable, Run, UdpSample

_STALE = 2.0
"""Mean distances between samples after which one says nothing any more."""

_LEAST = 0.02
"""Seconds for which a sample is good however close the others are: the lab takes them as evenly as it can."""


class FlowInstant(msgspec.Struct, frozen=True, kw_only=True):
    """One TCP flow at one instant."""

    flow: int
    t: float
    """When its state was sampled, s: at the instant, or shortly before."""
    cwnd_segments: int | None
    ssthresh_segments: int | None
    """None before the first loss set one, and where the kernel does not tell."""
    rtt_s: float | None
    """Smoothed."""
    min_rtt_s: float | None
    """The least that the flow has seen until then."""
    throughput_bps: float | None
    """Payload that arrived around the instant, bit/s; None with fewer than two samples."""
    resent: int
    """Segments sent again around the instant."""


class UdpInstant(msgspec.Struct, frozen=True, kw_only=True):
    """One UDP flow around one instant."""

    flow: int
    received_bps: float
    lost: int
    """Datagrams, around the instant."""


class Instant(msgspec.Struct, frozen=True, kw_only=True):
    """A run at one instant. What is counted, and each rate, is of the time from `start` to `end` around it."""

    t: float
    start: float
    end: float
    flows: tuple[FlowInstant, ...]
    """Those that were there, in order of their numbers."""
    udp: tuple[UdpInstant, ...]
    throughput_bps: float | None
    """Of all TCP flows together; None where that of none is known."""
    queue_bytes: int | None
    """What waited at the bottleneck; None where it was not sampled."""
    queue_size: float | None
    """What may wait there, bytes; None on a path without a rate."""
    dropped: int
    """Packets that its queue dropped; 0 where it was not sampled."""
    link_used: float | None
    """Share of the link that all traffic took; None where that is not known."""


class Instants:
    """A run as it stood when this was made, to be asked about any of its instants. It goes on growing beside this."""

    def __init__(self, run: Run) -> None:
        self.run = still(run)
        self.traces = {trace.flow: trace for trace in traces(self.run)}
        self._link = Direction(self.run)
        self._queue = self.run.queue.column("t")
        self._udp: dict[int, list[UdpSample]] = {}
        for row in self.run.udp_samples:
            self._udp.setdefault(row.flow, []).append(row)
        self._acks = _by_flow(self.run.acks)

    @property
    def flows(self) -> tuple[int, ...]:
        """The numbers of the TCP flows that were seen, in order."""
        return tuple(self.traces)

    @cached_property
    def until(self) -> float:
        """Time of the latest sample, s."""
        return self.run.sampled_until

    def spacing(self, flow: int) -> float:
        """Mean time between two samples of a flow, s; of UDP where there is no such TCP flow; infinite without two."""
        if flow in self.traces:
            return _spacing(self.traces[flow].column("t"))
        return min((_spacing([row.t for row in rows]) for rows in self._udp.values()), default=math.inf)

    def cuts(self, flow: int) -> list[float]:
        """When its sender answered losses and marks, s, in order."""
        trace = self.traces[flow]
        times = trace.column("t")
        return [times[at] for at in sorted({*trace.cuts.losses, *trace.cuts.marks})]

    def at(self, t: float, over: float) -> Instant:
        """The instant `t`; what is counted and each rate over `over` seconds around it, or between two samples."""
        start, end = t - over / 2, t + over / 2
        flows = tuple(
            found for trace in self.traces.values() if (found := self._flow(trace, t, start, end)) is not None
        )
        rates = [flow.throughput_bps for flow in flows if flow.throughput_bps is not None]
        waiting, path = self._waiting(t), self.run.experiment.path
        for change in path.changes:
            if change.at <= t:
                path = path.after(change)
        return Instant(
            t=t,
            start=start,
            end=end,
            flows=flows,
            udp=tuple(self._datagrams(start, end)),
            throughput_bps=math.fsum(rates) if rates else None,
            queue_bytes=waiting,
            queue_size=path.queue if path.rate else None,
            dropped=self._link.drops(start, end) if waiting is not None else 0,
            link_used=self._used(start, end) if waiting is not None else None,
        )

    def _flow(self, trace: Trace, t: float, start: float, end: float) -> FlowInstant | None:
        times = trace.column("t")
        at = bisect_right(times, t) - 1
        if at < 0 or not _is_known(times, at, t):
            return None
        first, last = _around(times, at, start, end)
        cwnd, ssthresh, rtt = (trace.column(name)[at] for name in ("cwnd", "ssthresh", "rtt"))
        sampled = times[at]
        if (single := self._single(trace.flow, sampled, t)) is not None:
            sampled, cwnd, ssthresh, rtt = single
        arrived, resent = trace.column(ARRIVED), trace.column("retransmits")
        apart = times[last] - times[first]
        return FlowInstant(
            flow=trace.flow,
            t=sampled,
            cwnd_segments=cwnd or None,
            ssthresh_segments=ssthresh if 0 < ssthresh < SSTHRESH_INFINITE else None,
            rtt_s=rtt or None,
            min_rtt_s=trace.column("min_rtt")[at] or None,
            throughput_bps=8 * max(0, arrived[last] - arrived[first]) / apart if apart > 0 else None,
            resent=max(0, resent[last] - resent[first]),
        )

    def _single(self, flow: int, after: float, t: float) -> tuple[float, int, int, float] | None:
        """The flow at the latest single ACK between `after` and `t`, where these were traced."""
        rows, times = self._acks.get(flow, ((), ()))
        at = bisect_right(times, t) - 1
        if at < 0 or times[at] <= after:
            return None
        ack = self.run.acks[rows[at]]
        return ack.t, ack.cwnd, ack.ssthresh, ack.rtt

    def _waiting(self, t: float) -> int | None:
        at = bisect_right(self._queue, t) - 1
        if at < 0 or not _is_known(self._queue, at, t):
            return None
        return int(self.run.queue.column("bytes")[at])

    def _used(self, start: float, end: float) -> float | None:
        """By the queue's samples around it, or by the nearest ones where no two are within."""
        at = max(0, bisect_right(self._queue, start) - 1)
        after = min(len(self._queue) - 1, max(at + 1, bisect_right(self._queue, end) - 1))
        return self._link.used(self._queue[at], self._queue[after]) if after > at else None

    def _datagrams(self, start: float, end: float) -> list[UdpInstant]:
        found = []
        for flow, rows in sorted(self._udp.items()):
            times = [row.t for row in rows]
            at = bisect_right(times, (start + end) / 2) - 1
            if at < 0 or not _is_known(times, at, (start + end) / 2):
                continue
            first, last = (rows[each] for each in _around(times, at, start, end))
            if last.t > first.t:
                received = 8 * max(0, last.received - first.received) / (last.t - first.t)
                lost = max(0, last.lost - first.lost)
                found.append(UdpInstant(flow=flow, received_bps=received, lost=lost))
        return found


def still(run: Run) -> Run:
    """`run` as it stands, while another thread may go on filling it."""
    # A growing table is given its columns one after the other: the last one says how many rows are whole.
    whole = {
        name: table[: len(table.column(table.row.__struct_fields__[-1]))]
        for name, table in (
            ("samples", run.samples),
            ("queue", run.queue),
            ("senders", run.senders),
            ("udp_samples", run.udp_samples),
            ("acks", run.acks),
            ("resent", run.resent),
        )
    }
    return replace(run, **whole)


def _by_flow(acks: AckTable) -> dict[int, tuple[list[int], list[float]]]:
    """Rows and times of each flow's."""
    found: dict[int, tuple[list[int], list[float]]] = {}
    for row, (flow, t) in enumerate(zip(acks.column("flow"), acks.column("t"), strict=True)):
        rows, times = found.setdefault(flow, ([], []))
        rows.append(row)
        times.append(t)
    return found


def _spacing(times: Sequence[float]) -> float:
    return (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else math.inf


def _is_known(times: Sequence[float], at: int, t: float) -> bool:
    """Whether the sample `at`, the latest one, still says what was so at `t`."""
    spacing = _spacing(times)
    return t - times[at] <= (max(_LEAST, _STALE * spacing) if spacing < math.inf else _LEAST)


def _around(times: Sequence[float], at: int, start: float, end: float) -> tuple[int, int]:
    """The first and the last sample of a time, at least the one `at` and one beside it where there is any."""
    first = bisect_left(times, start)
    last = bisect_right(times, end) - 1
    if last <= first:
        first = min(at, max(0, len(times) - 2))
        last = min(first + 1, len(times) - 1)
    return first, last
