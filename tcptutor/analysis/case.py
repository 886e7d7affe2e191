"""An experiment as the models see it: its flows, their round trips, the losses, and what the link leaves them.

A `Case` is a stretch of time in which nothing changes, one way. Most experiments are one case; `stretches` makes
the cases of those whose path or flows change, or whose flows go both ways. What expectation and verdict both need to
know of the path and its ends stands here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tcptutor.base import units
from tcptutor.spec import ETHERNET_HEADER, Experiment, Path, default_burst
from tcptutor.theory import sawtooth_utilisation, shared_utilisation

PATH_RTT = 1e-4
"""Round trip of the emulated path itself, s: what is left when no delay is added."""

MIN_RTO = 0.2
"""Linux adds at least this to the smoothed RTT for its retransmission timeout, s."""

ENOUGH_LOSSES = 20
"""Loss events below which a comparison with a loss model says nothing."""
_NEARLY_ALL = 0.999
"""The largest loss that models are asked about."""

FULL = 0.95
"""Share of its goodput from which a link is full, queue or not."""

SATURATED = 0.98
"""Share of its goodput from which more window or buffer would gain nothing."""

QUEUED = 0.85
"""Share of its goodput from which a link with a standing queue is full most of the time."""

SEND_SHARE = 0.92
"""Payload under way over the send buffer, where the application writes whole segments.

Measured on Linux 6.12 with writes of a quarter of the buffer: 0.88 to 0.97 for 16 to 256 KiB over 20 to 150 ms.
"""

SEND_CHUNK = 65536
"""Bytes that the kernel takes at least where writes are no whole segments, however small the buffer."""

SOCKET_SHARE = 1.15
"""Window over the socket buffer that an application asks for: the kernel doubles it, and 0.58 of that is payload.

Measured on Linux 6.12 with segments of 1448 bytes: 20 kB make a window of 23.1 kB.
"""

UNSCALED_WINDOW = 65535
"""The largest window without window scaling, bytes."""

BURST_FRAMES = 10
"""Queue in full frames below which TCP's own bursts overflow it and no model of the sawtooth holds."""

OFFLOAD_LEAST, OFFLOAD_MOST = 2.0, 5.0
"""Segments of a packet of an offloading sender at least (tcp_min_tso_segs), and up to which its losses are modelled."""

OFFLOAD_PACING = 1.2
"""Pacing rate over the rate of cwnd in congestion avoidance (tcp_pacing_ca_ratio)."""

VIRTUAL_CLOCK_WRITE, VIRTUAL_CLOCK_SEGMENT = 5.66e-6, 25e-6
"""Seconds that a write, and a segment with its acknowledgement, take the guest's processor on the virtual clock.

There a processor carries out an instruction a nanosecond whatever computer emulates it, so both are numbers of
instructions: counted with writes of 1 to 28 bytes that a link of 30 to 60 Mbit/s did not hold back.
"""

_UDP_OVERHEAD = 28 + ETHERNET_HEADER
"""IPv4, UDP and Ethernet headers of a datagram as the shaper counts them, bytes."""

_LEAST_ROOM = 0.01
"""Share of the link that is left to TCP, at least: what UDP that could fill it does not take."""

_FAIR = frozenset({"fq", "fq_codel", "cake"})
"""Queue disciplines that serve flows in turn."""

_CODEL = frozenset({"codel", "fq_codel", "cake"})
_CODEL_TARGET, _CODEL_INTERVAL = 0.005, 0.1
"""Seconds of queue that CoDel allows, and how long it looks before it drops (RFC 8289, section 4.2 and 4.3)."""

_RED_SHARE = 1 / 3
"""Between RED's thresholds, at a sixth and a half of the queue."""

_FQ_PACKETS = 100
"""What fq keeps of one flow (its flow_limit)."""


@dataclass(frozen=True)
class FlowCase:
    """One TCP flow."""

    number: int
    algorithm: str
    rtt: float
    """Without a queue, s."""
    start: float = 0.0
    """Seconds since the traffic began."""


@dataclass(frozen=True)
class Case:
    """The numbers that go into the formulas."""

    experiment: Experiment
    path: Path
    """As it is in this stretch: the experiment's own unless it changes."""
    flows: tuple[FlowCase, ...]
    """Those that are there and go this way."""
    mss: int
    """bytes"""
    ratio: float
    """`payload_ratio` of the experiment."""
    given_rto: float | None
    """As measured, s; None for what is usual."""
    seconds: float
    """How long it lasts of the measured time."""
    backward: bool = False
    down: bool = False
    """Whether the link is cut."""
    on_virtual_clock: bool = False
    """Whether it is known to run on the guest's virtual clock, so that the processor's speed is known too."""

    @property
    def number(self) -> int:
        return len(self.flows)

    @property
    def rtt(self) -> float:
        """Of the flow with the shortest one, s; all have the same unless `pair_delays` says otherwise."""
        return min((flow.rtt for flow in self.flows), default=self.path.delay + PATH_RTT)

    @property
    def rto(self) -> float:
        return self.given_rto or self.rtt + MIN_RTO

    @property
    def rate(self) -> float | None:
        """Of the bottleneck this way, bit/s of frames."""
        return self.path.reverse_rate if self.backward else self.path.rate

    @property
    def queue(self) -> int:
        return self.path.reverse_queue if self.backward else self.path.queue

    @property
    def qdisc(self) -> str:
        return "fifo" if self.backward else self.path.qdisc

    @property
    def fair(self) -> bool:
        """Whether the bottleneck serves its flows in turn."""
        return self.qdisc in _FAIR

    @property
    def link(self) -> float | None:
        """Payload that the link carries, bit/s; None when it is not shaped."""
        return self.rate * self.ratio if self.rate else None

    @property
    def udp(self) -> float:
        """What the UDP flows would take of the link, bit/s of frames; they all go forward."""
        flows = self.experiment.flows
        if self.backward or not flows.udp_streams:
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
    def room(self) -> float | None:
        """Payload that the link carries beside UDP, bit/s; None when it is not shaped."""
        if self.rate is None or self.link is None:
            return None
        if not self.udp:
            return self.link / self.copies
        left = max(_LEAST_ROOM * self.rate, self.rate - self.udp)
        if self.fair and self.flows:
            others = self.experiment.pairs * self.experiment.flows.udp_streams
            left = max(left, self.rate * self.number / (self.number + others))
        return left * self.ratio / self.copies

    @property
    def copies(self) -> float:
        """How often a segment crosses the link: netem makes its duplicates before it."""
        return 1.0 if self.backward else 1 + self.path.duplicate

    @property
    def frame(self) -> int:
        """A full frame as the shaper counts it, bytes."""
        return self.experiment.hosts.mtu + self.experiment.framing

    @property
    def bucket(self) -> int:
        """What the shaper lets through at once after a pause, bytes of frames; 0 where the path has no rate."""
        if not self.rate:
            return 0
        return (None if self.backward else self.path.burst) or default_burst(self.rate, self.frame)

    @property
    def bursts_overflow(self) -> bool:
        """Whether the bottleneck's queue is too short for a few segments at once."""
        return self.rate is not None and self.queue < BURST_FRAMES * self.frame

    @property
    def buffer(self) -> float:
        """Bytes of frames that wait before segments are dropped or marked: the queue, or what its discipline allows."""
        rate, size = self.rate or 0.0, float(self.queue)
        if self.qdisc in _CODEL:
            # While CoDel looks, each flow adds a segment a round trip.
            grown = self.number * self.mss * _CODEL_INTERVAL / self.rtt
            return min(size, rate * _CODEL_TARGET / 8 + grown)
        if self.qdisc == "red":
            return _RED_SHARE * size
        if self.qdisc == "fq":
            return min(size, self.number * _FQ_PACKETS * self.frame)
        return size

    @property
    def buffer_ratio(self) -> float | None:
        """The bottleneck's buffer over the BDP; None without a rate or a delay."""
        return self.buffer / self.bdp if self.bdp else None

    @property
    def acks_a_second(self) -> float | None:
        """Acknowledgements that the way back carries, one for two segments in full; None when it is not shaped."""
        rate = self.path.rate if self.backward else self.path.reverse_rate
        return None if rate is None else rate / (8 * (self.experiment.headers + self.experiment.framing))

    def sawtooth_use(self, x: float) -> float:
        """Share of the link that Reno uses with a buffer of x BDP, x below 1."""
        used = sawtooth_utilisation(x)
        if self.number > 1:
            # Flows that take turns in losing leave less unused; without a buffer it is Altman's formula.
            used = 1 - (1 - used) * (1 - shared_utilisation(self.number, 0.5)) / (1 - sawtooth_utilisation(0))
        return used

    @property
    def receive_window(self) -> int | None:
        """What the receiver advertises at most, bytes, if the experiment fixes it."""
        window = self.experiment.hosts.window
        if self.experiment.hosts.sysctls.get("tcp_window_scaling") == "0":
            return min(window or UNSCALED_WINDOW, UNSCALED_WINDOW)
        return window

    @property
    def socket_window(self) -> int | None:
        """The window that goes with socket buffers which the application asks for, bytes."""
        size = self.experiment.flows.buffer
        return None if size is None else round(SOCKET_SHARE * size)

    @property
    def whole_write(self) -> int | None:
        """What the application writes at once, bytes; None where that is no whole segments."""
        write = self.experiment.write
        return write if write is not None and write % self.full == 0 else None

    @property
    def sent_at_once(self) -> float | None:
        """What a fixed send buffer lets a flow have under way, bytes."""
        size = self.experiment.hosts.send_buffer
        if size is None:
            return None
        return max(SEND_SHARE * size, self.full) if self.whole_write else max(SEND_CHUNK, size)

    @property
    def in_flight(self) -> float | None:
        """What a flow may have in flight by the windows and buffers that the experiment fixes, bytes; None for none."""
        given = (self.receive_window, self.sent_at_once, self.socket_window)
        return min((float(size) for size in given if size is not None), default=None)

    @property
    def fq_rate(self) -> float | None:
        """The largest rate that the sender's fq allows each flow, bit/s of payload: it counts frames, as tbf does."""
        maxrate = self.experiment.hosts.maxrate
        return None if maxrate is None else maxrate * self.ratio

    @property
    def paced_rate(self) -> float | None:
        """The largest rate of each flow, by the application or by fq, bit/s of payload; None when nothing paces."""
        rates = (self.experiment.flows.pacing, self.fq_rate)
        return min((rate for rate in rates if rate is not None), default=None)

    @property
    def loss(self) -> float:
        """Chance that a segment of this way is lost."""
        # A path that somebody cut lets nothing through, and no law speaks of that.
        return min(_NEARLY_ALL, self.path.reverse_loss if self.backward else self.path.loss)

    @property
    def loss_rate(self) -> float:
        """Loss events per segment: segments that are lost in a row are one, which the sender answers once."""
        return self.loss / (1.0 if self.backward else self.path.loss_burst) / (self.super_packet or 1.0)

    @property
    def super_packet(self) -> float | None:
        """Segments of a packet that is lost as one: 1 without offloads; None where that is not known well enough.

        With offloads the sender cuts packets of OFFLOAD_LEAST segments or more, at most what it paces in 1/1024 s
        (tcp_tso_autosize in net/ipv4/tcp_output.c). Between the two it is taken to be their geometric mean.
        """
        if not self.experiment.hosts.offloads:
            return 1.0
        if self.link is None:
            return None
        most = OFFLOAD_PACING * self.link / 8 / 1024 / self.mss
        return math.sqrt(OFFLOAD_LEAST * max(OFFLOAD_LEAST, most)) if most <= OFFLOAD_MOST else None

    @property
    def ack_loss(self) -> float:
        """Chance that an acknowledgement is lost."""
        return min(_NEARLY_ALL, self.path.loss if self.backward else self.path.reverse_loss)

    @property
    def algorithms(self) -> frozenset[str]:
        return frozenset(flow.algorithm for flow in self.flows)

    @property
    def algorithm(self) -> str:
        """The one of all flows; empty when they differ."""
        return next(iter(self.algorithms)) if len(self.algorithms) == 1 else ""

    @property
    def kinds(self) -> tuple[tuple[FlowCase, int], ...]:
        """One flow of each kind, by algorithm and round trip, and how many there are of it."""
        found: dict[tuple[str, float], list[FlowCase]] = {}
        for flow in self.flows:
            found.setdefault((flow.algorithm, flow.rtt), []).append(flow)
        return tuple((flows[0], len(flows)) for flows in found.values())

    @property
    def bdp(self) -> float | None:
        """Of the path as it was set, bytes of frames; None without a rate or a delay."""
        delay = self.rtt - PATH_RTT
        return self.rate * delay / 8 if self.rate and delay > 1e-9 else None

    @property
    def times(self) -> str:
        """ "8 × " before what is true for one flow."""
        return f"{self.number} × " if self.number > 1 else ""

    @property
    def share_text(self) -> str:
        """Payload over frame, in bytes."""
        return f"{self.full}/{round(self.full / self.ratio)}"

    @property
    def full(self) -> int:
        """Payload of a full segment as the experiment makes it, bytes."""
        return self.experiment.segment

    def rtt_text(self, rtt: float | None = None) -> str:
        """The RTT as the student set it, where the path itself adds less than 1 %."""
        value = self.rtt if rtt is None else rtt
        delay = value - PATH_RTT
        return units.seconds(delay if 0.01 * delay > PATH_RTT else value)

    def loss_events(self, throughput: float) -> float:
        """Random losses to be expected in the measured time at `throughput` bit/s of all flows."""
        return throughput / (8 * self.mss) * self.seconds * self.loss_rate

    def window_of(self, throughput: float) -> float:
        """Segments that one flow has in flight on the empty path, at `throughput` bit/s of all flows."""
        return throughput / max(1, self.number) * self.rtt / 8 / self.mss


def payload_ratio(experiment: Experiment) -> float:
    """Payload's share of a full frame as the shaper counts it: `theory.goodput_ratio` for the segment in use."""
    payload = experiment.segment
    return payload / (payload + experiment.headers + experiment.framing)


def flow_case(experiment: Experiment, flow: int, path: Path | None = None) -> FlowCase:
    """TCP flow number `flow` on the experiment's path, or on the one that it has become."""
    longer = 0.0 if path is None else path.delay - experiment.path.delay
    return FlowCase(
        number=flow,
        algorithm=experiment.algorithm(flow),
        rtt=experiment.delay(flow) + longer + PATH_RTT,
        start=experiment.start(flow),
    )


def path_at(experiment: Experiment, moment: float) -> Path:
    """Return the path as the experiment's changes have left it at `moment`, s, whether its link is up or not."""
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
    """Return the whole of `experiment` as if nothing changed.

    `mss` and `rto` are as measured, or as the kernel chooses them.
    """
    return Case(
        experiment=experiment,
        path=experiment.path,
        flows=tuple(flow_case(experiment, flow) for flow in range(experiment.total_streams)),
        mss=mss or experiment.segment,
        ratio=payload_ratio(experiment),
        given_rto=rto,
        seconds=experiment.flows.duration,
        on_virtual_clock=on_virtual_clock,
    )
