"""State of the lab in its kernel: hosts, interfaces and queue disciplines, as a session reports it."""

from __future__ import annotations

import msgspec

from tcptutor.spec import Experiment, Path


class QdiscSettings(msgspec.Struct, frozen=True):
    """Settings of a queue discipline or class in the kernel. A class has a number after the colon."""

    kind: str
    handle: str
    """Number in tc's notation, such as "1:"."""
    parent: str
    """"root", or the class that contains it, such as "1:1"."""
    settings: dict[str, bool | int | float] = {}
    """Settings by name, in base units; empty for a kind that the agent cannot decode.

    s for delay, jitter, target and interval; bit/s for rate, maxrate, peak, ceil and hfsc's real_time, link_share and
    upper; 0 to 1 for loss, duplicate, reorder, corrupt and probability; packets for limit, but bytes for tbf, bfifo,
    cake and red; bytes for burst, but packets lost in a row for netem.
    """


class InterfaceState(msgspec.Struct, frozen=True):
    """Settings of an interface of the network."""

    name: str
    """Interface name, such as s1-eth2."""
    qdiscs: tuple[QdiscSettings, ...] = ()
    """Disciplines from the root down; empty for an interface without a queue."""
    mtu: int = 1500
    """Largest IP packet, bytes."""
    up: bool = True
    offloads: tuple[str, ...] = ()
    """Enabled offloads among tso, gso and gro."""
    addresses: tuple[str, ...] = ()
    """IPv4 addresses, such as 10.0.0.1/8."""


class SysctlChange(msgspec.Struct, frozen=True):
    """Sysctl that has changed since the session began: `net.ipv4.tcp_*` and a few others."""

    host: str
    """Host or switch; the switches s1 and s2 share their sysctls."""
    name: str
    """Last part of the name, such as tcp_sack."""
    before: str
    now: str


class HostState(msgspec.Struct, frozen=True):
    """State of a host or switch in its kernel. The switches s1 and s2 share a namespace, and so all values."""

    name: str
    sysctls: dict[str, str] = {}
    """Values of the sysctls that a session always reports, by the last part of the name, if they exist."""
    listening_ports: tuple[int, ...] = ()
    """Sorted TCP ports with a listening socket."""
    echo_replies: int = 0
    """Replies to the host's own pings since the session began."""
    filtered_packets: int = 0
    """IP packets that the host's own rules (iptables, nft) have dropped on arrival since the session began."""
    captures: bool = False
    """True while a program on the host captures packets, such as tcpdump."""
    captured_connections: int = 0
    """Most connections of the host that opened and ended while one capture ran there."""
    cached_ssthresh: int | None = None
    """Smallest slow start threshold, segments, with which new connections start from the kernel's cache; None without
    one, or if the host ignores them (tcp_no_ssthresh_metrics_save)."""


class SessionState(msgspec.Struct, frozen=True, tag="session-state"):
    """State of the lab in its kernel, including manual changes; sent within half a second of a change.

    A sysctl written through a mount of /proc other than the lab's may be reported some seconds later.
    """

    experiment: Experiment
    """Experiment that describes the first pair now; during a run, `path.changes` lists the changes since its start."""
    interfaces: tuple[InterfaceState, ...] = ()
    """All interfaces of the network, including the switches' bridges."""
    sysctls: tuple[SysctlChange, ...] = ()
    path: Path | None = None
    """Current path with all properties; a run's `experiment.path` is the path at its start."""
    hosts: tuple[HostState, ...] = ()
