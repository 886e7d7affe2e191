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

    @property
    def words(self) -> dict[str, str]:
        """The numbers as they are said. What the student asked for is said so: the kernel rounds it."""
        seen, path, hosts, flows = (
            self.evidence,
            self.experiment.path,
            self.experiment.hosts,
            self.experiment.flows,
        )
        window = hosts.window or seen.receiver_window_bytes
        return {
            "used": _percent(self.used),
            "busy": _percent(seen.busy),
            "starved": _percent(seen.app_limited),
            "window": f"the receiver's window, {units.size(window)}," if window else "the receiver's window",
            "windowed": _percent(seen.rwnd_limited),
            "buffer": units.size(hosts.send_buffer or flows.buffer or seen.send_buffer_bytes),
            "buffered": _percent(seen.sndbuf_limited),
            "pace": units.rate(self.case.paced_rate or 0.0),
            "maxrate": units.rate(hosts.maxrate or 0.0),
            "loss": f"random loss, {units.percent(path.loss)}" if path.loss else "random loss",
            "comma": "," if path.loss else "",
            "cuts": f"{seen.loss_events}",
            "queueing": units.seconds(seen.queueing_s, 2),
            "marks": f"{seen.marks}",
            "qdisc": _KEEP_SHORT.get(path.qdisc, path.qdisc),
            "drops": f"{seen.queue_drops}",
            "retransmits": f"{seen.retransmits}",
            "growth": f"{seen.cwnd_growth:.2g}",
            "reordered": f"{seen.reordered}",
            "timeouts": f"{seen.timeouts}",
            "stalled": _percent(seen.stalled),
        }


Condition = Callable[[Findings], bool]


def _always(_it: Findings) -> bool:
    return True


RULES: tuple[tuple[LimitedBy, Condition], ...] = (
    # What keeps the sender from sending comes before what the network does to it.
    ("application", lambda it: it.evidence.busy < BUSY),
    ("timeout", lambda it: it.evidence.stalled >= STALLED),
    ("pacing", lambda it: it.paced and (it.alone or not (it.full and it.evidence.standing_queue))),
    ("receive-window", lambda it: it.alone and it.windowed),
    ("send-buffer", lambda it: it.alone and it.buffered),
    ("bottleneck", lambda it: it.gains_nothing),
    ("bottleneck", lambda it: it.full and not (it.windowed or it.buffered)),
    ("receive-window", lambda it: it.windowed),
    ("send-buffer", lambda it: it.buffered),
    ("application", lambda it: it.evidence.app_limited >= MOSTLY),
    ("bottleneck", lambda it: it.used >= 0.8 and it.experiment.hosts.algorithm in LOSS_BLIND),
    ("reordering", lambda it: it.evidence.lossy and it.evidence.reordered >= max(3, it.evidence.loss_events)),
    ("random-loss", lambda it: it.losses == "random-loss"),
    ("bottleneck", lambda it: it.losses == "bottleneck"),
    ("reordering", lambda it: it.losses == "reordering"),
    ("growing", lambda it: it.evidence.cwnd_growth >= RISING),
    ("bottleneck", lambda it: it.used >= QUEUED or it.experiment.path.rate is None),
    ("growing", _always),
)
"""In the order in which they are asked."""


def cause(it: Findings) -> LimitedBy:
    """The one thing that limited the flow."""
    return next(limited_by for limited_by, holds in RULES if holds(it))


@dataclass(frozen=True)
class Clause:
    """A part of a sentence, and when it is true."""

    text: str
    """With `Findings.words` in braces."""
    holds: Condition = _always

    def said(self, it: Findings) -> str:
        """Empty where it is not true."""
        return self.text.format_map(it.words) if self.holds(it) else ""


LINK_USED = Clause("; the link is {used} used", lambda it: it.evidence.link_used is not None)
"""How full the link is, after what limited a run."""

CLAUSES: dict[LimitedBy, tuple[Clause, ...]] = {
    "application": (
        Clause("the application had data to send {busy} of the time", lambda it: it.evidence.busy < BUSY),
        Clause("the application writes too slowly, TCP waited for data {starved} of the time"),
    ),
    "receive-window": (
        Clause("{window} was full {windowed} of the time", lambda it: it.evidence.rwnd_limited >= MOSTLY),
        Clause("{window} is full"),
    ),
    "send-buffer": (
        Clause(
            "the send buffer was full {buffered} of the time", lambda it: it.evidence.sndbuf_limited >= MOSTLY
        ),
        Clause("the send buffer, {buffer}, was full: it has no room for more on its way"),
    ),
    "pacing": (
        Clause(
            "the application paces each flow at {pace}", lambda it: it.experiment.flows.pacing is not None
        ),
        Clause("fq paces each flow at {maxrate}"),
    ),
    "random-loss": (
        Clause("{loss}{comma} cut the window {cuts} times", lambda it: it.evidence.loss_events > 1),
        Clause("{loss}{comma} cut the window once", lambda it: it.evidence.loss_events == 1),
        Clause("{loss}"),
    ),
    "bottleneck": (
        Clause("no rate is set: this computer is the bottleneck", lambda it: it.experiment.path.rate is None),
        Clause(
            "the bottleneck is full, its queue adds {queueing} and marks {marks} segments",
            lambda it: it.evidence.standing_queue and it.evidence.marks > 0,
        ),
        Clause("the bottleneck is full, its queue adds {queueing}", lambda it: it.evidence.standing_queue),
        Clause(
            "the bottleneck is full, its queue marks {marks} segments before it must drop any",
            lambda it: it.evidence.marks > 0,
        ),
        Clause(
            "the bottleneck is full, {qdisc} drops some ({drops}) to keep its queue short",
            lambda it: it.evidence.lossy and it.experiment.path.qdisc in _KEEP_SHORT,
        ),
        Clause(
            "the bottleneck's short queue overflows, {retransmits} segments were sent again",
            lambda it: it.evidence.lossy and it.used < FULL,
        ),
        Clause("the bottleneck is full"),
    ),
    "growing": (
        Clause(
            "the window was still growing, {growth}-fold in this run",
            lambda it: it.evidence.cwnd_growth >= RISING,
        ),
        Clause("nothing limited it yet: run for longer"),
    ),
    "reordering": (Clause("segments arrived out of order {reordered} times, and TCP took some for lost"),),
    "timeout": (
        Clause(
            "waiting for timeouts ({timeouts} of them) took {stalled} of the time",
            lambda it: it.evidence.timeouts > 0,
        ),
        Clause("waiting for timeouts took {stalled} of the time"),
    ),
}
"""What is said of each cause."""


def clause(limited_by: LimitedBy, it: Findings) -> str:
    """What limited the flow, with the numbers that show it."""
    return next(said for each in CLAUSES[limited_by] if (said := each.said(it)))


def _percent(share: float) -> str:
    """Whole ones, but of less than one its first digit."""
    return f"{100 * share:.1g} %" if 0 < share < 0.01 else f"{round(100 * share)} %"
