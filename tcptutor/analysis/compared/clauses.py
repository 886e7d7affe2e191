"""Rules that find the limiting cause, and the clauses that describe it.

In both tables the first entry that holds decides. A clause's condition covers everything that the clause claims. A
cause found second by second may lack the evidence for any of its clauses; then a different cause or time span is
reported.
"""

from __future__ import annotations

from dataclasses import dataclass

from tcptutor.analysis.case import FULL, QUEUED, SATURATED
from tcptutor.analysis.compared.findings import (
    BUSY,
    KEEP_SHORT,
    MOSTLY,
    NOTABLY_STALLED,
    Condition,
    Findings,
)
from tcptutor.theory.models import LOSS_BLIND, LimitedBy

RULES: tuple[tuple[LimitedBy, Condition], ...] = (
    # Limits of the sender come before effects of the network.
    ("timeout", lambda it: it.is_stalled),
    ("application", lambda it: it.evidence.busy < BUSY),
    ("pacing", lambda it: it.paced_by_application or it.paced_by_fq),
    # ACKs clock the window, however full it is.
    ("bottleneck", lambda it: it.acks_fill_return_path or it.waits_for_return_queue),
    ("pacing", lambda it: it.is_host_limited),
    ("receive-window", lambda it: it.has_own_limit and it.is_window_limited),
    ("send-buffer", lambda it: it.has_own_limit and it.is_buffer_limited),
    ("reordering", lambda it: it.losses == "reordering" and it.is_reordering and it.utilization < FULL),
    ("bottleneck", lambda it: it.gains_nothing),
    ("bottleneck", lambda it: it.link_is_full and not (it.is_window_limited or it.is_buffer_limited)),
    ("receive-window", lambda it: it.is_window_limited),
    ("send-buffer", lambda it: it.is_buffer_limited),
    ("application", lambda it: it.evidence.app_limited >= MOSTLY),
    ("bottleneck", lambda it: it.ignores_losses),
    ("reordering", lambda it: it.is_reordering),
    ("random-loss", lambda it: it.bbr_underestimates),
    ("random-loss", lambda it: it.losses == "random-loss"),
    ("bottleneck", lambda it: it.losses == "bottleneck"),
    ("reordering", lambda it: it.losses == "reordering"),
    ("growing", lambda it: it.is_growing),
    ("bottleneck", lambda it: it.is_processor_limited),
)
"""Rules in order of precedence."""


def cause(it: Findings) -> LimitedBy:
    """Return the limiting cause; `unexplained` if the samples show none."""
    return next((limited_by for limited_by, holds in RULES if holds(it)), "unexplained")


@dataclass(frozen=True)
class Clause:
    """Part of a sentence, with the condition for its truth."""

    text: str
    """Template with the keys of `Findings.texts`."""
    holds: Condition

    def text_for(self, it: Findings) -> str:
        """Return the text, or an empty string if the clause does not hold."""
        return self.text.format_map(it.texts) if self.holds(it) else ""


LINK_USED = Clause(
    "; the link is {used} used", lambda it: it.path_is_known and it.evidence.link_used is not None
)
"""Utilization of the link, appended to the cause."""

LINK_USED_THEN = Clause("; the link is then {used} used", LINK_USED.holds)
"""Utilization of the link within the reported time span."""


def _full(it: Findings) -> bool:
    return it.utilization >= FULL


def _sheds(it: Findings) -> bool:
    """Return whether the queue discipline dropped early, including segments of this flow."""
    dropped = it.evidence.retransmits if it.is_one_of_several else it.evidence.queue_drops
    return it.case.qdisc in KEEP_SHORT and it.evidence.queue_drops > 0 and bool(dropped)


def _runs_dry(it: Findings) -> bool:
    """Return whether a short queue overflows and the link idles after each cut."""
    return it.queue_overflows and it.short_queue and it.utilization < SATURATED and not it.standing_queue


def _cut_at_random(it: Findings) -> bool:
    """Return whether random loss cut the window, which it never does with BBR."""
    return (
        it.losses == "random-loss" and bool(it.evidence.loss_events) and it.case.algorithm not in LOSS_BLIND
    )


ONE_BY_ONE = "without SACK a round trip repairs one lost segment: recovery took {recovering} of the time"

CLAUSES: dict[LimitedBy, tuple[Clause, ...]] = {
    "application": (
        Clause("the application had data to send {busy} of the time", lambda it: it.evidence.busy < BUSY),
        Clause(
            "the application writes too slowly, TCP waited for data {starved} of the time",
            lambda it: it.evidence.app_limited >= MOSTLY,
        ),
    ),
    "receive-window": (
        Clause("{window} was full {windowed} of the time", lambda it: it.evidence.rwnd_limited >= MOSTLY),
        Clause("{window} was full: {flight} of it were under way", lambda it: it.is_window_limited),
    ),
    "send-buffer": (
        Clause(
            "the send buffer was full {buffered} of the time", lambda it: it.evidence.sndbuf_limited >= MOSTLY
        ),
        Clause(
            "the send buffer, {buffer}, was full: it has no room for more on its way",
            lambda it: it.buffer_filled,
        ),
    ),
    "pacing": (
        Clause("the application paces each flow at {pace}", lambda it: it.paced_by_application),
        Clause("fq paces each flow at {maxrate}", lambda it: it.paced_by_fq),
        Clause(
            "data waits in the sender {held} of the time though the windows have room: its host holds it back",
            lambda it: it.is_host_limited,
        ),
    ),
    "random-loss": (
        Clause(
            ONE_BY_ONE,
            lambda it: it.repairs_one_by_one,
        ),
        Clause(
            "{loss} cut the window {times}, and waiting for timeouts took {stalled} of the time",
            lambda it: _cut_at_random(it) and it.evidence.stalled >= NOTABLY_STALLED,
        ),
        Clause("{loss} cut the window {times}", _cut_at_random),
        Clause(
            "{loss} keeps the rate that BBR measures below the link's",
            lambda it: (
                it.bbr_underestimates
                or (
                    it.losses == "random-loss"
                    and it.case.algorithm in LOSS_BLIND
                    and bool(it.evidence.retransmits)
                )
            ),
        ),
        Clause(
            "{loss} made the sender repeat {retransmits} segments",
            lambda it: it.losses == "random-loss" and bool(it.evidence.retransmits),
        ),
    ),
    "bottleneck": (
        Clause(
            "the bottleneck is full, its queue adds {queueing} and marks {marked}",
            lambda it: _full(it) and it.standing_queue and it.evidence.marks > 0,
        ),
        Clause(
            "the bottleneck is full, its queue adds {queueing}", lambda it: _full(it) and it.standing_queue
        ),
        Clause(
            "the bottleneck is full, its queue marks {marked} before it must drop any",
            lambda it: _full(it) and it.evidence.marks > 0 and not it.evidence.queue_drops,
        ),
        Clause(
            "the bottleneck is full, {qdisc} drops some ({drops}) to keep its queue short",
            lambda it: _full(it) and _sheds(it) and not it.is_one_of_several,
        ),
        Clause(
            "the bottleneck is full, {qdisc} drops some to keep its queue short",
            lambda it: _full(it) and _sheds(it),
        ),
        Clause(
            "the bottleneck's short queue overflows: {drops} dropped, {retransmits} retransmitted",
            lambda it: _full(it) and _runs_dry(it) and not it.is_one_of_several,
        ),
        Clause("the bottleneck is full", _full),
        Clause(
            "the reverse path, {back}, has no room for more acknowledgements",
            lambda it: it.acks_fill_return_path,
        ),
        Clause(
            "data fills the reverse path, {return}: its queue adds {return_queueing} to the round trip",
            lambda it: it.waits_for_return_queue,
        ),
        Clause(
            "{qdisc} marks {marked} to keep the bottleneck's queue short",
            lambda it: it.case.qdisc in KEEP_SHORT and it.evidence.marks > 0,
        ),
        Clause(
            "the bottleneck's queue marks {marked}",
            lambda it: it.losses == "bottleneck" and it.evidence.marks > 0,
        ),
        Clause(
            "{qdisc} drops {drops} segments to keep the bottleneck's queue short",
            lambda it: _sheds(it) and it.losses == "bottleneck" and not it.is_one_of_several,
        ),
        Clause(
            "{qdisc} drops segments to keep the bottleneck's queue short: {retransmits} retransmitted",
            lambda it: _sheds(it) and it.losses == "bottleneck",
        ),
        Clause(
            ONE_BY_ONE,
            lambda it: it.repairs_one_by_one,
        ),
        Clause(
            "the bottleneck's short queue overflows: {drops} dropped, {retransmits} retransmitted",
            lambda it: it.queue_overflows and it.short_queue and not it.is_one_of_several,
        ),
        Clause(
            "the bottleneck's short queue overflows: {retransmits} retransmitted",
            lambda it: it.queue_overflows and it.short_queue and bool(it.evidence.retransmits),
        ),
        Clause(
            "the bottleneck's queue adds {queueing}",
            lambda it: it.utilization >= QUEUED and it.standing_queue,
        ),
        Clause(
            "the bottleneck's queue overflows: {drops} dropped, {retransmits} retransmitted",
            lambda it: it.queue_overflows and not it.is_one_of_several,
        ),
        Clause(
            "the bottleneck's queue overflows: {retransmits} retransmitted",
            lambda it: it.queue_overflows and bool(it.evidence.retransmits),
        ),
        Clause("BBR sends at the rate that it measures", lambda it: it.ignores_losses),
        Clause(
            "{retransmits} segments were retransmitted: a queue overflowed, for the path loses none",
            lambda it: (
                it.losses == "bottleneck"
                and bool(it.evidence.retransmits)
                and it.evidence.queue_s is None
                and not it.case.loss
            ),
        ),
        Clause(
            "no rate is set, and a processor was busy {processor} of the time: this computer is the bottleneck",
            lambda it: it.is_processor_limited,
        ),
    ),
    "growing": (Clause("the window was still growing, {growth} in this time", lambda it: it.is_growing),),
    "reordering": (
        Clause(
            "segments came out of order and TCP took some for lost: {spurious} were needless",
            lambda it: it.is_reordering and it.evidence.spurious > 0,
        ),
        Clause(
            "segments came out of order {reordered} times, and TCP took some for lost",
            lambda it: it.is_reordering,
        ),
    ),
    "timeout": (
        Clause(
            "waiting for timeouts ({timeouts} of them) took {stalled} of the time",
            lambda it: it.is_stalled and it.evidence.timeouts > 0,
        ),
        Clause("waiting for timeouts took {stalled} of the time", lambda it: it.is_stalled),
    ),
    "unexplained": (),
}

UNEXPLAINED = "not explained: the samples show no limit"


def clause(limited_by: LimitedBy, it: Findings) -> str:
    """Return the sentence on the cause with its figures; empty if the evidence does not support one."""
    return next((said for each in CLAUSES[limited_by] if (said := each.text_for(it))), "")
