"""An experiment as the models see it: flows, round trips, losses, and the rate that the link leaves them.

A `Case` covers one direction over a stretch of time in which nothing changes. Most experiments are one case;
`expected.stretches` makes several where the path or the flows change, or where flows go both ways. `case_of` computes
every value once, in the order of its lines.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import msgspec

from tcptutor.analysis.bottleneck import (
    FAIR,
    LEAST_ROOM,
    rate_left_by_udp,
    rate_of_short_flows,
    rate_of_udp,
    usable_buffer,
)
from tcptutor.base import units
from tcptutor.spec import Experiment, Path, default_burst
from tcptutor.theory import INITIAL_WINDOW, LIMITED, sawtooth_utilisation, shared_utilisation

PATH_RTT = 1e-4
"""RTT of the emulated path without any configured delay, s."""

MIN_RTO = 0.2
"""Least margin that Linux adds to the smoothed RTT for its retransmission timeout, s (TCP_RTO_MIN)."""

ENOUGH_LOSSES = 20
"""Loss events below which a run cannot be compared with a loss model."""

_NEARLY_ALL = 0.999
"""Largest loss probability that the models accept."""

SEND_SHARE = 0.92
"""Payload in flight over the send buffer, where the application writes full segments.

Measured on Linux 6.12 with writes of a quarter of the buffer: 0.88 to 0.97 for 16 to 256 KiB over 20 to 150 ms.
"""

SEND_CHUNK = 65536
"""Least payload that the kernel accepts, however small the buffer, when writes are not full segments; bytes."""

SOCKET_SHARE = 1.15
"""Window over the SO_RCVBUF that the application requests.

The kernel doubles the request, and 0.58 of the buffer is payload. Measured on Linux 6.12 with segments of
1448 bytes: 20 kB make a window of 23.1 kB.
"""

UNSCALED_WINDOW = 65535
"""Largest window without window scaling, bytes."""

BURST_FRAMES = 10
"""Queue length in full frames below which TCP's own bursts overflow it and the sawtooth models fail."""

OFFLOAD_LEAST, OFFLOAD_MOST = 2.0, 5.0
"""Segments per offloaded packet: the minimum (tcp_min_tso_segs), and the most for which losses are modeled."""

OFFLOAD_PACING = 1.2
"""Pacing rate over cwnd/RTT in congestion avoidance (tcp_pacing_ca_ratio)."""


class FlowCase(NamedTuple):
    number: int
    algorithm: str
    rtt: float
    """RTT without queueing, s."""
    start: float = 0.0
    """Start, in seconds after the traffic began."""
    pauses: bool = False
    """Whether the application does not write all the time."""


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """Inputs of the formulas, as plain values; `case_of` computes them."""

    experiment: Experiment
    path: Path
    """Path during this stretch, with the experiment's changes applied."""
    flows: tuple[FlowCase, ...]
    """Flows active in this stretch and direction."""
    seconds: float
    """Length of the stretch within the measured time."""
    is_reverse: bool
    is_cut: bool
    """True while the link is cut."""
    on_virtual_clock: bool
    """True if the run is known to use the guest's virtual clock, which fixes the processor's speed."""

    # Flows
    flow_count: int
    algorithms: frozenset[str]
    algorithm: str
    """Algorithm of all flows; empty if they differ."""
    kinds: tuple[tuple[FlowCase, int], ...]
    """Kinds of flows by algorithm and RTT: the first flow of each kind, with the number of its flows."""
    mss: int
    """bytes"""
    segment: int
    """Payload of a full segment in the experiment, bytes."""
    payload_ratio: float
    """`payload_ratio` of the experiment."""
    frame: int
    """Size of a full frame as the shaper counts it, bytes."""
    rtt: float
    """Shortest RTT of the flows, s; all RTTs are equal unless `pair_delays` is set."""
    measured_rto: float | None
    """Measured retransmission timeout, s; None for the default."""
    rto: float

    # Link
    rate: float | None
    """Bottleneck rate in this direction, bit/s of frames."""
    queue: int
    qdisc: str
    is_fair: bool
    """True if the bottleneck serves its flows in turn."""
    bdp: float | None
    """BDP of the configured path, bytes of frames; None without a rate or a delay."""
    buffer: float
    """Queue length at which segments are dropped or marked, bytes of frames."""
    buffer_ratio: float | None
    """Bottleneck buffer over BDP; None without a rate or a delay."""
    bucket: int
    """Burst of the shaper after a pause, bytes of frames; 0 if the path has no rate."""
    bursts_overflow: bool
    """True if the bottleneck's queue is too short for a burst of a few segments."""
    copies: float
    """Copies of each segment that cross the link; netem duplicates before the link."""
    short_rate: float
    """Rate of the data of short flows at the link, bit/s of frames."""
    udp_rate: float
    """Rate of the UDP flows at the link, bit/s of frames; all UDP goes forward."""
    capacity: float | None
    """Payload capacity of the link, bit/s; None if the link is unshaped."""
    tcp_capacity: float | None
    """Payload capacity left to TCP next to UDP and short flows, bit/s; None if the link is unshaped."""
    ack_rate: float | None
    """ACKs per second that the reverse path can carry, each with full headers; None if it is unshaped."""

    # Losses
    loss: float
    """Probability that a segment is lost in this direction."""
    offloaded_segments: float | None
    """Segments in a packet that is lost as a unit; 1 without offloads, None if unknown."""
    loss_rate: float
    """Loss events per segment: consecutive losses count as a single event, because the sender reacts once."""
    ack_loss: float
    """Probability that an ACK is lost."""

    # Limits of the hosts
    initial_window: float
    """Segments of a connection's first window."""
    receive_window: int | None
    """Largest window that the receiver advertises, bytes; None if the experiment does not fix it."""
    socket_window: int | None
    """Window that follows from the socket buffer requested by the application, bytes."""
    full_write: int | None
    """Size of each write, bytes; None unless it is a multiple of the segment size."""
    send_buffer_limit: float | None
    """Most payload in flight under a fixed send buffer, bytes."""
    max_in_flight: float | None
    """Most payload in flight under the fixed windows and buffers, bytes; None without any."""
    fq_rate: float | None
    """Rate limit per flow in the sender's fq, bit/s of payload; fq counts frames, as tbf does."""
    paced_rate: float | None
    """Pacing rate per flow, by the application or by fq, bit/s of payload; None without pacing."""

    # Formulas
    can_simulate: bool
    """True if senders and path can be simulated."""
    count_prefix: str
    """Prefix such as "8 × " for a quantity per flow; empty for a single flow."""
    share_text: str
    """Payload over frame size as text, e.g. "1448/1514"."""

    def rtt_text(self, rtt: float | None = None) -> str:
        """Return the RTT as text, as the student set it if the path itself adds less than 1 %."""
        value = self.rtt if rtt is None else rtt
        delay = value - PATH_RTT
        return units.seconds(delay if 0.01 * delay > PATH_RTT else value)

    def loss_events(self, throughput: float) -> float:
        """Return the random loss events expected in the measured time at an aggregate `throughput`, bit/s."""
        return throughput / (8 * self.mss) * self.seconds * self.loss_rate

    def window_at(self, throughput: float) -> float:
        """Return the segments in flight per flow on the empty path at an aggregate `throughput`, bit/s."""
        return throughput / max(1, self.flow_count) * self.rtt / 8 / self.mss

    def sawtooth_utilization(self, x: float) -> float:
        """Return the link utilization of Reno with a buffer of `x` BDP, x below 1."""
        used = sawtooth_utilisation(x)
        if self.flow_count > 1:
            # Flows that lose in turn leave less unused; without a buffer this is Altman's formula.
            used = 1 - (1 - used) * (1 - shared_utilisation(self.flow_count, 0.5)) / (
                1 - sawtooth_utilisation(0)
            )
        return used


def case_of(
    experiment: Experiment,
    mss: int | None = None,
    rto: float | None = None,
    on_virtual_clock: bool = False,
    *,
    path: Path | None = None,
    flows: tuple[FlowCase, ...] | None = None,
    seconds: float | None = None,
    is_reverse: bool = False,
    is_cut: bool = False,
) -> Case:
    """Return the case of a stretch of `experiment`, by default of all of it without its changes.

    Args:
        experiment: The experiment.
        mss: Measured segment size, bytes; by default the kernel's choice.
        rto: Measured retransmission timeout, s; by default the usual one.
        on_virtual_clock: True if the run is known to use the guest's virtual clock.
        path: Path during the stretch.
        flows: Flows active in the stretch, all in the same direction.
        seconds: Length of the stretch within the measured time.
        is_reverse: True for the reverse direction.
        is_cut: True while the link is cut.
    """
    hosts, plan = experiment.hosts, experiment.flows
    path = path or experiment.path
    if flows is None:
        flows = tuple(flow_case(experiment, flow) for flow in range(experiment.total_streams))
    count, algorithms = len(flows), frozenset(flow.algorithm for flow in flows)
    mss, segment, ratio = mss or experiment.segment, experiment.segment, payload_ratio(experiment)
    frame = hosts.mtu + experiment.framing
    rtt = min((flow.rtt for flow in flows), default=path.delay + PATH_RTT)

    rate, queue = (path.reverse_rate, path.reverse_queue) if is_reverse else (path.rate, path.queue)
    qdisc = "fifo" if is_reverse else path.qdisc
    is_fair = qdisc in FAIR
    delay = rtt - PATH_RTT
    bdp = rate * delay / 8 if rate and delay > 1e-9 else None
    buffer = usable_buffer(qdisc, rate or 0.0, float(queue), rtt, frame, count, mss)
    bucket = (None if is_reverse else path.burst) or default_burst(rate, frame) if rate else 0
    copies = 1.0 if is_reverse else 1 + path.duplicate
    udp_rate = 0.0 if is_reverse else rate_of_udp(experiment, mss)
    short_rate = 0.0 if is_reverse else rate_of_short_flows(experiment, ratio)
    capacity = rate * ratio if rate else None
    tcp_capacity = None
    if rate is not None and capacity is not None:
        left = rate_left_by_udp(experiment, rate, udp_rate, count if is_fair else 0)
        tcp_capacity = (capacity if left is None else left * ratio) / copies
        tcp_capacity = max(LEAST_ROOM * tcp_capacity, tcp_capacity - short_rate * ratio)
    ack_path = path.rate if is_reverse else path.reverse_rate
    ack_rate = None if ack_path is None else ack_path / (8 * (experiment.headers + experiment.framing))

    # A cut path loses everything, which no loss law covers.
    losses = min(_NEARLY_ALL, path.loss), min(_NEARLY_ALL, path.reverse_loss)
    loss, ack_loss = reversed(losses) if is_reverse else losses
    offloaded = _offloaded_segments(experiment, capacity, mss)
    loss_rate = loss / (1.0 if is_reverse else path.loss_burst) / (offloaded or 1.0)

    window = hosts.window
    if hosts.sysctls.get("tcp_window_scaling") == "0":
        window = min(window or UNSCALED_WINDOW, UNSCALED_WINDOW)
    socket_window = None if plan.buffer is None else round(SOCKET_SHARE * plan.buffer)
    write = experiment.write
    full_write = write if write is not None and write % segment == 0 else None
    sent = None
    if (size := hosts.send_buffer) is not None:
        sent = max(SEND_SHARE * size, segment) if full_write else max(SEND_CHUNK, size)
    fq_rate = None if hosts.maxrate is None else hosts.maxrate * ratio
    return Case(
        experiment=experiment,
        path=path,
        flows=flows,
        seconds=plan.duration if seconds is None else seconds,
        is_reverse=is_reverse,
        is_cut=is_cut,
        on_virtual_clock=on_virtual_clock,
        flow_count=count,
        algorithms=algorithms,
        algorithm=next(iter(algorithms)) if len(algorithms) == 1 else "",
        kinds=_kinds(flows),
        mss=mss,
        segment=segment,
        payload_ratio=ratio,
        frame=frame,
        rtt=rtt,
        measured_rto=rto,
        rto=rto or rtt + MIN_RTO,
        rate=rate,
        queue=queue,
        qdisc=qdisc,
        is_fair=is_fair,
        bdp=bdp,
        buffer=buffer,
        buffer_ratio=buffer / bdp if bdp else None,
        bucket=bucket,
        bursts_overflow=rate is not None and queue < BURST_FRAMES * frame,
        copies=copies,
        short_rate=short_rate,
        udp_rate=udp_rate,
        capacity=capacity,
        tcp_capacity=tcp_capacity,
        ack_rate=ack_rate,
        loss=loss,
        offloaded_segments=offloaded,
        loss_rate=loss_rate,
        ack_loss=ack_loss,
        initial_window=float(experiment.hosts.initial_window or INITIAL_WINDOW),
        receive_window=window,
        socket_window=socket_window,
        full_write=full_write,
        send_buffer_limit=sent,
        max_in_flight=min(
            (float(one) for one in (window, sent, socket_window) if one is not None), default=None
        ),
        fq_rate=fq_rate,
        paced_rate=min((one for one in (plan.pacing, fq_rate) if one is not None), default=None),
        can_simulate=_can_simulate(path, qdisc, algorithms, bool(udp_rate or short_rate) or is_cut),
        count_prefix=f"{count} × " if count > 1 else "",
        share_text=f"{segment}/{round(segment / ratio)}",
    )


def flow_case(experiment: Experiment, flow: int, path: Path | None = None) -> FlowCase:
    """Return TCP flow number `flow` on `path`, by default on the experiment's initial path."""
    longer = 0.0 if path is None else path.delay - experiment.path.delay
    return FlowCase(
        number=flow,
        algorithm=experiment.algorithm(flow),
        rtt=experiment.delay(flow) + longer + PATH_RTT,
        start=experiment.start(flow),
        pauses=experiment.pauses(flow),
    )


def payload_ratio(experiment: Experiment) -> float:
    """Return the payload's share of a full frame: `theory.goodput_ratio` for the segment size in use."""
    payload = experiment.segment
    return payload / (payload + experiment.headers + experiment.framing)


def _kinds(flows: tuple[FlowCase, ...]) -> tuple[tuple[FlowCase, int], ...]:
    found: dict[tuple[str, float], list[FlowCase]] = {}
    for flow in flows:
        found.setdefault((flow.algorithm, flow.rtt), []).append(flow)
    return tuple((same[0], len(same)) for same in found.values())


def _can_simulate(path: Path, qdisc: str, algorithms: frozenset[str], is_disturbed: bool) -> bool:
    """Return whether a simulation covers the path and all senders, without UDP or a cut."""
    return (
        bool(algorithms)
        and not is_disturbed
        and qdisc == "fifo"
        and not path.loss_correlation
        and path.jitter == 0
        and path.reorder == 0
        and (algorithms <= LIMITED or algorithms == {"bbr"})
    )


def _offloaded_segments(experiment: Experiment, capacity: float | None, mss: int) -> float | None:
    """Return the segments of an offloaded packet.

    With offloads the sender builds packets of at least OFFLOAD_LEAST segments and at most 1/1024 s of its pacing
    rate (tcp_tso_autosize in net/ipv4/tcp_output.c). Between these bounds their geometric mean is used.
    """
    if not experiment.hosts.offloads:
        return 1.0
    if capacity is None:
        return None
    most = OFFLOAD_PACING * capacity / 8 / 1024 / mss
    return math.sqrt(OFFLOAD_LEAST * max(OFFLOAD_LEAST, most)) if most <= OFFLOAD_MOST else None
