"""Queue disciplines that an experiment puts on each interface, in the kernel's terms. Pure computation.

Data leaves through the first switch's interface to the second switch, and through the second's to a third if there is
one; acknowledgments leave through the second's to the first. netem is the root with tbf below it, as in the manuals,
then the discipline of the bottleneck's queue; a discipline that the path does not need is left out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from tcptutor.spec import Path, default_burst
from tcptutor.spec.frame_sizes import ETHERNET_HEADER, trace_burst

UNSHAPED = 1e10
"""Rate for which netem's queue is sized on a path without a shaper, bit/s."""


@dataclass(frozen=True)
class Qdisc:
    """Queue discipline and its settings, named as `agent.qdiscs` writes and reads them."""

    kind: str
    settings: dict[str, Any] = field(default_factory=dict)


_MIN_FRAME = 60
"""Bytes of the smallest Ethernet frame."""

Chain = tuple[Qdisc, ...]
"""Disciplines from the root down, each the child of its predecessor."""


def forward(path: Path) -> Path:
    """Return the path of the data; a firewall's loss happens at the receiver, not on the path."""
    return msgspec.structs.replace(path, loss=0.0) if path.loss_by == "firewall" else path


def reverse(path: Path) -> Path:
    """Return the path of the acknowledgments, as a path of its own."""
    return Path(
        rate=path.reverse_rate, delay=path.reverse_delay, loss=path.reverse_loss, queue=path.reverse_queue
    )


def access_link(path: Path, pair: int) -> Path:
    """Return a pair's own link behind the second switch, as a path of its own."""
    return Path(delay=path.pair_delays[pair % len(path.pair_delays)] if path.pair_delays else 0.0)


def chain(path: Path, mtu: int, seed: int, always_netem: bool = False, packet: int | None = None) -> Chain:
    """Return the queue disciplines for a direction of a path.

    Args:
        path: Path with this direction's settings in its forward fields.
        mtu: Bytes of the largest IP packet.
        seed: Seed of netem's random numbers.
        always_netem: Whether a later change needs a netem that is in place from the start.
        packet: Bytes of the smallest IP packets that keep coming, if not `mtu`.
    """
    frame = mtu + ETHERNET_HEADER
    smallest = frame if packet is None else min(frame, max(packet + ETHERNET_HEADER, _MIN_FRAME))
    qdiscs = []
    if always_netem or path.delay or path.jitter or path.loss or path.duplicate or path.reorder:
        qdiscs.append(Qdisc("netem", _netem(path, smallest, seed)))
    if path.rate is not None:
        qdiscs.append(Qdisc("tbf", _tbf(path, frame)))
        if path.qdisc != "fifo":
            qdiscs.append(Qdisc(path.qdisc, _inner(path, frame)))
    return tuple(qdiscs)


def _netem(path: Path, frame: int, seed: int) -> dict[str, Any]:
    rate = max((rate for _, rate in path.rate_trace), default=path.rate or UNSHAPED)
    in_flight = rate * (path.delay + path.jitter) / 8 / frame
    return {
        "latency": round(path.delay * 1e9),
        "jitter": round(path.jitter * 1e9),
        "shape": path.jitter_shape,
        "loss": path.loss,
        "burst": path.loss_burst,
        "loss_correlation": path.loss_correlation,
        "duplicate": path.duplicate,
        "reorder": path.reorder,
        "ecn": False,
        # Twice the packets in flight and in the tbf below: netem counts both, and must never drop by itself.
        "limit": round(2 * in_flight + 2 * (path.queue + (path.burst or 0)) / frame) + 1000,
        "seed": seed,
    }


def _tbf(path: Path, frame: int) -> dict[str, Any]:
    assert path.rate is not None
    return {
        "rate": round(path.rate / 8),
        "burst": path.burst or (trace_burst if path.rate_trace else default_burst)(path.rate, frame),
        "limit": path.queue,
    }


def _inner(path: Path, frame: int) -> dict[str, Any]:
    assert path.rate is not None
    packets = max(10, round(path.queue / frame))
    match path.qdisc:
        case "codel" | "fq_codel":
            marks = {} if path.ce_threshold is None else {"ce_threshold": round(path.ce_threshold * 1e6)}
            return {"limit": packets, "ecn": path.ecn, **marks}
        case "fq":
            # The lab's hosts share one kernel, so this fq would find the senders' sockets and take over their pacing:
            # BBR would burst, and segments would seem to leave later than they do.
            return {"limit": packets, "pacing": False}
        case "cake":
            return {"limit": path.queue}
        case _:
            # Thresholds at a sixth and half of the queue, and 10 % drops at the upper one: tc-red's advice.
            return {
                "limit": path.queue,
                "low": max(round(path.queue / 6), 3 * frame),
                "high": max(round(path.queue / 2), 9 * frame),
                "probability": 0.1,
                "frame": frame,
                "rate": round(path.rate / 8),
                "ecn": path.ecn,
            }
