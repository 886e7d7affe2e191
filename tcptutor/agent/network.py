"""Network of the lab as in the manuals, built by Mininet: h1 ... h8, switches s1 and s2, and s3 for two bottlenecks.

`spec.topology` names the interfaces. Addresses are 10.0.0.N/8.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tcptutor.agent.imports import no_distutils
from tcptutor.base.errors import LabError
from tcptutor.spec import Topology

HOSTS = Path("/etc/hosts")
_MS_BIND = 4096
_CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)


with no_distutils():
    from mininet.log import setLogLevel
    from mininet.net import Mininet
    from mininet.nodelib import LinuxBridge
    from mininet.topo import Topo

_LINK_LOCAL_REPORTS = Path("/proc/sys/net/ipv4/igmp_link_local_mcast_reports")
"""Whether a bridge announces groups without members. The hosts' filters would drop these packets and count them as
dropped by a rule."""


class Network:
    """Running network. Owns Mininet; `start` builds it and `stop` takes it down."""

    def __init__(self, topology: Topology = Topology()) -> None:  # noqa: B008  # immutable
        self.topology = topology
        self.pairs = topology.pairs
        self.sends_copies = False
        """Whether packets lose their sender's socket at the first switch, as on a real path (`netlink.Netfilter`)."""
        self._net: Any = None

    def start(self) -> None:
        """Build the network. Raises LabError if Mininet cannot."""
        setLogLevel("critical")
        with contextlib.suppress(OSError):
            _LINK_LOCAL_REPORTS.write_text("0")
        # Mininet would raise limits and sysctls of the whole machine on first use, which the lab does not need.
        Mininet.inited = True
        try:
            self._net = Mininet(
                topo=_Pairs(topology=self.topology), switch=LinuxBridge, controller=None, waitConnected=False
            )
            self._net.start()
        except SystemExit as error:  # Mininet exits when a tool is missing
            raise LabError("Mininet cannot start: run `tcptutor setup` to install what it needs") from error
        except Exception as error:
            raise LabError(f"Mininet cannot build the network: {error}") from error

    def stop(self) -> None:
        """Take the network down; safe to call twice."""
        if self._net is not None:
            self._net.stop()
            self._net = None

    def host(self, number: int) -> Host:
        node = self._net.get(f"h{number}")
        return Host(node.name, f"10.0.0.{number}", node.pid, Interface(f"{node.name}-eth0", node.pid))

    @property
    def senders(self) -> list[Host]:
        return [self.host(2 * pair + 1) for pair in range(self.pairs)]

    @property
    def receivers(self) -> list[Host]:
        return [self.host(2 * pair + 2) for pair in range(self.pairs)]

    @property
    def hosts(self) -> list[Host]:
        return self.senders + self.receivers

    @property
    def bottleneck(self) -> Interface:
        """Interface of the first switch that faces the second: shapes the data's direction."""
        return Interface(self.topology.links[0][0], None)

    @property
    def second_bottleneck(self) -> Interface | None:
        """Interface of the second switch that faces the third; None with two switches."""
        return Interface(self.topology.links[1][0], None) if self.topology.has_second else None

    @property
    def reverse_bottleneck(self) -> Interface:
        """Interface of the second switch that faces the first: shapes the acknowledgments' direction."""
        return Interface("s2-eth1", None)

    def access(self, pair: int) -> Interface:
        """Return the last switch's interface that faces the receiver of `pair`."""
        return Interface(self.topology.receiver_port(pair), None)

    def sender_access(self, pair: int) -> Interface:
        """Return the first switch's interface that faces the sender of `pair`."""
        return Interface(self.topology.sender_port(pair), None)

    @property
    def interfaces(self) -> list[Interface]:
        """All interfaces of hosts and switches, without the switches' bridge devices (`bridges`)."""
        ports = [
            Interface(str(name), None)
            for switch in self.topology.switches
            for name in self._net.get(switch).intfNames()
            if name != "lo"
        ]
        return [host.interface for host in self.hosts] + ports

    @property
    def ports(self) -> list[Interface]:
        """All interfaces of the switches, without their bridge devices."""
        return [interface for interface in self.interfaces if interface.pid is None]

    @property
    def bridges(self) -> list[Interface]:
        """The bridge devices of the switches."""
        return [Interface(switch, None) for switch in self.topology.switches]

    def process(self, name: str) -> int:
        """Return a process in the network namespace of host or switch `name` that lives as long as the network.

        For the switches it is not the agent's own, which temporarily enters other namespaces.
        """
        return int(self._net.get(name).pid)

    def popen(self, host: Host, *command: str, **options: Any) -> Any:
        return self._net.get(host.name).popen(list(command), **options)


@dataclass(frozen=True)
class Host:
    """Lab host: its name, address, first process and interface."""

    name: str
    address: str
    pid: int
    interface: Interface


@dataclass(frozen=True)
class Interface:
    """End of a link: its name and a process in its namespace (None: the agent's own)."""

    name: str
    pid: int | None


class HostNames:
    """The lab's /etc/hosts. Create it before the network: a host keeps the mounts that exist when it starts."""

    def __init__(self, file: Path = HOSTS) -> None:
        self._file = file
        self._before = file.read_text(errors="replace") if file.exists() else "127.0.0.1 localhost\n"

    @classmethod
    def private(cls) -> HostNames | None:
        """Mount a copy of /etc/hosts over it in this mount namespace; return None if the machine has no such file.

        Raises LabError.
        """
        if not HOSTS.exists():
            return None
        descriptor, name = tempfile.mkstemp(prefix="hosts-")
        try:
            os.write(descriptor, HOSTS.read_bytes())
            os.fchmod(descriptor, 0o644)
            if _libc.mount(name.encode(), str(HOSTS).encode(), None, _MS_BIND, None):
                raise LabError(f"no /etc/hosts for the lab: {os.strerror(ctypes.get_errno())}")
        finally:
            os.close(descriptor)
            # The mount keeps the file alive as long as the namespace.
            Path(name).unlink()
        return cls()

    def write(self, hosts: Iterable[Host]) -> None:
        """Add the lines of `hosts`. Writes in place, because other namespaces share the file."""
        rows = [f"{host.address}\t{host.name}\n" for host in hosts]
        with self._file.open("r+" if self._file.exists() else "w") as file:
            file.write("".join([self._before.rstrip("\n"), "\n", *rows]))
            file.truncate()


@contextmanager
def network_of(pid: int | None) -> Iterator[None]:
    """Switch this thread to the network namespace of process `pid` for the length of the block; None stays.

    A socket keeps the namespace in which it was opened.
    """
    if pid is None:
        yield
        return
    home = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        target = os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        try:
            _setns(target)
        finally:
            os.close(target)
        try:
            yield
        finally:
            _setns(home)
    finally:
        os.close(home)


def _setns(fd: int) -> None:
    # os.setns exists from Python 3.12 on; we support 3.11.
    if _libc.setns(fd, _CLONE_NEWNET):
        code = ctypes.get_errno()
        raise LabError(f"cannot enter a lab host's network namespace: {os.strerror(code)}")


class _Pairs(Topo):  # type: ignore[misc]
    def build(self, topology: Topology = Topology()) -> None:  # noqa: B008  # immutable
        for switch in topology.switches:
            self.addSwitch(switch)
        if topology.pairs > 1:
            self._connect_switches(topology)
        for pair in range(topology.pairs):
            for number, port in enumerate(
                (topology.sender_port(pair), topology.receiver_port(pair)), 2 * pair + 1
            ):
                self.addHost(f"h{number}", ip=f"10.0.0.{number}/8")
                switch, at = _place(port)
                self.addLink(f"h{number}", switch, port1=0, port2=at)
        if topology.pairs == 1:
            self._connect_switches(topology)

    def _connect_switches(self, topology: Topology) -> None:
        for end, other in topology.links:
            (one, port1), (two, port2) = _place(end), _place(other)
            self.addLink(one, two, port1=port1, port2=port2)


def _place(interface: str) -> tuple[str, int]:
    """Return the switch and the number of the port of an interface such as s1-eth2."""
    switch, _, port = interface.partition("-eth")
    return switch, int(port)
