"""Packets of TCP flows on a path with one bottleneck, simulated event by event: no randomness, no I/O.

Senders stand in front of the link's queue; behind the link segments travel for `delay`, and ACKs travel back for as
long and never wait. `tcptutor.theory.trajectory` has the same flows as windows over time, for minutes and many flows.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from heapq import heappop, heappush
from itertools import count
from typing import Any, Literal, NamedTuple

from tcptutor.theory.domain import positive, require
from tcptutor.theory.loss_laws import ACK_DELAY
from tcptutor.theory.packet_link import PacketLink, PacketPath
from tcptutor.theory.packet_sender import PacketFlow, PacketSender

MAX_PACKETS = 50_000
"""Largest number of segments and ACKs per simulation; each takes about ten microseconds."""
SACK_BLOCKS = 3
"""Blocks that fit into an ACK with timestamps (RFC 2018, section 3)."""


class PacketEvent(NamedTuple):
    """A segment or an ACK from its departure to its end."""

    flow: int
    """Index of its flow."""
    kind: Literal["segment", "ack"]
    number: int
    """Number of the segment; for an ACK the lowest segment that is missing."""
    transmission: int
    """1 for the first transmission of a segment, more for retransmissions."""
    sent: float
    """Seconds; it joins the queue at the same instant."""
    left: float | None
    """Instant at which the link begins to send it, or the receiver an ACK; None if dropped or still waiting."""
    arrived: float | None
    """Seconds; None if it never arrives."""
    dropped: float | None
    """Instant of its death in the queue (if it never left) or on the path, seconds; None if it lives."""
    service: float
    """Seconds that the link needs for it."""
    blocks: tuple[tuple[int, int], ...] = ()
    """First and last segment of an ACK's SACK blocks, the latest first."""
    duplicate: bool = False
    """Whether an ACK repeats the number of the one before."""

    @property
    def end(self) -> float:
        """Instant of its arrival or death, seconds; infinite while neither is known."""
        return next((t for t in (self.arrived, self.dropped) if t is not None), math.inf)


class SenderColumns(NamedTuple):
    """A sender over time: columns of equal length; each value holds until the next instant."""

    t: tuple[float, ...]
    cwnd: tuple[float, ...]
    """Segments."""
    in_flight: tuple[int, ...]
    """Segments, as the sender counts them."""

    def cwnd_at(self, t: float) -> float:
        return self.cwnd[max(0, bisect_right(self.t, t) - 1)]

    def in_flight_at(self, t: float) -> int:
        return self.in_flight[max(0, bisect_right(self.t, t) - 1)]


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketTrace:
    """The packets of a simulation, in the order of their departures, and columns over time."""

    path: PacketPath
    flows: tuple[PacketFlow, ...]
    seconds: float
    packets: tuple[PacketEvent, ...]
    senders: tuple[SenderColumns, ...]
    """An entry per flow."""
    queue_t: tuple[float, ...]
    """Instants at which the queue changed, seconds."""
    queue: tuple[int, ...]
    """Packets that wait from that instant on."""
    timeouts: tuple[tuple[float, int], ...]
    """Instant and flow of each timeout."""

    def waiting_at(self, t: float) -> int:
        return self.queue[max(0, bisect_right(self.queue_t, t) - 1)]


def simulate(path: PacketPath, flows: Sequence[PacketFlow], seconds: float) -> PacketTrace:
    """Return the packets that `flows` send over `path` in `seconds`.

    Raises:
        ParameterError: There are no flows, the duration is not above 0, a flow of BBR has no rate to pace at, or
            more than MAX_PACKETS packets leave.
    """
    positive("seconds", seconds, "seconds to simulate")
    require(bool(flows), "flows", "none", "at least one", "without a flow nothing happens")
    paced = path.rate is None and any(flow.algorithm == "bbr" for flow in flows)
    require(not paced, "rate", None, "above 0", "BBR paces at the link's rate")
    simulation = _Simulation(path, flows)
    simulation.run(seconds)
    return simulation.trace(seconds)


@dataclass(slots=True)
class _Packet:
    """A packet under way, which becomes a PacketEvent."""

    flow: int
    number: int
    transmission: int
    sent: float
    service: float
    left: float | None = None
    arrived: float | None = None
    dropped: float | None = None
    blocks: tuple[tuple[int, int], ...] = ()
    duplicate: bool = False

    def event(self) -> PacketEvent:
        return PacketEvent(
            flow=self.flow,
            kind="segment" if self.transmission else "ack",
            number=self.number,
            transmission=self.transmission,
            sent=self.sent,
            left=self.left,
            arrived=self.arrived,
            dropped=self.dropped,
            service=self.service,
            blocks=self.blocks,
            duplicate=self.duplicate,
        )


@dataclass(slots=True)
class _Receiver:
    """Segments that arrived, and the ACK that is due."""

    expected: int = 1
    acknowledged: int = 1
    """Number of the last ACK."""
    unanswered: int = 0
    """Segments since the last ACK."""
    stored: list[tuple[int, int]] = field(default_factory=list)
    """Spans behind a hole, the latest first."""

    def take(self, number: int) -> bool:
        """Store a segment; return True if it came in order, so that its ACK may wait (RFC 5681, section 4.2)."""
        self.unanswered += 1
        in_order = number == self.expected and not self.stored
        if number == self.expected:
            self.expected += 1
            for low, high in [span for span in self.stored if span[0] == self.expected]:
                self.expected = high + 1
                self.stored.remove((low, high))
        elif number > self.expected:
            touching = [span for span in self.stored if span[0] - 1 <= number <= span[1] + 1]
            low, high = (
                min([number, *(span[0] for span in touching)]),
                max([number, *(span[1] for span in touching)]),
            )
            self.stored = [(low, high), *(span for span in self.stored if span not in touching)]
        return in_order


class _Simulation:
    """Events in the order of time; of two at the same instant, the one that was planned first."""

    def __init__(self, path: PacketPath, flows: Sequence[PacketFlow]) -> None:
        self._path, self._flows = path, tuple(flows)
        self._link = PacketLink[_Packet](path, [flow.size for flow in flows])
        self._planned: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self._order = count()
        self._packets: list[_Packet] = []
        self._timeouts: list[tuple[float, int]] = []
        services = [path.service(flow.size) for flow in flows]
        self._senders = [
            PacketSender(flow, 2 * path.delay + service, 1 / service if service else math.inf)
            for flow, service in zip(flows, services, strict=True)
        ]
        self._receivers = [_Receiver() for _ in flows]
        self._transmissions: list[dict[int, int]] = [{} for _ in flows]
        self._departures = [0.0] * len(flows)  # earliest next departure of a paced flow
        self._looks = [math.inf] * len(flows)  # next planned look at each timer
        self._columns = [[(0.0, sender.cwnd, 0)] for sender in self._senders]
        self._queue = [(0.0, 0)]
        for number, flow in enumerate(flows):
            self._plan(flow.start, self._send, number)

    def run(self, seconds: float) -> None:
        while self._planned and self._planned[0][0] <= seconds:
            t, _, happen, arguments = heappop(self._planned)
            happen(t, *arguments)
            self._record(t)
            enough = len(self._packets) <= MAX_PACKETS
            require(enough, "seconds", seconds, "less", f"{MAX_PACKETS:,} packets leave before")

    def trace(self, seconds: float) -> PacketTrace:
        queue_t, queue = zip(*self._queue, strict=True)
        return PacketTrace(
            path=self._path,
            flows=self._flows,
            seconds=seconds,
            packets=tuple([packet.event() for packet in self._packets]),
            senders=tuple([SenderColumns(*zip(*column, strict=True)) for column in self._columns]),
            queue_t=queue_t,
            queue=queue,
            timeouts=tuple(self._timeouts),
        )

    def _plan(self, t: float, happen: Callable[..., None], *arguments: object) -> None:
        heappush(self._planned, (t, next(self._order), happen, arguments))

    def _record(self, t: float) -> None:
        for sender, column in zip(self._senders, self._columns, strict=True):
            state = (sender.cwnd, sender.in_flight)
            if state != column[-1][1:]:
                column.append((t, *state))
        if self._link.waiting != self._queue[-1][1]:
            self._queue.append((t, self._link.waiting))

    def _send(self, t: float, flow: int) -> None:
        """Send what the window allows; a paced flow sends one segment and comes back."""
        sender = self._senders[flow]
        while (number := sender.due()) is not None:
            gap = sender.gap(t)
            if gap and t < self._departures[flow]:
                break
            if gap:
                self._departures[flow] = t + gap
                self._plan(t + gap, self._send, flow)
            sender.send(t, number)
            self._depart(t, flow, number)
        self._watch_timer(flow)

    def _depart(self, t: float, flow: int, number: int) -> None:
        transmission = self._transmissions[flow].get(number, 0) + 1
        self._transmissions[flow][number] = transmission
        packet = _Packet(flow, number, transmission, t, self._path.service(self._flows[flow].size))
        self._packets.append(packet)
        if not self._link.join(flow, packet):
            packet.dropped = t
        elif not self._link.busy:
            self._serve(t)

    def _serve(self, t: float) -> None:
        """Send the next packet that waits."""
        packet = self._link.next()
        self._link.busy = packet is not None
        if packet is None:
            return
        packet.left = t
        self._plan(t + packet.service, self._serve)
        flow = self._flows[packet.flow]
        extra = dict(flow.late).get(packet.number, 0.0) if packet.transmission == 1 else 0.0
        travel = packet.service + self._path.delay + extra
        if (packet.number, packet.transmission) in flow.losses or self._path.is_cut(t):
            packet.dropped = t + travel / 2
        else:
            packet.arrived = t + travel
            self._plan(packet.arrived, self._arrive, packet.flow, packet.number)

    def _arrive(self, t: float, flow: int, number: int) -> None:
        receiver = self._receivers[flow]
        in_order = receiver.take(number)
        if self._flows[flow].algorithm == "udp":
            return
        if not in_order or receiver.unanswered >= self._flows[flow].ack_every:
            self._answer(t, flow)
        else:
            self._plan(t + ACK_DELAY, self._answer_late, flow, receiver.expected)

    def _answer_late(self, t: float, flow: int, expected: int) -> None:
        receiver = self._receivers[flow]
        if receiver.unanswered and receiver.expected == expected:
            self._answer(t, flow)

    def _answer(self, t: float, flow: int) -> None:
        receiver = self._receivers[flow]
        ack = _Packet(flow, receiver.expected, 0, t, 0.0, left=t)
        ack.duplicate = receiver.expected == receiver.acknowledged
        if self._flows[flow].sack:
            ack.blocks = tuple(receiver.stored[:SACK_BLOCKS])
        receiver.acknowledged, receiver.unanswered = receiver.expected, 0
        self._packets.append(ack)
        if self._path.is_cut(t):
            ack.dropped = t + self._path.delay / 2
        else:
            ack.arrived = t + self._path.delay
            self._plan(ack.arrived, self._acknowledge, flow, ack.number, ack.blocks)

    def _acknowledge(self, t: float, flow: int, number: int, blocks: tuple[tuple[int, int], ...]) -> None:
        self._senders[flow].on_ack(t, number, blocks)
        self._send(t, flow)

    def _watch_timer(self, flow: int) -> None:
        """Plan a look at the timer; a later end needs no new plan."""
        timer = self._senders[flow].timer
        if timer is not None and timer < self._looks[flow]:
            self._looks[flow] = timer
            self._plan(timer, self._look_at_timer, flow)

    def _look_at_timer(self, t: float, flow: int) -> None:
        self._looks[flow] = math.inf
        sender = self._senders[flow]
        if sender.timer is not None and t >= sender.timer:
            if sender.on_timer(t):
                self._timeouts.append((t, flow))
            self._send(t, flow)
        self._watch_timer(flow)
