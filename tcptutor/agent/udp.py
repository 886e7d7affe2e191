"""UDP flows of a group: an iperf3 server, a client that sends them all, and the server's counts of arrivals and losses.

A server with `--json-stream` (iperf3 3.17) reports during the run, an older version only at its end.
"""

from __future__ import annotations

import functools
import json
import math
import os
import subprocess
import tempfile
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import msgspec
from msgspec.structs import replace

from tcptutor.agent.flow_group import Group
from tcptutor.base import decoding
from tcptutor.base.errors import LabError
from tcptutor.run import UdpResult, UdpSample
from tcptutor.wire.iperf3_json import EndOfTest, StreamInterval, udp_sample

INTERVAL = 0.2
"""Time between two reports of a server, s."""


@functools.cache
def streams_json() -> bool:
    """Return whether the installed iperf3 can print its results as JSON lines during the test."""
    done = subprocess.run(["iperf3", "--help"], capture_output=True, text=True, check=False)
    return "--json-stream" in done.stdout + done.stderr


@dataclass
class UdpGroup(Group):
    """UDP flows. Owns the two iperf3 processes and their output files."""

    server: subprocess.Popen[bytes] | None = None
    client: subprocess.Popen[bytes] | None = None
    # Files instead of pipes, which would fill up unread.
    server_output: IO[bytes] = field(default_factory=tempfile.TemporaryFile)
    output: IO[bytes] = field(default_factory=tempfile.TemporaryFile)

    def prepare(self) -> None:
        report = ["-J", "-i", str(INTERVAL)]
        if streams_json():
            report.append("--json-stream")
        self.server = self.network.popen(
            self.receiver,
            *("iperf3", "-s", "-1", "-B", self.receiver.address, "-p", str(self.port), *report),
            stdout=self.server_output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
        )

    @property
    def prepared(self) -> bool:
        assert self.server is not None
        if self.server.poll() is not None:
            self.server_output.seek(0)
            lines = self.server_output.read().decode(errors="replace").strip().splitlines()
            reason = lines[-1] if lines else "no reason given"
            raise LabError(f"iperf3 does not start on {self.receiver.name}: {reason}")
        table = Path(f"/proc/{self.receiver.pid}/net/tcp").read_text()
        return any(f":{self.port:04X} " in row and " 0A " in row for row in table.splitlines())

    def connect(self) -> None:
        self.client = self.network.popen(
            self.sender,
            *client_command(self),
            stdout=self.output,
            stderr=subprocess.DEVNULL,
            stdin=subprocess.DEVNULL,
        )

    @property
    def connected(self) -> bool:
        if self.client is None:
            return False
        table = Path(f"/proc/{self.sender.pid}/net/udp").read_text()
        return sum(f":{self.port:04X} " in row for row in table.splitlines()) >= self.udp_streams

    def send(self) -> None:
        """No-op: iperf3's client sends by itself."""

    @property
    def ended(self) -> bool:
        return self.client is not None and self.client.poll() is not None

    @property
    def served(self) -> bool:
        return self.server is not None and self.server.poll() is not None

    def result(self) -> dict[str, Any]:
        """Return the client's JSON after its end; empty if it was cut off."""
        self.output.seek(0)
        try:
            document: dict[str, Any] = json.loads(self.output.read() or b"{}")
        except ValueError:
            return {}
        return document

    @property
    def failure(self) -> str:
        if not self.ended:
            return ""
        error = self.result().get("error")
        return f"iperf3 on {self.sender.name}: {error}: {self.remedy}" if error else ""

    def stop(self) -> None:
        for process in (self.client, self.server):
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()
        self.server_output.close()
        self.output.close()


def client_command(group: UdpGroup) -> list[str]:
    """Return the command line of iperf3's client; its flows use consecutive ports from `first_port`."""
    flows = group.experiment.flows
    command = ["iperf3", "-c", group.receiver.address, "-p", str(group.port), "-J", "-u"]
    command += ["--cport", str(group.first_port), "-P", str(group.udp_streams)]
    # Rounded up to whole seconds: results come from the samples, so the client only has to run long enough.
    command += ["-t", str(math.ceil(group.experiment.seconds)), "-b", str(round(flows.udp_rate))]
    if flows.length is not None:
        command += ["-l", str(flows.length)]
    if flows.buffer is not None:
        command += ["-w", str(flows.buffer)]
    return command


class _Report(msgspec.Struct, frozen=True):
    intervals: list[StreamInterval] = []
    end: EndOfTest = EndOfTest()


class _Line(msgspec.Struct, frozen=True):
    event: str
    data: msgspec.Raw


_line, _report = decoding.json_decoder(_Line), decoding.json_decoder(_Report)
_interval, _end = decoding.json_decoder(StreamInterval), decoding.json_decoder(EndOfTest)


class UdpReports:
    """Counters of the UDP flows of a group, numbered from `first`."""

    def __init__(self, group: UdpGroup, first: int) -> None:
        self._group, self._first = group, first
        self._began: float | None = None
        """Start of the server's clock, s after the traffic began; known from its first report."""
        self._read = 0
        self._rest = b""
        self._rows: list[UdpSample] = []
        self._all: list[list[UdpSample]] = [[] for _ in range(group.udp_streams)]
        self._overruns: list[tuple[float, tuple[int, ...]]] = []
        self._end = EndOfTest()

    def poll(self, t: float) -> None:
        """Read the server's output until its first report gives the start of its clock."""
        if self._began is None and streams_json():
            self._follow(t)

    def take(self, t: float) -> list[UdpSample]:
        """Return the samples since the last call."""
        if streams_json():
            self._follow(t)
        self._overruns.append((t, self._socket_drops()))
        rows, self._rows = self._rows, []
        return rows

    def finish(self, seconds: float) -> list[UdpSample]:
        """Return the server's last samples, within the first `seconds`."""
        if streams_json():
            self._follow(seconds)
        else:
            self._began = 0.0
            try:
                report = _report.decode(self._output())
            except msgspec.MsgspecError:
                report = _Report()
            for interval in report.intervals:
                self._add(interval)
            self._end = report.end
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
                continue  # a warning instead of JSON

    def _add(self, interval: StreamInterval, t: float = 0.0) -> None:
        if interval.streams and self._began is None:
            self._began = max(0.0, t - interval.streams[0].end)
        for place, row in enumerate(interval.streams[: len(self._all)]):
            samples = self._all[place]
            before = samples[-1] if samples else UdpSample(self._first + place, 0.0, 0, 0, 0, None)
            samples.append(udp_sample(before, row, round((self._began or 0.0) + row.end, 6)))
            self._rows.append(samples[-1])

    def _socket_drops(self) -> tuple[int, ...]:
        """Return the datagrams that each flow's receiving socket has dropped so far, if the socket exists."""
        drops = [0] * len(self._all)
        for local, remote, dropped in udp_sockets(self._group.receiver.pid):
            place = remote - self._group.first_port
            if local == self._group.port and 0 <= place < len(drops):
                drops[place] = dropped
        before = self._overruns[-1][1] if self._overruns else drops
        return tuple(map(max, drops, before))

    def results(self, warmup: float, seconds: float) -> Iterator[UdpResult]:
        """Yield the result of each measured flow from `warmup` to `seconds`."""
        sent = self._sent(warmup)
        for place, samples in enumerate(self._all):
            times = [row.t for row in samples]
            last = bisect_right(times, seconds + INTERVAL / 2) - 1
            first = bisect_right(times, warmup) - 1
            zero = UdpSample(self._first + place, self._began or 0.0, 0, 0, 0, None)
            start = samples[first] if first >= 0 else zero
            if last <= max(first, -1) or samples[last].t <= start.t:
                continue
            times = [t for t, _ in self._overruns]
            late, early = bisect_right(times, seconds + INTERVAL), bisect_left(times, start.t)
            overruns = (
                self._overruns[late - 1][1][place] - self._overruns[early][1][place] if late > early else 0
            )
            yield replace(
                UdpResult.counted(start, samples[first + 1 : last + 1], self._group.pair, sent.get(place)),
                out_of_order=self._out_of_order(place),
                overruns=overruns,
            )

    def _out_of_order(self, place: int) -> int | None:
        udp = self._end.streams[place].udp if place < len(self._end.streams) else None
        return udp.out_of_order if udp is not None else None

    def _sent(self, warmup: float) -> dict[int, float]:
        """Return each flow's sending rate from `warmup` on by iperf3's client, bit/s; empty if it was cut off."""
        bits: dict[int, float] = {}
        seconds: dict[int, float] = {}
        for interval in self._group.result().get("intervals", ()):
            for place, row in enumerate(interval["streams"]):
                if row["start"] >= warmup - INTERVAL / 2 and row["seconds"] > 0:
                    bits[place] = bits.get(place, 0.0) + 8 * row["bytes"]
                    seconds[place] = seconds.get(place, 0.0) + row["seconds"]
        return {place: bits[place] / seconds[place] for place in bits}


def udp_sockets(pid: int) -> Iterator[tuple[int, int, int]]:
    """Yield local port, remote port and dropped datagrams of each UDP socket (IPv4) in the namespace of `pid`."""
    for row in Path(f"/proc/{pid}/net/udp").read_text().splitlines()[1:]:
        words = row.split()
        local, remote = (int(words[column].rpartition(":")[2], 16) for column in (1, 2))
        yield local, remote, int(words[-1])
