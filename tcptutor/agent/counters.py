"""Kernel counters of a run: segments that a lab host discarded or held back, and the load of the processors.

The hosts' counters belong to their namespaces (/proc/net/netstat and /proc/net/snmp; names in
include/uapi/linux/snmp.h). The path causes none of them: the models do not describe a run in which one increases.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tcptutor.agent.network import Host

INVALIDATING = {
    "TcpExt TCPMemoryPressures": "the kernel ran out of memory for TCP (net.ipv4.tcp_mem), and receivers advertise tiny"
    " windows",
    "TcpExt TCPAbortOnMemory": "the kernel ended {count} connection{s} for lack of memory (net.ipv4.tcp_mem)",
}
"""Counters that make a run invalid. `count` is the increase and `s` the plural ending."""
DOUBTFUL = {
    "TcpExt RcvPruned": "the kernel dropped {count} segment{s} that had arrived: the receive buffer was too small",
    "TcpExt OfoPruned": "the kernel dropped segments out of order {count} time{s}: the receive buffer was too small",
    "TcpExt TCPOFODrop": "the kernel dropped {count} segment{s} out of order: the receive buffer was too small",
    "TcpExt TCPRcvQDrop": "the kernel dropped {count} segment{s} that had arrived: the receive buffer was full",
    "TcpExt TCPZeroWindowDrop": "the kernel dropped {count} segment{s} that had arrived: the window was closed",
    "TcpExt TCPBacklogDrop": "the kernel dropped {count} segment{s} that had arrived: the processor was too slow",
    "TcpExt TCPRcvCollapsed": "the kernel had to merge {count} received segment{s}: the receive buffer was full",
    "Udp RcvbufErrors": "the kernel dropped {count} datagram{s} that had arrived: the program was too slow to read",
}
"""Counters of segments lost or delayed where no model expects it."""
WITHHELD = "TcpExt TCPSpuriousRtxHostQueues"
DOUBTFUL[WITHHELD] = (
    "the kernel withheld {count} retransmission{s}: it saw the first copy in the lab's queues, which no sender on a"
    " real path can"
)
"""Reported for every host even at 0, where `agent.netlink.netfilter` is to keep it."""
_STAT = Path("/proc/stat")
_NICE, _IDLE, _IOWAIT, _SOFTIRQ, _STEAL = 1, 3, 4, 6, 7
_HIGHEST_PRIORITY = -20


class HostCounters:
    """Counters of some hosts, relative to their values at construction."""

    def __init__(self, hosts: list[Host]) -> None:
        self._hosts = hosts
        self._before = {host.name: _read_host(host) for host in hosts}

    def increases(self) -> dict[str, dict[str, int]]:
        """Return the increases so far by host and counter; only WITHHELD is included at 0."""
        result = {}
        for host in self._hosts:
            before = self._before[host.name]
            now = {name: count - before.get(name, 0) for name, count in _read_host(host).items()}
            result[host.name] = {name: count for name, count in now.items() if count or name == WITHHELD}
        return result


def _read_host(host: Host) -> dict[str, int]:
    # The files alternate a line of names and one of values, each led by the protocol.
    result = {}
    for file in ("netstat", "snmp"):
        lines = Path(f"/proc/{host.pid}/net/{file}").read_text().splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            protocol, *fields = names.split()
            for field, value in zip(fields, values.split()[1:], strict=True):
                name = f"{protocol.rstrip(':')} {field}"
                if name in INVALIDATING or name in DOUBTFUL:
                    result[name] = int(value)
    return result


class ProcessorShares(NamedTuple):
    """Shares of processor time, 0 to 1."""

    busiest: float
    """Time that the busiest processor was neither idle nor left to programs of low priority."""
    softirq: float
    """Largest share ticks on network work in soft interrupts."""
    steal: float
    """Largest share taken by a hypervisor."""


class Processors:
    """Load of the processors since construction or the last `restart`."""

    def __init__(self) -> None:
        self._before = _read_processors()

    def restart(self) -> None:
        self._before = _read_processors()

    def shares(self) -> ProcessorShares:
        """Return the shares since the start."""
        shares = []
        for name, now in _read_processors().items():
            ticks = [max(0, b - a) for a, b in zip(self._before.get(name, now), now, strict=True)]
            total = sum(ticks) or 1
            free = ticks[_IDLE] + ticks[_IOWAIT] + ticks[_NICE]
            shares.append(ProcessorShares(1 - free / total, ticks[_SOFTIRQ] / total, ticks[_STEAL] / total))
        return ProcessorShares(*(round(max(column), 4) for column in zip(*shares, strict=True)))


def _read_processors() -> dict[str, list[int]]:
    """Return the ticks by processor: user, nice, system, idle, iowait, irq, softirq, steal."""
    rows = (line.split() for line in _STAT.read_text().splitlines() if line.startswith("cpu"))
    return {row[0]: [int(value) for value in row[1:9]] for row in rows if row[0] != "cpu"}


@contextmanager
def high_priority() -> Iterator[None]:
    """Give this thread the highest priority for the length of the block, if permitted.

    Each flow has two threads, so among 16 busy flows the sampling thread would get 1/33 of a processor.
    """
    before = os.getpriority(os.PRIO_PROCESS, 0)
    try:
        with contextlib.suppress(PermissionError):
            os.setpriority(os.PRIO_PROCESS, 0, _HIGHEST_PRIORITY)
        yield
    finally:
        os.setpriority(os.PRIO_PROCESS, 0, before)
