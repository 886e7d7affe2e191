"""Tallies of a host: its listening ports, the replies to its pings, and the packets that its own rules dropped."""

from __future__ import annotations

import os
import time
from collections import deque
from typing import NamedTuple

from tcptutor.agent.netlink import Listeners

_MIN_INTERVAL = 0.4
"""Shortest time between two reports of counts, s, so that a flood of pings is no flood of messages."""
_ARRIVED, _KEPT = b"InReceives", (b"InDelivers", b"InHdrErrors", b"InAddrErrors", b"InUnknownProtos", b"InDiscards",
                                  b"ForwDatagrams")  # fmt: skip
"""Linux's counters of RFC 4293 for packets that IP received, and for their fates. A dropping rule counts in none."""
_IN_TRANSIT = 0.3
"""Longest time that a packet may be between these counters, s: longer than an emulated processor may be preempted."""


class HostTally(NamedTuple):
    """Tallies of a host; counts are since the session began."""

    listening: tuple[int, ...] = ()
    echo_replies: int = 0
    filtered: int = 0


class _Counted(NamedTuple):
    echo_replies: int
    filtered: int


class SettledCount:
    """Number of dropped packets, derived from readings that also count packets in transit."""

    def __init__(self) -> None:
        self.count = 0
        self._recent = deque[tuple[float, int]]()
        """Readings as (s, count) of the last _IN_TRANSIT seconds, and the reading before them."""

    def add(self, dropped: int, at: float) -> None:
        """Add a reading; a drop counts once it is older than a packet can be in transit."""
        self._recent.append((at, dropped))
        while len(self._recent) > 1 and self._recent[1][0] <= at - _IN_TRANSIT:
            self._recent.popleft()
        if self._recent[0][0] <= at - _IN_TRANSIT:
            self.count = max(self.count, min(count for _, count in self._recent))


class Tallies:
    """Tallies of some hosts since construction. Owns sockets and files; `close` it.

    Args:
        hosts: For each name, a process in the host's namespace.
    """

    def __init__(self, hosts: dict[str, int]) -> None:
        self._listeners = {name: Listeners(pid) for name, pid in hosts.items()}
        self._files = {
            name: os.open(f"/proc/{pid}/net/snmp", os.O_RDONLY | os.O_CLOEXEC) for name, pid in hosts.items()
        }
        self._first = {name: _counted(file) for name, file in self._files.items()}
        self._filtered = {name: SettledCount() for name in hosts}
        self._reported = {name: self._read(name, time.monotonic()) for name in hosts}
        self._reported_at = 0.0

    def poll(self) -> bool:
        """Return whether a change is due for a report."""
        at = time.monotonic()
        now = {name: self._read(name, at) for name in self._files}
        if now == self._reported:
            return False
        only_counts = all(now[name].listening == last.listening for name, last in self._reported.items())
        if only_counts and at < self._reported_at + _MIN_INTERVAL:
            return False
        self._reported, self._reported_at = now, at
        return True

    def of(self, name: str) -> HostTally:
        """Return the last reported tally of a host; an empty tally for an unknown name."""
        return self._reported.get(name, HostTally())

    def _read(self, name: str, at: float) -> HostTally:
        first, now, filtered = self._first[name], _counted(self._files[name]), self._filtered[name]
        filtered.add(now.filtered - first.filtered, at)
        return HostTally(self._listeners[name].ports(), now.echo_replies - first.echo_replies, filtered.count)

    def close(self) -> None:
        for listeners in self._listeners.values():
            listeners.close()
        for file in self._files.values():
            os.close(file)


def _counted(file: int) -> _Counted:
    # A line of names and one of values each for IP and ICMP; the rest of the file is not needed.
    ip_names, ip, icmp_names, icmp, *_ = os.pread(file, 4096, 0).split(b"\n")
    arrived = dict(zip(ip_names.split(), ip.split(), strict=True))
    # Fragments arrive one by one and are delivered as one packet.
    joined = int(arrived[b"ReasmReqds"]) - int(arrived[b"ReasmOKs"])
    accounted = sum(int(arrived[name]) for name in _KEPT)
    echoes = icmp.split()[icmp_names.split().index(b"InEchoReps")]
    return _Counted(int(echoes), int(arrived[_ARRIVED]) - accounted - joined)
