"""Which queue disciplines an experiment puts where, in the kernel's terms. Pure: nothing is set here.

Data goes through the first switch's interface towards the second, acknowledgements through the second's towards the
first. netem is the root and tbf below it, as the manuals have it, then the discipline of the bottleneck's queue;
each is left out where the path does not need it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from tcptutor.spec import ETHERNET_HEADER, Path, default_burst

UNSHAPED = 1e10
"""Rate for which netem's queue is made when the path has no shaper, bit/s."""


@dataclass(frozen=True)
class Qdisc:
    """One queue discipline and its settings, by the names that `qdiscs` writes and reads back."""

    kind: str
    settings: dict[str, Any] = field(default_factory=dict)


_LEAST_FRAME = 60
"""Bytes of the smallest frame of Ethernet."""

Chain = tuple[Qdisc, ...]
"""From the root down: each is in the one before it."""


def forward(path: Path) -> Path:
    """The data's way: what a firewall drops, the way does not."""
    return msgspec.structs.replace(path, loss=0.0) if path.loss_by == "firewall" else path


def backward(path: Path) -> Path:
    """The acknowledgements' way, as a path of its own."""
    return Path(
        rate=path.reverse_rate, delay=path.reverse_delay, loss=path.reverse_loss, queue=path.reverse_queue
    )


def access(path: Path, pair: int) -> Path:
    """A pair's own link behind the second switch, as a path of its own."""
    return Path(delay=path.pair_delays[pair % len(path.pair_delays)] if path.pair_delays else 0.0)


def chain(way: Path, mtu: int, seed: int, always_netem: bool = False, packet: int | None = None) -> Chain:
    """The queue disciplines that do it, in one direction.

    `packet`: bytes of the smallest IP packets that come all the time, where these are not of `mtu` bytes.
    """
    frame = mtu + ETHERNET_HEADER
    smallest = frame if packet is None else min(frame, max(packet + ETHERNET_HEADER, _LEAST_FRAME))
    found = []
    if always_netem or way.delay or way.jitter or way.loss or way.duplicate or way.reorder:
        found.append(Qdisc("netem", _netem(way, smallest, seed)))
    if way.rate is not None:
        found.append(Qdisc("tbf", _tbf(way, frame)))
        if way.qdisc != "fifo":
            found.append(Qdisc(way.qdisc, _inner(way, frame)))
    return tuple(found)


def _netem(way: Path, frame: int, seed: int) -> dict[str, Any]:
    in_flight = (way.rate or UNSHAPED) * (way.delay + way.jitter) / 8 / frame
    return {
        "latency": round(way.delay * 1e9),
        "jitter": round(way.jitter * 1e9),
        "shape": way.jitter_shape,
        "loss": way.loss,
        "burst": way.loss_burst,
        "loss_correlation": way.loss_correlation,
        "duplicate": way.duplicate,
        "reorder": way.reorder,
        "ecn": False,
        # Twice what the path holds, and what waits below in the tbf or goes through it at once: netem counts all
        # of it, and its own drops would be a loss that nobody planned.
        "limit": round(2 * in_flight + 2 * (way.queue + (way.burst or 0)) / frame) + 1000,
        "seed": seed,
    }


def _tbf(way: Path, frame: int) -> dict[str, Any]:
    assert way.rate is not None
    return {
        "rate": round(way.rate / 8),
        "burst": way.burst or default_burst(way.rate, frame),
        "limit": way.queue,
    }


def _inner(way: Path, frame: int) -> dict[str, Any]:
    assert way.rate is not None
    packets = max(10, round(way.queue / frame))
    match way.qdisc:
        case "codel" | "fq_codel":
            return {"limit": packets, "ecn": way.ecn}
        case "fq":
            # A switch knows no sockets. Here all hosts share one kernel, so this fq would find those of the senders and
            # tell them to leave the pacing to it: BBR would burst, and segments seem to leave later than they do.
            return {"limit": packets, "pacing": False}
        case "cake":
            return {"limit": way.queue}
        case _:
            # Thresholds at a sixth and a half of the queue, and a tenth dropped at the upper one: tc-red's advice.
            return {
                "limit": way.queue,
                "low": max(round(way.queue / 6), 3 * frame),
                "high": max(round(way.queue / 2), 9 * frame),
                "probability": 0.1,
                "frame": frame,
                "rate": round(way.rate / 8),
                "ecn": way.ecn,
            }
