"""Abilities of this kernel, found by trial, and whether they suffice for an experiment."""

from __future__ import annotations

import errno
import importlib.metadata
import os
import socket
import subprocess
import time
from pathlib import Path

from tcptutor.agent import shaping
from tcptutor.agent.netlink import ROOT, NetlinkError, Route
from tcptutor.agent.network import Interface, Network, network_of
from tcptutor.base.errors import KernelLacks
from tcptutor.run import Environment
from tcptutor.spec import ALGORITHMS, Experiment
from tcptutor.spec import Path as NetworkPath
from tcptutor.wire.plan import chain

_CLOCK_MONOTONIC_COARSE = 6
"""linux/time.h; this clock advances once per timer tick, so its resolution gives the kernel's HZ."""
_SYSCTLS = Path("/proc/sys/net")
QDISCS = ("netem", "tbf", "fq", "fq_codel", "codel", "cake", "red")


def environment(network: Network, backend: str, clock: str) -> Environment:
    """Describe this lab for the run's record."""
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


def algorithms(network: Network) -> tuple[str, ...]:
    """Return the congestion controls that a sender's socket accepts, loading modules as needed.

    A socket accepts more than the sysctl, which refuses some of them outside the machine's first namespace.
    """
    supported = []
    with network_of(network.host(1).pid), socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        for name in ALGORITHMS:
            try:
                probe.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, name.encode())
            except OSError:
                continue
            supported.append(name)
    return tuple(supported)


def qdiscs(interface: Interface) -> tuple[str, ...]:
    """Return the queue disciplines that `interface` accepts, and leave it without a discipline."""
    supported = []
    with Route(interface.pid) as route:
        index = route.index(interface)
        for kind in QDISCS:
            path = NetworkPath(rate=1e7, delay=0.001, qdisc="fifo" if kind in ("netem", "tbf") else kind)
            try:
                route.add(
                    index,
                    shaping.handle(0),
                    ROOT,
                    next(qdisc for qdisc in chain(path, 1500, 1) if qdisc.kind == kind),
                )
            except NetlinkError as error:
                # Any error but "no such qdisc" means that the kernel has it and wants other settings.
                if error.code == errno.ENOENT:
                    continue
            supported.append(kind)
            route.clear(index)
    return tuple(supported)


def _iperf3() -> str:
    try:
        output = subprocess.run(["iperf3", "--version"], capture_output=True, text=True, check=False).stdout
    except FileNotFoundError:
        return ""
    return output.split()[1] if len(output.split()) > 1 else ""


def require(available: Environment, experiment: Experiment) -> None:
    """Check that the kernel can run `experiment`. Raises KernelLacks with the missing feature."""
    for algorithm in experiment.congestion_controls:
        if algorithm not in available.algorithms:
            raise KernelLacks(
                f"this kernel has no congestion control {algorithm!r}: it has {', '.join(available.algorithms)}"
            )
    _require_memory(experiment, "" if available.backend == "guest" else ", or --backend guest")
    for kind in experiment.qdiscs:
        if kind not in available.qdiscs:
            raise KernelLacks(f"this kernel has no {kind}: run the experiment in the guest (--backend guest)")


def _require_memory(experiment: Experiment, other: str) -> None:
    if (buffer := experiment.flows.buffer) is not None:
        for name in ("rmem_max", "wmem_max"):
            allowed = int((_SYSCTLS / "core" / name).read_text())
            if buffer > allowed:
                raise KernelLacks(
                    f"this kernel allows buffers of {allowed} bytes (net.core.{name}): take a smaller buffer{other}"
                )
    if (size := experiment.hosts.send_buffer) is not None:
        # A sender fills a fixed buffer; when TCP's memory runs short, the kernel holds data back.
        try:
            pages = int((_SYSCTLS / "ipv4" / "tcp_mem").read_text().split()[1])
        except OSError:
            return  # only the machine's first namespace has the file
        limit, total = pages * os.sysconf("SC_PAGE_SIZE"), size * experiment.total_streams
        if total > limit:
            raise KernelLacks(
                f"this kernel has {limit} bytes for TCP (net.ipv4.tcp_mem), and the send buffers of all flows take"
                f" {total}: take a smaller send_buffer or fewer flows"
            )
