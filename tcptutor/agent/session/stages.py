"""Effects of a path's interfaces on its packets, from their disciplines and classes, in the terms of `spec.Path`.

Delays add up, losses multiply, and the lowest rate counts with the queue before it. A discipline that the agent cannot
decode is reported as `unread`; the link's capacity is then unknown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tcptutor.agent.netlink import ROOT, ClassState, FilterState, QdiscState
from tcptutor.agent.network import Interface
from tcptutor.agent.session.classify import Ends, choose
from tcptutor.spec.frame_sizes import ETHERNET_HEADER

_QUEUES = ("codel", "fq_codel", "fq", "cake", "red")
"""Queues that `spec.Path.qdisc` distinguishes from a fifo."""
CLASSFUL = ("htb", "hfsc", "prio", "ets", "drr", "qfq")
"""Kinds with filters that select a class for each packet."""
HOOKS = {"ingress": (0xFFFF0000,), "clsact": (0xFFFFFFF2, 0xFFFFFFF3)}
"""Disciplines that only have filters, with the parents of the filters for incoming and for outgoing packets."""
_DROPS = ("drr", "qfq", "hfsc")
"""Kinds that drop packets that neither a filter nor the default classifies."""
_CAKE_MIN_LIMIT, _CAKE_RTT = 4 << 20, 0.1
"""cake's smallest limit, bytes, and its default RTT, s."""
_DEFAULT_LIMIT = 1000
"""Default limit of a class's queue, packets (a veth's txqueuelen)."""


class Hop(NamedTuple):
    """Interface on the path, and the stages that a packet passes on it."""

    interface: Interface
    stages: Sequence[PathStage]
    mtu: int = 1500


@dataclass
class PathDirection:
    """Effect on the packets in a direction."""

    path: dict[str, Any] = field(default_factory=dict)
    """Fields of a `spec.Path`."""
    unread: tuple[str, ...] = ()
    """Disciplines that the agent cannot decode, such as "sfq on s1-eth2": the capacity is then unknown."""
    unshaped: tuple[str, ...] = ()
    """Disciplines without a class for these packets, which pass unshaped, such as "htb on s1-eth2"."""
    shaper: tuple[Interface, int] | None = None
    """Interface and handle of the discipline with the lowest rate; None without a rate."""


def combine(hops: Iterable[Hop]) -> PathDirection:
    """Return the combined effect of the hops."""
    path: dict[str, Any] = {"delay": 0.0}
    direction = PathDirection(path)
    arrival, variance, unread = 1.0, 0.0, []
    unshaped = []
    for hop in hops:
        for place, stage in enumerate(hop.stages):
            effect = stage.effect
            if effect.unread:
                unread.append(f"{effect.unread} on {hop.interface.name}")
            if effect.is_direct:
                unshaped.append(f"{stage.qdisc.kind} on {hop.interface.name}")
            if netem := effect.netem:
                path["delay"] += (netem["latency"] or 0) / 1e9
                variance += ((netem["jitter"] or 0) / 1e9) ** 2
                arrival *= 1 - netem["loss"]
                path |= _largest(path, netem)
            if effect.rate and effect.rate < path.get("rate", math.inf):
                path["rate"] = effect.rate
                path |= _queue(hop, place)
                direction.shaper = hop.interface, stage.qdisc.handle
    if variance:
        path["jitter"] = math.sqrt(variance)
    if arrival < 1:
        path["loss"] = 1 - arrival
    direction.unread, direction.unshaped = tuple(dict.fromkeys(unread)), tuple(unshaped)
    return direction


def _queue(hop: Hop, place: int) -> dict[str, Any]:
    """Return the queue before the stage at that place: in the innermost discipline below it, or its own."""
    shaper = hop.stages[place]
    below = [stage for stage in hop.stages[place + 1 :] if stage.effect.queue]
    inner = below[-1].effect if below else shaper.effect
    managed = inner.queue in _QUEUES
    # The lab's own tbf bounds the queue that its child manages.
    bound = shaper.effect if managed and shaper.effect.limit else inner
    settings = {
        "burst": shaper.effect.burst if shaper.qdisc.kind == "tbf" else None,
        "qdisc": inner.queue if managed else "fifo",
        "ecn": managed and inner.ecn,
        "queue_packets": bound.packets if not managed and not bound.limit else None,
    }
    size = bound.limit or _in_bytes(bound, shaper.effect, hop.mtu + ETHERNET_HEADER)
    return settings | ({"queue": size} if size else {})


def _in_bytes(queue: Effect, shaper: Effect, frame: int) -> int:
    """Convert a limit in packets to bytes of full frames; netem's also counts the packets that it delays."""
    delayed = (shaper.rate or 0) * (queue.netem.get("latency") or 0) / 8e9 if queue.netem else 0.0
    return max(frame, round((queue.packets or 0) * frame - delayed)) if queue.packets else 0


def _largest(path: dict[str, Any], netem: Any) -> dict[str, Any]:
    """Return the settings that do not accumulate: the largest of any interface."""
    names = {"duplicate": "duplicate", "reorder": "reorder", "burst": "loss_burst"}
    names["loss_correlation"] = "loss_correlation"
    values = {
        ours: max(path.get(ours, 0.0), netem[theirs]) for theirs, ours in names.items() if netem[theirs]
    }
    return {name: value for name, value in values.items() if name != "loss_burst" or value > 1}


@dataclass
class Tree:
    """Disciplines, classes and filters of an interface."""

    disciplines: Sequence[QdiscState] = ()
    classes: Sequence[ClassState] = ()
    filters: Mapping[int, Sequence[FilterState]] = field(default_factory=dict)
    """Filters by the discipline or class that they belong to."""


class Effect(NamedTuple):
    """Effect of a stage on the packets of a path; None for properties that it leaves alone."""

    rate: float | None = None
    """bit/s"""
    burst: int | None = None
    """bytes that may leave at once"""
    limit: int | None = None
    """Queue limit, bytes."""
    packets: int | None = None
    """Queue limit in packets, for a discipline that counts packets."""
    queue: str = ""
    """Discipline of its queue in terms of `spec.Path.qdisc`; empty without a queue of its own."""
    ecn: bool = False
    netem: Mapping[str, Any] = {}
    unread: str = ""
    """Part of the stage that the agent cannot decode."""
    is_direct: bool = False
    """Whether packets without a class pass unshaped, as in htb's direct queue or hfsc without classes."""


class PathStage(NamedTuple):
    """Discipline that a packet passes, or its class."""

    qdisc: QdiscState
    effect: Effect


def stages(tree: Tree, ends: Ends) -> Iterator[PathStage]:
    """Yield the stages that an outgoing packet passes, from the root down."""
    qdisc = next((each for each in tree.disciplines if each.parent == ROOT), None)
    count = 0
    while qdisc is not None and count <= len(tree.disciplines):
        count += 1
        if qdisc.kind in CLASSFUL:
            stage, classid = _class_stage(tree, qdisc, ends)
            yield stage
            inside = [each for each in tree.disciplines if each.parent == classid] if classid else []
            if classid and not inside:
                limit = qdisc.settings.get("limit", _DEFAULT_LIMIT)
                yield PathStage(
                    QdiscState("pfifo", {"limit": limit}, 0, classid), Effect(packets=limit, queue="fifo")
                )
        else:
            yield PathStage(qdisc, _effect(qdisc))
            major = qdisc.handle
            inside = [
                each for each in tree.disciplines if each.parent != ROOT and each.parent & ~0xFFFF == major
            ]
        qdisc = inside[0] if inside and qdisc.handle else None
    yield from _hooks(tree, leaving=True)


def arriving(tree: Tree) -> Iterator[PathStage]:
    yield from _hooks(tree, leaving=False)


def _hooks(tree: Tree, leaving: bool) -> Iterator[PathStage]:
    for qdisc in tree.disciplines:
        parents = HOOKS.get(qdisc.kind, ())
        for parent in parents[1:] if leaving else parents[:1]:
            if tree.filters.get(parent):
                name = choose(tree.filters[parent], Ends("0.0.0.0", "0.0.0.0")).unread  # noqa: S104
                yield PathStage(qdisc, Effect(unread=name or "a filter"))


def _class_stage(tree: Tree, qdisc: QdiscState, ends: Ends) -> tuple[PathStage, int | None]:
    """Return the stage of a classful discipline, and the number of the packet's class."""
    choice = choose(tree.filters.get(qdisc.handle, ()), ends)
    if choice.unread:
        return PathStage(qdisc, Effect(unread=choice.unread)), None
    classes = {each.handle: each for each in tree.classes}
    leaves = set(classes) - {each.parent for each in tree.classes}
    default = qdisc.settings.get("default")
    candidates = [choice.classid, qdisc.handle | default if default else None]
    classid = next((each for each in candidates if each in leaves), None)
    if classid is None:
        reason = f"{qdisc.kind} (no class takes these packets, so it drops them)"
        # Without any class, hfsc sends from its root, which is a class itself (hfsc_classify).
        has_classes = any(each & 0xFFFF and each & ~0xFFFF == qdisc.handle for each in classes)
        is_direct = qdisc.kind == "htb" or (qdisc.kind == "hfsc" and not has_classes)
        drops = qdisc.kind in _DROPS and not is_direct
        return PathStage(qdisc, Effect(unread=reason if drops else "", is_direct=is_direct)), None
    if tree.filters.get(classid):
        return PathStage(qdisc, Effect(unread=f"filters of class {_handle(classid)}")), None
    return PathStage(qdisc, _CLASS_EFFECTS.get(qdisc.kind, _no_rate)(classes, classid)), classid


def _handle(number: int) -> str:
    return f"{number >> 16:x}:{number & 0xFFFF:x}"


def _no_rate(_classes: Mapping[int, ClassState], _classid: int) -> Effect:
    return Effect()


def _htb(classes: Mapping[int, ClassState], classid: int) -> Effect:
    """Return the rate of a class with idle siblings: its own, and up to its ceil the parent's."""
    state = classes[classid]
    own, ceil = state.settings.get("rate", 0), state.settings.get("ceil", 0)
    above = _htb(classes, state.parent).rate if state.parent in classes and state.parent < ROOT else None
    rate = min(own, ceil) if above is None else min(ceil, max(own, above / 8))
    return Effect(rate=8.0 * rate, burst=state.settings.get("burst"))


def _hfsc(classes: Mapping[int, ClassState], classid: int) -> Effect:
    """Return the lowest upper bound up to the root; for a class without link sharing also its guaranteed rate."""
    settings, at = classes[classid].settings, classid
    bounds = []
    for _ in classes:  # bounded, whatever the kernel reports as parents
        if at in classes:
            bounds.append(classes[at].settings.get("upper", 0))
            at = classes[at].parent
    bounds = [bound for bound in bounds if bound]
    if not settings.get("link_share") and settings.get("real_time"):
        bounds.append(settings["real_time"])
    return Effect(rate=8.0 * min(bounds)) if bounds else Effect()


_CLASS_EFFECTS = {"htb": _htb, "hfsc": _hfsc}


def _netem(qdisc: QdiscState) -> Effect:
    settings = qdisc.settings
    strange = [
        name
        for name, word in (("corrupt", "corrupt"), ("slot", "slots"), ("loss state", "states"))
        if settings.get(word)
    ]
    return Effect(
        rate=8.0 * settings["rate"] if settings.get("rate") else None,
        packets=settings.get("limit"),
        queue="fifo",
        netem=settings,
        unread=f"netem's {strange[0]}" if strange else "",
    )


def _tbf(qdisc: QdiscState) -> Effect:
    settings = qdisc.settings
    rate = min(settings["rate"], settings.get("peak") or settings["rate"])
    return Effect(rate=8.0 * rate, burst=settings["burst"], limit=settings["limit"], queue="fifo")


def _cake(qdisc: QdiscState) -> Effect:
    rate = qdisc.settings.get("rate")
    limit = qdisc.settings.get("limit")
    if rate and not limit:
        # The kernel's default: the data that arrives in four intervals (cake_reconfigure).
        limit = max(_CAKE_MIN_LIMIT, round(4 * rate * _CAKE_RTT))
    return Effect(rate=8.0 * rate if rate else None, limit=limit or None, queue="cake")


def _cbs(qdisc: QdiscState) -> Effect:
    return Effect(
        rate=8.0 * qdisc.settings["rate"] if qdisc.settings.get("rate") else None, packets=_DEFAULT_LIMIT
    )


def _packets(qdisc: QdiscState) -> Effect:
    ecn = bool(qdisc.settings.get("ecn"))
    return Effect(
        packets=qdisc.settings.get("limit"), queue=qdisc.kind if qdisc.kind in _MANAGED else "fifo", ecn=ecn
    )


def _bytes(qdisc: QdiscState) -> Effect:
    ecn = bool(qdisc.settings.get("ecn"))
    return Effect(limit=qdisc.settings.get("limit"), queue="red" if qdisc.kind == "red" else "fifo", ecn=ecn)


_MANAGED = ("codel", "fq_codel", "fq")
_READERS: dict[str, Callable[[QdiscState], Effect]] = {
    "netem": _netem,
    "tbf": _tbf,
    "cake": _cake,
    "cbs": _cbs,
    "red": _bytes,
    "bfifo": _bytes,
    **dict.fromkeys((*_MANAGED, "pfifo", "pfifo_head_drop"), _packets),
    **dict.fromkeys(("pfifo_fast", "mq"), lambda _: Effect()),
}


def _effect(qdisc: QdiscState) -> Effect:
    reader = _READERS.get(qdisc.kind)
    try:
        return reader(qdisc) if reader is not None else Effect(unread=qdisc.kind)
    except (KeyError, TypeError):
        return Effect(unread=qdisc.kind)
