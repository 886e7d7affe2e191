"""The lab as its kernel holds it: hosts, interfaces and queue disciplines, as a session tells of them."""

from __future__ import annotations

import msgspec

from tcptutor.spec import Experiment, Path


class QdiscSettings(msgspec.Struct, frozen=True):
    """A queue discipline, or a class of one (its handle has a number after the colon), as the kernel holds it now."""

    kind: str
    handle: str
    """As tc writes it, such as "1:"."""
    parent: str
    """"root", or the class that it is in, such as "1:1"."""
    settings: dict[str, bool | int | float] = {}
    """By name, in base units: delay, jitter, target and interval in s; rate, maxrate, peak, ceil, and of hfsc
    real_time, link_share and upper in bit/s; loss, duplicate, reorder, corrupt and probability from 0 to 1; limit in
    packets, but in bytes for tbf, bfifo, cake and red; burst in bytes, and for netem the packets lost in a row. Empty
    for a kind whose settings are not known."""


class InterfaceState(msgspec.Struct, frozen=True):
    """What one interface of the network does to the packets that leave it."""

    name: str
    """Such as s1-eth2."""
    qdiscs: tuple[QdiscSettings, ...] = ()
    """From the root down; empty where packets do not wait."""
    mtu: int = 1500
    """Largest IP packet, bytes."""
    up: bool = True
    offloads: tuple[str, ...] = ()
    """Those of tso, gso and gro that are on."""
    addresses: tuple[str, ...] = ()
    """IPv4, such as 10.0.0.1/8."""


class SysctlChange(msgspec.Struct, frozen=True):
    """A setting, `net.ipv4.tcp_*` and a few others, that is not what it was when the session began."""

    host: str
    """The switches s1 and s2 have theirs in common."""
    name: str
    """Its last part, such as tcp_sack."""
    before: str
    now: str


class HostState(msgspec.Struct, frozen=True):
    """A host, or a switch, as its kernel holds it now. The switches s1 and s2 have all of it in common."""

    name: str
    sysctls: dict[str, str] = {}
    """Those that a session tells of as they are, by the last part of their names; without those it does not have."""
    listening: tuple[int, ...] = ()
    """TCP ports on which something waits for connections, in order."""
    echo_replies: int = 0
    """Answers to its pings that have come since the session began."""
    filtered: int = 0
    """IP packets that have come to it since then and that its own rules (iptables, nft) kept from its programs."""


class SessionState(msgspec.Struct, frozen=True, tag="seen"):
    """The lab as the kernel holds it now, changes made by hand included; sent within half a second of a change.

    Of a sysctl that was written through another mount of /proc than the lab's own, it may come some seconds later.
    """

    experiment: Experiment
    """In the terms of an experiment, of the first pair; in a run's `path.changes`, those during it."""
    interfaces: tuple[InterfaceState, ...] = ()
    """Every interface of the network, switches' bridges included."""
    sysctls: tuple[SysctlChange, ...] = ()
    path: Path | None = None
    """As it is at this moment, in all its properties; a run's `experiment.path` is that of its begin."""
    hosts: tuple[HostState, ...] = ()
    """Hosts, then switches."""
