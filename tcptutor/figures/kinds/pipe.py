"""Path as a pipe, seen from the side: a queue, the link with segments in flight, and ACKs that come back below.

[[figure]]
id = "more-than-fits"
kind = "pipe"
watch = "12 s"                     # optional: time to watch it
rest = "200 ms"                    # optional: instant at which it stands still; by default the end
sliding_window = true              # optional: the sender's segments by number, and its window around some of them

[figure.simulate]                  # its keys: see the ladder
duration = "200 ms"
rtt = "40 ms"
rate = "20 Mbit/s"

[[figure.row]]                     # optional: several paths, one above the other, each with the keys that differ
label = "4 BDP"
set = { window = "4 BDP" }
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import lru_cache, reduce

import msgspec

from tcptutor.base import sizes, units
from tcptutor.base.errors import UnitError
from tcptutor.figures import sliding_window
from tcptutor.figures.figure import MIN_WIDTH, Figure, Motion, Problem
from tcptutor.figures.lines import DATA, LIMIT, MUTED, QUEUE, Line, Piece
from tcptutor.figures.pipe_drawing import (
    FLOW_STYLES,
    HALF_FULL,
    PacketKind,
    PipePacket,
    PipeState,
    draw_pipe,
    scale_of,
)
from tcptutor.figures.pipe_words import describe_pipe
from tcptutor.figures.simulated import MOST_PACKETS, SimulationTable
from tcptutor.theory.packet_sender import bbr_gain
from tcptutor.theory.packet_simulation import PacketEvent, PacketTrace

_MOST_STOPS = 60
_WATCH = 12.0
_SHOWN = 1 / 40
"""Share of the motion for which a drop stays visible where it happened."""


class PipeRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Path of a figure with several: `[[figure.row]]`, from the top."""

    label: str = ""
    """Title next to it."""
    set: SimulationTable | None = None
    """Keys that replace keys of `[figure.simulate]`."""


class PipeFigure(Figure, frozen=True, kw_only=True, tag_field="kind", tag="pipe"):
    """Simulated packets on one or more paths, all at the same instant."""

    simulate: SimulationTable
    """The simulation."""
    rows: tuple[PipeRow, ...] = msgspec.field(name="row", default=(PipeRow(),))
    senders: tuple[str, ...] = ("h1",)
    """Name of each queue."""
    receiver: str = "h2"
    """Name of the receiver."""
    numbers: bool = True
    """Whether numbers of packets are written above each path."""
    parts: tuple[str, ...] = ()
    """Names of queue, bottleneck and link, to write above a single path in place of its numbers."""
    show_queue: bool = True
    """Whether the queue is drawn; without it, waiting packets stay with the sender."""
    one_sign: bool = False
    """Whether segments of all flows look alike; signs for each cost a terminal more."""
    sliding_window: bool = False
    """Whether a row above a single path has the sender's segments and its window."""
    rest: str = ""
    """Instant that is shown at rest; by default the end."""
    watch: str = ""
    """Time that the animation takes."""

    def contradiction(self) -> Problem | None:
        for number, row in enumerate(self.rows, start=1):
            if problem := self.simulate.override(row.set).problem():
                key, reason = problem
                place = f"row[{number}].set" if row.set else "simulate"
                return f"{place}.{key}".rstrip("."), reason
        tables = [self.simulate.override(row.set) for row in self.rows]
        if len({table.duration for table in tables}) > 1:
            return "row", "all rows need the same duration"
        queues = {len(table.flows or ("",)) if table.schedule == "round-robin" else 1 for table in tables}
        if queues != {len(self.senders)}:
            return "senders", "give a name for each queue"
        if self.parts and (len(self.parts) != 3 or len(self.rows) > 1):
            return "parts", "give three names, of queue, bottleneck and link, for a single path"
        if self.sliding_window and (len(self.rows) > 1 or tables[0].flows or tables[0].window is None):
            return "sliding_window", "needs a single path with a single flow, and its window"
        return self._wrong_times(tables[0].seconds())

    def _wrong_times(self, seconds: float) -> Problem | None:
        try:
            rest = units.parse(self.rest, "time") if self.rest else 0.0
            units.parse(self.watch, "time") if self.watch else 0.0
        except UnitError as error:
            return "rest", str(error)
        return ("rest", "is after the end") if rest > seconds else None

    def problems(self) -> Iterator[Problem]:
        if max(len(trace.packets) for trace in self.traces) > MOST_PACKETS:
            yield (
                "simulate.duration",
                f"more than {MOST_PACKETS} packets: take a shorter time or a slower path",
            )
        if self.sliding_window and not sliding_window.fits(self.traces[0], MIN_WIDTH):
            yield "sliding_window", f"has too many segments for {MIN_WIDTH} columns: take a shorter time"

    @property
    def motion(self) -> Motion:
        seconds = self.simulate.override(self.rows[0].set).seconds()
        rest = units.parse(self.rest, "time") if self.rest else seconds
        return Motion(
            seconds, _stops(self.traces), rest, units.parse(self.watch, "time") if self.watch else _WATCH
        )

    @property
    def traces(self) -> tuple[PacketTrace, ...]:
        return tuple(self.simulate.override(row.set).trace() for row in self.rows)

    def draw(self, width: int, t: float = 0.0) -> list[Line]:
        states = [view.state(t) for view in _views(self)]
        lines = [sliding_window.draw_window(self.traces[0], t, width)] if self.sliding_window else []
        for state in states:
            if lines and (not state.shows_drops or self.sliding_window):
                lines.append(Line())
            lines += draw_pipe(state, width)
        packets = scale_of(states[0], width).packets_per_cell
        return (
            [*lines, Line.of((f"■ = {packets} segments   {HALF_FULL} = fewer", MUTED))]
            if packets > 1
            else lines
        )

    def describe(self) -> str:
        rest = self.motion.rest
        words = [describe_pipe(view.state(rest), view.trace, rest) for view in _views(self)]
        if self.sliding_window:
            words.append(sliding_window.in_words(self.traces[0], rest))
        return " ".join(words)


KIND = PipeFigure


class _View:
    """Row of the figure: its simulation, and the constants of all its drawings."""

    def __init__(
        self, figure: PipeFigure, label: str, trace: PacketTrace, longest: float, drops: bool
    ) -> None:
        self.label, self.trace = label, trace
        self._figure, self._longest, self._shows_drops = figure, longest, drops
        unit = reduce(math.gcd, [round(flow.size) for flow in trace.flows])
        self._lengths = [flow.size / unit for flow in trace.flows]
        service = trace.path.service(unit)
        self._capacity = trace.path.delay / service if service else math.inf
        self._visible = _SHOWN * trace.seconds
        self._flows = len(trace.flows) if len(trace.flows) <= len(FLOW_STYLES) and not figure.one_sign else 1
        self._sent = [packet.sent for packet in trace.packets]
        self._longest_life = max(
            packet.end - packet.sent for packet in trace.packets if packet.end < math.inf
        )
        self._deaths = sorted(packet.dropped for packet in trace.packets if packet.dropped is not None)

    def state(self, t: float) -> PipeState:
        link: list[PipePacket] = []
        acks: list[PipePacket] = []
        waiting: list[PacketEvent] = []
        is_dropping = False
        for packet in self._alive(t):
            died = packet.dropped is not None and packet.dropped <= t
            if packet.left is None and died:
                is_dropping = True
            elif packet.left is None or packet.left > t:
                waiting.append(packet)
            else:
                (acks if packet.kind == "ack" else link).append(self._placed(packet, t, died))
        queues = self._queues(waiting)
        return PipeState(
            segments=tuple(link),
            queues=queues,
            acks=tuple(acks),
            capacity=self._capacity,
            longest=self._longest,
            room=self.trace.path.queue,
            dropped=bisect_right(self._deaths, t),
            is_dropping=is_dropping,
            shows_drops=self._shows_drops,
            flows=self._flows,
            label=self.label,
            numbers=self._numbers(t, len(waiting)),
            parts=self._figure.parts,
            senders=self._figure.senders,
            receiver=self._figure.receiver,
        )

    def _alive(self, t: float) -> Iterator[PacketEvent]:
        """Yield the packets under way at `t`, and packets that died shortly before."""
        start = bisect_left(self._sent, t - self._longest_life - self._visible)
        for packet in self.trace.packets[start : bisect_right(self._sent, t)]:
            if packet.end > t or (packet.dropped is not None and packet.dropped + self._visible > t):
                yield packet

    def _placed(self, packet: PacketEvent, t: float, died: bool) -> PipePacket:
        assert packet.left is not None
        kind: PacketKind
        if packet.kind == "ack":
            kind = "lost" if died else "duplicate" if packet.duplicate else "ack"
        else:
            kind = "lost" if died else "retransmission" if packet.transmission > 1 else "segment"
        # Its front arrives before its last bit; a late segment is slow.
        travel = (
            self.trace.path.delay if packet.arrived is None else packet.arrived - packet.left - packet.service
        )
        way = (packet.end if died else t) - packet.left
        return PipePacket(kind, way / travel, self._lengths[packet.flow], packet.flow % self._flows)

    def _queues(self, waiting: list[PacketEvent]) -> tuple[tuple[PipePacket, ...], ...]:
        order = sorted(waiting, key=lambda packet: (packet.left or math.inf, packet.sent))
        queues: list[list[PipePacket]] = [[] for _ in self._figure.senders]
        for packet in order:
            kind: PacketKind = "retransmission" if packet.transmission > 1 else "segment"
            queues[packet.flow if len(queues) > 1 else 0].append(
                PipePacket(kind, 0.0, self._lengths[packet.flow], packet.flow % self._flows)
            )
        return tuple(tuple(queue) for queue in queues)

    def _numbers(self, t: float, waiting: int) -> tuple[Piece, ...]:
        trace = self.trace
        if not self._figure.numbers:
            return ()
        if trace.path.schedule == "round-robin":
            return self._sent_bytes(t)
        pieces: list[Piece] = []
        if self._longest:
            room = trace.path.queue
            pieces.append((f"queue {waiting}" + (f" of {room:.0f}" if room < math.inf else ""), QUEUE))
        first = trace.flows[0]
        if first.algorithm == "reno" and len(trace.flows) == 1:
            pieces.append((f"cwnd {trace.senders[0].cwnd_at(t):.0f}", LIMIT))
        elif first.algorithm == "bbr":
            rtt = 2 * trace.path.delay + trace.path.service(first.size)
            pieces.append((f"pace × {bbr_gain(t - first.start, rtt):g}", LIMIT))
        if all(flow.algorithm == "udp" for flow in trace.flows):
            return tuple(pieces)
        in_flight = sum(sender.in_flight_at(t) for sender in trace.senders)
        return *pieces, (f"in flight {in_flight}", DATA)

    def _sent_bytes(self, t: float) -> tuple[Piece, ...]:
        """Return how much of each flow the link has begun to send."""
        sent = [0.0] * len(self.trace.flows)
        for packet in self.trace.packets:
            if packet.kind == "segment" and packet.left is not None and packet.left <= t:
                sent[packet.flow] += self.trace.flows[packet.flow].size
        return tuple(
            (f"{name} sent {sizes.decimal(amount)}", FLOW_STYLES[flow % len(FLOW_STYLES)])
            for flow, (name, amount) in enumerate(zip(self._figure.senders, sent, strict=True))
        )


@lru_cache(maxsize=32)
def _views(figure: PipeFigure) -> tuple[_View, ...]:
    traces = figure.traces
    longest = max(_longest(trace) for trace in traces) if figure.show_queue else 0.0
    drops = any(packet.dropped is not None for trace in traces for packet in trace.packets)
    return tuple(
        _View(figure, row.label, trace, longest, drops)
        for row, trace in zip(figure.rows, traces, strict=True)
    )


def _longest(trace: PacketTrace) -> float:
    """Return the places to draw in front of the link: all of a short queue, or as many as are ever used."""
    used = max(trace.queue)
    separate = trace.path.schedule == "round-robin"
    if separate:
        used = math.ceil(used / len(trace.flows))
    return trace.path.queue if trace.path.queue <= 2 * used else used


def _stops(traces: tuple[PacketTrace, ...]) -> tuple[float, ...]:
    """Return departures and arrivals, or if they are too many, round trips, first drops and timeouts."""
    seconds = traces[0].seconds
    packets = [packet for trace in traces for packet in trace.packets]
    instants = {t for packet in packets for t in (packet.sent, packet.end)}
    if len(instants) > _MOST_STOPS:
        rtt = 2 * traces[0].path.delay
        instants = {number * rtt for number in range(int(seconds / rtt) + 1)}
        for trace in traces:
            instants.update(t for t, _ in trace.timeouts)
            instants.update([packet.end for packet in trace.packets if packet.dropped is not None][:1])
            instants.update([packet.sent for packet in trace.packets if packet.transmission > 1][:1])
    return tuple(sorted({round(t, 9) for t in instants if t <= seconds}))
