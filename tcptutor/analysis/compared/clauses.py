"""Clauses that describe the limiting cause, and what happened to UDP.

Of a cause's clauses the first that holds decides. A clause's condition covers everything that the clause claims. A
cause found second by second may lack the evidence for any of its clauses; then a different cause or time span is
reported.
"""

from __future__ import annotations

from dataclasses import dataclass

from tcptutor.analysis.compared.findings import BUSY, FAST, MOSTLY, Condition, Findings
from tcptutor.analysis.observed.figures import IN_QUEUE, UdpLosses, udp_losses
from tcptutor.analysis.observed.measured import Measured
from tcptutor.analysis.observed.path import FULL, QUEUED, SATURATED
from tcptutor.base import sizes, units
from tcptutor.base.causes import LimitedBy
from tcptutor.theory.models import LOSS_BLIND

KEEP_SHORT = {"codel": "CoDel", "fq_codel": "FQ-CoDel", "cake": "CAKE", "red": "RED"}
"""Queue disciplines that drop early."""

NOTABLY_STALLED = 0.1
"""Share of the time in timeouts that is worth a mention."""

ROUNDING = 0.02
"""Relative difference that the kernel's rounding of a window makes."""


_MOST_LOSSES = 0.9
"""Share of the losses that counts as all of them."""


_NOTABLE_LOSS = 0.005
"""Loss share below which losses are given as a count instead of a percentage."""


@dataclass(frozen=True)
class Clause:
    """Part of a sentence, with the condition for its truth."""

    text: str
    """Template with the keys of `figures`."""
    holds: Condition

    def text_for(self, findings: Findings) -> str:
        """Return the text, or an empty string if the clause does not hold."""
        return self.text.format_map(figures(findings)) if self.holds(findings) else ""


LINK_USED = Clause(
    "; the link is {used} used", lambda f: f.path_is_known and f.evidence.link_used is not None
)
"""Utilization of the link, appended to the cause."""

LINK_USED_THEN = Clause("; the link is then {used} used", LINK_USED.holds)
"""Utilization of the link within the reported time span."""


def _full(findings: Findings) -> bool:
    return findings.utilization >= FULL


def _sheds(findings: Findings) -> bool:
    """Return whether the queue discipline dropped early, including segments of this flow."""
    dropped = findings.evidence.retransmits if findings.is_one_of_several else findings.evidence.queue_drops
    return findings.case.qdisc in KEEP_SHORT and findings.evidence.queue_drops > 0 and bool(dropped)


def _runs_dry(findings: Findings) -> bool:
    """Return whether a short queue overflows and the link idles after each cut."""
    return (
        findings.queue_overflows
        and findings.short_queue
        and findings.utilization < SATURATED
        and not findings.standing_queue
    )


def _cut_at_random(findings: Findings) -> bool:
    """Return whether random loss cut the window, which it never does with BBR."""
    return (
        findings.losses == "random-loss"
        and bool(findings.evidence.loss_events)
        and findings.case.algorithm not in LOSS_BLIND
    )


ONE_BY_ONE = "without SACK a round trip repairs one lost segment: recovery took {recovering} of the time"

CLAUSES: dict[LimitedBy, tuple[Clause, ...]] = {
    "application": (
        Clause("the application had data to send {busy} of the time", lambda f: f.evidence.busy < BUSY),
        Clause(
            "the application writes too slowly, TCP waited for data {starved} of the time",
            lambda f: f.evidence.app_limited >= MOSTLY,
        ),
    ),
    "receive-window": (
        Clause("{window} was full {windowed} of the time", lambda f: f.evidence.rwnd_limited >= MOSTLY),
        Clause("{window} was full: {flight} of it were under way", lambda f: f.is_window_limited),
    ),
    "send-buffer": (
        Clause(
            "the send buffer was full {buffered} of the time", lambda f: f.evidence.sndbuf_limited >= MOSTLY
        ),
        Clause(
            "the send buffer, {buffer}, was full: it has no room for more on its way",
            lambda f: f.buffer_filled,
        ),
    ),
    "pacing": (
        Clause("the application paces each flow at {pace}", lambda f: f.paced_by_application),
        Clause("fq paces each flow at {maxrate}", lambda f: f.paced_by_fq),
        Clause(
            "data waits in the sender {held} of the time though the windows have room: its host holds it back",
            lambda f: f.is_host_limited,
        ),
    ),
    "random-loss": (
        Clause(
            ONE_BY_ONE,
            lambda f: f.repairs_one_by_one,
        ),
        Clause(
            "{loss} cut the window {times}, and waiting for timeouts took {stalled} of the time",
            lambda f: _cut_at_random(f) and f.evidence.stalled >= NOTABLY_STALLED,
        ),
        Clause("{loss} cut the window {times}", _cut_at_random),
        Clause(
            "{loss} keeps the rate that BBR measures below the link's",
            lambda f: (
                f.bbr_underestimates
                or (
                    f.losses == "random-loss"
                    and f.case.algorithm in LOSS_BLIND
                    and bool(f.evidence.retransmits)
                )
            ),
        ),
        Clause(
            "{loss} made the sender repeat {retransmits} segments",
            lambda f: f.losses == "random-loss" and bool(f.evidence.retransmits),
        ),
    ),
    "bottleneck": (
        Clause(
            "the bottleneck is full, its queue adds {queueing} and marks {marked}",
            lambda f: _full(f) and f.standing_queue and f.evidence.marks > 0,
        ),
        Clause(
            "a bottleneck is full, the queues of both add {queueing}",
            lambda f: _full(f) and f.standing_queue and f.queues > 1,
        ),
        Clause("the bottleneck is full, its queue adds {queueing}", lambda f: _full(f) and f.standing_queue),
        Clause(
            "the bottleneck is full, its queue marks {marked} before it must drop any",
            lambda f: _full(f) and f.evidence.marks > 0 and not f.evidence.queue_drops,
        ),
        Clause(
            "the bottleneck is full, {qdisc} drops some ({drops}) to keep its queue short",
            lambda f: _full(f) and _sheds(f) and not f.is_one_of_several,
        ),
        Clause(
            "the bottleneck is full, {qdisc} drops some to keep its queue short",
            lambda f: _full(f) and _sheds(f),
        ),
        Clause(
            "the bottleneck's short queue overflows: {drops} dropped, {retransmits} retransmitted",
            lambda f: _full(f) and _runs_dry(f) and not f.is_one_of_several,
        ),
        Clause("the bottleneck is full", _full),
        Clause(
            "the reverse path, {back}, has no room for more acknowledgements",
            lambda f: f.acks_fill_return_path,
        ),
        Clause(
            "data fills the reverse path, {return}: its queue adds {return_queueing} to the round trip",
            lambda f: f.waits_for_return_queue,
        ),
        Clause(
            "{qdisc} marks {marked} to keep the bottleneck's queue short",
            lambda f: f.case.qdisc in KEEP_SHORT and f.evidence.marks > 0,
        ),
        Clause(
            "the bottleneck's queue marks {marked}",
            lambda f: f.losses == "bottleneck" and f.evidence.marks > 0,
        ),
        Clause(
            "{qdisc} drops {drops} segments to keep the bottleneck's queue short",
            lambda f: _sheds(f) and f.losses == "bottleneck" and not f.is_one_of_several,
        ),
        Clause(
            "{qdisc} drops segments to keep the bottleneck's queue short: {retransmits} retransmitted",
            lambda f: _sheds(f) and f.losses == "bottleneck",
        ),
        Clause(
            ONE_BY_ONE,
            lambda f: f.repairs_one_by_one,
        ),
        Clause(
            "the bottleneck's short queue overflows: {drops} dropped, {retransmits} retransmitted",
            lambda f: f.queue_overflows and f.short_queue and not f.is_one_of_several,
        ),
        Clause(
            "the bottleneck's short queue overflows: {retransmits} retransmitted",
            lambda f: f.queue_overflows and f.short_queue and bool(f.evidence.retransmits),
        ),
        Clause(
            "the queues of both bottlenecks add {queueing}",
            lambda f: f.utilization >= QUEUED and f.standing_queue and f.queues > 1,
        ),
        Clause(
            "the bottleneck's queue adds {queueing}",
            lambda f: f.utilization >= QUEUED and f.standing_queue,
        ),
        Clause(
            "the bottleneck's queue overflows: {drops} dropped, {retransmits} retransmitted",
            lambda f: f.queue_overflows and not f.is_one_of_several,
        ),
        Clause(
            "the bottleneck's queue overflows: {retransmits} retransmitted",
            lambda f: f.queue_overflows and bool(f.evidence.retransmits),
        ),
        Clause("BBR sends at the rate that it measures", lambda f: f.ignores_losses),
        Clause(
            "{retransmits} segments were retransmitted: a queue overflowed, for the path loses none",
            lambda f: (
                f.losses == "bottleneck"
                and bool(f.evidence.retransmits)
                and f.evidence.queue_s is None
                and not f.case.loss
            ),
        ),
        Clause(
            "no rate is set, and a processor was busy {processor} of the time: this computer is the bottleneck",
            lambda f: f.is_processor_limited,
        ),
    ),
    "growing": (Clause("the window was still growing, {growth} in this time", lambda f: f.is_growing),),
    "reordering": (
        Clause(
            "segments came out of order: {spurious} were needless",
            lambda f: f.is_reordering and f.evidence.spurious > 0,
        ),
        Clause(
            "segments came out of order {reordered} times, and TCP took some for lost",
            lambda f: f.is_reordering,
        ),
    ),
    "timeout": (
        Clause(
            "waiting for timeouts ({timeouts} of them) took {stalled} of the time",
            lambda f: f.is_stalled and f.evidence.timeouts > 0,
        ),
        Clause("waiting for timeouts took {stalled} of the time", lambda f: f.is_stalled),
    ),
    "unexplained": (),
}

UNEXPLAINED = "not explained: the samples show no limit"


def clause(limited_by: LimitedBy, findings: Findings) -> str:
    """Return the sentence on the cause with its figures; empty if the evidence does not support one."""
    return next((text for each in CLAUSES[limited_by] if (text := each.text_for(findings))), "")


def figures(findings: Findings) -> dict[str, str]:
    """Return the figures of clauses as text; configured values replace the kernel's rounded values."""
    case, evidence = findings.case, findings.evidence
    hosts = case.experiment.hosts
    cuts = findings.events.get("random-loss", evidence.loss_events)
    return {
        "used": _percent(findings.utilization),
        "busy": _percent(evidence.busy),
        "starved": _percent(evidence.app_limited),
        "window": _window(hosts.window, evidence.receiver_window_bytes),
        "windowed": _percent(evidence.rwnd_limited),
        "flight": sizes.decimal(evidence.in_flight_bytes),
        "buffer": sizes.decimal(
            hosts.send_buffer or case.experiment.flows.buffer or evidence.send_buffer_bytes
        ),
        "buffered": _percent(evidence.sndbuf_limited),
        "pace": units.rate(findings.pace or 0.0),
        "maxrate": units.rate(hosts.maxrate or 0.0),
        "held": _percent(evidence.host_limited),
        "loss": f"random loss, {units.percent(case.loss)},"
        if case.loss and not findings.loss_varies
        else "random loss",
        "times": "once" if cuts == 1 else f"{cuts} times",
        "queueing": units.seconds(evidence.queueing_s, 2),
        "marked": f"{evidence.marks} segments" if case.algorithm == "dctcp" else "segments",
        "qdisc": KEEP_SHORT.get(case.path.qdisc, case.path.qdisc),
        "drops": f"{evidence.queue_drops}",
        "retransmits": f"{evidence.retransmits}",
        "growth": f"{evidence.cwnd_growth:.2g}-fold"
        if evidence.cwnd_growth >= FAST
        else f"by {_percent(evidence.cwnd_growth - 1)}",
        "reordered": f"{evidence.reordered}",
        "spurious": f"{evidence.spurious} of {evidence.retransmits} retransmissions",
        "recovering": _percent(evidence.recovering),
        "return": units.rate(findings.return_rate or 0.0),
        "return_queueing": units.seconds(evidence.return_queue_s or 0.0, 2),
        "timeouts": f"{evidence.timeouts}",
        "stalled": _percent(evidence.stalled),
        "back": units.rate(findings.ack_path_rate or 0.0),
        "processor": _percent(findings.processor),
    }


def _window(configured: int | None, advertised: float) -> str:
    """Name the receiver's window with its size: the advertised one, and the configured one if not just rounded."""
    if configured and (not advertised or abs(advertised - configured) <= ROUNDING * configured):
        return f"the receiver's window, {sizes.decimal(configured)},"
    if not advertised:
        return "the receiver's window"
    was_set = f" ({sizes.decimal(configured)} set)" if configured else ""
    return f"the receiver's window, {sizes.decimal(advertised)}{was_set},"


def _percent(share: float) -> str:
    """Return a rounded percentage, with one digit below 1 %."""
    return f"{100 * share:.1g} %" if 0 < share < 0.01 else f"{round(100 * share)} %"


def udp_limit(found: UdpLosses) -> LimitedBy:
    """Return the limit of UDP: the bottleneck after notable queue drops, otherwise the sender's rate."""
    where = next(iter(found.places), "")
    if found.loss_rate is None:
        return "unexplained"
    return "bottleneck" if found.loss_rate >= _NOTABLE_LOSS and where == IN_QUEUE else "application"


def udp_sentence(measured: Measured) -> str:
    """Return the sentence on a run of UDP only, with both directions if used."""
    ways = {reverse: udp_losses(measured, reverse) for reverse in (False, True)}
    found = {reverse: losses for reverse, losses in ways.items() if losses is not None}
    if len(found) < 2:
        return next((direction_sentence(losses) for losses in found.values()), "")
    return "; ".join(
        f"{'reverse' if reverse else 'forward'}, {direction_sentence(losses)}"
        for reverse, losses in found.items()
    )


def direction_sentence(found: UdpLosses) -> str:
    """Return the sentence on the flows of a direction."""
    subject = "UDP" if found.flows == 1 else f"{found.flows} UDP flows"
    sent = "" if found.sent_bps is None else f"sent {units.rate(found.sent_bps)}"
    if found.received_bps is None:
        return f"{subject} {sent or 'was sent'}: what arrived is not known"
    arrived = f"{units.rate(found.received_bps)} arrived"
    text = f"{subject} {sent}, {arrived}" if sent else f"{subject}: {arrived}"
    if found.loss_rate is None:
        return f"{text}: how much was lost is not known"
    if not found.lost:
        return f"{subject} {sent} and all of it arrived" if sent else f"{text}, nothing was lost"
    return f"{text}: {_lost_share(found)} lost {_main_places(found)}".rstrip()


def udp_clause(found: UdpLosses) -> str:
    """Return the clause on UDP losses to append to a sentence on TCP; empty without losses."""
    if not found.lost:
        return ""
    only = next(iter(found.places)) if len(found.places) == 1 else ""
    return f"; UDP lost {_lost_share(found)} {only}".rstrip()


def _lost_share(found: UdpLosses) -> str:
    share = found.loss_rate or 0.0
    return units.percent(share) if share >= _NOTABLE_LOSS else f"{found.lost} of {found.datagrams}"


def _main_places(found: UdpLosses) -> str:
    places, total = found.places, sum(found.places.values())
    if not places:
        return ""
    first, count = next(iter(places.items()))
    if count >= _MOST_LOSSES * total or len(places) == 1:
        return first
    second = list(places)[1]
    return f"{first} and {second}"
