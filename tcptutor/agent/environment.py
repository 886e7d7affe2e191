"""What this kernel can do for the lab, found by trying: algorithms, qdiscs, timer frequency, versions."""

from __future__ import annotations

import errno
import importlib.metadata
import os
import socket
import subprocess
import time

from tcptutor.agent import shaping
from tcptutor.agent.netlink import ROOT, NetlinkError, Route
from tcptutor.agent.network import Interface, Network, network_of
from tcptutor.run import Environment
from tcptutor.spec import ALGORITHMS, Path
from tcptutor.wire.plan import chain

_CLOCK_MONOTONIC_COARSE = 6
"""linux/time.h; it moves once a timer tick, so its resolution tells the kernel's HZ."""
QDISCS = ("netem", "tbf", "fq", "fq_codel", "codel", "cake", "red")


def algorithms(network: Network) -> tuple[str, ...]:
    """The congestion controls that a sender's socket takes, loading those that are modules.

    Asked of a socket, as iperf3 does: the sysctl refuses some of them outside the machine's first namespace.
    """
    there = []
    with network_of(network.host(1).pid), socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        for name in ALGORITHMS:
            try:
                probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
            except OSError:
                continue
            there.append(name)
    return tuple(there)


def qdiscs(interface: Interface) -> tuple[str, ...]:
    """The queue disciplines that can be put on `interface`; it is left without one."""
    there = []
    with Route(interface.pid) as route:
        index = route.index(interface)
        for kind in QDISCS:
            way = Path(rate=1e7, delay=0.001, qdisc="fifo" if kind in ("netem", "tbf") else kind)
            try:
                route.add(
                    index,
                    shaping.handle(0),
                    ROOT,
                    next(one for one in chain(way, 1500, 1) if one.kind == kind),
                )
            except NetlinkError as error:
                # Anything but "no such qdisc" means that it is there and wants other settings.
                if error.code == errno.ENOENT:
                    continue
            there.append(kind)
            route.clear(index)
    return tuple(there)


def _iperf3() -> str:
    try:
        output = subprocess.run(["iperf3", "--version"], capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""
    return output.split()[1] if len(output.split()) > 1 else ""


def environment(network: Network, backend: str, clock: str) -> Environment:
    """What is here, for the run's record."""
    packages = {name: importlib.metadata.version(name) for name in ("mininet", "pyroute2", "msgspec")}
    return Environment(
        backend=backend,
        clock=clock,
        kernel=os.uname().release,
        algorithms=algorithms(network),
        qdiscs=qdiscs(network.bottleneck),
        hz=round(1 / time.clock_getres(_CLOCK_MONOTONIC_COARSE)),
        versions={**packages, "iperf3": _iperf3()},
    )
