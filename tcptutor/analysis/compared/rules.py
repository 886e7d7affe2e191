"""The rules: from the evidence to the one cause that limited a flow, and to the sentence that says so.

`RULES` decides, the first that holds. `CLAUSES` says it: of a cause's clauses the first whose condition holds. Rules
and clauses see nothing but `Findings`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tcptutor import units
from tcptutor.analysis.case import FULL, QUEUED, SATURATED, Case
from tcptutor.analysis.models import LOSS_BLIND, LimitedBy
from tcptutor.analysis.observed.evidence import Evidence
from tcptutor.analysis.observed.path import LossKind
from tcptutor.spec import Experiment

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

CROWDED = 0.7
"""Share of an equal part of the link under which a flow is held by something of its own, however full the link."""

RISING = 1.1
"""Growth of the window over the measured time from which a flow is still growing."""

_KEEP_SHORT = {"codel": "CoDel", "fq_codel": "FQ-CoDel", "cake": "CAKE", "red": "RED"}
"""Queue disciplines that drop before they must."""


@dataclass(frozen=True)
class Findings:
    """What is known of a stretch of time: all that a rule or a clause may look at."""

    case: Case
    evidence: Evidence
    losses: LossKind | None
    """What the losses that hold the window down came from; None where none do."""
    flows: int = 1
    """How many share the link; 1 where the evidence is of them all."""

    @property
    def experiment(self) -> Experiment:
        return self.case.experiment

    @property
    def used(self) -> float:
        """Share of the link's goodput; 0 where it has none."""
        return self.evidence.link_used or 0.0

    @property
    def full(self) -> bool:
        """Whether the link carries all that it can."""
        return self.used >= FULL or (self.used >= QUEUED and self.evidence.standing_queue)

    @property
    def gains_nothing(self) -> bool:
        """Whether the link is so full that more window or buffer would not help.

        A window of just the path's size fills the link without a queue, and is still the limit.
        """
        return self.full and (self.evidence.standing_queue or self.used >= SATURATED)

    @property
    def alone(self) -> bool:
        """Whether others fill the link, and this flow does not get its part of it: something of its own holds it."""
        share = self.evidence.link_share
        return self.flows > 1 and share is not None and share * self.flows < CROWDED

    @property
    def paced(self) -> bool:
        """Whether a flow goes as fast as it may."""
        return self.case.paced_rate is not None and self.evidence.flow_bps >= 0.9 * self.case.paced_rate

    @property
    def windowed(self) -> bool:
        """Whether the receiver limits: by the kernel's own count, or because a window's worth is in flight."""
        seen = self.evidence
        filled = 0 < seen.receiver_window_bytes < seen.cwnd_bytes and (
            seen.in_flight_bytes >= 0.8 * seen.receiver_window_bytes
        )
        return seen.rwnd_limited >= MOSTLY or (filled and seen.rwnd_limited >= 0.1)

    @property
    def buffered(self) -> bool:
        """Whether the send buffer limits: by the kernel's own count, or because a small one is kept filled.

        The kernel counts only from a segment that leaves while the application waits for room; iperf3's large writes
        leave before it waits. Nor does it always say that the flow runs dry, which then shows in a window that is not
        used.
        """
        seen, asked = self.evidence, self.experiment.hosts.send_buffer or self.experiment.flows.buffer
        filled = asked is not None and seen.send_buffer_bytes >= 0.5 * asked
        unused = seen.in_flight_bytes <= UNUSED * seen.cwnd_bytes and not seen.lossy
        return seen.sndbuf_limited >= MOSTLY or (filled and (seen.app_limited >= SHORT or unused))


Condition = Callable[[Findings], bool]


def _always(_found: Findings) -> bool:
    return True


RULES: tuple[tuple[LimitedBy, Condition], ...] = (
    # What keeps the sender from sending comes before what the network does to it.
    ("application", lambda found: found.evidence.busy < BUSY),
    ("timeout", lambda found: found.evidence.stalled >= STALLED),
    (
        "pacing",
        lambda found: found.paced and (found.alone or not (found.full and found.evidence.standing_queue)),
    ),
    ("receive-window", lambda found: found.alone and found.windowed),
    ("send-buffer", lambda found: found.alone and found.buffered),
    ("bottleneck", lambda found: found.gains_nothing),
    ("bottleneck", lambda found: found.full and not (found.windowed or found.buffered)),
    ("receive-window", lambda found: found.windowed),
    ("send-buffer", lambda found: found.buffered),
    ("application", lambda found: found.evidence.app_limited >= MOSTLY),
    ("bottleneck", lambda found: found.used >= 0.8 and found.experiment.hosts.algorithm in LOSS_BLIND),
    (
        "reordering",
        lambda found: found.evidence.lossy and found.evidence.reordered >= max(3, found.evidence.loss_events),
    ),
    ("random-loss", lambda found: found.losses == "random-loss"),
    ("bottleneck", lambda found: found.losses == "bottleneck"),
    ("reordering", lambda found: found.losses == "reordering"),
    ("growing", lambda found: found.evidence.cwnd_growth >= RISING),
    ("bottleneck", lambda found: found.used >= QUEUED or found.experiment.path.rate is None),
    ("growing", _always),
)
"""In the order in which they are asked."""


def cause(found: Findings) -> LimitedBy:
    """The one thing that limited the flow."""
    return next(limited_by for limited_by, holds in RULES if holds(found))


@dataclass(frozen=True)
class Clause:
    """A part of a sentence, and when it is true."""

    says: Callable[[Findings], str]
    holds: Condition = _always


CLAUSES: dict[LimitedBy, tuple[Clause, ...]] = {
    "application": (
        Clause(
            lambda found: f"the application had data to send {percent(found.evidence.busy)} of the time",
            lambda found: found.evidence.busy < BUSY,
        ),
        Clause(
            lambda found: (
                "the application writes too slowly,"
                f" TCP waited for data {percent(found.evidence.app_limited)} of the time"
            )
        ),
    ),
    "receive-window": (
        Clause(
            lambda found: f"{_window(found)} was full {percent(found.evidence.rwnd_limited)} of the time",
            lambda found: found.evidence.rwnd_limited >= MOSTLY,
        ),
        Clause(lambda found: f"{_window(found)} is full"),
    ),
    "send-buffer": (
        Clause(
            lambda found: f"the send buffer was full {percent(found.evidence.sndbuf_limited)} of the time",
            lambda found: found.evidence.sndbuf_limited >= MOSTLY,
        ),
        Clause(
            lambda found: f"the send buffer, {_buffer(found)}, was full: it has no room for more on its way"
        ),
    ),
    "pacing": (
        Clause(
            lambda found: f"the application paces each flow at {units.rate(found.case.paced_rate or 0.0)}",
            lambda found: found.experiment.flows.pacing is not None,
        ),
        # As the student wrote it: fq's bound is of frames.
        Clause(lambda found: f"fq paces each flow at {units.rate(found.experiment.hosts.maxrate or 0.0)}"),
    ),
    "random-loss": (
        Clause(
            lambda found: f"{_random_loss(found, ',')} cut the window {found.evidence.loss_events} times",
            lambda found: found.evidence.loss_events > 1,
        ),
        Clause(
            lambda found: f"{_random_loss(found, ',')} cut the window once",
            lambda found: found.evidence.loss_events == 1,
        ),
        Clause(lambda found: f"{_random_loss(found)}"),
    ),
    "bottleneck": (
        Clause(
            lambda _found: "no rate is set: this computer is the bottleneck",
            lambda found: found.experiment.path.rate is None,
        ),
        Clause(
            lambda found: f"{_queue(found)} and marks {found.evidence.marks} segments",
            lambda found: found.evidence.standing_queue and found.evidence.marks > 0,
        ),
        Clause(lambda found: f"{_queue(found)}", lambda found: found.evidence.standing_queue),
        Clause(
            lambda found: (
                f"the bottleneck is full, its queue marks {found.evidence.marks} segments before it must drop any"
            ),
            lambda found: found.evidence.marks > 0,
        ),
        Clause(
            lambda found: (
                f"the bottleneck is full, {_KEEP_SHORT[found.experiment.path.qdisc]} drops some"
                f" ({found.evidence.queue_drops}) to keep its queue short"
            ),
            lambda found: found.evidence.lossy and found.experiment.path.qdisc in _KEEP_SHORT,
        ),
        Clause(
            lambda found: (
                f"the bottleneck's short queue overflows, {found.evidence.retransmits} segments were sent again"
            ),
            lambda found: found.evidence.lossy and found.used < FULL,
        ),
        Clause(lambda _found: "the bottleneck is full"),
    ),
    "growing": (
        Clause(
            lambda found: f"the window was still growing, {found.evidence.cwnd_growth:.2g}-fold in this run",
            lambda found: found.evidence.cwnd_growth >= RISING,
        ),
        Clause(lambda _found: "nothing limited it yet: run for longer"),
    ),
    "reordering": (
        Clause(
            lambda found: (
                f"segments arrived out of order {found.evidence.reordered} times, and TCP took some for lost"
            )
        ),
    ),
    "timeout": (
        Clause(
            lambda found: (
                f"waiting for timeouts ({found.evidence.timeouts} of them)"
                f" took {percent(found.evidence.stalled)} of the time"
            ),
            lambda found: found.evidence.timeouts > 0,
        ),
        Clause(lambda found: f"waiting for timeouts took {percent(found.evidence.stalled)} of the time"),
    ),
}
"""What is said of each cause."""


def clause(limited_by: LimitedBy, found: Findings) -> str:
    """What limited the flow, with the numbers that show it."""
    return next(each.says(found) for each in CLAUSES[limited_by] if each.holds(found))


def percent(share: float) -> str:
    """Whole ones, but of less than one its first digit."""
    return f"{100 * share:.1g} %" if 0 < share < 0.01 else f"{round(100 * share)} %"


def _window(found: Findings) -> str:
    # What was asked for, as the student wrote it: the kernel rounds it by the window scale.
    window = found.experiment.hosts.window or found.evidence.receiver_window_bytes
    return f"the receiver's window, {units.size(window)}," if window else "the receiver's window"


def _buffer(found: Findings) -> str:
    hosts, flows = found.experiment.hosts, found.experiment.flows
    return units.size(hosts.send_buffer or flows.buffer or found.evidence.send_buffer_bytes)


def _random_loss(found: Findings, comma: str = "") -> str:
    loss = found.experiment.path.loss
    return f"random loss, {units.percent(loss)}{comma}" if loss else "random loss"


def _queue(found: Findings) -> str:
    return f"the bottleneck is full, its queue adds {units.seconds(found.evidence.queueing_s, 2)}"
