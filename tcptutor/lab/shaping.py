"""The path between the switches: delay, loss and rate on one interface, set by netlink and read back.

netem is the root and tbf below it, as the manuals have it; each is left out where the path does not need it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from tcptutor.errors import KernelLacks, LabError
from tcptutor.lab import qdiscs
from tcptutor.lab.namespaces import network_of
from tcptutor.lab.network import Interface
from tcptutor.spec import ETHERNET_HEADER, Experiment

_ROOT_HANDLE, _TBF_HANDLE = 0x10000, 0x20000
_NETEM_LIMIT_RATE = 1e10
"""Rate for which netem's queue is made when the path has no shaper, bit/s."""

qdiscs.register()


@contextmanager
def netlink(interface: Interface) -> Iterator[tuple[Any, int]]:
    """A netlink socket in the namespace of `interface`, and the interface's index there."""
    with network_of(interface.pid), IPRoute() as route:
        found = route.link_lookup(ifname=interface.name)
        if not found:
            raise LabError(f"the lab's interface {interface.name} is gone: run the experiment again")
        yield route, found[0]


@dataclass(frozen=True)
class Shaping:
    """What the bottleneck's qdiscs are told, in the kernel's terms."""

    latency_ns: int
    jitter_ns: int
    loss: float
    netem_limit: int
    """packets"""
    rate: int | None
    """bytes per second"""
    burst: int
    """bytes"""
    limit: int
    """bytes"""
    seed: int

    @property
    def needs_netem(self) -> bool:
        return bool(self.latency_ns or self.loss)


def shaping(experiment: Experiment) -> Shaping:
    """The qdisc settings that `experiment` asks for."""
    path = experiment.path
    frame = experiment.hosts.mtu + ETHERNET_HEADER
    rate = path.rate or _NETEM_LIMIT_RATE
    in_flight = rate * (path.delay + path.jitter) / 8 / frame
    return Shaping(
        latency_ns=round(path.delay * 1e9),
        jitter_ns=round(path.jitter * 1e9),
        loss=path.loss,
        # Twice what the path holds, and what waits below in the tbf: netem counts both, and its own drops
        # would be a loss that nobody planned.
        netem_limit=round(2 * in_flight + 2 * path.queue / frame) + 1000,
        rate=round(path.rate / 8) if path.rate else None,
        # A millisecond of the rate, so that a late timer costs nothing, and at least ten frames.
        burst=max(round((path.rate or 0) / 8 / 1000), 10 * frame),
        limit=path.queue,
        seed=experiment.seed,
    )


def apply(interface: Interface, wanted: Shaping) -> None:
    """Set the qdiscs of `interface`. Raises KernelLacks when the kernel has no such qdisc."""
    with netlink(interface) as (route, index):
        _clear(route, index)
        parent: dict[str, Any] = {}
        if wanted.needs_netem:
            _add(
                route,
                "netem",
                index,
                handle=_ROOT_HANDLE,
                latency=wanted.latency_ns,
                jitter=wanted.jitter_ns,
                limit=wanted.netem_limit,
                loss=wanted.loss,
                seed=wanted.seed,
            )
            parent = {"parent": _ROOT_HANDLE}
        if wanted.rate is not None:
            _add(
                route,
                "tbf",
                index,
                handle=_TBF_HANDLE,
                rate=wanted.rate,
                burst=wanted.burst,
                limit=wanted.limit,
                **parent,
            )


def pace(interface: Interface, maxrate: float) -> list[str]:
    """Put fq with `maxrate` bit/s a flow on a sender's interface; what the kernel holds otherwise, if it does.

    Raises KernelLacks when the kernel has no fq.
    """
    wanted = round(maxrate / 8)
    with netlink(interface) as (route, index):
        _clear(route, index)
        _add(route, "fq", index, handle=_ROOT_HANDLE, maxrate=wanted)
    got = held(interface).options.get("fq", {}).get("maxrate")
    return [] if got == wanted else [f"maxrate, bytes/s: asked for {wanted}, the kernel holds {got}"]


def clear(interface: Interface) -> None:
    """Take the qdiscs of `interface` away."""
    with netlink(interface) as (route, index):
        _clear(route, index)


def _clear(route: Any, index: int) -> None:
    try:
        route.tc("del", index=index, parent=0xFFFFFFFF)
    except NetlinkError as error:
        if error.code not in (2, 22):  # there was none
            raise LabError(f"the kernel does not take a qdisc away: {error}") from error


def _add(route: Any, kind: str, index: int, **settings: Any) -> None:
    try:
        route.tc("add", kind, index, **settings)
    except NetlinkError as error:
        if error.code == 2:
            raise KernelLacks(f"this kernel has no {kind}: run it in the guest (--backend guest)") from error
        raise LabError(f"the kernel refuses the {kind} settings {settings}: {error}") from error


@dataclass(frozen=True)
class Held:
    """What the kernel holds and has counted on an interface, by qdisc kind."""

    options: dict[str, dict[str, Any]]
    drops: dict[str, int]
    packets: dict[str, int]
    backlog: dict[str, int]
    """bytes waiting"""


def held(interface: Interface) -> Held:
    """Read the qdiscs of `interface` back."""
    result = Held({}, {}, {}, {})
    with netlink(interface) as (route, index):
        for message in route.get_qdiscs(index=index):
            kind = message.get_attr("TCA_KIND")
            if kind not in ("netem", "tbf", "fq"):
                continue
            result.options[kind] = _options(kind, message.get_attr("TCA_OPTIONS"))
            stats = message.get_attr("TCA_STATS")
            result.drops[kind], result.packets[kind] = stats["drop"], stats["packets"]
            result.backlog[kind] = stats["backlog"]
    return result


def _options(kind: str, options: Any) -> dict[str, Any]:
    if options is None:
        return {}
    if kind == "netem":
        return {
            "latency_ns": options.get_attr("TCA_NETEM_LATENCY64"),
            "jitter_ns": options.get_attr("TCA_NETEM_JITTER64"),
            "loss": options["loss"] / qdiscs.U32_MAX,
            "limit": options["limit"],
            "seed": options.get_attr("TCA_NETEM_PRNG_SEED"),
        }
    if kind == "tbf":
        parms = options.get_attr("TCA_TBF_PARMS")
        return {"rate": options.get_attr("TCA_TBF_RATE64") or parms["rate"], "limit": parms["limit"]}
    return {"maxrate": options.get_attr("TCA_FQ_FLOW_MAX_RATE")}


def differences(wanted: Shaping, found: Held) -> list[str]:
    """A sentence for each setting that the kernel does not hold as asked; empty when all is well."""
    problems: list[str] = []

    def check(what: str, asked: float | None, got: float | None, slack: float = 0.0) -> None:
        if asked is not None and (got is None or abs(got - asked) > slack):
            problems.append(f"{what}: asked for {asked}, the kernel holds {got}")

    netem, tbf = found.options.get("netem", {}), found.options.get("tbf", {})
    if wanted.needs_netem:
        check("delay, ns", wanted.latency_ns, netem.get("latency_ns"), 1000)
        check("jitter, ns", wanted.jitter_ns, netem.get("jitter_ns"), 1000)
        check("loss", wanted.loss, netem.get("loss"), 1e-9)
        check("netem limit", wanted.netem_limit, netem.get("limit"))
    elif netem:
        problems.append("netem: not asked for, and there")
    if wanted.rate is not None:
        check("rate, bytes/s", wanted.rate, tbf.get("rate"), wanted.rate * 1e-6)
        check("queue, bytes", wanted.limit, tbf.get("limit"))
    return problems
