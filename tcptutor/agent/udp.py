"""UDP flows as iperf3's server counts them: what arrived, what is missing, how evenly, while it goes on and in the end.

A server that knows `--json-stream` (iperf3 3.17) tells it as it happens, an older one when it has ended.
"""

from __future__ import annotations

import os
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tcptutor.agent.udp_flows import INTERVAL, UdpGroup, streams_json
from tcptutor.run import UdpResult, UdpSample
from tcptutor.wire.iperf3_json import EndOfTest, StreamInterval, udp_sample


class _Whole(msgspec.Struct, frozen=True):
    """All that a server says that tells nothing before."""

    intervals: list[StreamInterval] = []
    end: EndOfTest = EndOfTest()


class _Line(msgspec.Struct, frozen=True):
    event: str
    data: msgspec.Raw


_line, _whole = msgspec.json.Decoder(_Line), msgspec.json.Decoder(_Whole)
_interval, _end = msgspec.json.Decoder(StreamInterval), msgspec.json.Decoder(EndOfTest)


class UdpReports:
    """The UDP flows of one group; their numbers begin with `first`."""

    def __init__(self, group: UdpGroup, first: int) -> None:
        self._group, self._first = group, first
        self._began: float | None = None
        """When the server's own time began, s after the traffic; known with its first words."""
        self._read = 0
        self._rest = b""
        self._rows: list[UdpSample] = []
        self._all: list[list[UdpSample]] = [[] for _ in range(group.udp_streams)]
        self._overruns: list[tuple[float, tuple[int, ...]]] = []
        self._end = EndOfTest()

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

    def _add(self, interval: StreamInterval, t: float = 0.0) -> None:
        if interval.streams and self._began is None:
            self._began = max(0.0, t - interval.streams[0].end)
        for place, row in enumerate(interval.streams[: len(self._all)]):
            told = self._all[place]
            before = told[-1] if told else UdpSample(self._first + place, 0.0, 0, 0, 0, None)
            told.append(udp_sample(before, row, round((self._began or 0.0) + row.end, 6)))
            self._rows.append(told[-1])

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
            zero = UdpSample(self._first + place, self._began or 0.0, 0, 0, 0, None)
            start = told[first] if first >= 0 else zero
            if last <= max(first, -1) or told[last].t <= start.t:
                continue
            at = [t for t, _ in self._overruns]
            late, early = bisect_right(at, seconds + INTERVAL), bisect_left(at, start.t)
            overruns = (
                self._overruns[late - 1][1][place] - self._overruns[early][1][place] if late > early else 0
            )
            yield replace(
                UdpResult.counted(start, told[first + 1 : last + 1], self._group.pair, sent.get(place)),
                out_of_order=self._out_of_order(place),
                overruns=overruns,
            )

    def _out_of_order(self, place: int) -> int | None:
        udp = self._end.streams[place].udp if place < len(self._end.streams) else None
        return udp.out_of_order if udp is not None else None

    def _sent(self, warmup: float) -> dict[int, float]:
        """What the client says that each flow sent from `warmup` on, bit/s; nothing when it was cut off."""
        bits: dict[int, float] = {}
        seconds: dict[int, float] = {}
        for interval in self._group.result().get("intervals", ()):
            for place, row in enumerate(interval["streams"]):
                if row["start"] >= warmup - INTERVAL / 2 and row["seconds"] > 0:
                    bits[place] = bits.get(place, 0.0) + 8 * row["bytes"]
                    seconds[place] = seconds.get(place, 0.0) + row["seconds"]
        return {place: bits[place] / seconds[place] for place in bits}


def udp_sockets(pid: int) -> Iterator[tuple[int, int, int]]:
    """Local port, remote port and datagrams dropped, of each UDP socket (IPv4) where process `pid` is."""
    for row in Path(f"/proc/{pid}/net/udp").read_text().splitlines()[1:]:
        words = row.split()
        local, remote = (int(words[column].rpartition(":")[2], 16) for column in (1, 2))
        yield local, remote, int(words[-1])
