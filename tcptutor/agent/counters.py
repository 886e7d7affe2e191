"""What the kernel of a lab host had to throw away or hold back for want of room, from its own counters.

Each is of the host's namespace (/proc/net/netstat and /proc/net/snmp; include/uapi/linux/snmp.h names them), and none
of what they count is done by the path: a run in which one of them moves is not what its models describe.
"""

from __future__ import annotations

from pathlib import Path

from tcptutor.agent.network import Host

WRONG = {
    "TcpExt TCPMemoryPressures": "the kernel had no more memory for TCP (net.ipv4.tcp_mem): receivers advertise next to"
    " nothing from then on",
    "TcpExt TCPAbortOnMemory": "the kernel ended {count} connection{s} for want of memory (net.ipv4.tcp_mem)",
}
"""Nothing that was measured then is true. `count` is how often it happened, `s` makes a plural of it."""
DOUBTFUL = {
    "TcpExt RcvPruned": "the kernel threw {count} segment{s} away that had arrived: the receive buffer was too small",
    "TcpExt OfoPruned": "the kernel threw away {count} times what had arrived out of order: the receive buffer was"
    " too small",
    "TcpExt TCPOFODrop": "the kernel dropped {count} segment{s} that had arrived out of order: the receive buffer was"
    " too small",
    "TcpExt TCPRcvQDrop": "the kernel dropped {count} segment{s} that had arrived: the receive buffer was full",
    "TcpExt TCPZeroWindowDrop": "the kernel dropped {count} segment{s} that had arrived: the window was closed",
    "TcpExt TCPBacklogDrop": "the kernel dropped {count} segment{s} that had arrived: the processor was too slow to"
    " take them",
    "TcpExt TCPRcvCollapsed": "the kernel had to copy {count} segment{s} closer together: the receive buffer was full",
    "Udp RcvbufErrors": "the kernel dropped {count} datagram{s} that had arrived: the program did not take them in"
    " time",
}
"""Segments were lost, or held up, where no model has them lost."""
WITHHELD = "TcpExt TCPSpuriousRtxHostQueues"
DOUBTFUL[WITHHELD] = (
    "the kernel withheld {count} retransmission{s}: it saw the first copy in the lab's queues, which no sender on a"
    " real path can"
)
"""Recorded for every host, none as well: `agent.netlink.netfilter` is there to keep it at 0."""


class HostCounters:
    """Those of some hosts, from when it is made on."""

    def __init__(self, hosts: list[Host]) -> None:
        self._hosts = hosts
        self._before = {host.name: _read(host) for host in hosts}

    def moved(self) -> dict[str, dict[str, int]]:
        """Return how often each has happened since, by host and by name as in WRONG and DOUBTFUL.

        Left out where it has not, but for WITHHELD.
        """
        found = {}
        for host in self._hosts:
            before = self._before[host.name]
            now = {name: count - before.get(name, 0) for name, count in _read(host).items()}
            found[host.name] = {name: count for name, count in now.items() if count or name == WITHHELD}
        return found


def _read(host: Host) -> dict[str, int]:
    """A line of names and one of values in turn, both with the protocol before them; names that are not known to us are
    left out."""
    found = {}
    for file in ("netstat", "snmp"):
        lines = Path(f"/proc/{host.pid}/net/{file}").read_text().splitlines()
        for names, values in zip(lines[::2], lines[1::2], strict=True):
            protocol, *fields = names.split()
            for field, value in zip(fields, values.split()[1:], strict=True):
                name = f"{protocol.rstrip(':')} {field}"
                if name in WRONG or name in DOUBTFUL:
                    found[name] = int(value)
    return found
