"""Kernel counters of segments that a lab host discarded or held back for lack of memory or time.

Each belongs to the host's namespace (/proc/net/netstat and /proc/net/snmp; names in include/uapi/linux/snmp.h). The
path causes none of them: the models do not describe a run in which a counter increases.
"""

from __future__ import annotations

from pathlib import Path

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


class HostCounters:
    """Counters of some hosts, relative to their values at construction."""

    def __init__(self, hosts: list[Host]) -> None:
        self._hosts = hosts
        self._before = {host.name: _read(host) for host in hosts}

    def increases(self) -> dict[str, dict[str, int]]:
        """Return the increases so far by host and counter; only WITHHELD is included at 0."""
        result = {}
        for host in self._hosts:
            before = self._before[host.name]
            now = {name: count - before.get(name, 0) for name, count in _read(host).items()}
            result[host.name] = {name: count for name, count in now.items() if count or name == WITHHELD}
        return result


def _read(host: Host) -> dict[str, int]:
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
