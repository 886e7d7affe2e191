"""What a host has for others and what came to it: ports, answers to its pings, packets that its own rules dropped."""

from __future__ import annotations

import os
import time
from collections import deque
from typing import NamedTuple

from tcptutor.agent.netlink import Listeners

_AT_MOST_EVERY = 0.4
"""How often a count that goes on is told, s: a flood of pings is no flood of messages."""
_ARRIVED, _KEPT = b"InReceives", (b"InDelivers", b"InHdrErrors", b"InAddrErrors", b"InUnknownProtos", b"InDiscards",
                                  b"ForwDatagrams")  # fmt: skip
"""Of RFC 4293, as Linux counts them: what came to IP, and what became of it. A rule that drops counts in none."""
_IN_PASSING = 0.3
"""How long a packet may be on its way between these counters, s: a processor that is taken away leaves it there."""


class HostTally(NamedTuple):
    """Of one host; counts are since the session began."""

    listening: tuple[int, ...] = ()
    echo_replies: int = 0
    filtered: int = 0


class _Counted(NamedTuple):
    echo_replies: int
    filtered: int


class Settled:
    """How many packets were dropped for good, where what is read counts those too that are on their way at the time."""

    def __init__(self) -> None:
        self.count = 0
        self._recent = deque[tuple[float, int]]()
        """Times, s, and counts: those of the last _IN_PASSING seconds, and the one before them."""

    def read(self, dropped: int, at: float) -> None:
        """`dropped` was read at that time, s; counted are those that are read for longer than one can be on its way."""
        self._recent.append((at, dropped))
        while len(self._recent) > 1 and self._recent[1][0] <= at - _IN_PASSING:
            self._recent.popleft()
        if self._recent[0][0] <= at - _IN_PASSING:
            self.count = max(self.count, min(count for _, count in self._recent))


class Tallies:
    """Those of some hosts, from when it is made on. Owns sockets and files; `close` it."""

    def __init__(self, hosts: dict[str, int]) -> None:
        """`hosts`: for the name of each, a process that is in its namespace."""
        self._listeners = {name: Listeners(pid) for name, pid in hosts.items()}
        self._files = {
            name: os.open(f"/proc/{pid}/net/snmp", os.O_RDONLY | os.O_CLOEXEC) for name, pid in hosts.items()
        }
        self._first = {name: _counted(file) for name, file in self._files.items()}
        self._filtered = {name: Settled() for name in hosts}
        self._told = {name: self._now(name, time.monotonic()) for name in hosts}
        self._told_at = 0.0

    def look(self) -> bool:
        """Whether there is something to tell."""
        at = time.monotonic()
        now = {name: self._now(name, at) for name in self._files}
        if now == self._told:
            return False
        only_counted = all(now[name].listening == told.listening for name, told in self._told.items())
        if only_counted and at < self._told_at + _AT_MOST_EVERY:
            return False
        self._told, self._told_at = now, at
        return True

    def of(self, name: str) -> HostTally:
        """What was last told of that host; nothing of one that is not among them."""
        return self._told.get(name, HostTally())

    def _now(self, name: str, at: float) -> HostTally:
        first, now, filtered = self._first[name], _counted(self._files[name]), self._filtered[name]
        filtered.read(now.filtered - first.filtered, at)
        return HostTally(self._listeners[name].ports(), now.echo_replies - first.echo_replies, filtered.count)

    def close(self) -> None:
        for listeners in self._listeners.values():
            listeners.close()
        for file in self._files.values():
            os.close(file)


def _counted(file: int) -> _Counted:
    # A line of names and one of values, of IP and of ICMP; the next lines are not looked at.
    ip_names, ip, icmp_names, icmp, *_ = os.pread(file, 4096, 0).split(b"\n")
    arrived = dict(zip(ip_names.split(), ip.split(), strict=True))
    # Fragments come one by one and go on as one.
    joined = int(arrived[b"ReasmReqds"]) - int(arrived[b"ReasmOKs"])
    kept = sum(int(arrived[name]) for name in _KEPT)
    echoes = icmp.split()[icmp_names.split().index(b"InEchoReps")]
    return _Counted(int(echoes), int(arrived[_ARRIVED]) - kept - joined)
