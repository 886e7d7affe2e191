"""One test of iperf3 as its JSON has it, and which of its streams its writer sent."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property

import msgspec

from tcptutor.wire.iperf3_json import EndOfTest, StreamInterval, StreamRow

MOST = 512
"""Tests in a file, and streams of a test, that are read; iperf3 has 128 streams at most."""


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
        """As asked for; 0 of a test with an amount to send, where old versions write their default."""
        return 0.0 if self.bytes or self.blocks else self.duration

    @property
    def pacing(self) -> float | None:
        """Bound that `-b` or `--fq-rate` sets on each stream, bit/s; None where the file has neither."""
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
    """Also the sum of all streams, by their receiver."""

    sum_received: StreamRow | None = None


class Document(msgspec.Struct, frozen=True, dict=True):
    """One test, as one of its two ends wrote it."""

    start: TestStart = TestStart()
    intervals: list[StreamInterval] = []
    end: End = End()
    title: str | None = None
    error: str = ""
    server_output_json: Document | None = None
    only_sums: bool = False
    """Whether somebody left out the streams (see `iperf3_sums`)."""

    @property
    def at_server(self) -> bool:
        return self.start.accepted_connection is not None

    @property
    def has_ended(self) -> bool:
        """Whether the test came to its end, so that both ends have told each other what they counted."""
        return bool(self.end.streams) and not self.error

    def sends(self, row: StreamRow) -> bool:
        """Whether who wrote this file sends that stream."""
        return (self.start.test_start.reverse == 1) == self.at_server if row.sender is None else row.sender

    def rows(self, socket: int) -> list[StreamRow]:
        """The intervals of one stream, without those that do not tell its bytes."""
        return self._by_socket.get(socket, [])

    @cached_property
    def sockets(self) -> list[int]:
        """Of each stream, in the order in which they were connected. Raises ValueError for too many."""
        seen = (row.socket for interval in self.intervals for row in interval.streams)
        ended = (row.socket for each in self.end.streams if (row := each.udp or each.sender))
        found = dict.fromkeys([*(each.socket for each in self.start.connected), *seen, *ended])
        if len(found) > MOST:
            raise ValueError(f"{len(found)} streams, we read {MOST} at most")
        return list(found)

    @cached_property
    def unread(self) -> int:
        """Rows of intervals that do not tell their bytes."""
        rows = (row for interval in self.intervals for row in interval.streams)
        return sum(row.bytes is None and row.bits_per_second is None for row in rows)

    def rows_of_peer(self, socket: int) -> list[StreamRow]:
        """The server's rows of our stream, where its output is here as well: the other end of the same two ports."""
        server = self.server_output_json
        if server is None:
            return []
        port = next((each.local_port for each in self.start.connected if each.socket == socket), None)
        theirs = next((each.socket for each in server.start.connected if each.remote_port == port), None)
        return server.rows(theirs) if theirs is not None else []

    @cached_property
    def _by_socket(self) -> dict[int, list[StreamRow]]:
        found: dict[int, list[StreamRow]] = {}
        for interval in self.intervals:
            for row in interval.streams:
                mine = found.setdefault(row.socket, [])
                if row.bytes is not None:
                    # A test that is interrupted ends with its last interval once more.
                    mine += [row] if row not in mine[-1:] else []
                elif row.bits_per_second is not None:
                    mine.append(msgspec.structs.replace(row, bytes=row.bits_per_second * row.seconds / 8))
        return {socket: rows for socket, rows in found.items() if rows}


def rate_of(rows: Iterable[StreamRow]) -> float | None:
    """Return the mean rate over those intervals that are not omitted, bit/s; None without any."""
    counted = [row for row in rows if not row.omitted]
    seconds = math.fsum(row.seconds for row in counted)
    return 8 * math.fsum(row.bytes or 0.0 for row in counted) / seconds if seconds > 0 else None
