"""Sets the queue disciplines of an interface by netlink, reads back what the kernel holds, and compares."""

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
from tcptutor.lab.plan import Chain, Qdisc

_ROOT = 0xFFFFFFFF
_HANDLE_STEP = 0x10000
_SLACK = {"latency": 1000, "jitter": 1000}
"""What a setting may lose in the kernel's own units (netem's old clock ticks), by name."""
_RELATIVE_SLACK = 1e-5
"""What a probability or a rate may lose to 32 bits, relative."""
_UNREADABLE = {"burst", "shape", "frame", "rate"}
"""Settings that some disciplines do not give back."""

qdiscs.register()


@contextmanager
def netlink(interface: Interface) -> Iterator[tuple[Any, int]]:
    """A netlink socket in the namespace of `interface`, and the interface's index there."""
    with network_of(interface.pid), IPRoute() as route:
        found = route.link_lookup(ifname=interface.name)
        if not found:
            raise LabError(f"the lab's interface {interface.name} is gone: run the experiment again")
        yield route, found[0]


def apply(interface: Interface, chain: Chain) -> None:
    """Put `chain` on `interface` in place of what is there. Raises KernelLacks when the kernel has no such qdisc."""
    with netlink(interface) as (route, index):
        _clear(route, index)
        for level, qdisc in enumerate(chain):
            _tc("add", route, index, level, qdisc)


def change(interface: Interface, chain: Chain) -> None:
    """Give the disciplines that are on `interface` these settings; packets that wait in them stay."""
    with netlink(interface) as (route, index):
        for level, qdisc in enumerate(chain):
            _tc("change", route, index, level, qdisc)


def clear(interface: Interface) -> None:
    """Take the qdiscs of `interface` away."""
    with netlink(interface) as (route, index):
        _clear(route, index)


def set_link(interface: Interface, up: bool) -> None:
    """Bring the interface up or down."""
    with netlink(interface) as (route, index):
        route.link("set", index=index, state="up" if up else "down")


def handle(level: int) -> int:
    """The handle of the discipline at that place of a chain: 1:, 2:, 3: ..."""
    return _HANDLE_STEP * (level + 1)


def _clear(route: Any, index: int) -> None:
    try:
        route.tc("del", index=index, parent=_ROOT)
    except NetlinkError as error:
        if error.code not in (2, 22):  # there was none
            raise LabError(f"the kernel does not take a qdisc away: {error}") from error


def _tc(action: str, route: Any, index: int, level: int, qdisc: Qdisc) -> None:
    # The only class of a discipline above is number 1: netem's and tbf's alike.
    place = {"parent": handle(level - 1) + 1} if level else {}
    try:
        route.tc(action, qdisc.kind, index, handle=handle(level), **place, **qdisc.settings)
    except NetlinkError as error:
        if error.code == 2 and action == "add":
            raise KernelLacks(
                f"this kernel has no {qdisc.kind}: run it in the guest (--backend guest)"
            ) from error
        raise LabError(f"the kernel refuses the {qdisc.kind} settings {qdisc.settings}: {error}") from error


@dataclass(frozen=True)
class Held:
    """What the kernel holds and has counted for one discipline."""

    qdisc: Qdisc
    drops: int
    packets: int
    backlog: int
    """bytes waiting"""
    handle: int = 0
    """as the kernel has it: the number before the colon times 65536"""


def held(interface: Interface) -> tuple[Held, ...]:
    """Read the disciplines of `interface` that we know back, each after the one that it is in."""
    found: dict[int, Held] = {}
    with netlink(interface) as (route, index):
        for message in route.get_qdiscs(index=index):
            kind = message.get_attr("TCA_KIND")
            if kind not in qdiscs.KINDS:
                continue
            options, stats = message.get_attr("TCA_OPTIONS"), message.get_attr("TCA_STATS")
            settings = qdiscs.KINDS[kind].read(options) if options is not None else {}
            one = Held(
                Qdisc(kind, settings), stats["drop"], stats["packets"], stats["backlog"], message["handle"]
            )
            found[message["parent"] & ~0xFFFF] = one
    chain: list[Held] = []
    above = _ROOT & ~0xFFFF
    while above in found and len(chain) < len(found):
        chain.append(found[above])
        above = chain[-1].handle
    return tuple(chain)


def differences(wanted: Chain, found: tuple[Held, ...]) -> list[str]:
    """A sentence for each setting that the kernel does not hold as asked; empty when all is well."""
    kinds = tuple(one.qdisc.kind for one in found)
    if kinds != tuple(qdisc.kind for qdisc in wanted):
        asked = ", ".join(qdisc.kind for qdisc in wanted) or "nothing"
        return [f"queue disciplines: asked for {asked}, the kernel holds {', '.join(kinds) or 'nothing'}"]
    problems = []
    for qdisc, one in zip(wanted, found, strict=True):
        for name, asked in qdisc.settings.items():
            got = one.qdisc.settings.get(name)
            if got is None and name in _UNREADABLE:
                continue
            if got is None or abs(got - asked) > max(_SLACK.get(name, 0), _RELATIVE_SLACK * abs(asked)):
                problems.append(f"{qdisc.kind} {name}: asked for {asked}, the kernel holds {got}")
    return problems
