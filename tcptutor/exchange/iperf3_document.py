"""A test of iperf3 in its JSON format, and which of its streams the file's writer sent."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property

import msgspec

from tcptutor.wire.iperf3_json import EndOfTest, StreamInterval, StreamRow

MOST = 512
"""Largest number of tests in a file, and of streams in a test; iperf3 allows 128 streams."""


class Connected(msgspec.Struct, frozen=True):
    socket: int
    local_port: int = 0
    remote_port: int = 0


class Test(msgspec.Struct, frozen=True):
    protocol: str = "TCP"
    duration: float = 0.0
    reverse: int = 0
    target_bitrate: float = 0.0
    fqrate: float = 0.0
    bytes: float = 0.0
    blocks: float = 0.0

    @property
    def seconds(self) -> float:
        """Return the requested duration; 0 for a test with an amount, where old versions write their default."""
        return 0.0 if self.bytes or self.blocks else self.duration

    @property
    def pacing(self) -> float | None:
        """Return the bound that `-b` or `--fq-rate` sets on each stream, bit/s; None without either."""
        return min((rate for rate in (self.target_bitrate, self.fqrate) if rate > 0), default=None)


class Peer(msgspec.Struct, frozen=True):
    host: str = ""


class Time(msgspec.Struct, frozen=True):
    timesecs: float = 0.0


class TestStart(msgspec.Struct, frozen=True):
    connected: list[Connected] = []
    version: str = "iperf3"
    system_info: str = ""
    timestamp: Time = Time()
    connecting_to: Peer | None = None
    accepted_connection: Peer | None = None
    tcp_mss: int = 0
    tcp_mss_default: int = 0
    test_start: Test = Test()


class End(EndOfTest, frozen=True):
    """Totals of a test, with the receivers' sum of all streams."""

    sum_received: StreamRow | None = None


class Document(msgspec.Struct, frozen=True, dict=True):
    """A test, as written by its client or its server."""

    start: TestStart = TestStart()
    intervals: list[StreamInterval] = []
    end: End = End()
    title: str | None = None
    error: str = ""
    server_output_json: Document | None = None
    only_sums: bool = False
    """True if a program removed the streams (see `iperf3_variants`)."""

    @property
    def at_server(self) -> bool:
        return self.start.accepted_connection is not None

    @property
    def has_ended(self) -> bool:
        """Return whether the test finished, so that both ends have exchanged their counts."""
        return bool(self.end.streams) and not self.error

    def sends(self, row: StreamRow) -> bool:
        """Return whether the end that wrote this file sends the stream."""
        return (self.start.test_start.reverse == 1) == self.at_server if row.sender is None else row.sender

    def rows(self, socket: int) -> list[StreamRow]:
        """Return the intervals of a stream; intervals without its bytes are left out."""
        return self._by_socket.get(socket, [])

    @cached_property
    def sockets(self) -> list[int]:
        """Return the socket of each stream in the order of connection. Raises ValueError for too many."""
        measured = (row.socket for interval in self.intervals for row in interval.streams)
        totals = (row.socket for each in self.end.streams if (row := each.udp or each.sender))
        found = dict.fromkeys([*(each.socket for each in self.start.connected), *measured, *totals])
        if len(found) > MOST:
            raise ValueError(f"{len(found)} streams, the limit is {MOST}")
        return list(found)

    @cached_property
    def unread(self) -> int:
        """Return the number of interval rows without bytes."""
        rows = (row for interval in self.intervals for row in interval.streams)
        return sum(row.bytes is None and row.bits_per_second is None for row in rows)

    def rows_of_peer(self, socket: int) -> list[StreamRow]:
        """Return the server's rows of our stream, matched by ports, if its output is in the file."""
        server = self.server_output_json
        if server is None:
            return []
        port = next((each.local_port for each in self.start.connected if each.socket == socket), None)
        socket_of_peer = next(
            (each.socket for each in server.start.connected if each.remote_port == port), None
        )
        return server.rows(socket_of_peer) if socket_of_peer is not None else []

    @cached_property
    def _by_socket(self) -> dict[int, list[StreamRow]]:
        found: dict[int, list[StreamRow]] = {}
        for interval in self.intervals:
            for row in interval.streams:
                stream_rows = found.setdefault(row.socket, [])
                if row.bytes is not None:
                    # An interrupted test repeats its last interval at the end.
                    stream_rows += [row] if row not in stream_rows[-1:] else []
                elif row.bits_per_second is not None:
                    stream_rows.append(
                        msgspec.structs.replace(row, bytes=row.bits_per_second * row.seconds / 8)
                    )
        return {socket: rows for socket, rows in found.items() if rows}


def rate_of(rows: Iterable[StreamRow]) -> float | None:
    """Return the mean rate over the intervals that are not omitted, bit/s; None without any."""
    counted = [row for row in rows if not row.omitted]
    seconds = math.fsum(row.seconds for row in counted)
    return 8 * math.fsum(row.bytes or 0.0 for row in counted) / seconds if seconds > 0 else None
