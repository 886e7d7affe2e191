"""The numbers that a verdict rests on, gathered over all flows of the measured time, or over a part of one flow's."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

import msgspec
from msgspec.structs import replace

from tcptutor.analysis.observed.flow import ARRIVED, Interval
from tcptutor.analysis.observed.foreign import is_foreign, path_doubt
from tcptutor.analysis.observed.measured import Measured
from tcptutor.analysis.observed.path import Direction, Directions
from tcptutor.run import Run, mean_of_known

_CREDIT = 1.05
"""Share of a link up to which more than it carries is what its shaper had saved."""

_SAME = 1e-3
"""Relative difference within which a pacing rate is the same."""

_UNPACED = 1e15
"""What stands for no bound, bit/s."""


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Shares are of the measured time unless they say otherwise; without samples they keep their defaults."""

    throughput_bps: float
    link_used: float | None
    """Share of the link's goodput, of both directions' where flows go both ways; None when the link is not shaped."""
    loss_events: int | None
    """None where nothing tells of them; so are the next three."""
    retransmits: int | None
    loss_rate: float | None
    """Loss events per segment sent."""
    mean_rtt_s: float | None
    mark_cuts: int = 0
    """Times that marks cut a window, with nothing lost."""
    min_rtt_s: float = 0.0
    """Of the flow with the least."""
    busy: float = 1.0
    """With data to send, of the time since there was a connection."""
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
    """Segments that the sender was told of as marked: with DCTCP those that were, else all until it answered."""
    queue_drops: int = 0
    """Packets that the bottleneck's queue dropped; 0 where it was not measured."""
    flow_bps: float = 0.0
    """Payload of one flow while it is there, the mean of several, bit/s."""
    queue_s: float | None = None
    """Mean of what the bottleneck's queue would take to empty, s; None where it was not sampled."""
    rtt_rise_s: float = 0.0
    """Mean RTT above each flow's own minimum, s: whatever waited, in the sender, on the path or at the receiver."""
    sender_queue_s: float | None = None
    """Mean of what the senders' own queues take to empty at the rate of their flows, s; None where not sampled."""
    held: float = 0.0
    """Share of the time in which data waited in the sender though both windows had room for more."""
    pacing_bps: float = 0.0
    """What each flow's sender is paced at by the kernel where that never changes; 0 where it does, bit/s."""
    link_share: float | None = None
    """Of the link's goodput, by one flow; None when the link is not shaped."""

    @property
    def queueing_s(self) -> float:
        """What the bottleneck's queue adds to the round trip, s: as sampled, else what the RTT is above its minimum."""
        return self.rtt_rise_s if self.queue_s is None else self.queue_s

    @property
    def lossy(self) -> bool:
        """Whether anything was lost, or cut a window as a loss does."""
        return bool(self.loss_events or self.mark_cuts or self.retransmits)


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
    arrived = math.fsum(each.grown(ARRIVED) for each in measured.intervals)
    carried_bps = 8 * arrived / (end - start) if measured.intervals and end > start else throughput
    used = carried_bps / goodput if goodput else None
    if len(ways) == 1:
        used = _used(ways[0], start, end, used)
    if is_foreign(measured.run) and goodput:
        # By what its receivers counted: the samples are of what was written.
        used = None if path_doubt(measured.run) else min(1.0, throughput / goodput)
    waits = [wait for link in ways if (wait := link.wait(start, end)) is not None]
    known = Evidence(
        throughput_bps=throughput,
        link_used=used,
        loss_events=measured.losses,
        mark_cuts=measured.mark_cuts,
        retransmits=measured.retransmits,
        loss_rate=measured.loss_rate,
        mean_rtt_s=mean_of_known(flow.mean_rtt_s for flow in flows),
        queue_drops=sum(link.drops(start, end) for link in ways),
        flow_bps=flow_bps,
        queue_s=max(waits) if len(waits) == len(ways) else None,
        sender_queue_s=_sender_wait(measured.run, start, end, throughput),
        link_share=flow_bps * len(ways) / goodput if goodput else None,
    )
    return _sampled(known, measured.intervals, experiment.path.duplicate > 0) if measured.intervals else known


def _used(link: Direction, start: float, end: float, goodput: float | None) -> float | None:
    """The share of `link` that was used, by what its queue sent: all traffic, and what was sent in this time.

    Without samples of the queue by `goodput`, the flows' share of its payload. What left above the rate is the shaper's
    credit for a time when nothing came.
    """
    sent = link.used(start, end)
    if sent is None:
        return goodput
    return min(sent, 1.0) if sent <= _CREDIT else sent


def _sender_wait(run: Run, start: float, end: float, throughput: float) -> float | None:
    """Mean of what waits in all sending hosts together, over their flows' rate, s; None where it was not sampled."""
    hosts, times, waiting = (run.senders.column(name) for name in ("host", "t", "bytes"))
    first, after = bisect_left(times, start), bisect_right(times, end)
    instants = len(set(times[first:after]))
    if after <= first or not throughput or not set(hosts[first:after]):
        return None
    return 8 * float(sum(waiting[first:after])) / instants / throughput


def evidence_of(run: Run, interval: Interval, link: Direction, together: float | None = None) -> Evidence:
    """The evidence of one flow over `interval`; the link's use is by all flows, where `together` has their bit/s."""
    start, end = interval.start, interval.until
    goodput, throughput = link.goodput(start, end), interval.throughput
    share = used = throughput / goodput if goodput else None
    if goodput and together is not None:
        used = _used(link, start, end, together / goodput)
    if used is not None and is_foreign(run):
        used = None if path_doubt(run) else min(1.0, used)
    segments, events = interval.grown("segs_out"), interval.loss_events
    known = Evidence(
        throughput_bps=throughput,
        link_used=used,
        loss_events=events,
        mark_cuts=interval.mark_cuts,
        retransmits=interval.retransmits,
        loss_rate=None if events is None else events / segments if segments else 0.0,
        mean_rtt_s=interval.mean_rtt,
        queue_drops=link.drops(start, end),
        flow_bps=throughput,
        queue_s=link.wait(start, end),
        link_share=share,
    )
    return _sampled(known, [interval], run.experiment.path.duplicate > 0)


def _sampled(known: Evidence, found: Sequence[Interval], duplicates: bool) -> Evidence:
    """`known` with what only samples tell. `duplicates`: whether the path itself makes some."""
    seconds = math.fsum(each.seconds for each in found)
    connected = math.fsum(each.connected_seconds for each in found)
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
        busy=min(1.0, busy / connected) if connected and (busy > 0 or _is_idle(known, found)) else 1.0,
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
        rtt_rise_s=_mean(_rise(each) for each in found),
        held=_mean(each.held for each in found),
        pacing_bps=_steady_pace(found),
    )


def _is_idle(known: Evidence, found: Sequence[Interval]) -> bool:
    """Whether the kernel counted no busy time because nothing was sent."""
    return known.flow_bps == 0 and all(each.trace.has_kernel_state for each in found)


def _rise(interval: Interval) -> float:
    """Mean RTT above the flow's own least, s; 0 where the kernel does not tell of that."""
    least = min((rtt for rtt in interval.column("min_rtt") if rtt > 0), default=0.0)
    return max(0.0, interval.mean("rtt") - least) if least else 0.0


def _steady_pace(found: Sequence[Interval]) -> float:
    """Mean of the flows' pacing rates where none of them changes, bit/s; else 0.

    Without a bound the kernel paces by window over RTT, which no two acknowledgements leave as it is.
    """
    paces = []
    for each in found:
        rates = each.column("pacing_rate")
        if min(rates) <= 0 or min(rates) < (1 - _SAME) * max(rates) or max(rates) >= _UNPACED:
            return 0.0
        paces.append(max(rates))
    return _mean(paces)


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
