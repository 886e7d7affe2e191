"""UDP flows as iperf3's server counts them: what arrived, what is missing, how evenly, while it goes on and in the end.

A server that knows `--json-stream` (iperf3 3.17) tells it as it happens, an older one when it has ended.
"""

from __future__ import annotations

import functools
import os
import subprocess
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from pathlib import Path

import msgspec

from tcptutor.lab.traffic import Group
from tcptutor.run import UdpResult, UdpSample

INTERVAL = 0.2
"""Between two of a server's reports, s."""


@functools.cache
def streams_json() -> bool:
    """Whether iperf3 here tells its results while they come."""
    told = subprocess.run(["iperf3", "--help"], capture_output=True, text=True, check=False)
    return "--json-stream" in told.stdout + told.stderr


class _Row(msgspec.Struct, frozen=True):
    end: float = 0.0
    bytes: int = 0
    jitter_ms: float = 0.0
    lost_packets: int = 0
    packets: int = 0
    out_of_order: int = 0


class _Interval(msgspec.Struct, frozen=True):
    streams: list[_Row] = []


class _Summary(msgspec.Struct, frozen=True):
    udp: _Row | None = None


class _End(msgspec.Struct, frozen=True):
    streams: list[_Summary] = []


class _Whole(msgspec.Struct, frozen=True):
    """All that a server says that tells nothing before."""

    intervals: list[_Interval] = []
    end: _End = _End()


class _Line(msgspec.Struct, frozen=True):
    event: str
    data: msgspec.Raw


_line, _whole = msgspec.json.Decoder(_Line), msgspec.json.Decoder(_Whole)
_interval, _end = msgspec.json.Decoder(_Interval), msgspec.json.Decoder(_End)


class UdpReports:
    """The UDP flows of one group; their numbers begin with `first`."""

    def __init__(self, group: Group, first: int) -> None:
        self._group, self._first = group, first
        self._began: float | None = None
        """When the server's own time began, s after the traffic; known with its first words."""
        self._read = 0
        self._rest = b""
        self._rows: list[UdpSample] = []
        self._all: list[list[UdpSample]] = [[] for _ in range(group.udp_streams)]
        self._overruns: list[tuple[float, tuple[int, ...]]] = []
        self._end = _End()

    def look(self, t: float) -> None:
        """Called with every sample, until the server's first words say when its time began."""
        if self._began is None and streams_json():
            self._follow(t)

    def take(self, t: float) -> list[UdpSample]:
        """What has come since the last call."""
        if streams_json():
            self._follow(t)
        self._overruns.append((t, self._socket_drops()))
        rows, self._rows = self._rows, []
        return rows

    def end(self, seconds: float) -> list[UdpSample]:
        """What the server said in the end, of the first `seconds`."""
        if streams_json():
            self._follow(seconds)
        else:
            self._began = 0.0
            try:
                whole = _whole.decode(self._output())
            except msgspec.MsgspecError:
                whole = _Whole()
            for interval in whole.intervals:
                self._add(interval)
            self._end = whole.end
        rows, self._rows = self._rows, []
        return [row for row in rows if row.t <= seconds + INTERVAL / 2]

    def _output(self) -> bytes:
        return os.pread(self._group.server_output.fileno(), 1 << 24, self._read)

    def _follow(self, t: float) -> None:
        data = self._output()
        if not data:
            return
        self._read += len(data)
        *lines, self._rest = (self._rest + data).split(b"\n")
        for text in lines:
            try:
                line = _line.decode(text)
                if line.event == "interval":
                    self._add(_interval.decode(line.data), t)
                elif line.event == "end":
                    self._end = _end.decode(line.data)
            except msgspec.MsgspecError:
                continue  # a warning that is no JSON

    def _add(self, interval: _Interval, t: float = 0.0) -> None:
        if interval.streams and self._began is None:
            self._began = max(0.0, t - interval.streams[0].end)
        for place, row in enumerate(interval.streams[: len(self._all)]):
            told = self._all[place]
            before = told[-1] if told else UdpSample(0, 0.0, 0, 0, 0, None)
            sample = UdpSample(
                self._first + place,
                round((self._began or 0.0) + row.end, 6),
                before.received + row.bytes,
                before.datagrams + row.packets,
                before.lost + row.lost_packets,
                row.jitter_ms / 1e3,
            )
            told.append(sample)
            self._rows.append(sample)

    def _socket_drops(self) -> tuple[int, ...]:
        """Datagrams that each flow's receiving socket has had no room for, as far as its socket is there."""
        drops = [0] * len(self._all)
        for local, remote, dropped in udp_sockets(self._group.receiver.pid):
            place = remote - self._group.first_port
            if local == self._group.port and 0 <= place < len(drops):
                drops[place] = dropped
        before = self._overruns[-1][1] if self._overruns else drops
        return tuple(map(max, drops, before))

    def results(self, warmup: float, seconds: float) -> Iterator[UdpResult]:
        """Each flow from `warmup` to `seconds`; those that were not measured are left out."""
        sent = self._sent(warmup)
        for place, told in enumerate(self._all):
            times = [row.t for row in told]
            last = bisect_right(times, seconds + INTERVAL / 2) - 1
            first = bisect_right(times, warmup) - 1
            start = told[first] if first >= 0 else UdpSample(0, self._began or 0.0, 0, 0, 0, None)
            if last <= max(first, -1) or told[last].t <= start.t:
                continue
            end, lasted = told[last], told[last].t - start.t
            datagrams = end.datagrams - start.datagrams
            jitters = [row.jitter for row in told[first + 1 : last + 1] if row.jitter is not None]
            at = [t for t, _ in self._overruns]
            late, early = bisect_right(at, seconds + INTERVAL), bisect_left(at, start.t)
            overruns = (
                self._overruns[late - 1][1][place] - self._overruns[early][1][place] if late > early else 0
            )
            received = 8 * (end.received - start.received) / lasted
            arrived = datagrams - (end.lost - start.lost)
            # Where the client tells nothing, the datagrams' numbers tell what was sent.
            by_numbers = received * datagrams / arrived if arrived > 0 else 0.0
            yield UdpResult(
                flow=self._first + place,
                pair=self._group.pair,
                sent_bps=sent[place] if place < len(sent) else by_numbers,
                received_bps=received,
                lost=max(0, end.lost - start.lost),
                datagrams=datagrams,
                jitter_s=sum(jitters) / len(jitters) if jitters else None,
                out_of_order=self._out_of_order(place),
                overruns=overruns,
            )

    def _out_of_order(self, place: int) -> int | None:
        udp = self._end.streams[place].udp if place < len(self._end.streams) else None
        return udp.out_of_order if udp is not None else None

    def _sent(self, warmup: float) -> list[float]:
        """What the client says that each flow sent from `warmup` on, bit/s; nothing when it was cut off."""
        bits: dict[int, float] = {}
        seconds: dict[int, float] = {}
        for interval in self._group.result().get("intervals", ()):
            for place, row in enumerate(interval["streams"]):
                if row["start"] >= warmup - INTERVAL / 2 and row["seconds"] > 0:
                    bits[place] = bits.get(place, 0.0) + 8 * row["bytes"]
                    seconds[place] = seconds.get(place, 0.0) + row["seconds"]
        return [bits[place] / seconds[place] for place in sorted(bits)]


def udp_sockets(pid: int) -> Iterator[tuple[int, int, int]]:
    """Local port, remote port and datagrams dropped, of each UDP socket (IPv4) where process `pid` is."""
    for row in Path(f"/proc/{pid}/net/udp").read_text().splitlines()[1:]:
        words = row.split()
        local, remote = (int(words[column].rpartition(":")[2], 16) for column in (1, 2))
        yield local, remote, int(words[-1])
