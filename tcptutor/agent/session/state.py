"""State of the lab's kernel during a session with manual changes: every interface and host.

A dump per namespace shows whether a discipline has changed. Sysctl files and interfaces notify their changes.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

import msgspec

from tcptutor.agent import shaping
from tcptutor.agent.fidelity import InterfaceQdiscs
from tcptutor.agent.netlink import ROOT, ClassState, QdiscState, Route, TrafficControl
from tcptutor.agent.network import Host, Interface, Network
from tcptutor.agent.session.classify import Ends
from tcptutor.agent.session.observers import REPORTED, Links, Sysctls, Tallies
from tcptutor.agent.session.stages import (
    CLASSFUL,
    HOOKS,
    Hop,
    PathDirection,
    PathStage,
    Tree,
    arriving,
    combine,
    stages,
)
from tcptutor.spec import Change, Experiment, Path
from tcptutor.wire.kernel_state import HostState, QdiscSettings, SessionState, SysctlChange

_CHANGEABLE = ("rate", "delay", "jitter", "loss", "queue")
"""Fields of a path that can change during a run."""
_IN_BOTH_DIRECTIONS = ("rate", "delay", "loss", "queue")
"""Fields of a path that exist for the reverse path as well."""
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
    "ce_threshold": ("ce_threshold", 1e-6),
}
"""Kernel settings in other units: our name, and the factor to our unit."""
_UNLIMITED = 0xFFFFFFFF
"""fq's value for a flow without a bound."""


class KernelState:
    """Requested experiment, and the kernel's current state. Owns sockets and files; `close` it."""

    def __init__(self, network: Network, requested: Experiment) -> None:
        self._network, self._requested = network, requested
        interfaces = [*network.interfaces, *network.bridges]
        self._interfaces = {
            pid: [interface for interface in interfaces if interface.pid == pid]
            for pid in {interface.pid for interface in interfaces}
        }
        # Opened before anything is read, so that no change is missed.
        self._traffic = {pid: TrafficControl(pid) for pid in self._interfaces}
        self._routes = {pid: Route(pid) for pid in self._interfaces}
        switches = [bridge.name for bridge in network.bridges]
        self._sysctls = Sysctls({host.name: host.pid for host in network.hosts} | {switches[0]: None})
        self._namespaces = {host.name: host.name for host in network.hosts} | dict.fromkeys(
            switches, switches[0]
        )
        self._links = Links(self._interfaces)
        self._tallies = Tallies({host.name: host.pid for host in network.hosts})
        self._trees: dict[Interface, Tree] = {}
        self.qdiscs: InterfaceQdiscs = {}
        """Disciplines of every interface, as of the last `count` or the last change of a discipline."""
        self._directions: list[tuple[PathDirection, PathDirection]] = []
        self._poll_qdiscs()
        self._first_paths = [_path(*directions) for directions in self._directions]
        self._first_maxrates = {host.name: self._maxrate(host) for host in network.hosts}

    def close(self) -> None:
        for socket in (*self._routes.values(), *self._traffic.values()):
            socket.close()
        self._sysctls.close()
        self._links.close()
        self._tallies.close()

    def poll(self) -> bool:
        """Return whether anything has changed since the last call."""
        # A list, so that all are polled: each keeps its own last state.
        return any([self._sysctls.poll(), self._links.poll(), self._tallies.poll(), self._poll_qdiscs()])

    def _poll_qdiscs(self) -> bool:
        changed = [
            pid for pid, route in self._routes.items() if any([route.refresh(), self._traffic[pid].poll()])
        ]
        if changed:
            self._decode(changed)
        return bool(changed)

    def _decode(self, namespaces: Iterable[int | None]) -> None:
        for pid in namespaces:
            qdiscs = self._routes[pid].qdiscs()
            for interface in self._interfaces[pid]:
                index = self._routes[pid].index(interface)
                self._trees[interface] = self._tree(pid, index, qdiscs.get(index, []))
        network = self._network
        outgoing_stages: dict[Interface, list[PathStage]] = {}
        self._directions = []
        for pair in range(network.pairs):
            sender, receiver = network.senders[pair], network.receivers[pair]
            forward = sender.interface, network.bottleneck, network.access(pair)
            reverse = receiver.interface, network.reverse_bottleneck, network.sender_access(pair)
            directions = []
            for leaving, entering, ends in (
                (forward, reversed(reverse), Ends(sender.address, receiver.address)),
                (reverse, reversed(forward), Ends(receiver.address, sender.address)),
            ):
                outgoing = {interface: list(stages(self._trees[interface], ends)) for interface in leaving}
                outgoing_stages = outgoing | outgoing_stages
                incoming = {interface: list(arriving(self._trees[interface])) for interface in entering}
                hops = [
                    Hop(interface, hop_stages, self._links.now[interface].mtu)
                    for interface, hop_stages in (outgoing | incoming).items()
                ]
                directions.append(combine(hops))
            self._directions.append((directions[0], directions[1]))
        self.qdiscs = {
            interface: tuple(
                stage.qdisc for stage in outgoing_stages.get(interface, ()) if stage.qdisc.handle
            )
            for interface in self._trees
        }

    def _tree(self, pid: int | None, index: int, qdiscs: list[QdiscState]) -> Tree:
        kinds, traffic = {qdisc.kind for qdisc in qdiscs}, self._traffic[pid]
        classes = traffic.classes(index) if kinds & set(CLASSFUL) else []
        parents = [qdisc.handle for qdisc in qdiscs if qdisc.kind in CLASSFUL]
        parents += [parent for qdisc in qdiscs for parent in HOOKS.get(qdisc.kind, ())]
        parents += [qdisc.handle for qdisc in classes]
        filters = {parent: traffic.filters(index, parent) for parent in parents}
        return Tree(qdiscs, classes, filters)

    def count(self) -> None:
        self._poll_qdiscs()
        self._decode(self._routes)

    def read_all(self) -> None:
        """Read everything, including counters and all sysctls."""
        self._sysctls.read_all()
        self.count()

    def path(self, pair: int = 0) -> Path:
        """Return the path of `pair`; unchanged fields have the requested values, which the kernel rounds."""
        first, now = self._first_paths[pair], _path(*self._directions[pair])
        names = (name for name in Path.__struct_fields__ if getattr(now, name) != getattr(first, name))
        return msgspec.structs.replace(self._requested.path, **{name: getattr(now, name) for name in names})

    def burst(self, pair: int = 0) -> int | None:
        """Return the burst of the tbf that sets the path's rate, bytes; None without a tbf."""
        burst: int | None = self._directions[pair][0].path.get("burst")
        return burst

    def unshaped(self, pair: int = 0) -> tuple[str, ...]:
        """Return the disciplines of the forward path that pass the packets of `pair` unshaped, for lack of a class."""
        return self._directions[pair][0].unshaped

    def shaper(self, pair: int = 0) -> tuple[Interface, int] | None:
        """Return the interface and handle of the discipline that sets the path's rate; None without a rate."""
        return self._directions[pair][0].shaper

    def _maxrate(self, sender: Host) -> float | None:
        """Return the lowest rate per flow that an fq on the path of `sender` allows, bit/s; None without a bound."""
        chains = (
            self.qdiscs.get(interface, ()) for interface in (sender.interface, self._network.bottleneck)
        )
        bounds = (qdisc.settings["maxrate"] for chain in chains for qdisc in chain if qdisc.kind == "fq")
        return min((8.0 * bound for bound in bounds if bound not in (None, _UNLIMITED)), default=None)

    def experiment(self, path: Path, sender: Host, receiver: Host) -> Experiment:
        """Describe the current state as an experiment from `sender` to `receiver`.

        It combines the requested experiment, `path`, the sysctls changed on either host (the sender's where they
        differ), and the sender's MTU, offloads and fq pacing.
        """
        own = self._requested.hosts
        changed = self._sysctls.changed(receiver.name) | self._sysctls.changed(sender.name)
        maxrate = self._maxrate(sender)
        own = msgspec.structs.replace(
            own,
            maxrate=own.maxrate if maxrate == self._first_maxrates.get(sender.name) else maxrate,
            mtu=self._links.now[sender.interface].mtu,
            offloads=bool(self._links.now[sender.interface].offloads),
            sysctls=own.sysctls
            | {name: now for name, (_, now) in changed.items() if name.startswith("tcp_")},
        )
        return msgspec.structs.replace(self._requested, path=path, hosts=own)

    def report(self, experiment: Experiment, pair: int = 0) -> SessionState:
        """Return the full state, with the experiment that it corresponds to and the current path of `pair`."""
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
        return HostState(name, self._sysctls.now(where, REPORTED), *self._tallies.of(where))


def _path(forward: PathDirection, reverse: PathDirection) -> Path:
    known = {name: reverse.path[name] for name in _IN_BOTH_DIRECTIONS if name in reverse.path}
    unread = tuple(dict.fromkeys((*forward.unread, *reverse.unread)))
    return Path(**forward.path, **{f"reverse_{name}": value for name, value in known.items()}, unread=unread)


def _settings(tree: Tree) -> Iterator[QdiscSettings]:
    """Yield each discipline from the root down with its classes, then disciplines without a root, such as ingress."""
    chain = shaping.chain_of(tree.disciplines)
    for qdisc in itertools.chain(chain, (qdisc for qdisc in tree.disciplines if qdisc not in chain)):
        yield _in_base_units(qdisc)
        for class_state in tree.classes:
            # Classes of other kinds have no settings.
            if class_state.handle & ~0xFFFF == qdisc.handle and class_state.settings:
                yield _in_base_units(class_state)


def _in_base_units(state: QdiscState | ClassState) -> QdiscSettings:
    settings = {}
    for name, value in state.settings.items():
        unlimited = (name == "maxrate" and value == _UNLIMITED) or (name == "rate" and not value)
        if value is not None and not unlimited:
            ours, factor = _BASE_UNITS.get(name, (name, 1))
            settings[ours] = value * factor if factor != 1 else value
    parent = "root" if state.parent == ROOT else _tc_handle(state.parent)
    return QdiscSettings(state.kind, _tc_handle(state.handle), parent, settings)


def _tc_handle(handle: int) -> str:
    major, minor = handle >> 16, handle & 0xFFFF
    return f"{major:x}:{minor:x}" if minor else f"{major:x}:"


def changes(before: Path, now: Path, at: float) -> list[Change]:
    """Return the differences between two paths as changes at second `at`."""
    pairs = ((name, getattr(before, name), getattr(now, name)) for name in _CHANGEABLE)
    return [
        Change(round(at, 3), name, float(value)) for name, old, value in pairs if value not in (old, None)
    ]
