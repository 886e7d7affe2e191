"""What a run measured: each flow, all of them together, and the numbers that a verdict rests on.

The flows are the lab's own results, or what the samples of a cut run still tell. Evidence is gathered over all flows
of the measured time, or over a part of one flow's.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import msgspec
from msgspec.structs import replace

from tcptutor.analysis.observed.flow import Interval, Trace, traces
from tcptutor.analysis.observed.path import Direction, Directions
from tcptutor.analysis.observed.udp import udp_results
from tcptutor.run import FlowResult, Run

_ENOUGH = 0.2
"""Seconds between first and last sample below which a difference of counters says nothing."""

_LATE = 1.0
"""Seconds after the planned end in which samples still belong to the traffic, as its start takes a moment."""

_APART, _LEAST_APART = 0.02, 0.25
"""By how much, relative or in seconds, flows may begin and end apart and still cover the same time."""


@dataclass(frozen=True)
class Measured:
    """All that a run measured; one look at its samples serves verdict, report and document."""

    run: Run
    flows: tuple[FlowResult, ...]
    intervals: tuple[Interval, ...]
    """The measured time of the flows with samples enough; empty for a run that was kept without them."""
    traces: tuple[Trace, ...]
    """All samples of every flow that was seen."""

    @cached_property
    def spans(self) -> dict[int, tuple[float, float]]:
        """From when to when each flow was measured, seconds, by its number; empty without samples."""
        fixed = self.run.experiment.flows.bytes is not None
        return {
            each.flow: (each.start, each.last_progress if fixed else each.until) for each in self.intervals
        }

    @cached_property
    def span(self) -> tuple[float, float]:
        """From the first flow's start to the last one's end in the measured time, s; all of it without samples."""
        experiment = self.run.experiment
        starts, ends = zip(*self.spans.values(), strict=True) if self.spans else ((), ())
        return min(starts, default=experiment.flows.warmup), max(ends, default=experiment.seconds)

    @cached_property
    def throughput(self) -> float:
        """Payload of all flows, bit/s: all bytes over the time from the first flow's start to the last one's end.

        Of a run of nothing but UDP it is what its receivers got.

        That is the sum of the flows' own means when all cover the same time, and that sum itself is given then, as
        where no samples tell when they did.
        """
        if not self.flows and not self.run.experiment.total_streams:
            return math.fsum(flow.received_bps for flow in udp_results(self.run))
        plain = math.fsum(flow.throughput_bps for flow in self.flows)
        spans, fixed = self.spans, self.run.experiment.flows.bytes is not None
        if not spans or (len(spans) < 2 and not fixed) or any(one.flow not in spans for one in self.flows):
            return plain
        start, end = self.span
        slack = max(_APART * (end - start), _LEAST_APART)
        alike = all(first - start <= slack and end - last <= slack for first, last in spans.values())
        if (alike and not fixed) or end <= start:
            return plain
        return 8 * math.fsum(each.grown("bytes_acked") for each in self.intervals) / (end - start)

    @property
    def losses(self) -> int:
        """Loss events of all flows."""
        return sum(flow.losses for flow in self.flows)

    @property
    def loss_rate(self) -> float:
        """Loss events per segment sent."""
        segments = sum(flow.segments for flow in self.flows)
        return self.losses / segments if segments > 0 else 0.0

    @property
    def retransmits(self) -> int:
        return sum(flow.retransmits for flow in self.flows)


def measure(run: Run) -> Measured:
    """Each flow over the measured time: as the lab gives it, or from the samples of a run cut short."""
    found = traces(run)
    warmup = run.experiment.flows.warmup
    times = [_measured_time(run, trace) for trace in found]
    # A difference of counters needs two samples that are far enough apart.
    enough = tuple(one for one in times if one.seconds >= _ENOUGH and one.until > warmup)
    return Measured(run, tuple(run.flows or (_result(run, one) for one in enough)), enough, tuple(found))


def flow_results(run: Run) -> tuple[FlowResult, ...]:
    """The flows of `measure`."""
    return measure(run).flows


def together(run: Run) -> float:
    """Payload of all flows in the measured time, bit/s, as `Measured.throughput` has it."""
    return measure(run).throughput


def path_known(run: Run) -> bool:
    """Whether the models can be asked: a run from elsewhere tells nothing of its path unless its importer did."""
    return run.environment.backend != "imported" or run.experiment.path.rate is not None


def _measured_time(run: Run, trace: Trace) -> Interval:
    """From the last sample of the warm-up to the end of the traffic."""
    times = trace.column("t")
    first = max(0, bisect_right(times, run.experiment.flows.warmup) - 1)
    end = bisect_right(times, run.experiment.seconds + _LATE)
    return Interval(trace, first, max(first + 1, end))


def _result(run: Run, interval: Interval) -> FlowResult:
    return FlowResult(
        flow=interval.flow,
        pair=interval.flow // max(1, run.experiment.flows.streams),
        throughput_bps=interval.throughput,
        retransmits=round(interval.grown("retransmits")),
        losses=interval.loss_events,
        segments=round(interval.grown("segs_out")),
        mean_rtt_s=interval.mean("rtt"),
        mean_cwnd_segments=interval.mean("cwnd"),
        mss=int(interval.column("mss")[-1]),
    )


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Shares are of the measured time unless they say otherwise; without samples they keep their defaults."""

    throughput_bps: float
    link_used: float | None
    """Share of the link's goodput, of both directions' where flows go both ways; None when the link is not shaped."""
    loss_events: int
    retransmits: int
    loss_rate: float
    """Loss events per segment sent."""
    mean_rtt_s: float
    min_rtt_s: float = 0.0
    busy: float = 1.0
    """With data to send."""
    rwnd_limited: float = 0.0
    """Share of the busy time that the receiver's window was full."""
    sndbuf_limited: float = 0.0
    """Share of the busy time that the send buffer was full."""
    app_limited: float = 0.0
    """Share of the time in which the sender had sent all it had."""
    stalled: float = 0.0
    """Waiting for a timeout or recovering from one."""
    cwnd_growth: float = 1.0
    """Mean window of the last quarter over that of the first."""
    cwnd_bytes: float = 0.0
    """One flow's congestion window, the mean."""
    receiver_window_bytes: float = 0.0
    """What one flow's receiver advertised, the mean; 0 where the kernel does not tell."""
    send_buffer_bytes: float = 0.0
    """What one flow's send buffer holds, the mean; 0 where the kernel does not tell."""
    in_flight_bytes: float = 0.0
    """Of one flow, by throughput times RTT."""
    reordered: int = 0
    """Reorderings seen, and duplicates that the receiver reports where the path itself makes none."""
    timeouts: int = 0
    """0 where the kernel does not tell."""
    marks: int = 0
    """Segments that arrived with an ECN mark."""
    queue_drops: int = 0
    """Packets that the bottleneck's queue dropped; 0 where it was not measured."""
    flow_bps: float = 0.0
    """Payload of one flow while it is there, the mean of several, bit/s."""
    link_share: float | None = None
    """Of the link's goodput, by one flow; None when the link is not shaped."""

    @property
    def queueing_s(self) -> float:
        """What the queue adds to the round trip, s."""
        return max(0.0, self.mean_rtt_s - self.min_rtt_s) if self.min_rtt_s > 0 else 0.0

    @property
    def standing_queue(self) -> bool:
        """Whether the RTT is well above its minimum, and by more than a host's own noise."""
        return self.queueing_s > max(0.1 * self.min_rtt_s, 3e-4)

    @property
    def lossy(self) -> bool:
        """Whether anything was lost."""
        return self.loss_events > 0 or self.retransmits > 0


def gather(measured: Measured, links: Directions) -> Evidence | None:
    """The evidence of a whole run; None when nothing could be measured. Never raises."""
    experiment, flows = measured.run.experiment, measured.flows
    if not flows:
        return None
    throughput, flow_bps = measured.throughput, _mean(flow.throughput_bps for flow in flows)
    start, end = measured.span
    ways = [links[reverse] for reverse in sorted({experiment.reversed(flow.flow) for flow in flows})]
    carried = [goodput for link in ways if (goodput := link.goodput(start, end)) is not None]
    goodput = math.fsum(carried) if len(carried) == len(ways) else None
    used = throughput / goodput if goodput else None
    if used is not None and len(ways) == 1:
        used = _with_udp(measured.run, used, ways[0], start, end)
    known = Evidence(
        throughput_bps=throughput,
        link_used=used,
        loss_events=measured.losses,
        retransmits=measured.retransmits,
        loss_rate=measured.loss_rate,
        mean_rtt_s=_mean(flow.mean_rtt_s for flow in flows),
        queue_drops=sum(link.drops(start, end) for link in ways),
        flow_bps=flow_bps,
        link_share=flow_bps * len(ways) / goodput if goodput else None,
    )
    return _sampled(known, measured.intervals, experiment.path.duplicate > 0) if measured.intervals else known


def _with_udp(run: Run, used: float, link: Direction, start: float, end: float) -> float:
    """The share of `link` that is used: UDP takes its part as well."""
    return max(used, link.used(start, end) or 0.0) if run.experiment.flows.udp_streams else used


def evidence_of(run: Run, interval: Interval, link: Direction, together: float | None = None) -> Evidence:
    """The evidence of one flow over `interval`; the link's use is by all flows, where `together` has their bit/s."""
    start, end = interval.start, interval.until
    goodput, throughput = link.goodput(start, end), interval.throughput
    share = used = throughput / goodput if goodput else None
    if goodput and together is not None:
        used = _with_udp(run, together / goodput, link, start, end)
    segments, events = interval.grown("segs_out"), interval.loss_events
    known = Evidence(
        throughput_bps=throughput,
        link_used=used,
        loss_events=events,
        retransmits=round(interval.grown("retransmits")),
        loss_rate=events / segments if segments else 0.0,
        mean_rtt_s=interval.mean("rtt"),
        queue_drops=link.drops(start, end),
        flow_bps=throughput,
        link_share=share,
    )
    return _sampled(known, [interval], run.experiment.path.duplicate > 0)


def _sampled(known: Evidence, found: Sequence[Interval], duplicates: bool) -> Evidence:
    """`known` with what only samples tell. `duplicates`: whether the path itself makes some."""
    seconds = math.fsum(each.seconds for each in found)
    busy = math.fsum(each.grown("busy") for each in found)
    minima = [rtt for each in found if (rtt := min(each.column("min_rtt"))) > 0]

    def of_busy(column: str) -> float:
        return min(1.0, math.fsum(each.grown(column) for each in found) / busy) if busy > 0 else 0.0

    def in_all(column: str) -> int:
        return round(sum(each.grown(column) for each in found))

    return replace(
        known,
        min_rtt_s=min(minima, default=0.0),
        # Bytes that were acknowledged had to be sent: without busy time the kernel does not count it.
        busy=min(1.0, busy / seconds) if busy > 0 or known.flow_bps == 0 else 1.0,
        rwnd_limited=of_busy("rwnd_limited"),
        sndbuf_limited=of_busy("sndbuf_limited"),
        app_limited=_mean(each.starved for each in found),
        stalled=math.fsum(each.stalled for each in found) / seconds,
        cwnd_growth=_growth(found),
        cwnd_bytes=_mean(each.mean("cwnd") * each.mean("mss") for each in found),
        receiver_window_bytes=_mean(each.mean("snd_wnd") for each in found),
        send_buffer_bytes=_mean(each.held_bytes for each in found),
        in_flight_bytes=known.flow_bps * _mean(each.mean("rtt") for each in found) / 8,
        reordered=in_all("reord_seen") + (0 if duplicates else in_all("dsack_dups")),
        timeouts=in_all("total_rto"),
        marks=in_all("delivered_ce"),
    )


def _growth(found: Sequence[Interval]) -> float:
    first = last = 0.0
    for each in found:
        values = each.column("cwnd")
        quarter = max(1, len(values) // 4)
        first += math.fsum(values[:quarter]) / quarter
        last += math.fsum(values[-quarter:]) / quarter
    return last / first if first > 0 else 1.0


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return math.fsum(numbers) / len(numbers) if numbers else 0.0
