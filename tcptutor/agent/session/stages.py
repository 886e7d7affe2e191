"""Effects of an interface on its outgoing packets, from its disciplines and classes, root first.

A discipline that the agent cannot decode is reported as `unread`; the link's capacity is then unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tcptutor.agent.netlink import ROOT, ClassState, FilterState, QdiscState
from tcptutor.agent.session.classify import Ends, choose

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
    """netem's settings."""
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
    one = next((each for each in tree.disciplines if each.parent == ROOT), None)
    seen = 0
    while one is not None and seen <= len(tree.disciplines):
        seen += 1
        if one.kind in CLASSFUL:
            stage, classid = _class_stage(tree, one, ends)
            yield stage
            inside = [each for each in tree.disciplines if each.parent == classid] if classid else []
            if classid and not inside:
                limit = one.settings.get("limit", _DEFAULT_LIMIT)
                yield PathStage(
                    QdiscState("pfifo", {"limit": limit}, 0, classid), Effect(packets=limit, queue="fifo")
                )
        else:
            yield PathStage(one, _effect(one))
            major = one.handle
            inside = [
                each for each in tree.disciplines if each.parent != ROOT and each.parent & ~0xFFFF == major
            ]
        one = inside[0] if inside and one.handle else None
    yield from _hooks(tree, leaving=True)


def arriving(tree: Tree) -> Iterator[PathStage]:
    """Yield the stages that an incoming packet passes."""
    yield from _hooks(tree, leaving=False)


def _hooks(tree: Tree, leaving: bool) -> Iterator[PathStage]:
    for one in tree.disciplines:
        parents = HOOKS.get(one.kind, ())
        for parent in parents[1:] if leaving else parents[:1]:
            if tree.filters.get(parent):
                name = choose(tree.filters[parent], Ends("0.0.0.0", "0.0.0.0")).unread  # noqa: S104
                yield PathStage(one, Effect(unread=name or "a filter"))


def _class_stage(tree: Tree, one: QdiscState, ends: Ends) -> tuple[PathStage, int | None]:
    """Return the stage of a classful discipline, and the number of the packet's class."""
    choice = choose(tree.filters.get(one.handle, ()), ends)
    if choice.unread:
        return PathStage(one, Effect(unread=choice.unread)), None
    classes = {each.handle: each for each in tree.classes}
    leaves = set(classes) - {each.parent for each in tree.classes}
    default = one.settings.get("default")
    wanted = [choice.classid, one.handle | default if default else None]
    classid = next((each for each in wanted if each in leaves), None)
    if classid is None:
        dropped = f"{one.kind} (no class takes these packets, so it drops them)"
        # Without any class, hfsc sends from its root, which is a class itself (hfsc_classify).
        has_classes = any(each & 0xFFFF and each & ~0xFFFF == one.handle for each in classes)
        is_direct = one.kind == "htb" or (one.kind == "hfsc" and not has_classes)
        drops = one.kind in _DROPS and not is_direct
        return PathStage(one, Effect(unread=dropped if drops else "", is_direct=is_direct)), None
    if tree.filters.get(classid):
        return PathStage(one, Effect(unread=f"filters of class {_handle(classid)}")), None
    return PathStage(one, _CLASS_EFFECTS.get(one.kind, _no_rate)(classes, classid)), classid


def _handle(number: int) -> str:
    return f"{number >> 16:x}:{number & 0xFFFF:x}"


def _no_rate(_classes: Mapping[int, ClassState], _classid: int) -> Effect:
    return Effect()


def _htb(classes: Mapping[int, ClassState], classid: int) -> Effect:
    """Return the rate of a class with idle siblings: its own, and up to its ceil the parent's."""
    one = classes[classid]
    own, ceil = one.settings.get("rate", 0), one.settings.get("ceil", 0)
    above = _htb(classes, one.parent).rate if one.parent in classes and one.parent < ROOT else None
    rate = min(own, ceil) if above is None else min(ceil, max(own, above / 8))
    return Effect(rate=8.0 * rate, burst=one.settings.get("burst"))


def _hfsc(classes: Mapping[int, ClassState], classid: int) -> Effect:
    """Return the lowest upper bound up to the root; for a class without link sharing also its guaranteed rate."""
    settings, at = classes[classid].settings, classid
    found = []
    for _ in classes:  # bounded, whatever the kernel reports as parents
        if at in classes:
            found.append(classes[at].settings.get("upper", 0))
            at = classes[at].parent
    found = [bound for bound in found if bound]
    if not settings.get("link_share") and settings.get("real_time"):
        found.append(settings["real_time"])
    return Effect(rate=8.0 * min(found)) if found else Effect()


_CLASS_EFFECTS = {"htb": _htb, "hfsc": _hfsc}


def _netem(one: QdiscState) -> Effect:
    settings = one.settings
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


def _tbf(one: QdiscState) -> Effect:
    settings = one.settings
    rate = min(settings["rate"], settings.get("peak") or settings["rate"])
    return Effect(rate=8.0 * rate, burst=settings["burst"], limit=settings["limit"], queue="fifo")


def _cake(one: QdiscState) -> Effect:
    rate = one.settings.get("rate")
    limit = one.settings.get("limit")
    if rate and not limit:
        # The kernel's default: the data that arrives in four intervals (cake_reconfigure).
        limit = max(_CAKE_MIN_LIMIT, round(4 * rate * _CAKE_RTT))
    return Effect(rate=8.0 * rate if rate else None, limit=limit or None, queue="cake")


def _cbs(one: QdiscState) -> Effect:
    return Effect(
        rate=8.0 * one.settings["rate"] if one.settings.get("rate") else None, packets=_DEFAULT_LIMIT
    )


def _packets(one: QdiscState) -> Effect:
    ecn = bool(one.settings.get("ecn"))
    return Effect(
        packets=one.settings.get("limit"), queue=one.kind if one.kind in _MANAGED else "fifo", ecn=ecn
    )


def _bytes(one: QdiscState) -> Effect:
    ecn = bool(one.settings.get("ecn"))
    return Effect(limit=one.settings.get("limit"), queue="red" if one.kind == "red" else "fifo", ecn=ecn)


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
"""Decoders of disciplines without classes, by kind."""


def _effect(one: QdiscState) -> Effect:
    reader = _READERS.get(one.kind)
    try:
        return reader(one) if reader is not None else Effect(unread=one.kind)
    except (KeyError, TypeError):
        return Effect(unread=one.kind)
