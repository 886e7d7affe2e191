"""Figures of a run: each flow, each direction, UDP's losses, and the phases of congestion control."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Literal

import msgspec

from tcptutor.analysis.observed.flow import ARRIVED, CWR, LOSS, Interval, Trace
from tcptutor.analysis.observed.measured import Measured
from tcptutor.run import SSTHRESH_INFINITE, FlowResult, sum_or_none
from tcptutor.spec import Experiment
from tcptutor.theory import coefficient_of_variation, jain_index

_STEP = 1.0
"""Seconds per rate in a flow's coefficient of variation."""

_ENOUGH_STEPS = 4
"""Least number of rates for a coefficient of variation."""

_HYSTART = frozenset({"cubic"})
"""Algorithms with HyStart in Linux."""


IN_QUEUE = "in the queue"
"""Name of the bottleneck's queue."""

PhaseName = Literal["slow-start", "hystart-exit", "congestion-avoidance", "recovery", "timeout"]


class FlowFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a TCP flow over the measured time; None if not measured."""

    flow: int
    pair: int
    throughput_bps: float
    share: float
    """Share of the aggregate throughput, 0 to 1; of all payload if the number of flows changes."""
    retransmits: int | None
    losses: int | None
    """Loss events."""
    mark_cuts: int
    """Cuts of the window by ECN marks without a loss."""
    mean_rtt_s: float | None
    mean_cwnd_segments: float | None
    receiver_bps: float | None
    """Rate counted by the receiver over the same time, bit/s; None if unknown."""
    cov: float | None
    """Coefficient of variation of the flow's rates per second; None for fewer than four seconds."""
    span_s: tuple[float, float] | None = None
    """Start and end of the flow's measured time, s; None unless the number of flows changes."""


def figures(measured: Measured) -> tuple[FlowFigures, ...]:
    """Return the figures of every measured flow by number."""
    spans = measured.spans if measured.run.experiment.lives else {}
    lengths = {flow: end - start for flow, (start, end) in spans.items()}
    payload = {flow.flow: flow.throughput_bps * lengths.get(flow.flow, 1.0) for flow in measured.flows}
    total = math.fsum(payload.values())
    intervals = {each.flow: each for each in measured.intervals}
    return tuple(
        FlowFigures(
            flow=flow.flow,
            pair=flow.pair,
            throughput_bps=flow.throughput_bps,
            share=payload[flow.flow] / total if total > 0 else 0.0,
            retransmits=flow.retransmits,
            losses=flow.losses,
            mark_cuts=flow.mark_cuts,
            mean_rtt_s=flow.mean_rtt_s,
            mean_cwnd_segments=flow.mean_cwnd_segments,
            receiver_bps=flow.receiver_bps,
            cov=_variation(_rates(intervals[flow.flow]), _ENOUGH_STEPS) if flow.flow in intervals else None,
            span_s=spans.get(flow.flow),
        )
        for flow in measured.flows
    )


def shared_time(measured: Measured) -> tuple[float, float] | None:
    """Return the longest time in which the same two or more flows send, s.

    Flows that send at different times cannot be compared by their means. None if the number of flows does not change,
    or if there are never two.
    """
    experiment = measured.run.experiment
    changes = {one.at for one in experiment.path.changes if one.name == "streams"}
    warmup, last = experiment.flows.warmup, min(experiment.seconds, measured.span[1])
    edges = [warmup, *sorted(at for at in changes if warmup < at < last), last]
    spans = [(start, end) for start, end in pairwise(edges) if experiment.streams_at(start) > 1]
    return max(spans, key=lambda span: span[1] - span[0], default=None) if changes else None


def compared_flows(measured: Measured) -> tuple[FlowResult, ...]:
    """Return the flows in `shared_time`, without closed ones that still send; all if their number does not change."""
    span, is_open = shared_time(measured), measured.run.experiment.is_open
    if span is None or not measured.spans:
        return measured.flows
    return tuple(flow for flow in measured.between(*span).flows if is_open(flow.flow, span[0]))


class DirectionFigures(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a direction in a run with flows both ways; its flows share a link."""

    direction: Literal["forward", "reverse"]
    flows: int
    throughput_bps: float
    jain_index: float | None
    """None for a single flow."""
    retransmits: int | None


def direction_figures(measured: Measured) -> tuple[DirectionFigures, ...]:
    """Return the figures of each direction; empty if all TCP flows go one way."""
    experiment = measured.run.experiment
    ways: dict[bool, list[FlowResult]] = {}
    for flow in measured.flows:
        ways.setdefault(experiment.reversed(flow.flow), []).append(flow)
    if len(ways) < 2:
        return ()
    return tuple(
        DirectionFigures(
            direction="reverse" if reverse else "forward",
            flows=len(flows),
            throughput_bps=math.fsum(flow.throughput_bps for flow in flows),
            jain_index=jain_index(flow.throughput_bps for flow in flows)
            if len(flows) > 1 and any(flow.throughput_bps for flow in flows)
            else None,
            retransmits=sum_or_none(flow.retransmits for flow in flows),
        )
        for reverse, flows in sorted(ways.items())
    )


def cov_between(measured: Measured) -> float | None:
    """Return the coefficient of variation of the flows' means; None for one flow or flows both ways.

    Jain's index is 1 / (1 + cov²).
    """
    if len({measured.run.experiment.reversed(flow.flow) for flow in measured.flows}) > 1:
        return None
    return _variation([flow.throughput_bps for flow in compared_flows(measured)], least=2)


def _variation(rates: Iterable[float], least: int) -> float | None:
    found = list(rates)
    return coefficient_of_variation(found) if len(found) >= least and max(found) > 0 else None


def _rates(interval: Interval) -> list[float]:
    """Return the rate in each full second, bit/s; a fixed-size transfer ends at its last byte."""
    times, arrived = interval.column("t"), interval.column(ARRIVED)
    end = interval.last_progress
    steps = [0]
    for at, t in enumerate(times):
        # The slack covers a sample slightly before its time.
        if t - times[steps[-1]] >= _STEP - 0.005 and t <= end:
            steps.append(at)
    return [
        8 * max(0.0, arrived[last] - arrived[first]) / (times[last] - times[first])
        for first, last in pairwise(steps)
    ]


class FlowPhase(msgspec.Struct, frozen=True, kw_only=True):
    """Period of a congestion control phase; times in seconds since the traffic began."""

    start: float
    end: float
    """Equal to `start` for a HyStart exit, which is a point in time."""
    name: PhaseName


def algorithms_of(experiment: Experiment, flow: int) -> list[tuple[float, str]]:
    """Return a flow's algorithm at the start and after each change of it, with its time, s."""
    changes = [change for change in experiment.path.changes if change.name == "algorithm"]
    return [(0.0, experiment.algorithm(flow)), *((change.at, change.algorithm) for change in changes)]


def phases(trace: Trace, algorithms: Sequence[tuple[float, str]]) -> tuple[FlowPhase, ...]:
    """Return the phases in order of time, without gaps; empty without kernel state or two samples.

    `algorithms` lists the flow's algorithms with the time since which each is used, s.

    Recovery covers the kernel's states CWR and recovery. Timeout is its loss state; timeouts that end between two
    samples are found by the counter. Otherwise the flow is in slow start while cwnd is below ssthresh, else in
    congestion avoidance. A HyStart exit has equal start and end.

    BBR has no such ssthresh, and tcp_info does not report its mode. Linux sets ssthresh at the end of STARTUP, so slow
    start means STARTUP, and congestion avoidance covers drain and probing.
    """
    if len(trace) < 2 or not trace.has_kernel_state:
        return ()
    times = trace.column("t")
    used = [next(name for since, name in reversed(algorithms) if since <= max(t, 0.0)) for t in times]
    names = [
        one if name == "bbr" else other
        for name, one, other in zip(
            used, _phase_names(trace, bbr=True), _phase_names(trace, bbr=False), strict=True
        )
    ]
    exits = {at for at in trace.hystart_exits if used[at] in _HYSTART}
    found: list[FlowPhase] = []
    start = times[0]
    for at in range(1, len(names)):
        if names[at] != names[at - 1]:
            found.append(FlowPhase(start=start, end=times[at], name=names[at - 1]))
            start = times[at]
        if at in exits:
            found.append(FlowPhase(start=times[at], end=times[at], name="hystart-exit"))
    found.append(FlowPhase(start=start, end=times[-1], name=names[-1]))
    # The last sample alone would be a phase of zero length.
    return tuple(phase for phase in found if phase.end > phase.start or phase.name == "hystart-exit")


def _phase_names(trace: Trace, bbr: bool) -> list[PhaseName]:
    finite = 0 if bbr else SSTHRESH_INFINITE
    cwnds, thresholds, states, timeouts = (
        trace.column(name) for name in ("cwnd", "ssthresh", "ca_state", "total_rto")
    )
    columns = zip(cwnds, thresholds, states, timeouts, (timeouts[0], *timeouts), strict=False)
    return [
        "timeout"
        if state >= LOSS or count > before
        else "recovery"
        if state >= CWR
        else "slow-start"
        if ssthresh >= SSTHRESH_INFINITE or cwnd < ssthresh < finite
        else "congestion-avoidance"
        for cwnd, ssthresh, state, count, before in columns
    ]


class UdpLosses(msgspec.Struct, frozen=True, kw_only=True):
    """All UDP flows of a run, with the packet drops of that time, TCP's included."""

    flows: int
    sent_bps: float | None
    """None, as for the next three, if the far end's count is missing."""
    received_bps: float | None
    datagrams: int | None
    lost: int | None
    in_queue: int
    """Drops at the bottleneck's queue."""
    on_path: int
    """Random drops by netem."""
    in_socket: int
    """Drops at the receiving socket's full buffer."""
    at_firewall: int
    """Drops by the receiver's firewall rule."""
    at_sender: int
    """Drops at the sender's own queue."""

    @property
    def loss_rate(self) -> float | None:
        """Lost over sent datagrams, 0 to 1; None if unknown."""
        if self.lost is None or self.datagrams is None:
            return None
        return self.lost / self.datagrams if self.datagrams else 0.0

    @property
    def places(self) -> dict[str, int]:
        """Places with drops, by their text, the most first."""
        counted = {
            IN_QUEUE: self.in_queue,
            "on the path": self.on_path,
            "at the firewall": self.at_firewall,
            "in the receiver's full buffer": self.in_socket,
            "in the sender's own queue": self.at_sender,
        }
        return dict(
            sorted(((where, count) for where, count in counted.items() if count), key=lambda one: -one[1])
        )


def udp_losses(measured: Measured, reverse: bool | None = None) -> UdpLosses | None:
    """Return the UDP flows of both directions or of a single direction; None without any."""
    run = measured.run
    flows = [flow for flow in measured.udp if reverse in (None, flow.reverse)]
    if not flows:
        return None
    drops, fidelity = run.queue.column("drops"), run.fidelity
    latest = {row.host: row.drops for row in run.senders}
    return UdpLosses(
        flows=sum(each.flows for each in flows),
        sent_bps=sum_or_none(each.sent_bps for each in flows),
        received_bps=sum_or_none(each.received_bps for each in flows),
        datagrams=sum_or_none(each.datagrams for each in flows),
        lost=sum_or_none(each.lost for each in flows),
        in_queue=drops[-1] - drops[0] if drops else 0,
        on_path=max(0, int(fidelity.number("random drops"))),
        at_firewall=int(fidelity.number("firewall drops")),
        in_socket=sum(each.overruns or 0 for each in flows),
        at_sender=sum(latest.values()),
    )
