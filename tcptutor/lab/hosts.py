"""How the end hosts are set up: sysctls, offloads, MTU, receive window. Everything is read back by the caller."""

from __future__ import annotations

import ctypes
import fcntl
import socket
import struct
from pathlib import Path

from tcptutor.errors import KernelLacks, LabError
from tcptutor.lab.namespaces import network_of
from tcptutor.lab.network import Host, Interface, Network
from tcptutor.spec import Experiment

_SIOCETHTOOL = 0x8946
_SIOCSIFMTU = 0x8922
# linux/ethtool.h: the commands that read and set one offload each.
_OFFLOADS = {"tso": (0x1E, 0x1F), "gso": (0x23, 0x24), "gro": (0x2B, 0x2C)}
_BUFFER_MAX = 6 << 20


def sysctl(host: Host, name: str, value: str | None = None) -> str:
    """Read sysctl `name` (such as net.ipv4.tcp_rmem) on `host`, after writing `value` when one is given.

    Raises KernelLacks when the kernel has none of that name, LabError when it refuses the value.
    """
    # /proc/thread-self/net follows the thread's namespace, and so does /proc/sys/net at the time of opening.
    path = Path("/proc/sys") / name.replace(".", "/")
    try:
        with network_of(host.pid):
            if value is not None:
                path.write_text(value)
            return " ".join(path.read_text().split())
    except OSError as error:
        # An unknown algorithm's name is refused with the same error as a sysctl that is not there.
        if not path.exists():
            raise KernelLacks(f"this kernel has no sysctl {name}") from None
        raise LabError(f"the kernel refuses {name} = {value} on {host.name}: {error.strerror}") from error


def offloads(interface: Interface, on: bool | None = None) -> dict[str, bool]:
    """The segmentation offloads of `interface`, after switching all of them when `on` is given."""
    with network_of(interface.pid), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:

        def ioctl(command: int, value: int = 0) -> int:
            data = bytearray(struct.pack("II", command, value))
            address = (ctypes.c_char * len(data)).from_buffer(data)
            request = struct.pack("16sP", interface.name.encode(), ctypes.addressof(address))
            fcntl.ioctl(sock, _SIOCETHTOOL, request)
            return int(struct.unpack("II", data)[1])

        if on is not None:
            for _, set_command in _OFFLOADS.values():
                ioctl(set_command, int(on))
        return {name: bool(ioctl(get_command)) for name, (get_command, _) in _OFFLOADS.items()}


def set_mtu(network: Network, mtu: int) -> None:
    """Give every interface of the network, bridges included, this MTU."""
    for interface in network.interfaces + network.bridges:
        # One ioctl instead of a netlink socket each: on an emulated processor that is half of a run's start.
        with network_of(interface.pid), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
            fcntl.ioctl(sock, _SIOCSIFMTU, struct.pack("16si", interface.name.encode(), mtu).ljust(40, b"\0"))


def prepare(network: Network, experiment: Experiment) -> None:
    """Set the hosts up for `experiment`; the algorithm is iperf3's to set, flow by flow."""
    wanted = experiment.hosts
    largest = max(_BUFFER_MAX, 8 * round(experiment.bdp or 0) + 4 * experiment.path.queue)
    set_mtu(network, wanted.mtu)
    for interface in network.interfaces:
        offloads(interface, on=False)
    for host in network.hosts:
        # Nothing learned in one run may help the next one.
        sysctl(host, "net.ipv4.tcp_no_metrics_save", "1")
        sysctl(host, "net.ipv4.tcp_wmem", f"4096 16384 {largest}")
        sysctl(host, "net.ipv4.tcp_rmem", f"4096 131072 {largest}")
        sysctl(host, "net.ipv4.tcp_moderate_rcvbuf", "1")
