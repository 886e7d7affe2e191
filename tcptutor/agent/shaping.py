"""Queue disciplines of an interface: set, read back and compare."""

from __future__ import annotations

import errno
from collections.abc import Callable, Container, Iterable, Iterator

from tcptutor.agent.netlink import ROOT, NetlinkError, QdiscState, Route
from tcptutor.agent.network import Interface
from tcptutor.agent.qdiscs import KINDS
from tcptutor.agent.qdiscs.attributes import U32_MAX
from tcptutor.agent.qdiscs.queues import TICK
from tcptutor.base.errors import KernelLacks, LabError
from tcptutor.wire.plan import Chain, Qdisc

_HANDLE_STEP = 0x10000
_SLACK = {"latency": 1000, "jitter": 1000, "ce_threshold": 2}
"""Error that the kernel's units may cause (netem's old clock ticks, codel's 1024 ns), by setting."""
_RELATIVE_SLACK = 1e-5
"""Relative error of a probability or rate in 32 bits."""
_UNREADABLE = {"shape", "frame", "rate"}
"""Settings that some disciplines do not report."""


def apply(interface: Interface, chain: Chain) -> None:
    """Replace the disciplines of `interface` by `chain`. Raises KernelLacks if the kernel has no such qdisc."""
    with Route(interface.pid) as route:
        index = route.index(interface)
        route.clear(index)
        _put(route.add, index, chain)


def change(interface: Interface, chain: Chain, kinds: Container[str] = KINDS) -> None:
    """Change the settings of the existing disciplines of `interface` without losing queued packets; only of `kinds`."""
    with Route(interface.pid) as route:
        _put(route.change, route.index(interface), chain, kinds)


def clear(interface: Interface) -> None:
    with Route(interface.pid) as route:
        route.clear(route.index(interface))


def set_link(interface: Interface, up: bool) -> None:
    with Route(interface.pid) as route:
        route.set_link(route.index(interface), up)


def handle(level: int) -> int:
    """Return the handle of the discipline at that level of a chain: 1:, 2:, 3: ..."""
    return _HANDLE_STEP * (level + 1)


def _put(
    put: Callable[[int, int, int, Qdisc], None], index: int, chain: Chain, kinds: Container[str] = KINDS
) -> None:
    for level, qdisc in enumerate(chain):
        if qdisc.kind not in kinds:
            continue
        # netem and tbf have one class, with the number 1.
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
    """Return the known disciplines on `interface`, from the root down."""
    with Route(interface.pid) as route:
        route.refresh()
        return chain_of(known_kinds(route.qdiscs().get(route.index(interface), [])))


def known_kinds(qdiscs: Iterable[QdiscState]) -> list[QdiscState]:
    """Return the disciplines of kinds that the agent can set up."""
    return [qdisc for qdisc in qdiscs if qdisc.kind in KINDS]


def chain_of(qdiscs: Iterable[QdiscState]) -> tuple[QdiscState, ...]:
    """Order the disciplines of an interface from the root down, without disciplines that have no path to it."""
    qdiscs = list(qdiscs)

    def below(parent: int) -> Iterator[QdiscState]:
        for qdisc in qdiscs:
            # ROOT looks like a class of the handle ffff:.
            is_child = qdisc.parent != ROOT and qdisc.parent & ~0xFFFF == parent
            if qdisc.parent == ROOT if parent == ROOT else is_child:
                yield qdisc
                if qdisc.handle:
                    yield from below(qdisc.handle)

    return tuple(below(ROOT))


def steps(qdisc: Qdisc) -> dict[str, float]:
    """Return the kernel's resolution of the settings of `qdisc`, by name, in the settings' own units."""
    settings = qdisc.settings
    if qdisc.kind == "tbf":
        # The kernel stores the bucket as a time in ticks.
        return {"burst": 1 + 2 * TICK * settings["rate"]}
    if qdisc.kind != "netem":
        return {}
    step = 1 / U32_MAX
    resolution = dict.fromkeys(("loss", "loss_correlation", "duplicate", "reorder"), step)
    if settings["burst"] > 1:
        # The kernel stores two probabilities, of a burst's start and of its end.
        resolution |= {"loss": 2 * step * settings["burst"], "burst": step * settings["burst"] ** 2}
    return resolution


def differences(requested: Chain, states: tuple[QdiscState, ...]) -> list[str]:
    """Return a sentence for each setting that the kernel does not hold as requested."""
    kinds = tuple(qdisc.kind for qdisc in states)
    if kinds != tuple(qdisc.kind for qdisc in requested):
        expected = ", ".join(qdisc.kind for qdisc in requested) or "nothing"
        return [f"queue disciplines: asked for {expected}, the kernel holds {', '.join(kinds) or 'nothing'}"]
    problems = []
    for qdisc, state in zip(requested, states, strict=True):
        slack = _SLACK | steps(qdisc)
        for name, expected in qdisc.settings.items():
            actual = state.settings.get(name)
            if actual is None and name in _UNREADABLE:
                continue
            if actual is None or abs(actual - expected) > max(
                slack.get(name, 0), _RELATIVE_SLACK * abs(expected)
            ):
                problems.append(f"{qdisc.kind} {name}: asked for {expected}, the kernel holds {actual}")
    return problems
