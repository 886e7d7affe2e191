"""RTT of single segments, from the packets that were captured at their sender."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tcptutor.analysis.observed.sequence import (
    Connection,
    TcpSegment,
    connection_of,
    first_byte,
    segments_by_interface,
    sender_interface,
)
from tcptutor.run import FlowBytes, Run
from tcptutor.run.frames import CapturedPacket


class SegmentRtt(NamedTuple):
    """RTT of a data segment."""

    flow: int
    t: float
    """Time at which it was sent, s since the traffic began."""
    rtt: float
    """s"""


def rtts_of_packets(run: Run, packets: Iterable[tuple[float, str, CapturedPacket]]) -> list[SegmentRtt]:
    """Return the RTT of each data segment that was sent once, from its first ACK or SACK.

    A retransmitted segment has no RTT: its ACK may answer either copy (Karn and Partridge, SIGCOMM 1987). An RTT
    includes the time by which the receiver delays its ACK. Flows without a capture at their sender are left out.
    """
    experiment = run.experiment
    names = {flow: sender_interface(experiment, flow) for flow in range(experiment.total_streams)}
    captured = segments_by_interface(packets, set(names.values()))
    found: list[SegmentRtt] = []
    for interface, segments in captured.items():
        connections: dict[Connection, int] = {}
        for flow, name in names.items():
            connection = connection_of(experiment, flow, segments) if name == interface else None
            if connection is not None:
                connections[connection] = flow
        found += _rtts(connections, segments)
    return sorted(found)


def _rtts(connections: Mapping[Connection, int], segments: Sequence[TcpSegment]) -> Iterator[SegmentRtt]:
    outstanding = {
        connection: _OutstandingSegments(flow, connection, segments)
        for connection, flow in connections.items()
    }
    returning = {(way[2], way[3], way[0], way[1]): sent for way, sent in outstanding.items()}
    for each in segments:
        if each.payload and (sent := outstanding.get(each.way)):
            sent.send(each)
        elif not each.syn and (sent := returning.get(each.way)):
            yield from sent.acknowledge(each)


class _OutstandingSegments:
    """Segments of a flow under way that were sent once."""

    def __init__(self, flow: int, connection: Connection, segments: Sequence[TcpSegment]) -> None:
        begin = first_byte(connection, segments)
        self._flow = flow
        self._sent, self._acked = FlowBytes(begin), FlowBytes(begin)
        self._firsts: list[int] = []
        """First byte of each, in order."""
        self._times: list[float] = []
        """Time at which each was sent."""
        self._reached = 0

    def send(self, segment: TcpSegment) -> None:
        first = self._sent.at(segment.number)
        last = first + segment.payload
        if first >= self._reached:
            self._firsts.append(first)
            self._times.append(segment.t)
        else:
            self._take(first, last)
        self._reached = max(self._reached, last)

    def acknowledge(self, segment: TcpSegment) -> Iterator[SegmentRtt]:
        """Yield the RTT of each segment that this ACK is the first to report as received."""
        until = self._acked.at(segment.acknowledges)
        sacked = [
            (self._acked.at(left, False), self._acked.at(right, False)) for left, right in segment.sacked
        ]
        for first, last in [(0, until), *((left, right) for left, right in sacked if left >= until)]:
            for t in self._take(first, last):
                yield SegmentRtt(self._flow, t, segment.t - t)

    def _take(self, first: int, last: int) -> list[float]:
        """Remove the segments that begin between two bytes, and return their times."""
        found = slice(bisect_left(self._firsts, first), bisect_left(self._firsts, last))
        times = self._times[found]
        del self._firsts[found], self._times[found]
        return times
