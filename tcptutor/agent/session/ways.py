"""One direction of a path in the terms of `spec.Path`: what all stages on it do together.

Delays add up, losses multiply, and the least rate counts, with the queue before it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from tcptutor.agent.network import Interface
from tcptutor.agent.session.stages import Effect, PathStage
from tcptutor.spec import ETHERNET_HEADER

_MANAGED = ("codel", "fq_codel", "fq", "cake", "red")
"""Queues of which `spec.Path.qdisc` knows more than that they are first in, first out."""


class Hop(NamedTuple):
    """An interface on the way, and what a packet passes there."""

    interface: Interface
    stages: Sequence[PathStage]
    mtu: int = 1500


@dataclass
class Way:
    """What becomes of a packet in one direction."""

    path: dict[str, Any] = field(default_factory=dict)
    """Fields of a `spec.Path`."""
    unread: tuple[str, ...] = ()
    """What is not read of it, such as "sfq on s1-eth2": then nobody knows what it carries."""
    unshaped: tuple[str, ...] = ()
    """What has no class for these packets and sends them at any rate, such as "htb on s1-eth2"."""
    shaper: tuple[Interface, int] | None = None
    """The interface and the handle of the discipline that has the least rate; None without a rate."""


def way(hops: Iterable[Hop]) -> Way:
    """The effect of all of them."""
    path: dict[str, Any] = {"delay": 0.0}
    found = Way(path)
    kept, spread, unread = 1.0, 0.0, []
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
                spread += ((netem["jitter"] or 0) / 1e9) ** 2
                kept *= 1 - netem["loss"]
                path |= _most(path, netem)
            if effect.rate and effect.rate < path.get("rate", math.inf):
                path["rate"] = effect.rate
                path |= _queue(hop, place)
                found.shaper = hop.interface, stage.qdisc.handle
    if spread:
        path["jitter"] = math.sqrt(spread)
    if kept < 1:
        path["loss"] = 1 - kept
    found.unread, found.unshaped = tuple(dict.fromkeys(unread)), tuple(unshaped)
    return found


def _queue(hop: Hop, place: int) -> dict[str, Any]:
    """What waits for the stage at that place: in the innermost discipline below it, else in itself."""
    shaper = hop.stages[place]
    below = [stage for stage in hop.stages[place + 1 :] if stage.effect.queue]
    inner = below[-1].effect if below else shaper.effect
    managed = inner.queue in _MANAGED
    # The lab's own tbf bounds what the discipline inside it manages.
    bound = shaper.effect if managed and shaper.effect.limit else inner
    held = {
        "burst": shaper.effect.burst if shaper.qdisc.kind == "tbf" else None,
        "qdisc": inner.queue if managed else "fifo",
        "ecn": managed and inner.ecn,
        "queue_packets": bound.packets if not managed and not bound.limit else None,
    }
    size = bound.limit or _in_bytes(bound, shaper.effect, hop.mtu + ETHERNET_HEADER)
    return held | ({"queue": size} if size else {})


def _in_bytes(queue: Effect, shaper: Effect, frame: int) -> int:
    """So many packets as full frames; netem counts those that are on their way as well."""
    delayed = (shaper.rate or 0) * (queue.netem.get("latency") or 0) / 8e9 if queue.netem else 0.0
    return max(frame, round((queue.packets or 0) * frame - delayed)) if queue.packets else 0


def _most(path: dict[str, Any], netem: Any) -> dict[str, Any]:
    """What does not add up: the most that any interface does."""
    names = {"duplicate": "duplicate", "reorder": "reorder", "burst": "loss_burst"}
    names["loss_correlation"] = "loss_correlation"
    found = {ours: max(path.get(ours, 0.0), netem[theirs]) for theirs, ours in names.items() if netem[theirs]}
    return {name: value for name, value in found.items() if name != "loss_burst" or value > 1}
