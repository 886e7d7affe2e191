"""Evidence behind a verdict: figures of a run, of a direction, or of part of a flow."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec.structs import replace

from tcptutor.analysis.observed.flow import IntervalFigures
from tcptutor.analysis.observed.measured import Measured
from tcptutor.analysis.observed.path import ObservedPath
from tcptutor.analysis.observed.path_doubt import CREDIT
from tcptutor.run import Run, mean_of_known
from tcptutor.spec import Experiment
from tcptutor.theory import ACK_EVERY


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """Figures that support a verdict.

    Shares refer to the measured time unless noted. Over several flows they are averaged, weighted by bytes carried.
    Figures that need samples keep their defaults without them.
    """

    throughput_bps: float
    link_used: float | None
    """Utilization of the link's payload capacity, 0 to 1; of both directions if flows use both. None if unshaped."""
    loss_events: int | None
    """None if unknown, as for the next three."""
    retransmits: int | None
    loss_rate: float | None
    """Loss events per segment sent."""
    mean_rtt_s: float | None
    mark_cuts: int = 0
    """Cuts of the window by ECN marks without a loss."""
    min_rtt_s: float = 0.0
    """Least RTT over all flows."""
    busy: float = 1.0
    """Share of the time since the connection in which the sender had data to send."""
    rwnd_limited: float = 0.0
    """Share of the busy time with the receiver's window full."""
    sndbuf_limited: float = 0.0
    """Share of the busy time with the send buffer full."""
    app_limited: float = 0.0
    """Share of the time in which the sender had sent all its data."""
    stalled: float = 0.0
    """Share of the time spent waiting for a timeout."""
    recovering: float = 0.0
    """Share of the time in the kernel's recovery state, from a loss until all earlier data is acknowledged."""
    cwnd_growth: float = 1.0
    """Mean cwnd of the last quarter over that of the first quarter."""
    cwnd_bytes: float = 0.0
    """Mean cwnd per flow."""
    receiver_window_bytes: float = 0.0
    """Mean advertised window per flow; 0 if the kernel does not report it."""
    send_buffer_bytes: float = 0.0
    """Mean fill of the send buffer per flow; 0 if the kernel does not report it."""
    in_flight_bytes: float = 0.0
    """Throughput times RTT per flow."""
    reordered: int = 0
    """Reordering events seen by the sender, or the needless retransmissions, whichever is larger."""
    spurious: int = 0
    """Retransmissions of segments that had arrived, by DSACK; 0 if the path itself duplicates."""
    timeouts: int = 0
    """0 if the kernel does not report them."""
    marks: int = 0
    """Segments reported as marked; without DCTCP, all segments until the sender reacted."""
    queue_drops: int = 0
    """Drops at the bottleneck's queue; 0 if it was not sampled."""
    flow_bps: float = 0.0
    """Mean payload per flow over its lifetime, bit/s."""
    queue_s: float | None = None
    """Mean queueing delay at the bottleneck, s; None if the queue was not sampled."""
    rtt_rise_s: float = 0.0
    """Mean RTT above each flow's own minimum, s, from waiting in the hosts or on the path."""
    sender_queue_s: float | None = None
    """Mean drain time of the senders' own queues at the rate of their flows, s; None if not sampled."""
    host_limited: float = 0.0
    """Share of the time in which data waited in the sender although both windows had room."""
    pacing_bps: float = 0.0
    """Pacing rate per flow if the kernel never changed it, otherwise 0; bit/s."""
    link_share: float | None = None
    """Share of the link's payload capacity that the flow takes; None if the link is unshaped."""
    return_used: float | None = None
    """Utilization of the reverse link by its data and these flows' ACKs; None without reverse data."""
    return_queue_s: float | None = None
    """Queueing delay added by the reverse path, s."""

    @property
    def queueing_s(self) -> float:
        """Queueing delay at the bottleneck, s; without queue samples, the rise of the RTT."""
        return self.rtt_rise_s if self.queue_s is None else self.queue_s

    @property
    def is_imported(self) -> bool:
        """True for an imported run, which has no loss events."""
        return self.loss_events is None

    @property
    def has_losses(self) -> bool:
        """True if segments were lost, or marks cut a window."""
        return bool(self.loss_events or self.mark_cuts or self.retransmits)


def evidence_of_flow(
    part: IntervalFigures, path: ObservedPath, together: float | None = None, opposite: float = 0.0
) -> Evidence:
    """Return the evidence of one flow over an interval.

    Args:
        part: Figures of the flow in the interval.
        path: The run's path.
        together: Payload of all flows in the same direction, bit/s, for the utilization; None for this flow only.
        opposite: Payload of all flows in the other direction, bit/s.
    """
    experiment, start, end = path.run.experiment, part.start, part.until
    backward = experiment.reversed(part.flow)
    link = path.link_of(part.flow).over(start, end)
    share = utilization = part.throughput / link.goodput if link.goodput else None
    if link.goodput and together is not None:
        acks = _acks(opposite, experiment) / (link.rate or math.inf)
        used = together / link.goodput
        utilization = _used(link.utilization, min(used + acks, 1.0) if acks else used)
    if utilization is not None and path.is_imported:
        # Single seconds of such a file show bytes written to the send buffer, not bytes on the link.
        utilization = None if path.doubt or not part.is_most_of_flow else min(1.0, utilization)
    events = part.loss_events
    known = Evidence(
        throughput_bps=part.throughput,
        link_used=utilization,
        loss_events=events,
        mark_cuts=part.mark_cuts,
        retransmits=part.retransmits,
        loss_rate=None if events is None else events / part.segments if part.segments else 0.0,
        mean_rtt_s=part.mean_rtt,
        queue_drops=link.drops,
        flow_bps=part.throughput,
        queue_s=link.queueing_delay,
        link_share=share,
    )
    found = _with_samples(known, [part], experiment)
    return _with_reverse_traffic(found, [part], path, backward, opposite) if opposite else found


def _acks(throughput: float, experiment: Experiment) -> float:
    return throughput / experiment.segment / ACK_EVERY * (experiment.headers + experiment.framing)


def _used(sent: float | None, goodput: float | None) -> float | None:
    """Return the utilization of a link by all traffic: the share `sent` by its queue, if that was sampled.

    Otherwise return `goodput`, the flows' payload share. A small excess over the rate is credit that the shaper saved
    while idle.
    """
    if sent is None:
        return goodput
    return min(sent, 1.0) if sent <= CREDIT else sent


def _with_samples(known: Evidence, parts: Sequence[IntervalFigures], experiment: Experiment) -> Evidence:
    """Return `known` with the figures that come from the flows' samples."""
    minima = [part.least_rtt for part in parts if part.least_rtt > 0]
    spurious = 0
    if not experiment.path.duplicate:
        spurious = min(known.retransmits or 0, round(sum(part.needless for part in parts)))
    # Acknowledged bytes imply busy time: without any, the kernel does not count it.
    is_idle = known.flow_bps == 0 and all(part.has_kernel_state for part in parts)
    counts_busy = any(part.busy_seconds > 0 for part in parts) or is_idle
    first, last = (sum(quarter) for quarter in zip(*(part.cwnd_quarters for part in parts), strict=True))
    paces = [part.steady_pace for part in parts]
    return replace(
        known,
        min_rtt_s=min(minima, default=0.0),
        busy=_by_bytes(parts, lambda part: part.busy) if counts_busy else 1.0,
        rwnd_limited=_by_bytes(parts, lambda part: part.rwnd_limited),
        sndbuf_limited=_by_bytes(parts, lambda part: part.sndbuf_limited),
        app_limited=_by_bytes(parts, lambda part: part.starved),
        stalled=_by_bytes(parts, lambda part: part.stalled),
        recovering=_by_bytes(parts, lambda part: part.recovering),
        cwnd_growth=last / first if first > 0 else 1.0,
        cwnd_bytes=_mean(part.cwnd_bytes for part in parts),
        receiver_window_bytes=_mean(part.receiver_window for part in parts),
        send_buffer_bytes=_mean(part.buffered for part in parts),
        in_flight_bytes=known.flow_bps * _mean(part.sampled_rtt for part in parts) / 8,
        reordered=max(round(sum(part.reorderings for part in parts)), spurious),
        spurious=spurious,
        timeouts=round(sum(part.timeouts for part in parts)),
        marks=round(sum(part.marks for part in parts)),
        rtt_rise_s=_mean(part.rtt_rise for part in parts),
        host_limited=_by_bytes(parts, lambda part: part.host_limited),
        pacing_bps=_mean(paces) if all(paces) else 0.0,
    )


def _by_bytes(parts: Sequence[IntervalFigures], share: Callable[[IntervalFigures], float]) -> float:
    """Return the mean of a share over the flows, weighted by bytes carried."""
    total = math.fsum(part.arrived for part in parts)
    if total <= 0:
        return _mean(map(share, parts))
    return math.fsum(part.arrived * share(part) for part in parts) / total


def _mean(values: Iterable[float]) -> float:
    numbers = list(values)
    return math.fsum(numbers) / len(numbers) if numbers else 0.0


def _with_reverse_traffic(
    known: Evidence, parts: Sequence[IntervalFigures], path: ObservedPath, backward: bool, load: float
) -> Evidence:
    """Return `known`, the evidence of flows `parts`, with the effect of data in the other direction on their ACKs.

    Args:
        known: The evidence of the flows.
        parts: Figures of the flows.
        path: The run's path.
        backward: Direction of the flows.
        load: Data in the other direction, bit/s of payload.
    """
    start, end = min(part.start for part in parts), max(part.until for part in parts)
    reverse = path.links[not backward]
    rate, goodput = reverse.rate(start, end), reverse.goodput(start, end)
    wait = path.links[backward].queueing_delay(start, end)
    if not rate or not goodput:
        return known
    throughput = 8 * math.fsum(part.arrived for part in parts) / max(end - start, 1e-9)
    rise = _by_bytes(parts, lambda part: part.rtt_rise)
    return replace(
        known,
        return_used=load / goodput + _acks(throughput, path.run.experiment) / rate,
        return_queue_s=None if wait is None else max(0.0, rise - wait),
    )


def evidence_of_flows(
    measured: Measured,
    parts: Sequence[IntervalFigures],
    path: ObservedPath,
    opposite: float = 0.0,
    link: int | None = None,
) -> Evidence | None:
    """Return the evidence of all flows in `measured`; None if nothing was measured. Never raises.

    Args:
        measured: The flows, and the time.
        parts: Figures of the flows in their intervals.
        path: The run's path.
        opposite: Payload of the flows in the other direction that `measured` leaves out, bit/s.
        link: Bottleneck that all these flows cross, of two; None for the whole path.
    """
    experiment, flows = measured.run.experiment, measured.flows
    if not flows:
        return None
    throughput, flow_bps = measured.throughput, _mean(flow.throughput_bps for flow in flows)
    start, end = measured.span
    directions = sorted({experiment.reversed(flow.flow) for flow in flows})
    ways = [path.links[backward] for backward in directions]
    if experiment.link_count > 1:
        ways = [path.crossed[(0, 1) if link is None else (link,)]]
    links = [each.over(start, end) for each in ways]
    carried = [link.goodput for link in links if link.goodput is not None]
    goodput = math.fsum(carried) if len(carried) == len(links) else None
    arrived = math.fsum(part.arrived for part in parts)
    carried_bps = 8 * arrived / (end - start) if parts and end > start else throughput
    utilization = carried_bps / goodput if goodput else None
    if len(links) == 1:
        utilization = _used(links[0].utilization, utilization)
    if path.is_imported and goodput:
        # Use the receivers' counts: the samples show bytes written, not bytes received.
        carried_rates = [link.rate or math.inf for link in links]
        acknowledged = throughput if len(links) > 1 else opposite
        acks = _acks(acknowledged, experiment) / math.fsum(carried_rates)
        utilization = None if path.doubt else min(1.0, throughput / goodput + acks)
    waits = [link.queueing_delay for link in links if link.queueing_delay is not None]
    known = Evidence(
        throughput_bps=throughput,
        link_used=utilization,
        loss_events=measured.losses,
        mark_cuts=measured.mark_cuts,
        retransmits=measured.retransmits,
        loss_rate=measured.loss_rate,
        mean_rtt_s=mean_of_known(flow.mean_rtt_s for flow in flows),
        queue_drops=sum(link.drops for link in links),
        flow_bps=flow_bps,
        queue_s=max(waits) if len(waits) == len(links) else None,
        sender_queue_s=_sender_wait(measured.run, start, end, throughput),
        link_share=flow_bps * len(links) / goodput if goodput else None,
    )
    if not parts:
        return known
    found = _with_samples(known, parts, experiment)
    if len(links) == 1:
        return _with_reverse_traffic(found, parts, path, directions[0], opposite) if opposite else found
    # With flows both ways, the direction with less data is the reverse path of the other.
    by_direction = [
        [part for part in parts if experiment.reversed(part.flow) == way] for way in (False, True)
    ]
    loads = [math.fsum(part.arrived for part in way) for way in by_direction]
    backward = loads[1] > loads[0]
    load = 8 * loads[not backward] / max(part.until - part.start for part in parts)
    return _with_reverse_traffic(found, by_direction[backward], path, backward, load)


def _sender_wait(run: Run, start: float, end: float, throughput: float) -> float | None:
    """Return the mean drain time of all senders' queues at the flows' rate, s; None if not sampled."""
    hosts, times, waiting = (run.senders.column(name) for name in ("host", "t", "bytes"))
    first, after = bisect_left(times, start), bisect_right(times, end)
    instants = len(set(times[first:after]))
    if after <= first or not throughput or not set(hosts[first:after]):
        return None
    return 8 * float(sum(waiting[first:after])) / instants / throughput
