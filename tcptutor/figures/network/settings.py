"""Settings of a network's interfaces: planned by an experiment, or reported by the kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tcptutor.base import sizes, units
from tcptutor.spec import Experiment, Path, interface_names
from tcptutor.wire import plan
from tcptutor.wire.kernel_state import InterfaceState, QdiscSettings
from tcptutor.wire.plan import Qdisc

_PLAIN_KINDS = frozenset({"noqueue", "pfifo_fast", "mq", "ingress"})
"""Disciplines without an effect on traffic."""
_USUAL_MTU = 1500
_NETEM_LIMIT = 1000
"""Default limit of netem, packets."""
_COUNTED_IN_BYTES = frozenset({"tbf", "bfifo", "cake"})
"""Disciplines with a limit in bytes."""
_IN_TC_UNITS = {
    "latency": ("delay", 1e-9),
    "jitter": ("jitter", 1e-9),
    "ce_threshold": ("ce_threshold", 1e-6),
}
_RATES = frozenset({"rate", "maxrate", "ceil"})


class Setting(NamedTuple):
    """Setting of an interface, a line of text."""

    kind: str
    """Queue discipline, or a property such as "MTU"."""
    text: str


NetworkSettings = Mapping[str, tuple[Setting, ...]]
"""Settings by name of an interface or a host; names without settings are left out."""


def planned(experiment: Experiment) -> NetworkSettings:
    """Return the settings of each interface before the experiment's traffic begins."""
    path, hosts, topology = experiment.path, experiment.hosts, experiment.topology
    forward, reverse = topology.links[0]
    found: dict[str, tuple[Setting, ...]] = {}

    def put(name: str, settings: Iterable[Setting]) -> None:
        found[name] = (*found.get(name, ()), *settings)

    def chain(part: Path) -> Iterator[Setting]:
        for qdisc in plan.chain(part, hosts.mtu, experiment.seed):
            yield _of_plan(qdisc, has_burst=part.burst is not None)

    put(forward, chain(plan.forward(path)))
    put(reverse, chain(plan.reverse(path)))
    for forward, _ in topology.links[1:]:
        put(forward, chain(path.second))
    for pair in range(topology.pairs):
        put(topology.receiver_port(pair), chain(plan.access_link(path, pair)))
        if hosts.maxrate is not None:
            put(f"h{2 * pair + 1}-eth0", [Setting("fq", f"maxrate {units.rate(hosts.maxrate)}")])
        if path.loss and path.loss_by == "firewall":
            put(
                f"h{2 * pair + 2}-eth0", [Setting("firewall", f"drops {units.percent(path.loss)} on arrival")]
            )
    return {name: settings for name, settings in found.items() if settings}


def of_hosts(experiment: Experiment) -> NetworkSettings:
    """Return the hosts' flows in an experiment, and their own limits."""
    hosts, flows = experiment.hosts, experiment.flows
    sender, receiver = ("h1", "h2") if experiment.pairs == 1 else ("senders", "receivers")
    names = dict.fromkeys(experiment.algorithm(flow) for flow in range(experiment.total_streams))
    kinds = [(flows.streams, ", ".join(names)), (flows.udp_streams, "UDP")]
    traffic = [f"{name}, {number} flow{'s' if number > 1 else ''}" for number, name in kinds if number]
    sends = [
        Setting("sends", " and ".join(traffic) + (" each" if experiment.pairs > 1 else "")),
        *([Setting("pacing", f"{units.rate(flows.pacing)} a flow")] if flows.pacing is not None else []),
        *([Setting("buffer", sizes.decimal(hosts.send_buffer))] if hosts.send_buffer is not None else []),
    ]
    receives = [Setting("window", sizes.decimal(hosts.window))] if hosts.window is not None else []
    found = {sender: tuple(sends), receiver: tuple(receives)}
    return {name: settings for name, settings in found.items() if settings}


def shared_mtu(experiment: Experiment) -> str:
    """Return the MTU of all interfaces as text; empty for the usual MTU."""
    return f"MTU {experiment.hosts.mtu}" if experiment.hosts.mtu != _USUAL_MTU else ""


def reported(interfaces: Iterable[InterfaceState], pairs: int) -> NetworkSettings:
    """Return the kernel's settings of each interface of the path."""
    names = interface_names(pairs)
    found = {state.name: tuple(_of_state(state)) for state in interfaces if state.name in names}
    return {name: settings for name, settings in found.items() if settings}


def _of_plan(qdisc: Qdisc, *, has_burst: bool) -> Setting:
    settings: dict[str, Any] = {}
    for name, value in qdisc.settings.items():
        ours, factor = _IN_TC_UNITS.get(name, (name, 8.0 if name in _RATES else 1))
        settings[ours] = value * factor
    if qdisc.kind == "netem" or not has_burst:
        settings.pop("burst" if qdisc.kind != "netem" else "limit", None)
    return Setting(qdisc.kind, _text(qdisc.kind, settings))


def _of_state(state: InterfaceState) -> Iterator[Setting]:
    for qdisc in state.qdiscs:
        if qdisc.kind not in _PLAIN_KINDS:
            yield Setting(_name(qdisc), _text(qdisc.kind, qdisc.settings))
    if state.mtu != _USUAL_MTU:
        yield Setting("MTU", f"{state.mtu}")
    if state.offloads:
        yield Setting("offloads", ", ".join(state.offloads))
    if not state.up:
        yield Setting("down", "")


def _name(qdisc: QdiscSettings) -> str:
    is_class = bool(qdisc.handle.partition(":")[2])
    return f"{qdisc.kind} {qdisc.handle}" if is_class else qdisc.kind


def _text(kind: str, settings: Mapping[str, Any]) -> str:
    return ", ".join(text for write in _WRITERS if (text := write(kind, settings)))


def _delay(_: str, settings: Mapping[str, Any]) -> str:
    jitter = settings.get("jitter", 0)
    if not (settings.get("delay") or jitter):
        return ""
    return f"delay {units.seconds(settings.get('delay', 0.0))}" + (
        f" ± {units.seconds(jitter)}" if jitter else ""
    )


def _loss(kind: str, settings: Mapping[str, Any]) -> str:
    if not settings.get("loss"):
        return ""
    burst = settings.get("burst", 1) if kind == "netem" else 1
    return f"loss {units.percent(settings['loss'])}" + (f", {burst:.3g} in a row" if burst > 1 else "")


def _share(name: str, words: str) -> Callable[[str, Mapping[str, Any]], str]:
    return lambda _, settings: f"{words} {units.percent(settings[name])}" if settings.get(name) else ""


def _rate(name: str) -> Callable[[str, Mapping[str, Any]], str]:
    return lambda kind, settings: (
        f"{name} {units.rate(settings[name])}"
        if settings.get(name) and (kind != "red" or name != "rate")
        else ""
    )


def _limit(kind: str, settings: Mapping[str, Any]) -> str:
    limit = settings.get("limit")
    if not limit:
        return ""
    if kind in _COUNTED_IN_BYTES:
        return f"queue {sizes.decimal(limit)}"
    if kind == "pfifo" or (kind == "netem" and limit != _NETEM_LIMIT):
        return f"limit {limit} packets"
    return ""


def _burst(kind: str, settings: Mapping[str, Any]) -> str:
    return f"burst {sizes.decimal(settings['burst'])}" if kind == "tbf" and settings.get("burst") else ""


def _marks(kind: str, settings: Mapping[str, Any]) -> str:
    threshold = settings.get("ce_threshold")
    if kind in ("codel", "fq_codel") and threshold:
        return f"marks from {units.seconds(threshold)} on"
    return "marks (ECN)" if settings.get("ecn") and kind != "fq_codel" else ""


def _thresholds(kind: str, settings: Mapping[str, Any]) -> str:
    if kind != "red" or not settings.get("low"):
        return ""
    return f"drops at random from {sizes.decimal(settings['low'])} on"


_WRITERS: tuple[Callable[[str, Mapping[str, Any]], str], ...] = (
    _rate("rate"),
    _rate("ceil"),
    _rate("maxrate"),
    _delay,
    _loss,
    _share("duplicate", "duplicates"),
    _share("reorder", "reorders"),
    _share("corrupt", "corrupts"),
    _limit,
    _burst,
    _thresholds,
    _marks,
)
