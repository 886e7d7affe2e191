"""The lab as the kernel holds it while somebody's hands are on it: every interface, every host.

One dump a namespace says whether any discipline is another one; sysctls are files that tell when they are written, and
of interfaces the kernel tells by itself.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from tcptutor.lab import shaping
from tcptutor.lab.fidelity import Counted
from tcptutor.lab.kernel_state import HostState, QdiscSettings, SessionState, SysctlChange
from tcptutor.lab.netlink import ROOT, QdiscState, Route
from tcptutor.lab.network import Host, Interface, Network
from tcptutor.lab.session.links import Links
from tcptutor.lab.session.sysctls import TOLD, Sysctls
from tcptutor.lab.session.tallies import Tallies
from tcptutor.spec import Change, Experiment, Path

_FOLLOWED = ("rate", "delay", "jitter", "loss", "queue")
"""What of a path has a change at a given second."""
_BASE_UNITS = {
    "latency": ("delay", 1e-9),
    "jitter": ("jitter", 1e-9),
    "rate": ("rate", 8.0),
    "maxrate": ("maxrate", 8.0),
    "target": ("target", 1e-6),
    "interval": ("interval", 1e-6),
}
"""Settings that the kernel has in other units, and some under other names: ours, and how many of ours one is."""
_UNLIMITED = 0xFFFFFFFF
"""What fq has for a flow without a bound."""


class KernelState:
    """The experiment that was asked for, and what has become of it. Owns sockets and files; `close` it."""

    def __init__(self, network: Network, asked: Experiment) -> None:
        self._network, self._asked = network, asked
        everything = [*network.interfaces, *network.bridges]
        self._interfaces = {
            pid: [one for one in everything if one.pid == pid] for pid in {one.pid for one in everything}
        }
        self._routes = {pid: Route(pid) for pid in self._interfaces}
        switches = [bridge.name for bridge in network.bridges]
        self._sysctls = Sysctls({host.name: host.pid for host in network.hosts} | {switches[0]: None})
        self._namespaces = {host.name: host.name for host in network.hosts} | dict.fromkeys(
            switches, switches[0]
        )
        """In whose namespace each host and switch is."""
        self._links = Links(self._interfaces)
        self._tallies = Tallies({host.name: host.pid for host in network.hosts})
        self._qdiscs: dict[Interface, list[QdiscState]] = {}
        self.counted: Counted = {}
        """Of every interface, as it was when all was last read or a discipline was found to be another."""
        self._now: list[Path] = []
        self._look_at_qdiscs()
        self._at_first = self._now
        self._paced_at_first = {host.name: self._maxrate(host) for host in network.hosts}

    def close(self) -> None:
        for route in self._routes.values():
            route.close()
        self._sysctls.close()
        self._links.close()
        self._tallies.close()

    def look(self) -> bool:
        """Whether anything of it is another than at the last look."""
        # All of them look: each has its own last look.
        return any([self._sysctls.look(), self._links.look(), self._tallies.look(), self._look_at_qdiscs()])

    def _look_at_qdiscs(self) -> bool:
        changed = [pid for pid, route in self._routes.items() if route.look()]
        if changed:
            self._decode(changed)
        return bool(changed)

    def _decode(self, namespaces: Iterable[int | None]) -> None:
        for pid in namespaces:
            found = self._routes[pid].qdiscs()
            for interface in self._interfaces[pid]:
                self._qdiscs[interface] = found.get(self._routes[pid].index(interface), [])
        self.counted = {one: shaping.chain_of(shaping.known(there)) for one, there in self._qdiscs.items()}
        self._now = [path_of(self._network, self.counted, pair) for pair in range(self._network.pairs)]

    def count(self) -> None:
        """Read what was counted, of every discipline."""
        self._look_at_qdiscs()
        self._decode(self._routes)

    def read_all(self) -> None:
        """Read everything, what was counted and sysctls as well."""
        self._sysctls.read_all()
        self.count()

    def path(self, pair: int = 0) -> Path:
        """Of `pair`, as it was asked for where nothing has changed: the kernel rounds what it is given."""
        first, now = self._at_first[pair], self._now[pair]
        names = (name for name in Path.__struct_fields__ if getattr(now, name) != getattr(first, name))
        return msgspec.structs.replace(self._asked.path, **{name: getattr(now, name) for name in names})

    def _maxrate(self, sender: Host) -> float | None:
        """What fq allows each flow of `sender`, bit/s, wherever it is on the way there; None without a bound."""
        on_the_way = (self.counted.get(one, ()) for one in (sender.interface, self._network.bottleneck))
        bounds = (one.settings["maxrate"] for chain in on_the_way for one in chain if one.kind == "fq")
        return min((8.0 * bound for bound in bounds if bound not in (None, _UNLIMITED)), default=None)

    def experiment(self, path: Path, sender: Host, receiver: Host) -> Experiment:
        """What was asked for, with this path, the sysctls that were changed on either host (the sender's where they
        differ), and the sender's MTU, offloads and pacing by fq."""
        own = self._asked.hosts
        changed = self._sysctls.changed(receiver.name) | self._sysctls.changed(sender.name)
        paced = self._maxrate(sender)
        own = msgspec.structs.replace(
            own,
            maxrate=own.maxrate if paced == self._paced_at_first.get(sender.name) else paced,
            mtu=self._links.now[sender.interface].mtu,
            offloads=bool(self._links.now[sender.interface].offloads),
            sysctls=own.sysctls
            | {name: now for name, (_, now) in changed.items() if name.startswith("tcp_")},
        )
        return msgspec.structs.replace(self._asked, path=path, hosts=own)

    def report(self, experiment: Experiment, pair: int = 0) -> SessionState:
        """All of it, beside what it is in the terms of an experiment, and the path of `pair` as it is now."""
        interfaces = tuple(
            self._links.now[interface].state(tuple(_in_base_units(one) for one in _in_order(there)))
            for interface, there in self._qdiscs.items()
        )
        sysctls = tuple(
            SysctlChange(host, name, *values)
            for host, where in self._namespaces.items()
            for name, values in self._sysctls.changed(where).items()
        )
        hosts = tuple(self._host(name, where) for name, where in self._namespaces.items())
        return SessionState(experiment, interfaces, sysctls, self.path(pair), hosts)

    def _host(self, name: str, where: str) -> HostState:
        return HostState(name, self._sysctls.now(where, TOLD), *self._tallies.of(where))


def _in_order(found: list[QdiscState]) -> Iterator[QdiscState]:
    """From the root down, then those that hang below none, such as ingress."""
    chain = shaping.chain_of(found)
    return itertools.chain(chain, (one for one in found if one not in chain))


def _in_base_units(one: QdiscState) -> QdiscSettings:
    settings = {}
    for name, value in one.settings.items():
        unlimited = (name == "maxrate" and value == _UNLIMITED) or (name == "rate" and not value)
        if value is not None and not unlimited:
            ours, factor = _BASE_UNITS.get(name, (name, 1))
            settings[ours] = value * factor if factor != 1 else value
    parent = "root" if one.parent == ROOT else _tc_handle(one.parent)
    return QdiscSettings(one.kind, _tc_handle(one.handle), parent, settings)


def _tc_handle(handle: int) -> str:
    major, minor = handle >> 16, handle & 0xFFFF
    return f"{major:x}:{minor:x}" if minor else f"{major:x}:"


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


def _way(chains: Iterable[tuple[QdiscState, ...]]) -> dict[str, Any]:
    """One direction in the terms of a Path, all interfaces together: delays add up, the slowest rate counts."""
    way: dict[str, Any] = {"delay": 0.0}
    kept, spread = 1.0, 0.0
    for chain in chains:
        for place, held in enumerate(chain):
            settings = held.settings
            rate = settings.get("rate", 0) * 8.0 if held.kind in ("netem", "tbf") else 0.0
            if held.kind == "netem":
                way["delay"] += (settings["latency"] or 0) / 1e9
                spread += ((settings["jitter"] or 0) / 1e9) ** 2
                kept *= 1 - settings["loss"]
                way |= _most(way, settings)
            if rate and rate < way.get("rate", math.inf):
                way["rate"] = rate
                if held.kind == "tbf":
                    way["queue"] = settings["limit"]
                inner = chain[place + 1] if place + 1 < len(chain) else None
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


def changes(before: Path, now: Path, at: float) -> list[Change]:
    """What became another one at second `at`."""
    pairs = ((name, getattr(before, name), getattr(now, name)) for name in _FOLLOWED)
    return [
        Change(round(at, 3), name, float(value)) for name, old, value in pairs if value not in (old, None)
    ]
