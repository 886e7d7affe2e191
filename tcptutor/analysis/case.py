"""An experiment as the models see it: flows, round trips, losses, and the rate that the link leaves them.

A `Case` covers one direction over a stretch of time in which nothing changes. Most experiments are one case;
`stretches` makes several where the path or the flows change, or where flows go both ways.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tcptutor.base import units
from tcptutor.base.headers import ETHERNET_HEADER
from tcptutor.spec import Experiment, Path, default_burst
from tcptutor.theory import sawtooth_utilisation, shared_utilisation

PATH_RTT = 1e-4
"""RTT of the emulated path without any configured delay, s."""

MIN_RTO = 0.2
"""Least margin that Linux adds to the smoothed RTT for its retransmission timeout, s (TCP_RTO_MIN)."""

ENOUGH_LOSSES = 20
"""Loss events below which a run cannot be compared with a loss model."""
_NEARLY_ALL = 0.999
"""Largest loss probability that the models accept."""

FULL = 0.95
"""Link utilization from which the link is full, with or without a queue."""

SATURATED = 0.98
"""Link utilization above which a larger window or buffer gains nothing."""

QUEUED = 0.85
"""Link utilization from which a link with a standing queue is full most of the time."""

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

VIRTUAL_CLOCK_WRITE, VIRTUAL_CLOCK_SEGMENT = 5.66e-6, 25e-6
"""Processor time on the guest's virtual clock for a write, and for a segment with its ACK, s.

The virtual clock executes one instruction per nanosecond on every computer, so both are instruction counts. They
were counted with writes of 1 to 28 bytes on links of 30 to 60 Mbit/s that did not limit the flow.
"""

_UDP_OVERHEAD = 28 + ETHERNET_HEADER
"""IPv4, UDP and Ethernet headers of a datagram as the shaper counts them, bytes."""

_LEAST_ROOM = 0.01
"""Least share of the link left to TCP next to UDP that could fill it."""

_FAIR = frozenset({"fq", "fq_codel", "cake"})
"""Queue disciplines that serve flows in turn."""

_CODEL = frozenset({"codel", "fq_codel", "cake"})
_CODEL_TARGET, _CODEL_INTERVAL = 0.005, 0.1
"""CoDel's target queueing delay and interval, s (RFC 8289, sections 4.2 and 4.3)."""

_RED_SHARE = 1 / 3
"""Mean queue under RED over the queue size: its thresholds are at a sixth and a half."""

_FQ_PACKETS = 100
"""Packets that fq queues per flow (flow_limit)."""


@dataclass(frozen=True)
class FlowCase:
    number: int
    algorithm: str
    rtt: float
    """RTT without queueing, s."""
    start: float = 0.0
    """Start, in seconds after the traffic began."""


@dataclass(frozen=True)
class Case:
    """Inputs of the formulas."""

    experiment: Experiment
    path: Path
    """Path during this stretch, with the experiment's changes applied."""
    flows: tuple[FlowCase, ...]
    """Flows active in this stretch and direction."""
    mss: int
    """bytes"""
    payload_ratio: float
    """`payload_ratio` of the experiment."""
    measured_rto: float | None
    """Measured retransmission timeout, s; None for the default."""
    seconds: float
    """Length of the stretch within the measured time."""
    is_reverse: bool = False
    is_cut: bool = False
    """True while the link is cut."""
    on_virtual_clock: bool = False
    """True if the run is known to use the guest's virtual clock, which fixes the processor's speed."""

    @property
    def flow_count(self) -> int:
        return len(self.flows)

    @property
    def rtt(self) -> float:
        """Shortest RTT of the flows, s; all RTTs are equal unless `pair_delays` is set."""
        return min((flow.rtt for flow in self.flows), default=self.path.delay + PATH_RTT)

    @property
    def rto(self) -> float:
        return self.measured_rto or self.rtt + MIN_RTO

    @property
    def rate(self) -> float | None:
        """Bottleneck rate in this direction, bit/s of frames."""
        return self.path.reverse_rate if self.is_reverse else self.path.rate

    @property
    def queue(self) -> int:
        return self.path.reverse_queue if self.is_reverse else self.path.queue

    @property
    def qdisc(self) -> str:
        return "fifo" if self.is_reverse else self.path.qdisc

    @property
    def is_fair(self) -> bool:
        """True if the bottleneck serves its flows in turn."""
        return self.qdisc in _FAIR

    @property
    def capacity(self) -> float | None:
        """Payload capacity of the link, bit/s; None if the link is unshaped."""
        return self.rate * self.payload_ratio if self.rate else None

    @property
    def udp_rate(self) -> float:
        """Rate of the UDP flows at the link, bit/s of frames; all UDP goes forward."""
        flows = self.experiment.flows
        if self.is_reverse or not flows.udp_streams:
            return 0.0
        datagram = min(flows.length or self.mss, 65507)
        packets = -(-datagram // (self.experiment.hosts.mtu - 28))
        return (
            self.experiment.pairs
            * flows.udp_streams
            * flows.udp_rate
            * (datagram + packets * _UDP_OVERHEAD)
            / datagram
        )

    @property
    def tcp_capacity(self) -> float | None:
        """Payload capacity left to TCP next to UDP, bit/s; None if the link is unshaped."""
        if self.rate is None or self.capacity is None:
            return None
        if not self.udp_rate:
            return self.capacity / self.copies
        left = max(_LEAST_ROOM * self.rate, self.rate - self.udp_rate)
        if self.is_fair and self.flows:
            others = self.experiment.pairs * self.experiment.flows.udp_streams
            left = max(left, self.rate * self.flow_count / (self.flow_count + others))
        return left * self.payload_ratio / self.copies

    @property
    def copies(self) -> float:
        """Copies of each segment that cross the link; netem duplicates before the link."""
        return 1.0 if self.is_reverse else 1 + self.path.duplicate

    @property
    def frame(self) -> int:
        """Size of a full frame as the shaper counts it, bytes."""
        return self.experiment.hosts.mtu + self.experiment.framing

    @property
    def bucket(self) -> int:
        """Burst of the shaper after a pause, bytes of frames; 0 if the path has no rate."""
        if not self.rate:
            return 0
        return (None if self.is_reverse else self.path.burst) or default_burst(self.rate, self.frame)

    @property
    def bursts_overflow(self) -> bool:
        """True if the bottleneck's queue is too short for a burst of a few segments."""
        return self.rate is not None and self.queue < BURST_FRAMES * self.frame

    @property
    def buffer(self) -> float:
        """Queue length at which segments are dropped or marked, bytes of frames."""
        rate, size = self.rate or 0.0, float(self.queue)
        if self.qdisc in _CODEL:
            # Until CoDel's interval ends, each flow adds a segment per RTT.
            grown = self.flow_count * self.mss * _CODEL_INTERVAL / self.rtt
            return min(size, rate * _CODEL_TARGET / 8 + grown)
        if self.qdisc == "red":
            return _RED_SHARE * size
        if self.qdisc == "fq":
            return min(size, self.flow_count * _FQ_PACKETS * self.frame)
        return size

    @property
    def buffer_ratio(self) -> float | None:
        """Bottleneck buffer over BDP; None without a rate or a delay."""
        return self.buffer / self.bdp if self.bdp else None

    @property
    def ack_rate(self) -> float | None:
        """ACKs per second that the reverse path can carry, each with full headers; None if it is unshaped."""
        rate = self.path.rate if self.is_reverse else self.path.reverse_rate
        return None if rate is None else rate / (8 * (self.experiment.headers + self.experiment.framing))

    def sawtooth_utilization(self, x: float) -> float:
        """Return the link utilization of Reno with a buffer of `x` BDP, x below 1."""
        used = sawtooth_utilisation(x)
        if self.flow_count > 1:
            # Flows that lose in turn leave less unused; without a buffer this is Altman's formula.
            used = 1 - (1 - used) * (1 - shared_utilisation(self.flow_count, 0.5)) / (
                1 - sawtooth_utilisation(0)
            )
        return used

    @property
    def receive_window(self) -> int | None:
        """Largest window that the receiver advertises, bytes; None if the experiment does not fix it."""
        window = self.experiment.hosts.window
        if self.experiment.hosts.sysctls.get("tcp_window_scaling") == "0":
            return min(window or UNSCALED_WINDOW, UNSCALED_WINDOW)
        return window

    @property
    def socket_window(self) -> int | None:
        """Window that follows from the socket buffer requested by the application, bytes."""
        size = self.experiment.flows.buffer
        return None if size is None else round(SOCKET_SHARE * size)

    @property
    def full_write(self) -> int | None:
        """Size of each write, bytes; None unless it is a multiple of the segment size."""
        write = self.experiment.write
        return write if write is not None and write % self.segment == 0 else None

    @property
    def send_buffer_limit(self) -> float | None:
        """Most payload in flight under a fixed send buffer, bytes."""
        size = self.experiment.hosts.send_buffer
        if size is None:
            return None
        return max(SEND_SHARE * size, self.segment) if self.full_write else max(SEND_CHUNK, size)

    @property
    def max_in_flight(self) -> float | None:
        """Most payload in flight under the fixed windows and buffers, bytes; None without any."""
        limits = (self.receive_window, self.send_buffer_limit, self.socket_window)
        return min((float(size) for size in limits if size is not None), default=None)

    @property
    def fq_rate(self) -> float | None:
        """Rate limit per flow in the sender's fq, bit/s of payload; fq counts frames, as tbf does."""
        maxrate = self.experiment.hosts.maxrate
        return None if maxrate is None else maxrate * self.payload_ratio

    @property
    def paced_rate(self) -> float | None:
        """Pacing rate per flow, by the application or by fq, bit/s of payload; None without pacing."""
        rates = (self.experiment.flows.pacing, self.fq_rate)
        return min((rate for rate in rates if rate is not None), default=None)

    @property
    def loss(self) -> float:
        """Probability that a segment is lost in this direction."""
        # A cut path loses everything, which no loss law covers.
        return min(_NEARLY_ALL, self.path.reverse_loss if self.is_reverse else self.path.loss)

    @property
    def loss_rate(self) -> float:
        """Loss events per segment: consecutive losses count as a single event, because the sender reacts once."""
        return (
            self.loss / (1.0 if self.is_reverse else self.path.loss_burst) / (self.offloaded_segments or 1.0)
        )

    @property
    def offloaded_segments(self) -> float | None:
        """Segments in a packet that is lost as a unit; 1 without offloads, None if unknown.

        With offloads the sender builds packets of at least OFFLOAD_LEAST segments and at most 1/1024 s of its pacing
        rate (tcp_tso_autosize in net/ipv4/tcp_output.c). Between these bounds their geometric mean is used.
        """
        if not self.experiment.hosts.offloads:
            return 1.0
        if self.capacity is None:
            return None
        most = OFFLOAD_PACING * self.capacity / 8 / 1024 / self.mss
        return math.sqrt(OFFLOAD_LEAST * max(OFFLOAD_LEAST, most)) if most <= OFFLOAD_MOST else None

    @property
    def ack_loss(self) -> float:
        """Probability that an ACK is lost."""
        return min(_NEARLY_ALL, self.path.loss if self.is_reverse else self.path.reverse_loss)

    @property
    def algorithms(self) -> frozenset[str]:
        return frozenset(flow.algorithm for flow in self.flows)

    @property
    def algorithm(self) -> str:
        """Algorithm of all flows; empty if they differ."""
        return next(iter(self.algorithms)) if len(self.algorithms) == 1 else ""

    @property
    def kinds(self) -> tuple[tuple[FlowCase, int], ...]:
        """Kinds of flows by algorithm and RTT: the first flow of each kind, with the number of its flows."""
        found: dict[tuple[str, float], list[FlowCase]] = {}
        for flow in self.flows:
            found.setdefault((flow.algorithm, flow.rtt), []).append(flow)
        return tuple((flows[0], len(flows)) for flows in found.values())

    @property
    def bdp(self) -> float | None:
        """BDP of the configured path, bytes of frames; None without a rate or a delay."""
        delay = self.rtt - PATH_RTT
        return self.rate * delay / 8 if self.rate and delay > 1e-9 else None

    @property
    def count_prefix(self) -> str:
        """Prefix such as "8 × " for a quantity per flow; empty for a single flow."""
        return f"{self.flow_count} × " if self.flow_count > 1 else ""

    @property
    def share_text(self) -> str:
        """Payload over frame size as text, e.g. "1448/1514"."""
        return f"{self.segment}/{round(self.segment / self.payload_ratio)}"

    @property
    def segment(self) -> int:
        """Payload of a full segment in the experiment, bytes."""
        return self.experiment.segment

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


def payload_ratio(experiment: Experiment) -> float:
    """Return the payload's share of a full frame: `theory.goodput_ratio` for the segment size in use."""
    payload = experiment.segment
    return payload / (payload + experiment.headers + experiment.framing)


def flow_case(experiment: Experiment, flow: int, path: Path | None = None) -> FlowCase:
    """Return TCP flow number `flow` on `path`, by default on the experiment's initial path."""
    longer = 0.0 if path is None else path.delay - experiment.path.delay
    return FlowCase(
        number=flow,
        algorithm=experiment.algorithm(flow),
        rtt=experiment.delay(flow) + longer + PATH_RTT,
        start=experiment.start(flow),
    )


def path_at(experiment: Experiment, moment: float) -> Path:
    """Return the path at `moment`, s, with all changes applied except cuts of the link."""
    path = experiment.path
    for change in experiment.path.changes:
        if change.at <= moment + 1e-9 and change.name != "link":
            path = path.after(change)
    return path


def case_of(
    experiment: Experiment,
    mss: int | None = None,
    rto: float | None = None,
    on_virtual_clock: bool = False,
) -> Case:
    """Return the case of all of `experiment`, ignoring its changes.

    Args:
        experiment: The experiment.
        mss: Measured segment size, bytes; by default the kernel's choice.
        rto: Measured retransmission timeout, s; by default the usual one.
        on_virtual_clock: True if the run is known to use the guest's virtual clock.
    """
    return Case(
        experiment=experiment,
        path=experiment.path,
        flows=tuple(flow_case(experiment, flow) for flow in range(experiment.total_streams)),
        mss=mss or experiment.segment,
        payload_ratio=payload_ratio(experiment),
        measured_rto=rto,
        seconds=experiment.flows.duration,
        on_virtual_clock=on_virtual_clock,
    )
