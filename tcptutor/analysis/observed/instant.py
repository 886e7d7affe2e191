"""State of a run over time: at one instant, in the round trips around it, and its throughput in steps.

Nothing is interpolated. A state comes from the latest sample at or before the instant, a rate from the samples
around it. Unknown figures are None.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

import msgspec
from msgspec.structs import replace

from tcptutor.analysis.observed.flow import ARRIVED, Trace
from tcptutor.analysis.observed.measured import traces
from tcptutor.analysis.observed.path import Direction
from tcptutor.analysis.path_changes import path_at
from tcptutor.run import SSTHRESH_INFINITE, TABLES, AckTable, Run, Sample, Table, UdpSample

_STALE = 2.0
"""Mean sample spacings after which a sample is too old to use."""

_LEAST = 0.02
"""Least validity of a sample, s, however dense the others; the lab spaces samples as evenly as it can."""

MAX_ROUND_TRIPS = 400
"""Round trips counted in each direction."""

Points = list[tuple[float, float]]
"""Pairs of (end of the step in seconds, bit/s in that step)."""


class FlowInstant(msgspec.Struct, frozen=True, kw_only=True):
    """State of a TCP flow at an instant."""

    flow: int
    t: float
    """Time of its sample, s: the instant or shortly before."""
    cwnd_segments: int | None
    ssthresh_segments: int | None
    """None before the first loss, and if the kernel does not report it."""
    rtt_s: float | None
    """Smoothed RTT."""
    min_rtt_s: float | None
    """Least RTT so far."""
    throughput_bps: float | None
    """Payload received around the instant, bit/s; None with fewer than two samples."""
    retransmits: int
    """Retransmissions around the instant."""


class UdpInstant(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a UDP flow around an instant."""

    flow: int
    received_bps: float
    lost: int
    """Datagrams lost around the instant."""


class QueueInstant(msgspec.Struct, frozen=True, kw_only=True):
    """A bottleneck's queue at an instant."""

    waiting: int
    """Backlog, bytes."""
    size: float | None
    """Limit, bytes; None for a path without a rate."""
    dropped: int
    """Packets dropped around the instant."""


class Instant(msgspec.Struct, frozen=True, kw_only=True):
    """State of a run at an instant; counts and rates cover `start` to `end`."""

    t: float
    start: float
    end: float
    flows: tuple[FlowInstant, ...]
    """Active flows by number."""
    udp: tuple[UdpInstant, ...]
    throughput_bps: float | None
    """Sum over all TCP flows; None if unknown for every flow."""
    queues: tuple[QueueInstant, ...]
    """Queue of each bottleneck; empty if they were not sampled."""
    link_used: float | None
    """Utilization of the link, or the fuller of two, by all traffic; None if unknown."""


class Instants:
    """Snapshot of a run that answers queries for any instant, while the run itself may keep growing."""

    def __init__(self, run: Run) -> None:
        self.run = snapshot(run)
        self.traces = {trace.flow: trace for trace in traces(self.run)}
        links = range(self.run.experiment.link_count)
        self._queues = [(table.column("t"), table.column("bytes")) for table in self.run.queues]
        self._links = [Direction(self.run, link=link) for link in links]
        self._udp: dict[int, list[UdpSample]] = {}
        for row in self.run.udp_samples:
            self._udp.setdefault(row.flow, []).append(row)
        self._acks = _by_flow(self.run.acks)

    @property
    def flows(self) -> tuple[int, ...]:
        """Numbers of the sampled TCP flows in order."""
        return tuple(self.traces)

    @cached_property
    def until(self) -> float:
        """Time of the latest sample, s."""
        return self.run.sampled_until

    def spacing(self, flow: int) -> float:
        """Return the mean sample spacing of a TCP flow, otherwise of UDP, s; infinite with fewer than two samples."""
        if flow in self.traces:
            return _spacing(self.traces[flow].column("t"))
        return min((_spacing([row.t for row in rows]) for rows in self._udp.values()), default=math.inf)

    def cuts(self, flow: int) -> list[float]:
        """Return the times at which the sender responded to losses and marks, s, in order."""
        trace = self.traces[flow]
        times = trace.column("t")
        return [times[at] for at in sorted({*trace.cuts.losses, *trace.cuts.marks})]

    def at(self, t: float, over: float) -> Instant:
        """Return the state at `t`, s, with counts and rates over the `over` seconds around it."""
        start, end = t - over / 2, t + over / 2
        flows = tuple(
            found for trace in self.traces.values() if (found := self._flow(trace, t, start, end)) is not None
        )
        rates = [flow.throughput_bps for flow in flows if flow.throughput_bps is not None]
        queues = self._queues_at(t, start, end)
        return Instant(
            t=t,
            start=start,
            end=end,
            flows=flows,
            udp=tuple(self._datagrams(start, end)),
            throughput_bps=math.fsum(rates) if rates else None,
            queues=queues,
            link_used=self._used(start, end) if queues else None,
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
        interval = times[last] - times[first]
        return FlowInstant(
            flow=trace.flow,
            t=sampled,
            cwnd_segments=cwnd or None,
            ssthresh_segments=ssthresh if 0 < ssthresh < SSTHRESH_INFINITE else None,
            rtt_s=rtt or None,
            min_rtt_s=trace.column("min_rtt")[at] or None,
            throughput_bps=8 * max(0, arrived[last] - arrived[first]) / interval if interval > 0 else None,
            retransmits=max(0, resent[last] - resent[first]),
        )

    def _single(self, flow: int, after: float, t: float) -> tuple[float, int, int, float] | None:
        """Return the flow's state at the latest traced ACK after `after` and up to `t`, s; None without an ACK."""
        rows, times = self._acks.get(flow, ((), ()))
        at = bisect_right(times, t) - 1
        if at < 0 or times[at] <= after:
            return None
        ack = self.run.acks[rows[at]]
        return ack.t, ack.cwnd, ack.ssthresh, ack.rtt

    def _queues_at(self, t: float, start: float, end: float) -> tuple[QueueInstant, ...]:
        found = []
        for link, ((times, waiting), direction) in enumerate(zip(self._queues, self._links, strict=True)):
            at = bisect_right(times, t) - 1
            path = path_at(self.run.experiment.at_link(link), t)
            if at < 0 or not _is_known(times, at, t):
                return ()
            found.append(
                QueueInstant(
                    waiting=int(waiting[at]),
                    size=path.queue if path.rate else None,
                    dropped=direction.drops(start, end),
                )
            )
        return tuple(found)

    def _used(self, start: float, end: float) -> float | None:
        """Return the utilization by the queue samples in the window, or by the nearest two; of the fuller link."""
        found = []
        for (times, _), direction in zip(self._queues, self._links, strict=True):
            at = max(0, bisect_right(times, start) - 1)
            after = min(len(times) - 1, max(at + 1, bisect_right(times, end) - 1))
            found.append(direction.utilization(times[at], times[after]) if after > at else None)
        return max((used for used in found if used is not None), default=None)

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


def snapshot(run: Run) -> Run:
    """Return an unchanging view of `run` while a second thread may still append to it."""
    tables = {name: _complete_rows(getattr(run, name)) for name in TABLES}
    return replace(run, **tables)


def _complete_rows(table: Table[Any]) -> Table[Any]:
    # Rows are appended column by column: the last column's length is the number of complete rows.
    return table[: len(table.column(table.row.__struct_fields__[-1]))]


def _by_flow(acks: AckTable) -> dict[int, tuple[list[int], list[float]]]:
    found: dict[int, tuple[list[int], list[float]]] = {}
    for row, (flow, t) in enumerate(zip(acks.column("flow"), acks.column("t"), strict=True)):
        rows, times = found.setdefault(flow, ([], []))
        rows.append(row)
        times.append(t)
    return found


def _spacing(times: Sequence[float]) -> float:
    return (times[-1] - times[0]) / (len(times) - 1) if len(times) > 1 else math.inf


def _is_known(times: Sequence[float], at: int, t: float) -> bool:
    """Return whether the latest sample, `at`, is recent enough to describe `t`."""
    spacing = _spacing(times)
    return t - times[at] <= (max(_LEAST, _STALE * spacing) if spacing < math.inf else _LEAST)


def _around(times: Sequence[float], at: int, start: float, end: float) -> tuple[int, int]:
    """Return the first and last index in the window, at least two where possible, including `at`."""
    first = bisect_left(times, start)
    last = bisect_right(times, end) - 1
    if last <= first:
        first = min(at, max(0, len(times) - 2))
        last = min(first + 1, len(times) - 1)
    return first, last


class RoundTrip(msgspec.Struct, frozen=True, kw_only=True):
    """Round trip of a flow, as long as the smoothed RTT of the latest sample at its start."""

    number: int
    """0 for the round trip that begins at the reference instant, negative before it."""
    start: float
    end: float
    samples: int
    """Samples after its start and up to its end; 0 if the round trip has no data of its own."""
    cwnd_segments: int
    """cwnd at its start."""
    acked_segments: float | None
    """Segments that arrived between the latest samples at its start and end; None if these are the same sample."""
    retransmits: int | None
    """Retransmissions between the same samples; None if these are the same."""


def round_trips(trace: Trace, zero: float, start: float, end: float) -> tuple[RoundTrip, ...]:
    """Return the round trips that overlap `start` to `end`, numbered from `zero`; empty if no RTT is known."""
    times, rtts = trace.column("t"), trace.column("rtt")

    def rtt_at(t: float) -> float:
        at = max(0, bisect_right(times, t) - 1)
        return float(rtts[at])

    edges = [zero]
    while (
        edges[-1] < min(end, times[-1]) and len(edges) <= MAX_ROUND_TRIPS and (rtt := rtt_at(edges[-1])) > 0
    ):
        edges.append(edges[-1] + rtt)
    before = 0
    # Backwards, use the RTT sampled at the end: it describes the round trip that has just ended.
    while edges[0] > max(start, times[0]) and before < MAX_ROUND_TRIPS and (rtt := rtt_at(edges[0])) > 0:
        edges.insert(0, edges[0] - rtt)
        before += 1
    return tuple(
        _round_trip(trace, number - before, since, until)
        for number, (since, until) in enumerate(pairwise(edges))
        if until > start and since < end
    )


def _round_trip(trace: Trace, number: int, start: float, end: float) -> RoundTrip:
    times = trace.column("t")
    first, last = (max(0, bisect_right(times, t) - 1) for t in (start, end))
    arrived, resent, mss = (trace.column(name) for name in (ARRIVED, "retransmits", "mss"))
    known = last > first
    return RoundTrip(
        number=number,
        start=start,
        end=end,
        samples=last - first,
        cwnd_segments=trace.column("cwnd")[first],
        acked_segments=max(0, arrived[last] - arrived[first]) / max(1, mss[last]) if known else None,
        retransmits=max(0, resent[last] - resent[first]) if known else None,
    )


class Throughput:
    """Aggregate and per-flow throughput in steps of `step` seconds.

    Add the samples in order of time; each costs the same regardless of the run's length. Bytes between two samples are
    spread evenly over the steps they span, so an off-beat sample causes no jump in the aggregate.
    """

    def __init__(self, step: float = 0.5) -> None:
        self.step = step
        self._last: dict[int, Sample] = {}
        self._bytes: dict[int, list[float]] = {}
        self._first: dict[int, int] = {}
        """Step of each flow's first sample."""
        self._total: list[float] = []
        self._latest = 0.0

    def add(self, samples: Iterable[Sample]) -> None:
        """Add the next samples."""
        for sample in samples:
            before = self._last.get(sample.flow)
            if before is None:
                self._first[sample.flow] = int(sample.t / self.step)
            if before is None or sample.t > before.t:
                self._last[sample.flow] = sample
                self._latest = max(self._latest, sample.t)
            if before is not None and sample.t > before.t:
                self._spread(sample.flow, before.t, sample.t, max(0, sample.bytes_acked - before.bytes_acked))

    def _spread(self, flow: int, start: float, end: float, acked: float) -> None:
        """Add `acked` bytes to the steps between `start` and `end`."""
        steps = self._bytes.setdefault(flow, [])
        for index in range(int(start / self.step), int(end / self.step) + 1):
            overlap = min(end, (index + 1) * self.step) - max(start, index * self.step)
            for column in (steps, self._total):
                column.extend([0.0] * (index + 1 - len(column)))
                column[index] += acked * max(0.0, overlap) / (end - start)

    @property
    def points(self) -> Points:
        """Aggregate of all flows for each finished step."""
        return self._points(self._total)

    def flow_points(self, flow: int) -> Points:
        """Return the points of a flow from its first step on; empty before its second sample."""
        return self._points(self._bytes.get(flow, []))[self._first.get(flow, 0) :]

    @property
    def flows(self) -> tuple[int, ...]:
        """Numbers of the sampled flows in order."""
        return tuple(sorted(self._last))

    def _points(self, column: list[float]) -> Points:
        # The slack covers a last sample at 0.99999 of its step.
        over = int(self._latest / self.step + 0.01)
        return [((n + 1) * self.step, 8 * acked / self.step) for n, acked in enumerate(column[:over])]
