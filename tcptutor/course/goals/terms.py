"""Terms of goals: quantities of the lab, of a host or interface, and of a run."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.base.errors import UsageError, unknown
from tcptutor.course.goals.lab_view import ALGORITHM, SYSCTL, GoalQuantity, LabRun, LabView, carries_data
from tcptutor.course.measurements import MEASURED
from tcptutor.spec import PARAMETERS, interface_names
from tcptutor.wire.kernel_state import HostState, InterfaceState


def smallest_bucket(view: LabView) -> float | None:
    """Return the smallest tbf burst on the data path, bytes; None without tbf."""
    return min(
        (
            float(one.settings["burst"])
            for interface in view.state.interfaces
            if carries_data(interface.name, view.pairs)
            for one in interface.qdiscs
            if one.kind == "tbf"
        ),
        default=None,
    )


def smallest_netem_limit(view: LabView) -> float | None:
    """Return the fewest packets that a netem on the data path may hold; None without netem."""
    return min(
        (
            float(one.settings["limit"])
            for interface in view.state.interfaces
            if carries_data(interface.name, view.pairs)
            for one in interface.qdiscs
            if one.kind == "netem"
        ),
        default=None,
    )


def send_buffer_limit(view: LabView) -> float | None:
    """Return the smallest send buffer limit of the senders, bytes; None until a session reports it."""
    limits = [view.sysctl(host, "tcp_wmem") for host in view.senders]
    return min(float(numbers.split()[-1]) for numbers in limits if numbers) if all(limits) else None


def shared_addresses(view: LabView) -> int | None:
    """Return the number of addresses on several interfaces; None until a session reports them."""
    found = Counter(
        address.partition("/")[0] for interface in view.state.interfaces for address in interface.addresses
    )
    return sum(number > 1 for number in found.values()) if found else None


_REPORTED = (
    "rate", "delay", "jitter", "loss", "loss_burst", "duplicate", "reorder", "queue", "qdisc", "ecn",
    "reverse_rate", "reverse_delay", "reverse_loss", "reverse_queue",
)  # fmt: skip
"""Path parameters a session reports. It omits the shaper's bucket: the rate does not depend on its qdisc."""
_SHAPED = {"queue": "rate", "qdisc": "rate", "ecn": "rate", "reverse_queue": "reverse_rate"}
"""Quantities that exist only with that rate."""


def _of_path(name: str) -> GoalQuantity:
    known = PARAMETERS[name]

    def value(view: LabView) -> Any:
        path = view.experiment.path
        if name in _SHAPED and getattr(path, _SHAPED[name]) is None:
            return None
        found = getattr(path, name)
        return ("on" if found else "off") if isinstance(found, bool) else found

    return GoalQuantity(
        f"path.{name}", "size" if known.kind == "window" else known.kind, value, known.choices
    )


def _algorithms(view: LabView) -> tuple[str | None, ...]:
    """Return the algorithms of the run's flows, or of the senders' next connections."""
    if view.run is not None:
        own = view.run.experiment.hosts
        return own.algorithms or (own.algorithm,)
    return tuple(view.sysctl(host, ALGORITHM) for host in view.senders)


def _of_sysctl(name: str, sysctl: str, host: str) -> GoalQuantity:
    def values(view: LabView) -> tuple[str | None, ...]:
        return tuple(view.sysctl(each, sysctl) for each in ([host] if host else view.hosts))

    return GoalQuantity(name, "sysctl", values, host=host)


def _of_run(
    name: str, kind: str, value: Callable[[LabRun], Any], choices: tuple[str, ...] = (), at_end: bool = False
) -> GoalQuantity:
    def of(view: LabView) -> Any:
        return value(view.run) if view.run is not None else None

    return GoalQuantity(name, kind, of, choices, about_run=True, at_end=at_end)


def _measured(name: str) -> GoalQuantity:
    kind = MEASURED[name].kind  # type: ignore[index]
    return _of_run(f"run.{name}", kind, lambda run: run.clock_corrected(name), at_end=True)


def _mathis_ratio(run: LabRun) -> float | None:
    """Return throughput over Mathis's formula; None for a path without loss or delay."""
    from tcptutor.course.formulas import mathis  # noqa: PLC0415  # the first frame needs no theory

    measured = run.figure("throughput")
    try:
        return measured / mathis(run.experiment) if measured is not None else None
    except UsageError:
        return None


TERMS: dict[str, GoalQuantity] = {
    term.name: term
    for term in (
        *map(_of_path, _REPORTED),
        GoalQuantity("hosts.algorithm", "algorithm", _algorithms),
        GoalQuantity("hosts.maxrate", "rate", lambda view: view.experiment.hosts.maxrate),
        GoalQuantity("path.burst", "size", smallest_bucket),
        GoalQuantity("path.netem-limit", "count", smallest_netem_limit),
        GoalQuantity("hosts.send-buffer-limit", "size", send_buffer_limit),
        GoalQuantity("addresses.shared", "count", shared_addresses),
        _of_run("flow.bytes", "size", lambda run: run.largest_payload),
        _of_run("queue.drops", "count", lambda run: run.drops),
        _of_run("run.streams", "count", lambda run: run.experiment.flows.streams),
        _of_run("run.udp-streams", "count", lambda run: run.experiment.flows.udp_streams),
        _of_run("run.duration", "time", lambda run: run.duration),
        *(_measured(name) for name in MEASURED if name != "queue-drops"),
        _of_run("run.mathis-ratio", "number", _mathis_ratio, at_end=True),
        _of_run("run.limited-by", "name", lambda run: run.limited_by, tuple(CAUSE_NAMES), at_end=True),
    )
}
"""Quantities by name, in addition to sysctls (`sysctl.tcp_sack`, `sysctl.h1.tcp_sack`) and to `placed`."""


def term(name: str, hosts: tuple[str, ...]) -> GoalQuantity:
    """Return the quantity of that name in a lab with these `hosts`.

    Raises:
        UsageError: The name is unknown; the message lists candidates.
    """
    if found := SYSCTL.fullmatch(name):
        if found["host"] and found["host"] not in hosts:
            raise UsageError(unknown("host", found["host"], hosts))
        if found["name"] == ALGORITHM and not found["host"]:
            raise UsageError("use hosts.algorithm: only the senders' algorithm matters")
        return _of_sysctl(name, found["name"], found["host"] or "")
    if (placed := placed_term(name, hosts)) is not None:
        return placed
    if name not in TERMS:
        more = f"sysctl.tcp_… or sysctl.h1.tcp_…, and {', '.join(PLACES)} with a host or interface, such as mtu.h1"
        raise UsageError(unknown("quantity", name, TERMS, f"choose from {', '.join(TERMS)}, {more}"))
    return TERMS[name]


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
    "capture": _Placed("name", _ON, of_host=lambda now, _: _switch(now.captures)),
    "captured": _Placed("count", of_host=lambda now, _: now.captured_connections),
    "cached-ssthresh": _Placed("count", of_host=lambda now, _: now.cached_ssthresh),
    "server": _Placed("name", _ON, of_host=lambda now, _: _switch(bool(now.listening_ports))),
}
"""Quantities by name. `mtu` covers all hosts, `mtu.h1` a host, `mtu.s1-eth2` an interface; `offload` is on if
any of tso, gso and gro is. `address.h2` lists all addresses of its interface. `ping.h1` counts replies to
pings of h1 and `filtered.h2` packets dropped by rules of h2, both since the last change of the network.
`server.h2` is on if any program on h2 listens, `capture.h1` while a program on h1 captures packets.
`captured.h1` counts the connections of h1 that opened and ended during a single capture on h1.
`cached-ssthresh.h1` is the slow start threshold, in segments, that new connections of h1 take from the
kernel's cache, or none."""
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
