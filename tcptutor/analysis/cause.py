"""The rules: from the evidence of a stretch of time to the one thing that limited a flow in it."""

from __future__ import annotations

from typing import Literal

from tcptutor.analysis.evidence import Evidence
from tcptutor.analysis.lossy import LOSS_BLIND
from tcptutor.analysis.model import LimitedBy
from tcptutor.spec import Experiment
from tcptutor.theory import goodput_ratio

MOSTLY = 0.5
"""Share of the busy time from which a window or buffer is what limits."""

SHORT = 0.3
"""Share of the time with nothing to send from which a full send buffer is what keeps it from having more."""

UNUSED = 0.8
"""Share of the window in flight below which it is not what limits."""

BUSY = 0.8
"""Share of the time with data to send below which the application is what limits."""

STALLED = 0.3
"""Share of the time lost to timeouts from which they are what limits."""

FULL = 0.95
"""Share of its goodput from which a link is full, queue or not."""

SATURATED = 0.98
"""Share of its goodput from which more window or buffer would gain nothing."""

QUEUED = 0.85
"""Share of its goodput from which a link with a standing queue is full most of the time."""

CROWDED = 0.7
"""Share of an equal part of the link under which a flow is held by something of its own, however full the link."""

RISING = 1.1
"""Growth of the window over the measured time from which a flow is still growing."""

LossKind = Literal["random-loss", "bottleneck", "reordering"]
"""What made the sender cut its window: the path, a queue that dropped or marked, or segments out of order."""


def cause(experiment: Experiment, seen: Evidence, kind: LossKind | None, flows: int = 1) -> LimitedBy:
    """The first rule that holds: what keeps the sender from sending comes before what the network does to it.

    `kind` is of the losses that hold the window down in this time, None where none do. `flows` share the link; 1 where
    `seen` is of them all.
    """
    used = seen.link_used or 0.0
    full = used >= FULL or (used >= QUEUED and seen.standing_queue)
    windowed, buffered = receiver_limits(seen), sender_limits(experiment, seen)
    # Others fill the link, and this one does not get its part of it.
    own = flows > 1 and seen.link_share is not None and seen.link_share * flows < CROWDED
    gains = full and (seen.standing_queue or used >= SATURATED)
    rules: tuple[tuple[LimitedBy, bool], ...] = (
        ("application", seen.busy < BUSY),
        ("timeout", seen.stalled >= STALLED),
        ("pacing", paced(experiment, seen) and (own or not (full and seen.standing_queue))),
        # A window of just the path's size fills the link without a queue, and is still the limit.
        ("receive-window", own and windowed),
        ("send-buffer", own and buffered),
        ("bottleneck", gains or (full and not (windowed or buffered))),
        ("receive-window", windowed),
        ("send-buffer", buffered),
        ("application", seen.app_limited >= MOSTLY),
        ("bottleneck", used >= 0.8 and experiment.hosts.algorithm in LOSS_BLIND),
        ("reordering", seen.reordered >= max(3, seen.loss_events) and is_lossy(seen)),
        (kind or "bottleneck", kind is not None),
        ("growing", seen.cwnd_growth >= RISING),
        ("bottleneck", used >= QUEUED or experiment.path.rate is None),
    )
    return next((name for name, holds in rules if holds), "growing")


def is_lossy(seen: Evidence) -> bool:
    return seen.loss_events > 0 or seen.retransmits > 0


def pacing(experiment: Experiment) -> float | None:
    """The largest payload rate that each flow may have, bit/s, by the application or by fq; None without either."""
    maxrate = experiment.hosts.maxrate
    by_fq = maxrate * goodput_ratio(experiment.hosts.mtu) if maxrate is not None else None
    rates = [rate for rate in (experiment.flows.pacing, by_fq) if rate is not None]
    return min(rates) if rates else None


def paced(experiment: Experiment, seen: Evidence) -> bool:
    """Whether a flow goes as fast as it may."""
    bound = pacing(experiment)
    return bound is not None and seen.flow_bps >= 0.9 * bound


def receiver_limits(seen: Evidence) -> bool:
    """By the kernel's own count, or because a window's worth is in flight and cwnd would allow more."""
    window = seen.receiver_window_bytes
    filled = 0 < window < seen.cwnd_bytes and seen.in_flight_bytes >= 0.8 * window
    return seen.rwnd_limited >= MOSTLY or (filled and seen.rwnd_limited >= 0.1)


def sender_limits(experiment: Experiment, seen: Evidence) -> bool:
    """By the kernel's own count, or because a small buffer is kept filled and cwnd would allow more.

    The kernel counts only from a segment that leaves while the application waits for room; iperf3's large writes leave
    before it waits. Nor does it always say that the flow runs dry, which then shows in a window that is not used.
    """
    asked = experiment.hosts.send_buffer or experiment.flows.buffer
    filled = asked is not None and seen.send_buffer_bytes >= 0.5 * asked
    unused = seen.in_flight_bytes <= UNUSED * seen.cwnd_bytes and not is_lossy(seen)
    return seen.sndbuf_limited >= MOSTLY or (filled and (seen.app_limited >= SHORT or unused))
