"""UDP that somebody sends by hand, as the hosts' kernels count it: datagrams sent, read, and dropped for a full buffer.

A kernel counts UDP for a host, not for a socket, and reads no sequence numbers: flows between the same two hosts are
counted together, and jitter and order are not known.
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

_A_FLOW = 8
"""Datagrams of each socket from which they are a flow; below it are greetings, such as iperf3's."""
_IN_TRANSIT = 0.05
"""How much longer than delay and full queue a datagram may take, s."""
_ETH_P_ALL, _UDP, _ESTABLISHED = 3, 17, "01"
_SIZES = 32
"""Datagrams whose size is looked at."""
_GREETING = 16
"""Payload of a datagram, bytes, up to which it may be no more than a greeting."""


class _Counted(NamedTuple):
    """What a host's kernel has counted of UDP (RFC 4113, and Linux's own)."""

    sent: int
    """By programs, also what never left the host."""
    read: int
    overruns: int


class _Counters:
    """Of one host; `close` it."""

    def __init__(self, host: Host) -> None:
        self._sockets, self._snmp = (
            os.open(f"/proc/{host.pid}/net/{name}", os.O_RDONLY | os.O_CLOEXEC)
            for name in ("sockstat", "snmp")
        )

    def sockets(self) -> int:
        """UDP sockets with a port: asked for often, so of the smallest of these files."""
        for line in os.pread(self._sockets, 4096, 0).split(b"\n"):
            if line.startswith(b"UDP:"):
                return int(line.split()[2])
        return 0

    def now(self) -> _Counted:
        names, values = (
            line.split()[1:]
            for line in os.pread(self._snmp, 1 << 15, 0).split(b"\n")
            if line.startswith(b"Udp:")
        )
        counted = dict(zip(names, map(int, values), strict=True))
        # What the sender's own discipline drops, the kernel counts as an error of its buffer, and tells no program.
        sent = counted[b"OutDatagrams"] + counted[b"SndbufErrors"]
        return _Counted(sent, counted[b"InDatagrams"], counted[b"RcvbufErrors"])

    def close(self) -> None:
        os.close(self._sockets)
        os.close(self._snmp)


class _Sizes:
    """Looks at the first datagrams that leave a host, for their size. `close` it."""

    def __init__(self, host: Host) -> None:
        self.found: list[int] = []
        """Payload, bytes."""
        with network_of(host.pid):
            self._socket: socket.socket | None = socket.socket(
                socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, socket.htons(_ETH_P_ALL)
            )
        self._socket.setblocking(False)

    def look(self) -> None:
        if self._socket is None:
            return
        with suppress(BlockingIOError):
            while len(self.found) < _SIZES:
                packet, (_, _, kind, *_) = self._socket.recvfrom(128)
                if kind == socket.PACKET_OUTGOING and len(packet) > 28 and packet[9] == _UDP:
                    at = 4 * (packet[0] & 15)
                    first = not int.from_bytes(packet[6:8]) & 0x1FFF  # of a datagram in fragments
                    if first:
                        self.found.append(int.from_bytes(packet[at + 4 : at + 6]) - 8)
        if len(self.found) >= _SIZES:
            self.close()

    def mean(self) -> float:
        real = [size for size in self.found if size > _GREETING] or self.found
        return sum(real) / len(real) if real else 0.0

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None


@dataclass
class FoundUdpFlow:
    """What one host sends to another; more than one flow where it has more than one socket for that."""

    number: int
    sender: Host
    receiver: Host
    pair: int
    flows: int
    sent_before: int
    """What the sender had sent before."""
    before: _Counted
    """Of the receiver."""
    sizes: _Sizes
    samples: list[UdpSample] = field(default_factory=list)
    sent: list[tuple[float, int]] = field(default_factory=list)
    """Datagrams up to each instant, s after the run's beginning."""
    overruns: int = 0
    progress: float = 0.0
    """When the last datagram was sent or read."""


class Datagrams:
    """Finds UDP flows between lab hosts and counts them. Owns open files of every host; `close` it."""

    def __init__(self, network: Network) -> None:
        self._network = network
        self._hosts = {host.address: host for host in network.hosts}
        self._counters = {host.name: _Counters(host) for host in network.hosts}
        self._quiet = {name: counters.now() for name, counters in self._counters.items()}
        """What had been counted when nobody had a UDP socket."""
        self._sizes: dict[str, _Sizes] = {}
        self.flows: list[FoundUdpFlow] = []
        """Of the run that goes on."""
        self._path = NetworkPath()

    def close(self) -> None:
        self.forget()
        for counters in self._counters.values():
            counters.close()

    def forget(self) -> None:
        """The run is over."""
        self.flows = []
        while self._sizes:
            self._sizes.popitem()[1].close()
        self._quiet = {name: counters.now() for name, counters in self._counters.items()}

    def find(self) -> list[FoundUdpFlow]:
        """The flows that have begun since the last call."""
        found = []
        for host in self._network.hosts:
            counters = self._counters[host.name]
            if not counters.sockets():
                continue
            if host.name not in self._sizes:
                self._sizes[host.name] = _Sizes(host)
            self._sizes[host.name].look()
            before, now = self._quiet[host.name], counters.now()
            if any(flow.sender == host for flow in self.flows):
                continue
            receiver, number = self._receiver(host)
            if receiver is not None and now.sent - before.sent >= _A_FLOW * number:
                flow = FoundUdpFlow(
                    number=len(self.flows),
                    sender=host,
                    receiver=receiver,
                    pair=self._pair(host),
                    flows=number,
                    sent_before=before.sent,
                    before=self._quiet[receiver.name],
                    sizes=self._sizes[host.name],
                )
                self.flows.append(flow)
                found.append(flow)
        return found

    def _pair(self, host: Host) -> int:
        return (int(host.name[1:]) - 1) // 2

    def _receiver(self, sender: Host) -> tuple[Host | None, int]:
        """Whom it sends to, by its connected sockets, and how many these are; else the other host of its pair."""
        to: dict[str, int] = {}
        for address in _connected(sender.pid):
            if address in self._hosts:
                to[address] = to.get(address, 0) + 1
        if to:
            most = max(to, key=to.__getitem__)
            return self._hosts[most], to[most]
        pair = self._pair(sender)
        ends = self._network.senders[pair], self._network.receivers[pair]
        return next((host for host in ends if host != sender), None), 1

    @property
    def active(self) -> bool:
        """Whether a sender still has a socket."""
        return any(self._counters[flow.sender.name].sockets() for flow in self.flows)

    @property
    def progress(self) -> float:
        """When something was last sent or read, s after the run's beginning."""
        return max((flow.progress for flow in self.flows), default=0.0)

    def follow(self, path: NetworkPath) -> None:
        """The path that they take now."""
        self._path = path

    def look(self, t: float) -> None:
        """Nothing: what is counted is asked for when it is to be told."""

    def take(self, t: float) -> list[UdpSample]:
        """Each flow at this instant."""
        return [self._sample(flow, t) for flow in self.flows]

    def _sample(self, flow: FoundUdpFlow, t: float) -> UdpSample:
        flow.sizes.look()
        size = flow.sizes.mean()
        there = self._counters[flow.receiver.name].now()
        sent = self._counters[flow.sender.name].now().sent - flow.sent_before
        read = there.read - flow.before.read
        flow.overruns = there.overruns - flow.before.overruns
        before = flow.samples[-1] if flow.samples else UdpSample(flow.number, t, 0, 0, 0, None)
        if sent > before.datagrams or read * size > before.received:
            flow.progress = t
        flow.sent.append((t, sent))
        # What was sent so long ago and has not been read will not be any more.
        settled = bisect_right(flow.sent, (t - self.in_transit, 1 << 62)) - 1
        lost = flow.sent[settled][1] - read if settled >= 0 else 0
        sample = UdpSample(
            flow.number, round(t, 6), round(read * size), sent, max(lost, before.lost, 0), None
        )
        flow.samples.append(sample)
        return sample

    @property
    def in_transit(self) -> float:
        """How long a datagram may take that arrives at all, s."""
        path = self._path
        waiting = 8 * path.queue / path.rate if path.rate else 0.0
        return path.delay + path.jitter + waiting + _IN_TRANSIT

    def results(self) -> Iterator[UdpResult]:
        """What came of each: all that was counted of it, and its rates while it went on."""
        for flow in self.flows:
            if not flow.samples:
                continue
            # The last counts are of the run's end: what was in transit then has arrived.
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
        """Payload of a datagram, bytes; 0 where none was seen."""
        return round(max((flow.sizes.mean() for flow in self.flows), default=0.0))

    def rate(self) -> float:
        """What each flow sends, bit/s of payload; 0 where that is not known yet."""
        rates = [result.sent_bps or 0.0 for result in self.results()]
        return sum(rates) / self.streams if rates else 0.0


def steady(counts: list[tuple[float, int]]) -> float:
    """How fast a count grew, a second, from (s, count) at several instants.

    It had begun before the first, and it stopped somewhere between two: of these the last in which it grew is left out.
    """
    growing = [at for at, (before, now) in enumerate(pairwise(counts), start=1) if now[1] > before[1]]
    if not growing:
        return 0.0
    first, last = growing[0] - 1, growing[-2] if len(growing) > 2 else growing[-1]
    return (counts[last][1] - counts[first][1]) / (counts[last][0] - counts[first][0])


def _connected(pid: int) -> Iterator[str]:
    """The addresses that the UDP sockets (IPv4) where process `pid` is are connected to."""
    for row in Path(f"/proc/{pid}/net/udp").read_text().splitlines()[1:]:
        words = row.split()
        if words[3] == _ESTABLISHED:
            address = int(words[2].partition(":")[0], 16)
            yield socket.inet_ntoa(address.to_bytes(4, "little"))
