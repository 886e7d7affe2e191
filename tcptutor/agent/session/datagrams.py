"""UDP traffic that a user sends by hand, from the hosts' kernel counters: datagrams sent, read and dropped.

A kernel counts UDP per host, not per socket, and ignores sequence numbers. So flows between the same two hosts
share their counts, and jitter and order are unknown.
"""

from __future__ import annotations

import os
import socket
from bisect import bisect_right
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from tcptutor.agent.network import Host, Network, network_of
from tcptutor.run import UdpResult, UdpSample
from tcptutor.spec import Path as NetworkPath

_MIN_DATAGRAMS = 8
"""Datagrams per socket that make a flow; fewer are greetings, such as iperf3's."""
_IN_TRANSIT = 0.05
"""Time that a datagram may take beyond delay and full queue, s."""
_ETH_P_ALL, _UDP, _ESTABLISHED = 3, 17, "01"
_SIZES = 32
"""Number of datagrams in the mean size."""
_GREETING = 16
"""Largest payload of a greeting, bytes."""


class _UdpCounts(NamedTuple):
    """A host's kernel counters of UDP (RFC 4113, and Linux's own)."""

    sent: int
    """Datagrams sent by programs, including drops in the host's own queue."""
    read: int
    overruns: int


class _Counters:
    """UDP counters of a host; `close` it."""

    def __init__(self, host: Host) -> None:
        self._sockets, self._snmp = (
            os.open(f"/proc/{host.pid}/net/{name}", os.O_RDONLY | os.O_CLOEXEC)
            for name in ("sockstat", "snmp")
        )

    def sockets(self) -> int:
        """Return the number of bound UDP sockets; called often, so read from the smallest of the files."""
        for line in os.pread(self._sockets, 4096, 0).split(b"\n"):
            if line.startswith(b"UDP:"):
                return int(line.split()[2])
        return 0

    def read(self) -> _UdpCounts:
        names, values = (
            line.split()[1:]
            for line in os.pread(self._snmp, 1 << 15, 0).split(b"\n")
            if line.startswith(b"Udp:")
        )
        counters = dict(zip(names, map(int, values), strict=True))
        # The kernel counts drops in the sender's own discipline as SndbufErrors, and reports them to no program.
        sent = counters[b"OutDatagrams"] + counters[b"SndbufErrors"]
        return _UdpCounts(sent, counters[b"InDatagrams"], counters[b"RcvbufErrors"])

    def close(self) -> None:
        os.close(self._sockets)
        os.close(self._snmp)


class _Sizes:
    """Payload sizes of the first datagrams that leave a host; `close` it."""

    def __init__(self, host: Host) -> None:
        self.payloads: list[int] = []
        with network_of(host.pid):
            self._socket: socket.socket | None = socket.socket(
                socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, socket.htons(_ETH_P_ALL)
            )
        self._socket.setblocking(False)

    def poll(self) -> None:
        if self._socket is None:
            return
        with suppress(BlockingIOError):
            while len(self.payloads) < _SIZES:
                packet, (_, _, kind, *_) = self._socket.recvfrom(128)
                if kind == socket.PACKET_OUTGOING and len(packet) > 28 and packet[9] == _UDP:
                    at = 4 * (packet[0] & 15)
                    is_first = not int.from_bytes(packet[6:8]) & 0x1FFF  # fragment of a datagram
                    if is_first:
                        self.payloads.append(int.from_bytes(packet[at + 4 : at + 6]) - 8)
        if len(self.payloads) >= _SIZES:
            self.close()

    def mean(self) -> float:
        sizes = [size for size in self.payloads if size > _GREETING] or self.payloads
        return sum(sizes) / len(sizes) if sizes else 0.0

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


@dataclass
class DetectedUdpFlow:
    """UDP traffic between two hosts in a direction; several flows if the sender has several sockets for it."""

    number: int
    sender: Host
    receiver: Host
    pair: int
    flows: int
    sent_before: int
    before: _UdpCounts
    """Counters of the receiver before the flow."""
    sizes: _Sizes
    samples: list[UdpSample] = field(default_factory=list)
    sent: list[tuple[float, int]] = field(default_factory=list)
    """Datagrams sent up to each instant, s after the start of the run."""
    overruns: int = 0
    progress: float = 0.0
    """Time of the last datagram sent or read, s after the start of the run."""


class Datagrams:
    """Finds UDP flows between lab hosts and counts them. Owns open files of every host; `close` it."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._hosts = {host.address: host for host in network.hosts}
        self._counters = {host.name: _Counters(host) for host in network.hosts}
        self._idle_counts = {name: counters.read() for name, counters in self._counters.items()}
        """Counters while no host had a UDP socket."""
        self._sizes: dict[str, _Sizes] = {}
        self.flows: list[DetectedUdpFlow] = []
        self._path = NetworkPath()

    def close(self) -> None:
        self.reset()
        for counters in self._counters.values():
            counters.close()

    def reset(self) -> None:
        """Forget the flows of a finished run."""
        self.flows = []
        while self._sizes:
            self._sizes.popitem()[1].close()
        self._idle_counts = {name: counters.read() for name, counters in self._counters.items()}

    def find(self) -> list[DetectedUdpFlow]:
        """Return the flows that have begun since the last call."""
        new_flows = []
        for host in self._network.hosts:
            counters = self._counters[host.name]
            if not counters.sockets():
                continue
            if host.name not in self._sizes:
                self._sizes[host.name] = _Sizes(host)
            self._sizes[host.name].poll()
            before, now = self._idle_counts[host.name], counters.read()
            if any(flow.sender == host for flow in self.flows):
                continue
            receiver, number = self._receiver(host)
            if receiver is not None and now.sent - before.sent >= _MIN_DATAGRAMS * number:
                flow = DetectedUdpFlow(
                    number=len(self.flows),
                    sender=host,
                    receiver=receiver,
                    pair=self._pair(host),
                    flows=number,
                    sent_before=before.sent,
                    before=self._idle_counts[receiver.name],
                    sizes=self._sizes[host.name],
                )
                self.flows.append(flow)
                new_flows.append(flow)
        return new_flows

    def _pair(self, host: Host) -> int:
        return (int(host.name[1:]) - 1) // 2

    def _receiver(self, sender: Host) -> tuple[Host | None, int]:
        """Return the destination of most of the sender's sockets and their number; by default its peer, and 1."""
        counts: dict[str, int] = {}
        for address in _connected(sender.pid):
            if address in self._hosts:
                counts[address] = counts.get(address, 0) + 1
        if counts:
            destination = max(counts, key=counts.__getitem__)
            return self._hosts[destination], counts[destination]
        pair = self._pair(sender)
        ends = self._network.senders[pair], self._network.receivers[pair]
        return next((host for host in ends if host != sender), None), 1

    @property
    def active(self) -> bool:
        """True while a sender still has a UDP socket."""
        return any(self._counters[flow.sender.name].sockets() for flow in self.flows)

    @property
    def progress(self) -> float:
        """Time of the last datagram sent or read, s after the start of the run."""
        return max((flow.progress for flow in self.flows), default=0.0)

    def set_path(self, path: NetworkPath) -> None:
        """Set the current path, which bounds the datagrams' transit time."""
        self._path = path

    def poll(self, t: float) -> None:
        """No-op: counters are read in `take()`."""

    def take(self, t: float) -> list[UdpSample]:
        return [self._sample(flow, t) for flow in self.flows]

    def _sample(self, flow: DetectedUdpFlow, t: float) -> UdpSample:
        flow.sizes.poll()
        size = flow.sizes.mean()
        received = self._counters[flow.receiver.name].read()
        sent = self._counters[flow.sender.name].read().sent - flow.sent_before
        read = received.read - flow.before.read
        flow.overruns = received.overruns - flow.before.overruns
        before = flow.samples[-1] if flow.samples else UdpSample(flow.number, t, 0, 0, 0, None)
        if sent > before.datagrams or read * size > before.received:
            flow.progress = t
        flow.sent.append((t, sent))
        # A datagram that is older than the longest transit time and has not been read is lost.
        settled = bisect_right(flow.sent, (t - self.in_transit, 1 << 62)) - 1
        lost = flow.sent[settled][1] - read if settled >= 0 else 0
        sample = UdpSample(
            flow.number, round(t, 6), round(read * size), sent, max(lost, before.lost, 0), None
        )
        flow.samples.append(sample)
        return sample

    @property
    def in_transit(self) -> float:
        """Longest time that a datagram can take to arrive, s."""
        path = self._path
        waiting = 8 * path.queue / path.rate if path.rate else 0.0
        return path.delay + path.jitter + waiting + _IN_TRANSIT

    def results(self) -> Iterator[UdpResult]:
        """Yield the result of each flow: its final counts, and its rates while it was active."""
        for flow in self.flows:
            if not flow.samples:
                continue
            # The last sample is of the run's end, when all datagrams in transit have arrived.
            last, size = flow.samples[-1], flow.sizes.mean()
            yield UdpResult(
                flow=sum(each.flows for each in self.flows[: flow.number]),
                flows=flow.flows,
                pair=flow.pair,
                sent_bps=8 * size * steady(flow.sent),
                received_bps=8 * steady([(row.t, row.received) for row in flow.samples]),
                lost=last.lost,
                datagrams=last.datagrams,
                jitter_s=None,
                overruns=flow.overruns,
            )

    @property
    def streams(self) -> int:
        return sum(flow.flows for flow in self.flows)

    @property
    def size(self) -> int:
        """Payload of a datagram, bytes; 0 if none was seen."""
        return round(max((flow.sizes.mean() for flow in self.flows), default=0.0))

    def rate(self) -> float:
        """Return the mean sending rate of a flow, bit/s of payload; 0 if still unknown."""
        rates = [result.sent_bps or 0.0 for result in self.results()]
        return sum(rates) / self.streams if rates else 0.0


def steady(counts: list[tuple[float, int]]) -> float:
    """Return the steady growth of a count per second, from its values as (s, count).

    The growth began before the first value and stopped between two others, so the last interval of growth is left out.
    """
    growing = [at for at, (before, now) in enumerate(pairwise(counts), start=1) if now[1] > before[1]]
    if not growing:
        return 0.0
    first, last = growing[0] - 1, growing[-2] if len(growing) > 2 else growing[-1]
    return (counts[last][1] - counts[first][1]) / (counts[last][0] - counts[first][0])


def _connected(pid: int) -> Iterator[str]:
    """Yield the remote addresses of the connected UDP sockets (IPv4) in the namespace of process `pid`."""
    for row in Path(f"/proc/{pid}/net/udp").read_text().splitlines()[1:]:
        words = row.split()
        if words[3] == _ESTABLISHED:
            address = int(words[2].partition(":")[0], 16)
            yield socket.inet_ntoa(address.to_bytes(4, "little"))
