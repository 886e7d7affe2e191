"""An experiment as the models see it: its flows, their round trips, the losses, and what the link leaves them.

A `Case` is a stretch of time in which nothing changes, one way. Most experiments are one case; `stretches` makes
the cases of those whose path or flows change, or whose flows go both ways.
"""

from __future__ import annotations

from dataclasses import dataclass

from tcptutor import units
from tcptutor.run import Run
from tcptutor.spec import ETHERNET_HEADER, Experiment, Path

PATH_RTT = 1e-4
"""Round trip of the emulated path itself, s: what is left when no delay is added."""

MIN_RTO = 0.2
"""Linux adds at least this to the smoothed RTT for its retransmission timeout, s."""

_UDP_OVERHEAD = 28 + ETHERNET_HEADER
"""IPv4, UDP and Ethernet headers of a datagram as the shaper counts them, bytes."""

_LEAST_ROOM = 0.01
"""Share of the link that is left to TCP, at least: what UDP that could fill it does not take."""

_FAIR = frozenset({"fq", "fq_codel", "cake"})
"""Queue disciplines that serve flows in turn."""


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
    """Payload's share of a full frame."""
    given_rto: float | None
    """As measured, s; None for what is usual."""
    seconds: float
    """How long it lasts of the measured time."""
    backward: bool = False
    down: bool = False
    """Whether the link is cut."""

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
            return self.link
        left = max(_LEAST_ROOM * self.rate, self.rate - self.udp)
        if self.fair and self.flows:
            others = self.experiment.pairs * self.experiment.flows.udp_streams
            left = max(left, self.rate * self.number / (self.number + others))
        return left * self.ratio

    @property
    def loss(self) -> float:
        """Chance that a segment of this way is lost."""
        return self.path.reverse_loss if self.backward else self.path.loss

    @property
    def loss_rate(self) -> float:
        """Loss events per segment: segments that are lost in a row are one, which the sender answers once."""
        return self.loss / (1.0 if self.backward else self.path.loss_burst)

    @property
    def ack_loss(self) -> float:
        """Chance that an acknowledgement is lost."""
        return self.path.loss if self.backward else self.path.reverse_loss

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


def goodput(experiment: Experiment) -> float:
    """Payload's share of a full frame as the shaper counts it: `theory.goodput_ratio` for the segment in use."""
    payload = experiment.segment
    return payload / (payload + experiment.headers + ETHERNET_HEADER)


def flow_case(experiment: Experiment, flow: int, path: Path | None = None) -> FlowCase:
    """TCP flow number `flow` on the experiment's path, or on the one that it has become."""
    longer = 0.0 if path is None else path.delay - experiment.path.delay
    return FlowCase(
        number=flow,
        algorithm=experiment.algorithm(flow),
        rtt=experiment.delay(flow) + longer + PATH_RTT,
        start=experiment.start(flow),
    )


def case_of(experiment: Experiment, mss: int | None = None, rto: float | None = None) -> Case:
    """The whole of `experiment` as if nothing changed, with `mss` and `rto` as measured or as the kernel chooses."""
    return Case(
        experiment=experiment,
        path=experiment.path,
        flows=tuple(flow_case(experiment, flow) for flow in range(experiment.total_streams)),
        mss=mss or experiment.segment,
        ratio=goodput(experiment),
        given_rto=rto,
        seconds=experiment.flows.duration,
    )


def path_known(run: Run) -> bool:
    """Whether the models can be asked: a run from elsewhere tells nothing of its path unless its importer did."""
    return run.environment.backend != "imported" or run.experiment.path.rate is not None
