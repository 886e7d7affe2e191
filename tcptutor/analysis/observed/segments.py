"""TCP segments in captured Ethernet frames (RFC 791, RFC 9293, RFC 2018), and their flow numbers."""

from __future__ import annotations

import socket
import struct
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from tcptutor.run.frames import CapturedPacket
from tcptutor.spec import Experiment

_IPV4, _TCP = b"\x08\x00", 6
_ETHERNET = 14
_SYN = 0x02
_END, _NOTHING, _SACK = 0, 1, 5

Connection = tuple[str, int, str, int]
"""A direction of a connection: source address and port, destination address and port."""


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
    sacked = tuple(_sacked(frame[at + 20 : ends]))
    return TcpSegment(t, way, number, max(0, payload), acknowledges, bool(flags & _SYN), window, sacked)


def _sacked(options: bytes) -> Iterator[tuple[int, int]]:
    at = 0
    while at < len(options) and options[at] != _END:
        if options[at] == _NOTHING:
            at += 1
            continue
        if at + 1 >= len(options) or options[at + 1] < 2:
            return
        length = options[at + 1]
        if options[at] == _SACK:
            for begin in range(at + 2, min(at + length, len(options)) - 7, 8):
                yield struct.unpack_from(">II", options, begin)
        at += length


def sender_interface(experiment: Experiment, flow: int) -> str:
    """Return the interface that the data of flow number `flow` passes first."""
    pair = flow // max(1, experiment.flows.streams)
    return f"h{2 * pair + 1 + experiment.reversed(flow)}-eth0"


def way_of(experiment: Experiment, flow: int, segments: Sequence[TcpSegment]) -> Connection | None:
    """Return the connection of flow number `flow` among segments at its sender's interface; None if missing.

    iperf3 numbers the ports of a pair's flows in order. Its control connection carries almost no payload.
    """
    streams = experiment.flows.streams
    first = flow // streams * streams
    same_direction = [
        one for one in range(first, first + streams) if experiment.reversed(one) == experiment.reversed(flow)
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
    # Sort by the client's port: the sender's own, or the destination of a reversed flow.
    return sorted(busiest, key=lambda way: way[3] if experiment.reversed(flow) else way[1])[
        same_direction.index(flow)
    ]


def segments(packets: Iterable[tuple[float, str, CapturedPacket]], interface: str) -> list[TcpSegment]:
    """Return the segments that passed `interface` in order of time."""
    return [
        found
        for t, name, packet in packets
        if name == interface and (found := segment(t, packet)) is not None
    ]
