"""The lab as the kernel holds it: what somebody changed by hand, in the terms of an experiment.

Queue disciplines and links announce their changes, so they are read again only when there is something new. Sysctls
announce nothing: they are read when a run ends.
"""

from __future__ import annotations

import contextlib
import math
import socket
import struct
from collections.abc import Iterable, Iterator
from pathlib import Path as File
from typing import Any

import msgspec

from tcptutor.lab import hosts, shaping
from tcptutor.lab.namespaces import network_of
from tcptutor.lab.network import Host, Interface, Network
from tcptutor.lab.shaping import Held
from tcptutor.spec import Change, Experiment, Path

_SYSCTLS = File("/proc/sys/net/ipv4")
_NOT_SETTINGS = ("available", "allowed", "key", "mem_")
"""Parts of the names of those that tell instead of set, or are a secret."""
_LINK_GROUP, _TC_GROUP = 0x1, 0x8
"""linux/rtnetlink.h: RTMGRP_LINK, RTMGRP_TC."""
_FOLLOWED = ("rate", "delay", "jitter", "loss", "queue")
"""What of a path has a change at a given second."""


_HEADER = struct.Struct("=IHHII")


def _ports(data: bytes) -> Iterator[int]:
    """Who caused each message of `data`."""
    offset = 0
    while offset + _HEADER.size <= len(data):
        length, _, _, _, port = _HEADER.unpack_from(data, offset)
        yield port
        offset += max(_HEADER.size, (length + 3) & ~3)


class Announcements:
    """The kernel's news of links and queue disciplines, from every namespace of the network. `close` it."""

    def __init__(self, network: Network) -> None:
        self._sockets = []
        for pid in (None, *(host.pid for host in network.hosts)):
            with network_of(pid):
                one = socket.socket(
                    socket.AF_NETLINK,
                    socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK,
                    socket.NETLINK_ROUTE,
                )
                one.bind((0, _LINK_GROUP | _TC_GROUP))
            self._sockets.append(one)

    @property
    def descriptors(self) -> list[int]:
        return [one.fileno() for one in self._sockets]

    def news(self, own: int) -> bool:
        """Whether there was any since the last call but what netlink port `own` caused: questions are announced too."""
        found = False
        for one in self._sockets:
            try:
                while data := one.recv(65536):
                    found |= any(port != own for port in _ports(data))
            except BlockingIOError:
                pass
            except OSError:  # there was more than the socket could hold
                found = True
        return found

    def close(self) -> None:
        for one in self._sockets:
            one.close()


Counted = dict[Interface, tuple[Held, ...]]
"""What the kernel holds, and has counted, on every interface."""


def read(network: Network) -> Counted:
    """Every interface that packets pass on their way."""
    near = [network.near(pair) for pair in range(network.pairs)]
    return {one: shaping.held(one) for one in (*network.shaped, *near)}


def path_of(network: Network, held: Counted, pair: int) -> Path:
    """The way between the hosts of `pair`, from what every interface on it does to packets."""
    there = _way(
        held[one] for one in (network.senders[pair].interface, network.bottleneck, network.access(pair))
    )
    back = _way(
        held[one] for one in (network.receivers[pair].interface, network.way_back, network.near(pair))
    )
    kept = {name: back[name] for name in ("rate", "delay", "loss", "queue") if name in back}
    return Path(**there, **{f"reverse_{name}": value for name, value in kept.items()})


def _way(chains: Iterable[tuple[Held, ...]]) -> dict[str, Any]:
    """One direction in the terms of a Path, all interfaces together: delays add up, the slowest rate counts."""
    way: dict[str, Any] = {"delay": 0.0}
    kept, spread = 1.0, 0.0
    for chain in chains:
        for place, held in enumerate(chain):
            settings = held.qdisc.settings
            rate = settings.get("rate", 0) * 8.0 if held.qdisc.kind in ("netem", "tbf") else 0.0
            if held.qdisc.kind == "netem":
                way["delay"] += (settings["latency"] or 0) / 1e9
                spread += ((settings["jitter"] or 0) / 1e9) ** 2
                kept *= 1 - settings["loss"]
                way |= _most(way, settings)
            if rate and rate < way.get("rate", math.inf):
                way["rate"] = rate
                if held.qdisc.kind == "tbf":
                    way["queue"] = settings["limit"]
                inner = chain[place + 1].qdisc if place + 1 < len(chain) else None
                managed = inner if inner is not None and inner.kind not in ("netem", "tbf") else None
                way["qdisc"] = managed.kind if managed else "fifo"
                way["ecn"] = bool(managed.settings.get("ecn")) if managed else False
    if spread:
        way["jitter"] = math.sqrt(spread)
    if kept < 1:
        way["loss"] = 1 - kept
    return way


def _most(way: dict[str, Any], netem: dict[str, Any]) -> dict[str, Any]:
    """What does not add up: the most that any interface does."""
    names = {"duplicate": "duplicate", "reorder": "reorder", "burst": "loss_burst"}
    names["loss_correlation"] = "loss_correlation"
    found = {ours: max(way.get(ours, 0.0), netem[theirs]) for theirs, ours in names.items() if netem[theirs]}
    return {name: value for name, value in found.items() if name != "loss_burst" or value > 1}


def sysctls_of(host: Host) -> dict[str, str]:
    """Every `net.ipv4.tcp_*` setting of `host`, by its name from `tcp_` on."""
    found = {}
    with network_of(host.pid):
        for file in sorted(_SYSCTLS.glob("tcp_*")):
            if not any(part in file.name for part in _NOT_SETTINGS):
                with contextlib.suppress(OSError, UnicodeDecodeError):
                    found[file.name] = " ".join(file.read_text().split())
    return found


class Settings:
    """The experiment that was asked for, with what has become of it."""

    def __init__(self, network: Network, asked: Experiment) -> None:
        self._network, self._asked = network, asked
        self._news = Announcements(network)
        self._sysctls = {host.name: sysctls_of(host) for host in network.hosts}
        self.held = read(network)
        """As it was when it was last read."""
        self._at_first = self._now = self._paths()

    def _paths(self) -> list[Path]:
        return [path_of(self._network, self.held, pair) for pair in range(self._network.pairs)]

    def close(self) -> None:
        self._news.close()

    @property
    def descriptors(self) -> list[int]:
        """Readable when something may have changed: call `changed` then."""
        return self._news.descriptors

    def changed(self, own: int = -1) -> bool:
        """Whether a path is another one now; what netlink port `own` has asked is no reason to read it again."""
        return self._news.news(own) and self.look()

    def look(self) -> bool:
        """Read the paths again; whether one is another now."""
        self.held = read(self._network)
        before, self._now = self._now, self._paths()
        return self._now != before

    def path(self, pair: int = 0) -> Path:
        """Of `pair`, as it was asked for where nothing has changed: the kernel rounds what it is given."""
        first, now = self._at_first[pair], self._now[pair]
        names = (name for name in Path.__struct_fields__ if getattr(now, name) != getattr(first, name))
        return msgspec.structs.replace(self._asked.path, **{name: getattr(now, name) for name in names})

    def changed_sysctls(self, hosts: Iterable[Host]) -> dict[str, str]:
        """The settings of `hosts` that are not what they were, by name; the first host's where they differ."""
        changed: dict[str, str] = {}
        for host in hosts:
            for name, value in sysctls_of(host).items():
                if value != self._sysctls[host.name].get(name):
                    changed.setdefault(name, value)
        return changed

    def experiment(
        self, path: Path, sender: Host | None = None, sysctls: dict[str, str] | None = None
    ) -> Experiment:
        """What was asked for, with this path, these sysctls, and the MTU and offloads of `sender` as they are now."""
        own = self._asked.hosts
        if sender is not None:
            offloads = any(hosts.offloads(sender.interface).values())
            own = msgspec.structs.replace(own, mtu=hosts.mtu(sender.interface), offloads=offloads)
        own = msgspec.structs.replace(own, sysctls={**own.sysctls, **(sysctls or {})})
        return msgspec.structs.replace(self._asked, path=path, hosts=own)


def changes(before: Path, now: Path, at: float) -> list[Change]:
    """What became another one at second `at`."""
    pairs = ((name, getattr(before, name), getattr(now, name)) for name in _FOLLOWED)
    return [
        Change(round(at, 3), name, float(value)) for name, old, value in pairs if value not in (old, None)
    ]
