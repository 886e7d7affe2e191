"""Evidence behind a verdict: figures of a run, of a direction, or of part of a flow."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import msgspec
from msgspec.structs import replace

from tcptutor.analysis.observed.flow import ARRIVED, Interval
from tcptutor.analysis.observed.imported import is_imported, path_doubt
from tcptutor.analysis.observed.measured import Measured
from tcptutor.analysis.observed.path import Direction, Directions
from tcptutor.run import Run, mean_of_known
from tcptutor.spec import Experiment
from tcptutor.theory import ACK_EVERY

_CREDIT = 1.05
"""Overshoot of the link rate up to which the excess is credit saved by the shaper."""

_SETTLED = 0.5
"""Seconds after a change of delay during which the smoothed RTT still contains the old delay."""

_SAME = 1e-3
"""Relative difference up to which two pacing rates are equal."""

_MOST_OF_TIME = 0.5
"""Share of a flow's time from which the bytes written approximate the bytes received."""

_UNPACED = 1e15
"""Pacing rates from here on mean no pacing, bit/s."""


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
    held: float = 0.0
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
    def has_losses(self) -> bool:
        """True if segments were lost, or marks cut a window."""
        return bool(self.loss_events or self.mark_cuts or self.retransmits)


def gather_evidence(measured: Measured, links: Directions, opposite: float = 0.0) -> Evidence | None:
    """Return the evidence of all flows in `measured`; None if nothing was measured. Never raises.

    Args:
        measured: The flows, and the time.
        links: Both directions of the path.
        opposite: Payload of the flows in the other direction that `measured` leaves out, bit/s.
    """
    experiment, flows = measured.run.experiment, measured.flows
    if not flows:
        return None
    throughput, flow_bps = measured.throughput, _mean(flow.throughput_bps for flow in flows)
    start, end = measured.span
    used_links = [links[reverse] for reverse in sorted({experiment.reversed(flow.flow) for flow in flows})]
    carried = [goodput for link in used_links if (goodput := link.goodput(start, end)) is not None]
    goodput = math.fsum(carried) if len(carried) == len(used_links) else None
    arrived = math.fsum(each.growth(ARRIVED) for each in measured.intervals)
    carried_bps = 8 * arrived / (end - start) if measured.intervals and end > start else throughput
    utilization = carried_bps / goodput if goodput else None
    if len(used_links) == 1:
        utilization = _used(used_links[0], start, end, utilization)
    if is_imported(measured.run) and goodput:
        # Use the receivers' counts: the samples show bytes written, not bytes received.
        carried_rates = [link.rate(start, end) or math.inf for link in used_links]
        acknowledged = throughput if len(used_links) > 1 else opposite
        acks = _acks(acknowledged, experiment) / math.fsum(carried_rates)
        utilization = None if path_doubt(measured.run) else min(1.0, throughput / goodput + acks)
    waits = [wait for link in used_links if (wait := link.queueing_delay(start, end)) is not None]
    known = Evidence(
        throughput_bps=throughput,
        link_used=utilization,
        loss_events=measured.losses,
        mark_cuts=measured.mark_cuts,
        retransmits=measured.retransmits,
        loss_rate=measured.loss_rate,
        mean_rtt_s=mean_of_known(flow.mean_rtt_s for flow in flows),
        queue_drops=sum(link.drops(start, end) for link in used_links),
        flow_bps=flow_bps,
        queue_s=max(waits) if len(waits) == len(used_links) else None,
        sender_queue_s=_sender_wait(measured.run, start, end, throughput),
        link_share=flow_bps * len(used_links) / goodput if goodput else None,
    )
    if not measured.intervals:
        return known
    found = _sampled(known, measured.intervals, experiment)
    if opposite and len(used_links) == 1:
        mine, backward = measured.intervals, experiment.reversed(flows[0].flow)
        return _ReverseTraffic(links[not backward], opposite).add_to(found, mine, links[backward], experiment)
    return _with_return(found, measured.intervals, links, experiment) if len(used_links) > 1 else found


def _with_return(
    known: Evidence, intervals: Sequence[Interval], links: Directions, experiment: Experiment
) -> Evidence:
    by_direction = [
        [each for each in intervals if experiment.reversed(each.flow) == way] for way in (False, True)
    ]
    carried = [math.fsum(each.growth(ARRIVED) for each in way) for way in by_direction]
    backward = carried[1] > carried[0]
    own_intervals = by_direction[backward]
    load = _ReverseTraffic(
        links[not backward], 8 * carried[not backward] / max(each.seconds for each in intervals)
    )
    return load.add_to(known, own_intervals, links[backward], experiment)


@dataclass(frozen=True)
class _ReverseTraffic:
    """Data in the direction opposite to the flows under analysis."""

    link: Direction
    throughput: float
    """bit/s of payload"""

    def add_to(
        self, known: Evidence, mine: Sequence[Interval], link: Direction, experiment: Experiment
    ) -> Evidence:
        """Return `known`, the evidence of flows `mine` on `link`, with the reverse traffic's effect on their ACKs."""
        start, end = min(each.start for each in mine), max(each.until for each in mine)
        rate, goodput, wait = (
            self.link.rate(start, end),
            self.link.goodput(start, end),
            link.queueing_delay(start, end),
        )
        if not rate or not goodput:
            return known
        acks = _acks(
            8 * math.fsum(each.growth(ARRIVED) for each in mine) / max(end - start, 1e-9), experiment
        )
        rise = _by_bytes(mine, lambda each: _rise(each, experiment))
        return replace(
            known,
            return_used=self.throughput / goodput + acks / rate,
            return_queue_s=None if wait is None else max(0.0, rise - wait),
        )


def _acks(throughput: float, experiment: Experiment) -> float:
    return throughput / experiment.segment / ACK_EVERY * (experiment.headers + experiment.framing)


def _used(link: Direction, start: float, end: float, goodput: float | None) -> float | None:
    """Return the utilization of `link` by all traffic, from the bytes that its queue sent.

    Without queue samples, return `goodput`, the flows' payload share. A small excess over the rate is credit that the
    shaper saved while idle.
    """
    sent = link.utilization(start, end)
    if sent is None:
        return goodput
    return min(sent, 1.0) if sent <= _CREDIT else sent


def _sender_wait(run: Run, start: float, end: float, throughput: float) -> float | None:
    """Return the mean drain time of all senders' queues at the flows' rate, s; None if not sampled."""
    hosts, times, waiting = (run.senders.column(name) for name in ("host", "t", "bytes"))
    first, after = bisect_left(times, start), bisect_right(times, end)
    instants = len(set(times[first:after]))
    if after <= first or not throughput or not set(hosts[first:after]):
        return None
    return 8 * float(sum(waiting[first:after])) / instants / throughput


def flow_evidence(
    run: Run,
    interval: Interval,
    links: Directions,
    together: float | None = None,
    opposite: float = 0.0,
) -> Evidence:
    """Return the evidence of one flow over `interval`.

    Args:
        run: The run of the flow.
        interval: Part of the flow's samples.
        links: Both directions of the path.
        together: Payload of all flows in the same direction, bit/s, for the utilization; None for this flow only.
        opposite: Payload of all flows in the other direction, bit/s.
    """
    backward = run.experiment.reversed(interval.flow)
    link = links[backward]
    start, end = interval.start, interval.until
    goodput, throughput = link.goodput(start, end), interval.throughput
    share = utilization = throughput / goodput if goodput else None
    if goodput and together is not None:
        acks = _acks(opposite, run.experiment) / (link.rate(start, end) or math.inf)
        utilization = _used(
            link, start, end, min(together / goodput + acks, 1.0) if acks else together / goodput
        )
    if utilization is not None and is_imported(run):
        # Single seconds of such a file show bytes written to the send buffer, not bytes on the link.
        utilization = None if path_doubt(run) or not _is_whole(interval) else min(1.0, utilization)
    segments, events = interval.growth("segs_out"), interval.loss_events
    known = Evidence(
        throughput_bps=throughput,
        link_used=utilization,
        loss_events=events,
        mark_cuts=interval.mark_cuts,
        retransmits=interval.retransmits,
        loss_rate=None if events is None else events / segments if segments else 0.0,
        mean_rtt_s=interval.mean_rtt,
        queue_drops=link.drops(start, end),
        flow_bps=throughput,
        queue_s=link.queueing_delay(start, end),
        link_share=share,
    )
    found = _sampled(known, [interval], run.experiment)
    if not opposite:
        return found
    return _ReverseTraffic(links[not backward], opposite).add_to(found, [interval], link, run.experiment)


def _is_whole(interval: Interval) -> bool:
    times = interval.trace.column("t")
    return bool(interval.seconds >= _MOST_OF_TIME * (times[-1] - times[0]))


def _sampled(known: Evidence, found: Sequence[Interval], experiment: Experiment) -> Evidence:
    duplicates = experiment.path.duplicate > 0
    minima = [rtt for each in found if (rtt := _least_rtt(each, experiment)) > 0]
    counted = any(each.growth("busy") > 0 for each in found)

    def of_busy(column: str) -> float:
        return _by_bytes(found, lambda each: min(1.0, each.growth(column) / max(each.growth("busy"), 1e-9)))

    def in_all(column: str) -> int:
        return round(sum(each.growth(column) for each in found))

    spurious = 0 if duplicates else min(known.retransmits or 0, in_all("dsack_dups"))

    return replace(
        known,
        min_rtt_s=min(minima, default=0.0),
        # Acknowledged bytes imply busy time: without any, the kernel does not count it.
        busy=_by_bytes(found, _busy) if counted or _is_idle(known, found) else 1.0,
        rwnd_limited=of_busy("rwnd_limited"),
        sndbuf_limited=of_busy("sndbuf_limited"),
        app_limited=_by_bytes(found, lambda each: each.starved_share),
        stalled=_by_bytes(found, lambda each: each.stalled_seconds / each.seconds),
        recovering=_by_bytes(found, lambda each: each.recovering_share),
        cwnd_growth=_growth(found),
        cwnd_bytes=_mean(each.mean("cwnd") * each.mean("mss") for each in found),
        receiver_window_bytes=_mean(each.mean("snd_wnd") for each in found),
        send_buffer_bytes=_mean(each.buffered_bytes for each in found),
        in_flight_bytes=known.flow_bps * _mean(each.mean("rtt") for each in found) / 8,
        reordered=max(in_all("reord_seen"), spurious),
        spurious=spurious,
        timeouts=in_all("total_rto"),
        marks=in_all("delivered_ce"),
        rtt_rise_s=_mean(_rise(each, experiment) for each in found),
        held=_by_bytes(found, lambda each: each.host_limited_share),
        pacing_bps=_steady_pace(found),
    )


def _is_idle(known: Evidence, found: Sequence[Interval]) -> bool:
    return known.flow_bps == 0 and all(each.trace.has_kernel_state for each in found)


def _least_rtt(interval: Interval, experiment: Experiment) -> float:
    """Return a flow's least RTT so far, s: the kernel's, or the least since the delay last changed."""
    changes = [one.at for one in experiment.path.changes if one.name == "delay" and one.at < interval.until]
    if not changes:
        return min((rtt for rtt in interval.column("min_rtt") if rtt > 0), default=0.0)
    times, rtts = interval.trace.column("t"), interval.trace.column("rtt")
    first = bisect_left(times, changes[-1] + _SETTLED)
    since = rtts[first : interval.end] or interval.column("rtt")
    return min((rtt for rtt in since if rtt > 0), default=0.0)


def _rise(interval: Interval, experiment: Experiment) -> float:
    if any(
        one.name == "delay" and interval.start < one.at < interval.until for one in experiment.path.changes
    ):
        return 0.0
    least = _least_rtt(interval, experiment)
    return max(0.0, interval.mean("rtt") - least) if least else 0.0


def _busy(interval: Interval) -> float:
    if not interval.growth("busy") and interval.growth(ARRIVED):
        return 1.0
    connected = interval.connected_seconds
    return min(1.0, interval.growth("busy") / connected) if connected else 1.0


def _by_bytes(found: Sequence[Interval], share: Callable[[Interval], float]) -> float:
    weights = [each.growth(ARRIVED) for each in found]
    total = math.fsum(weights)
    if total <= 0:
        return _mean(map(share, found))
    return math.fsum(weight * share(each) for each, weight in zip(found, weights, strict=True)) / total


def _steady_pace(found: Sequence[Interval]) -> float:
    """Return the mean pacing rate if no flow's rate changes, otherwise 0; bit/s.

    By default the kernel paces at a multiple of cwnd/RTT, which changes with every ACK.
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
