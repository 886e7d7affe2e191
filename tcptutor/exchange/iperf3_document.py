"""iperf3's document of a test, which of its streams the file's writer sent, and results that are converted to it.

perfSONAR's pScheduler stores throughput results of iperf3, iperf and nuttcp (github.com/perfsonar/pscheduler):
`intervals` and `summary`, each with `streams` and their `summary`. Rows have throughput-bytes and
throughput-bits, start and end in seconds, and if the tool reports them retransmits, tcp-window-size (bytes) and
rtt (µs); for UDP sent, lost and jitter (ms).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from typing import Any

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
    """True if a program removed the streams (see `with_streams`)."""

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


_PERFSONAR_NAMES = {
    "stream-id": "socket",
    "start": "start",
    "end": "end",
    "throughput-bytes": "bytes",
    "throughput-bits": "bits_per_second",
    "retransmits": "retransmits",
    "tcp-window-size": "snd_cwnd",
    "rtt": "rtt",
    "omitted": "omitted",
    "jitter": "jitter_ms",
    "lost": "lost_packets",
    "sent": "packets",
}


def find_perfsonar_result(result: dict[str, Any]) -> dict[str, Any] | None:
    """Return the throughput result in a JSON object, also as pScheduler's API nests it; None if it has none."""
    for each in (result, result.get("result-merged"), result.get("result")):
        summary = each.get("summary") if isinstance(each, dict) else None
        inner = summary.get("summary") if isinstance(summary, dict) else None
        if isinstance(inner, dict) and inner.keys() & {"throughput-bits", "throughput-bytes"}:
            return each
    return None


def perfsonar_to_iperf3(result: dict[str, Any]) -> dict[str, Any]:
    """Convert the result into iperf3's document at the sender."""
    listed = result.get("intervals")
    parts = [part for part in listed if isinstance(part, dict)] if isinstance(listed, list) else []
    summary = result["summary"]
    total = _rows(summary) or [_row(summary["summary"])]
    udp = any("lost_packets" in row or "packets" in row for row in total)
    last = max((row.get("end") or 0 for row in total), default=0)
    start = {"version": "perfSONAR", "test_start": {"protocol": "UDP" if udp else "TCP", "duration": last}}
    ended = [{"udp": row} if udp else {"sender": row} for row in total]
    if not udp and len(total) == 1 and (received := _received(summary["summary"], total[0])):
        ended[0]["receiver"] = received
    document = {"start": start, "intervals": [{"streams": _rows(part)} for part in parts]}
    return document | ({"end": {"streams": ended}} if result.get("succeeded", True) else {})


def _received(summary: dict[str, Any], row: dict[str, Any]) -> dict[str, Any] | None:
    """Return the receiver's count for the only stream; newer versions report it as a sum of all streams."""
    rate, seconds = summary.get("receiver-throughput-bits"), row.get("seconds")
    if not isinstance(rate, int | float) or not isinstance(seconds, int | float) or rate <= 0:
        return None
    return row | {"bits_per_second": rate, "bytes": rate * seconds / 8}


def _rows(part: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of the streams, or the row of their sum if no stream has a row."""
    listed = part.get("streams")
    rows = [_row(each) for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    summary = part.get("summary")
    return rows or ([_row(summary)] if isinstance(summary, dict) else [])


def _row(row: dict[str, Any]) -> dict[str, Any]:
    converted = {
        ours: row[theirs] for theirs, ours in _PERFSONAR_NAMES.items() if row.get(theirs) is not None
    }
    start, end = converted.get("start"), converted.get("end")
    if isinstance(start, int | float) and isinstance(end, int | float):
        converted["seconds"] = end - start
    return converted | {"sender": True}


_FORWARD, _REVERSE = 1, 2
"""Socket numbers for the sums of each direction."""


def with_streams(test: dict[str, Any]) -> dict[str, Any]:
    """Convert the sums of a test of a single stream into that stream, and set `only_sums`.

    A test that has streams, or no sums, is returned unchanged.
    """
    end, listed = test.get("end"), test.get("intervals")
    end = end if isinstance(end, dict) else {}
    intervals = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    if end.get("streams") or any(each.get("streams") for each in intervals):
        return test
    rows = [_sum_rows(each) for each in intervals]
    summaries = _summaries(end)
    if not summaries and not any(rows):
        return test
    if _streams(test) != 1:
        return test | {"only_sums": True}
    return test | {
        "intervals": [{"streams": each} for each in rows if each],
        "end": end | {"streams": summaries},
        "only_sums": True,
    }


def _streams(test: dict[str, Any]) -> Any:
    start = test.get("start")
    begun = start.get("test_start") if isinstance(start, dict) else None
    return begun.get("num_streams") if isinstance(begun, dict) else None


def _sum_rows(interval: dict[str, Any]) -> list[dict[str, Any]]:
    sums = ((_FORWARD, interval.get("sum")), (_REVERSE, interval.get("sum_bidir_reverse")))
    return [each | {"socket": socket} for socket, each in sums if isinstance(each, dict)]


def _summaries(end: dict[str, Any]) -> list[dict[str, Any]]:
    summaries = []
    for socket, suffix in ((_FORWARD, ""), (_REVERSE, "_bidir_reverse")):
        named = {name: end.get(name + suffix) for name in ("sum", "sum_sent", "sum_received")}
        known = {
            name: row for name, row in named.items() if isinstance(row, dict) and "bits_per_second" in row
        }
        if any("packets" in row for row in known.values()):
            summaries.append({"udp": _udp(known) | {"socket": socket}})
        elif "sum_sent" in known:
            ends = {"sender": _without_sender(known["sum_sent"], socket)}
            if "sum_received" in known:
                ends["receiver"] = _without_sender(known["sum_received"], socket)
            summaries.append(ends)
    return summaries


def _udp(known: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return a stream's summary as iperf3 writes it: the sender's bytes with the receiver's losses."""
    if "sum" in known:
        return known["sum"]
    names = ("lost_packets", "packets", "jitter_ms", "lost_percent")
    received = known.get("sum_received", {})
    return known.get("sum_sent", {}) | {name: received[name] for name in names if name in received}


def _without_sender(row: dict[str, Any], socket: int) -> dict[str, Any]:
    """Return a sum without `sender`, which marks the counting end, not the file's writer."""
    return {name: value for name, value in row.items() if name != "sender"} | {"socket": socket}
