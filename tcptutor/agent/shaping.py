"""Sets the queue disciplines of an interface, reads back what the kernel holds, and compares."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Iterator

from tcptutor.agent.netlink import ROOT, NetlinkError, QdiscState, Route
from tcptutor.agent.network import Interface
from tcptutor.agent.qdiscs import KINDS
from tcptutor.agent.qdiscs.attributes import U32_MAX
from tcptutor.agent.qdiscs.shapers import TICK
from tcptutor.base.errors import KernelLacks, LabError
from tcptutor.wire.plan import Chain, Qdisc

_HANDLE_STEP = 0x10000
_SLACK = {"latency": 1000, "jitter": 1000}
"""What a setting may lose in the kernel's own units (netem's old clock ticks), by name."""
_RELATIVE_SLACK = 1e-5
"""What a probability or a rate may lose to 32 bits, relative."""
_UNREADABLE = {"shape", "frame", "rate"}
"""Settings that some disciplines do not give back."""


def apply(interface: Interface, chain: Chain) -> None:
    """Put `chain` on `interface` in place of what is there. Raises KernelLacks when the kernel has no such qdisc."""
    with Route(interface.pid) as route:
        index = route.index(interface)
        route.clear(index)
        _put(route.add, index, chain)


def change(interface: Interface, chain: Chain) -> None:
    """Give the disciplines that are on `interface` these settings; packets that wait in them stay."""
    with Route(interface.pid) as route:
        _put(route.change, route.index(interface), chain)


def clear(interface: Interface) -> None:
    """Take the qdiscs of `interface` away."""
    with Route(interface.pid) as route:
        route.clear(route.index(interface))


def set_link(interface: Interface, up: bool) -> None:
    """Bring the interface up or down."""
    with Route(interface.pid) as route:
        route.set_link(route.index(interface), up)


def handle(level: int) -> int:
    """The handle of the discipline at that place of a chain: 1:, 2:, 3: ..."""
    return _HANDLE_STEP * (level + 1)


def _put(put: Callable[[int, int, int, Qdisc], None], index: int, chain: Chain) -> None:
    for level, qdisc in enumerate(chain):
        # The only class of a discipline above is number 1: netem's and tbf's alike.
        parent = handle(level - 1) + 1 if level else ROOT
        try:
            put(index, handle(level), parent, qdisc)
        except NetlinkError as error:
            if error.code == errno.ENOENT:
                raise KernelLacks(
                    f"this kernel has no {qdisc.kind}: run it in the guest (--backend guest)"
                ) from error
            raise LabError(
                f"the kernel refuses the {qdisc.kind} settings {qdisc.settings}: {error}"
            ) from error


def read(interface: Interface) -> tuple[QdiscState, ...]:
    """What the kernel holds on `interface`, as far as we know it, from the root down."""
    with Route(interface.pid) as route:
        route.look()
        return chain_of(known(route.qdiscs().get(route.index(interface), [])))


def known(found: Iterable[QdiscState]) -> list[QdiscState]:
    """Those of a kind whose settings we know."""
    return [one for one in found if one.kind in KINDS]


def chain_of(found: Iterable[QdiscState]) -> tuple[QdiscState, ...]:
    """The disciplines of one interface, each after that which it is in; what hangs below no root is left out."""
    there = list(found)

    def below(parent: int) -> Iterator[QdiscState]:
        for one in there:
            # ROOT would pass for a class of the handle ffff:.
            inside = one.parent != ROOT and one.parent & ~0xFFFF == parent
            if one.parent == ROOT if parent == ROOT else inside:
                yield one
                if one.handle:
                    yield from below(one.handle)

    return tuple(below(ROOT))


def steps(qdisc: Qdisc) -> dict[str, float]:
    """How fine the kernel keeps the settings of `qdisc`, by name, in the settings' own units."""
    settings = qdisc.settings
    if qdisc.kind == "tbf":
        # A bucket is kept in ticks of time.
        return {"burst": 1 + 2 * TICK * settings["rate"]}
    if qdisc.kind != "netem":
        return {}
    step = 1 / U32_MAX
    found = dict.fromkeys(("loss", "loss_correlation", "duplicate", "reorder"), step)
    if settings["burst"] > 1:
        # Two probabilities: that of a burst's begin, and that of its end.
        found |= {"loss": 2 * step * settings["burst"], "burst": step * settings["burst"] ** 2}
    return found


def differences(wanted: Chain, found: tuple[QdiscState, ...]) -> list[str]:
    """A sentence for each setting that the kernel does not hold as asked; empty when all is well."""
    kinds = tuple(one.kind for one in found)
    if kinds != tuple(qdisc.kind for qdisc in wanted):
        asked = ", ".join(qdisc.kind for qdisc in wanted) or "nothing"
        return [f"queue disciplines: asked for {asked}, the kernel holds {', '.join(kinds) or 'nothing'}"]
    problems = []
    for qdisc, one in zip(wanted, found, strict=True):
        slack = _SLACK | steps(qdisc)
        for name, asked in qdisc.settings.items():
            got = one.settings.get(name)
            if got is None and name in _UNREADABLE:
                continue
            if got is None or abs(got - asked) > max(slack.get(name, 0), _RELATIVE_SLACK * abs(asked)):
                problems.append(f"{qdisc.kind} {name}: asked for {asked}, the kernel holds {got}")
    return problems
