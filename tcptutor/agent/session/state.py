"""The lab as the kernel holds it while somebody's hands are on it: every interface, every host.

One dump a namespace says whether any discipline is another one; sysctls are files that tell when they are written, and
of interfaces the kernel tells by itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import msgspec

from tcptutor.agent import shaping
from tcptutor.agent.fidelity import Counted
from tcptutor.agent.netlink import ROOT, ClassState, QdiscState, Route, TrafficControl
from tcptutor.agent.network import Host, Interface, Network
from tcptutor.agent.session.classify import Ends
from tcptutor.agent.session.links import Links
from tcptutor.agent.session.stages import CLASSFUL, HOOKS, PathStage, Tree, arriving, stages
from tcptutor.agent.session.sysctls import TOLD, Sysctls
from tcptutor.agent.session.tallies import Tallies
from tcptutor.agent.session.ways import Hop, Way, way
from tcptutor.spec import Change, Experiment, Path
from tcptutor.wire.kernel_state import HostState, QdiscSettings, SessionState, SysctlChange

_FOLLOWED = ("rate", "delay", "jitter", "loss", "queue")
"""What of a path has a change at a given second."""
_BOTH_WAYS = ("rate", "delay", "loss", "queue")
"""What of a path the way back has as well."""
_BASE_UNITS = {
    "latency": ("delay", 1e-9),
    "jitter": ("jitter", 1e-9),
    "rate": ("rate", 8.0),
    "peak": ("peak", 8.0),
    "ceil": ("ceil", 8.0),
    "real_time": ("real_time", 8.0),
    "link_share": ("link_share", 8.0),
    "upper": ("upper", 8.0),
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
        # Before anything is read, so that no change is missed.
        self._traffic = {pid: TrafficControl(pid) for pid in self._interfaces}
        self._routes = {pid: Route(pid) for pid in self._interfaces}
        switches = [bridge.name for bridge in network.bridges]
        self._sysctls = Sysctls({host.name: host.pid for host in network.hosts} | {switches[0]: None})
        self._namespaces = {host.name: host.name for host in network.hosts} | dict.fromkeys(
            switches, switches[0]
        )
        """In whose namespace each host and switch is."""
        self._links = Links(self._interfaces)
        self._tallies = Tallies({host.name: host.pid for host in network.hosts})
        self._trees: dict[Interface, Tree] = {}
        self.counted: Counted = {}
        """Of every interface, as it was when all was last read or a discipline was found to be another."""
        self._now: list[tuple[Way, Way]] = []
        """The ways there and back of each pair."""
        self._look_at_qdiscs()
        self._at_first = [_path(*ways) for ways in self._now]
        self._paced_at_first = {host.name: self._maxrate(host) for host in network.hosts}

    def close(self) -> None:
        for one in (*self._routes.values(), *self._traffic.values()):
            one.close()
        self._sysctls.close()
        self._links.close()
        self._tallies.close()

    def look(self) -> bool:
        """Whether anything of it is another than at the last look."""
        # All of them look: each has its own last look.
        return any([self._sysctls.look(), self._links.look(), self._tallies.look(), self._look_at_qdiscs()])

    def _look_at_qdiscs(self) -> bool:
        # Both look: each has its own last look.
        changed = [
            pid for pid, route in self._routes.items() if any([route.look(), self._traffic[pid].came()])
        ]
        if changed:
            self._decode(changed)
        return bool(changed)

    def _decode(self, namespaces: Iterable[int | None]) -> None:
        for pid in namespaces:
            found = self._routes[pid].qdiscs()
            for interface in self._interfaces[pid]:
                index = self._routes[pid].index(interface)
                self._trees[interface] = self._tree(pid, index, found.get(index, []))
        network = self._network
        passed: dict[Interface, list[PathStage]] = {}
        self._now = []
        for pair in range(network.pairs):
            sender, receiver = network.senders[pair], network.receivers[pair]
            there = sender.interface, network.bottleneck, network.access(pair)
            back = receiver.interface, network.way_back, network.near(pair)
            ways = []
            for leaves, arrives, ends in (
                (there, reversed(back), Ends(sender.address, receiver.address)),
                (back, reversed(there), Ends(receiver.address, sender.address)),
            ):
                own = {one: list(stages(self._trees[one], ends)) for one in leaves}
                passed = own | passed
                comes_in = {one: list(arriving(self._trees[one])) for one in arrives}
                hops = [Hop(one, each, self._links.now[one].mtu) for one, each in (own | comes_in).items()]
                ways.append(way(hops))
            self._now.append((ways[0], ways[1]))
        self.counted = {
            one: tuple(stage.qdisc for stage in passed.get(one, ()) if stage.qdisc.handle)
            for one in self._trees
        }

    def _tree(self, pid: int | None, index: int, found: list[QdiscState]) -> Tree:
        """What hangs on one interface, with classes and filters where it may have any."""
        kinds, traffic = {one.kind for one in found}, self._traffic[pid]
        classes = traffic.classes(index) if kinds & set(CLASSFUL) else []
        parents = [one.handle for one in found if one.kind in CLASSFUL]
        parents += [parent for one in found for parent in HOOKS.get(one.kind, ())]
        parents += [one.handle for one in classes]
        filters = {parent: traffic.filters(index, parent) for parent in parents}
        return Tree(found, classes, filters)

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
        first, now = self._at_first[pair], _path(*self._now[pair])
        names = (name for name in Path.__struct_fields__ if getattr(now, name) != getattr(first, name))
        return msgspec.structs.replace(self._asked.path, **{name: getattr(now, name) for name in names})

    def burst(self, pair: int = 0) -> int | None:
        """Bytes that tbf lets through at once, where it has the path's rate."""
        found: int | None = self._now[pair][0].path.get("burst")
        return found

    def unshaped(self, pair: int = 0) -> tuple[str, ...]:
        """Disciplines of the data's way without a class for the packets of `pair`, which pass at any rate."""
        return self._now[pair][0].unshaped

    def shaper(self, pair: int = 0) -> tuple[Interface, int] | None:
        """The interface, and the handle there, of what has the path's rate; None without one."""
        return self._now[pair][0].shaper

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
            self._links.now[interface].state(tuple(_settings(tree)))
            for interface, tree in self._trees.items()
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


def _path(there: Way, back: Way) -> Path:
    kept = {name: back.path[name] for name in _BOTH_WAYS if name in back.path}
    unread = tuple(dict.fromkeys((*there.unread, *back.unread)))
    return Path(**there.path, **{f"reverse_{name}": value for name, value in kept.items()}, unread=unread)


def _settings(tree: Tree) -> Iterator[QdiscSettings]:
    """From the root down, a discipline's classes after it; then those that hang below none, such as ingress."""
    chain = shaping.chain_of(tree.disciplines)
    for one in itertools.chain(chain, (one for one in tree.disciplines if one not in chain)):
        yield _in_base_units(one)
        for each in tree.classes:
            # Of other kinds all classes are alike.
            if each.handle & ~0xFFFF == one.handle and each.settings:
                yield _in_base_units(each)


def _in_base_units(one: QdiscState | ClassState) -> QdiscSettings:
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


def changes(before: Path, now: Path, at: float) -> list[Change]:
    """What became another one at second `at`."""
    pairs = ((name, getattr(before, name), getattr(now, name)) for name in _FOLLOWED)
    return [
        Change(round(at, 3), name, float(value)) for name, old, value in pairs if value not in (old, None)
    ]
