"""Combined effect of all stages in a direction of a path, in the terms of `spec.Path`.

Delays add up, losses multiply, and the lowest rate counts with the queue before it.
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
"""Queues that `spec.Path.qdisc` distinguishes from a fifo."""


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
    managed = inner.queue in _MANAGED
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
