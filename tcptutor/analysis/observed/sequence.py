"""Sequence graph of a flow: bytes sent, retransmitted, acknowledged and SACKed over time.

The drawing follows tcptrace and Wireshark (Shepard, TCP Packet Trace Analysis, MIT/LCS/TR-494, 1991). Captured
packets give every segment (RFC 791, RFC 9293, RFC 2018). An ACK trace gives the flow's progress at each incoming
packet: bytes sent between two of them get the time of the second, and SACK blocks are missing.
"""

from __future__ import annotations

import socket
import struct
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

import msgspec

from tcptutor.run import FlowBytes, Run
from tcptutor.run.frames import CapturedPacket
from tcptutor.spec import Experiment
from tcptutor.spec.flow_groups import PLANNED_PORTS, flow_groups

Source = Literal["packets", "acks"]

_IPV4, _TCP = b"\x08\x00", 6

_ETHERNET = 14

_SYN = 0x02

_END, _NOTHING, _SCALE, _SACK = 0, 1, 3, 5

_MOST_SCALE = 14
"""Largest shift of a window (RFC 7323, section 2.3)."""

Connection = tuple[str, int, str, int]
"""A direction of a connection: source address and port, destination address and port."""


class ByteSpan(NamedTuple):
    """Bytes of a flow at an instant."""

    t: float
    """Seconds since the traffic began."""
    first: int
    """Offset of the first byte in the flow's data."""
    last: int
    """Offset after the last byte."""


class SequenceGraph(msgspec.Struct, frozen=True, kw_only=True):
    """Sequence graph of a flow, each part in order of time."""

    flow: int
    source: Source
    """Kind of record behind the graph."""
    sent: tuple[ByteSpan, ...]
    """First transmissions: each captured segment, or with ACKs all bytes sent since the previous packet."""
    retransmitted: tuple[ByteSpan, ...]
    sacked: tuple[ByteSpan, ...]
    """Bytes first reported by each ACK as received beyond a gap; empty for an ACK trace."""
    acked: tuple[tuple[float, int], ...]
    """Steps of (time, highest acknowledged byte)."""
    window_end: tuple[tuple[float, int], ...]
    """Steps of (time, end of the receiver's window); empty for packets without the connection's SYNs, which alone
    show the window scale (RFC 7323, section 2.2)."""

    @property
    def end(self) -> int:
        """Offset after the last byte sent."""
        return max((span.last for span in (*self.sent, *self.retransmitted)), default=0)

    def between(self, start: float, end: float) -> SequenceGraph:
        """Return the part from `start` to `end`, including the last step before `start`."""

        def inside(spans: tuple[ByteSpan, ...]) -> tuple[ByteSpan, ...]:
            return tuple(span for span in spans if start <= span.t <= end)

        def holding(steps: tuple[tuple[float, int], ...]) -> tuple[tuple[float, int], ...]:
            before = [step for step in steps if step[0] < start][-1:]
            return (
                *((start, value) for _, value in before),
                *(one for one in steps if start <= one[0] <= end),
            )

        return msgspec.structs.replace(
            self,
            sent=inside(self.sent),
            retransmitted=inside(self.retransmitted),
            sacked=inside(self.sacked),
            acked=holding(self.acked),
            window_end=holding(self.window_end),
        )


def sequence_of_acks(run: Run, flow: int) -> SequenceGraph | None:
    """Return the graph from the ACK trace of a run with acks=on; None if that flow was not traced."""
    table = run.acks
    columns = zip(*(table.column(name) for name in ("flow", "t", "acked", "sent", "window")), strict=True)
    rows = [row[1:] for row in columns if row[0] == flow and row[2] >= 0]
    if not rows:
        return None
    sent: list[ByteSpan] = []
    reached = 0
    for t, _, until, _ in rows:
        if until > reached:
            sent.append(ByteSpan(t, reached, until))
            reached = until
    # Each row precedes its packet's effect: the next row shows the bytes acknowledged.
    steps = list(zip(rows, [*rows[1:], rows[-1]], strict=True))
    return SequenceGraph(
        flow=flow,
        source="acks",
        sent=tuple(sent),
        retransmitted=tuple(
            ByteSpan(row.t, row.first, row.last) for row in run.retransmissions if row.flow == flow
        ),
        sacked=(),
        acked=tuple((now[0], after[1]) for now, after in steps),
        window_end=tuple((now[0], after[1] + after[3]) for now, after in steps),
    )


def sequence_of_packets(
    run: Run, flow: int, packets: Iterable[tuple[float, str, CapturedPacket]]
) -> SequenceGraph | None:
    """Return the graph from packets captured at the sender's interface; None without such a capture."""
    if flow >= run.experiment.total_streams:
        return None
    interface = sender_interface(run.experiment, flow)
    captured = segments_by_interface(packets, {interface}).get(interface, [])
    connection = connection_of(run.experiment, flow, captured)
    if connection is None:
        return None
    return _of_segments(flow, connection, captured)


class _Known:
    """SACKed bytes as disjoint spans in order."""

    def __init__(self) -> None:
        self._spans: list[tuple[int, int]] = []

    def add(self, span: ByteSpan) -> list[ByteSpan]:
        """Add `span` and return its new parts."""
        new, at = list[ByteSpan](), span.first
        spans, first, last = [], span.first, span.last
        for left, right in self._spans:
            if right < span.first or left > span.last:
                spans.append((left, right))
                continue
            if left > at:
                new.append(ByteSpan(span.t, at, left))
            at = max(at, right)
            first, last = min(first, left), max(last, right)
        if at < span.last:
            new.append(ByteSpan(span.t, at, span.last))
        self._spans = sorted([*spans, (first, last)])
        return new


def _of_segments(
    flow: int, connection: tuple[str, int, str, int], captured: list[TcpSegment]
) -> SequenceGraph:
    source, port, target, other = connection
    reverse_connection = (target, other, source, port)
    begin = first_byte(connection, captured)
    ours, theirs = FlowBytes(begin), FlowBytes(begin)
    scale = _window_scale(connection, reverse_connection, captured)
    sent: list[ByteSpan] = []
    resent: list[ByteSpan] = []
    sacked: list[ByteSpan] = []
    acked: list[tuple[float, int]] = []
    window_end: list[tuple[float, int]] = []
    reached, known = 0, _Known()
    for each in captured:
        if each.way == connection and each.payload:
            first = ours.at(each.number)
            span = ByteSpan(each.t, first, first + each.payload)
            (sent if span.last > reached else resent).append(span)
            reached = max(reached, span.last)
        elif each.way == reverse_connection and not each.syn:
            until = theirs.at(each.acknowledges)
            if until >= 0 and (not acked or until > acked[-1][1]):
                acked.append((each.t, until))
            if scale is not None and until == (acked[-1][1] if acked else 0):
                end = until + (each.window << scale)
                if not window_end or end != window_end[-1][1]:
                    window_end.append((each.t, end))
            for left, right in each.sacked:
                span = ByteSpan(each.t, theirs.at(left), theirs.at(right))
                # A block below the acknowledged byte reports a duplicate (RFC 2883).
                if span.first >= until:
                    sacked += known.add(span)
    return SequenceGraph(
        flow=flow,
        source="packets",
        sent=tuple(sent),
        retransmitted=tuple(resent),
        sacked=tuple(sacked),
        acked=tuple(acked),
        window_end=tuple(window_end),
    )


def first_byte(connection: Connection, captured: Sequence[TcpSegment]) -> int:
    """Return the sequence number of a connection's first byte, or of its first captured one."""
    own = [each for each in captured if each.way == connection]
    return next((each.number + 1 for each in own if each.syn), own[0].number)


def _window_scale(
    connection: Connection, reverse_connection: Connection, captured: Sequence[TcpSegment]
) -> int | None:
    """Return the shift of the receiver's windows; None if a SYN is missing.

    Windows are scaled only if both SYNs have the option (RFC 7323, section 2.2).
    """
    scales: dict[Connection, int | None] = {each.way: each.scale for each in captured if each.syn}
    if not {connection, reverse_connection} <= scales.keys():
        return None
    theirs = scales[reverse_connection]
    return 0 if theirs is None or scales[connection] is None else min(theirs, _MOST_SCALE)


class TcpSegment(NamedTuple):
    """TCP segment as captured."""

    t: float
    """Seconds since the traffic began."""
    way: Connection
    number: int
    """Sequence number of the first byte."""
    payload: int
    """Payload bytes; a SYN counts as none."""
    acknowledges: int
    syn: bool
    window: int
    """Window field of the header, unscaled."""
    sacked: tuple[tuple[int, int], ...]
    """SACK blocks of the options, the latest first."""
    scale: int | None
    """Window scale of a SYN's options; None without the option."""


def segment(t: float, packet: CapturedPacket) -> TcpSegment | None:
    """Return the segment in `packet`; None without a complete TCP header over IPv4."""
    frame = packet.data
    if len(frame) < _ETHERNET + 40 or frame[12:14] != _IPV4 or frame[23] != _TCP:
        return None
    header = 4 * (frame[_ETHERNET] & 15)
    at = _ETHERNET + header
    if len(frame) < at + 20:
        return None
    total = struct.unpack_from(">H", frame, _ETHERNET + 2)[0]
    source, target, number, acknowledges, offset, flags, window = struct.unpack_from(">HHIIBBH", frame, at)
    ends = at + 4 * (offset >> 4)
    payload = total - header - 4 * (offset >> 4)
    way = (socket.inet_ntoa(frame[26:30]), source, socket.inet_ntoa(frame[30:34]), target)
    is_syn = bool(flags & _SYN)
    sacked: tuple[tuple[int, int], ...] = ()
    scale = None
    for kind, value in _options(frame[at + 20 : ends]):
        if kind == _SACK:
            sacked = tuple(struct.iter_unpack(">II", value[: len(value) // 8 * 8]))
        elif kind == _SCALE and is_syn and value:
            scale = value[0]
    return TcpSegment(t, way, number, max(0, payload), acknowledges, is_syn, window, sacked, scale)


def _options(options: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield kind and value of each TCP option, without padding (RFC 9293, section 3.1)."""
    at = 0
    while at < len(options) and options[at] != _END:
        if options[at] == _NOTHING:
            at += 1
            continue
        if at + 1 >= len(options) or options[at + 1] < 2:
            return
        length = options[at + 1]
        yield options[at], options[at + 2 : at + length]
        at += length


def sender_interface(experiment: Experiment, flow: int) -> str:
    """Return the interface that the data of flow number `flow` passes first."""
    return f"h{2 * experiment.pair_of(flow) + 1 + experiment.reversed(flow)}-eth0"


def connection_of(experiment: Experiment, flow: int, segments: Sequence[TcpSegment]) -> Connection | None:
    """Return the connection of flow number `flow` among segments at its sender's interface; None if missing.

    A planned flow's port follows its group. iperf3 numbers the ports of a pair's flows in order, and its control
    connection carries almost no payload.
    """
    pair, backward = experiment.pair_of(flow), experiment.reversed(flow)
    same_direction = [
        one
        for one in range(experiment.total_streams)
        if (experiment.pair_of(one), experiment.reversed(one)) == (pair, backward)
    ]
    host = sender_interface(experiment, flow).removesuffix("-eth0")
    address = f"10.0.0.{host[1:]}"
    sent: Counter[Connection] = Counter()
    for each in segments:
        if each.way[0] == address:
            sent[each.way] += each.payload
    busiest = [way for way, payload in sent.most_common(len(same_direction)) if payload]
    if len(busiest) < len(same_direction):
        return None
    if all(way[1] in PLANNED_PORTS for way in busiest):
        by_port = [
            one for group in flow_groups(experiment).values() for one in group if one in same_direction
        ]
        return sorted(busiest, key=lambda way: way[1])[by_port.index(flow)]
    # Sort by the client's port: the sender's own, or the destination of a reversed flow.
    return sorted(busiest, key=lambda way: way[3] if experiment.reversed(flow) else way[1])[
        same_direction.index(flow)
    ]


def segments_by_interface(
    packets: Iterable[tuple[float, str, CapturedPacket]], interfaces: Collection[str]
) -> dict[str, list[TcpSegment]]:
    """Return the segments that passed each of some interfaces, in order of time."""
    found: dict[str, list[TcpSegment]] = {}
    for t, name, packet in packets:
        if name in interfaces and (captured := segment(t, packet)) is not None:
            found.setdefault(name, []).append(captured)
    return found
