"""Quantities of a host or interface: MTU, offloads, link state, addresses, pings, servers, filters."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from tcptutor.base.errors import UsageError, unknown
from tcptutor.course.goals.lab_view import GoalQuantity, LabView
from tcptutor.spec import interface_names
from tcptutor.wire.kernel_state import HostState, InterfaceState

_ON = ("on", "off")


class _Placed(NamedTuple):
    kind: str
    choices: tuple[str, ...] = ()
    of_interface: Callable[[InterfaceState], Any] | None = None
    of_host: Callable[[HostState, HostState], Any] | None = None
    """Function of the current state and the state at the last change of the lab."""
    at_first: Callable[[LabView], Any] = lambda _: None
    """Value before a session has reported interfaces."""


def _offload(name: str) -> _Placed:
    return _Placed("name", _ON, lambda one: _switch(name in one.offloads), at_first=_offloads_at_first)


def _switch(on: bool) -> str:
    return "on" if on else "off"


def _offloads_at_first(view: LabView) -> str:
    return _switch(view.experiment.hosts.offloads)


def _addresses(one: InterfaceState) -> str:
    return " ".join(each.partition("/")[0] for each in one.addresses)


PLACES: dict[str, _Placed] = {
    "mtu": _Placed("count", (), lambda one: one.mtu, at_first=lambda view: view.experiment.hosts.mtu),
    "offload": _Placed("name", _ON, lambda one: _switch(bool(one.offloads)), at_first=_offloads_at_first),
    "tso": _offload("tso"),
    "gso": _offload("gso"),
    "gro": _offload("gro"),
    "link": _Placed("name", ("up", "down"), lambda one: "up" if one.up else "down", at_first=lambda _: "up"),
    "address": _Placed("address", (), _addresses),
    "ping": _Placed("count", of_host=lambda now, before: now.echo_replies - before.echo_replies),
    "filtered": _Placed("count", of_host=lambda now, before: now.filtered_packets - before.filtered_packets),
    "server": _Placed("name", _ON, of_host=lambda now, _: _switch(bool(now.listening_ports))),
}
"""Quantities by name. `mtu` covers all hosts, `mtu.h1` a host, `mtu.s1-eth2` an interface; `offload` is on if
any of tso, gso and gro is. `address.h2` lists all addresses of its interface. `ping.h1` counts replies to
pings of h1 and `filtered.h2` packets dropped by rules of h2, both since the last change of the network.
`server.h2` is on if any program on h2 listens."""
_NAME = re.compile(rf"(?P<what>{'|'.join(PLACES)})(?:\.(?P<where>.+))?")


def placed_term(name: str, hosts: tuple[str, ...]) -> GoalQuantity | None:
    """Return the quantity of that name in a lab with these hosts and switches, or None.

    Raises:
        UsageError: The place is missing or unknown.
    """
    found = _NAME.fullmatch(name)
    if found is None:
        return None
    place, where = PLACES[found["what"]], found["where"]
    ends = tuple(host for host in hosts if host.startswith("h"))
    if place.of_host is not None:
        if where is None:
            raise UsageError(f"name the host: {name}.h1")
        if where not in ends:
            raise UsageError(unknown("host", where, ends))
        return _of_host(name, place, where)
    names = interface_names(len(ends) // 2)
    if where is None:
        if found["what"] == "address":
            raise UsageError(f"name the host: {name}.h1")
        return _of_interfaces(name, place, tuple(f"{host}-eth0" for host in ends))
    if where not in (*ends, *names):
        raise UsageError(unknown("host or interface", where, (*ends, *names)))
    return _of_interfaces(name, place, (f"{where}-eth0" if where in ends else where,))


def _of_host(name: str, place: _Placed, where: str) -> GoalQuantity:
    def value(view: LabView) -> Any:
        now = next((one for one in view.state.hosts if one.name == where), None)
        assert place.of_host is not None
        return place.of_host(now, view.changed.get(where, now)) if now is not None else None

    return GoalQuantity(name, place.kind, value, place.choices)


def _of_interfaces(name: str, place: _Placed, where: tuple[str, ...]) -> GoalQuantity:
    def value(view: LabView) -> Any:
        there = {one.name: one for one in view.state.interfaces}
        of = place.of_interface
        assert of is not None
        values = tuple(of(there[each]) if each in there else place.at_first(view) for each in where)
        return values[0] if len(values) == 1 else values

    return GoalQuantity(name, place.kind, value, place.choices)
