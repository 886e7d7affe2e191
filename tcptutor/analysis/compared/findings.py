"""Findings: conclusions from the case and the evidence of a time span, and the rules that pick the limiting cause.

`conclude` draws all of them at once, in the order of its lines; each value uses only those above it. Of the rules the
first that holds decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from tcptutor.analysis.case import Case
from tcptutor.analysis.observed.evidence import Evidence
from tcptutor.analysis.observed.facts import Facts
from tcptutor.analysis.observed.path import FULL, QUEUED, SATURATED, LossKind
from tcptutor.base.causes import LimitedBy
from tcptutor.theory.models import LOSS_BLIND

MOSTLY = 0.5
"""Share of the time from which a window, a buffer or a wait is the limit."""

SHORT = 0.3
"""Share of the time without data from which a full send buffer starves the sender."""

UNUSED = 0.8
"""Share of the window in flight below which the window is not the limit."""

WINDOW_USED = 0.2
"""Share of the receiver's window per RTT below which missing segments keep the window from advancing."""

BUSY = 0.8
"""Share of the time with data to send below which the application is the limit."""

STALLED = 0.25
"""Share of the time in timeouts that makes them the limit."""

CROWDED = 0.7
"""Share of a fair part of the link below which a flow has a limit of its own, even on a full link."""

RISING = 1.002
"""Least growth of the window that counts as growing; from `FAST` on, data in flight lags an RTT."""

FAST = 1.1

AT_PACE, NEAR_PACE = 0.9, 0.7
"""Share of its pacing rate that a paced flow reaches; the second value requires waiting data as well."""

FOREIGN_PACE = (0.97, 1.1)
"""Bounds for an imported flow at its pacing rate: `-b` writes blocks, the first at once."""

STANDING_FRAMES = 2
"""Mean queue in frames from which a queue stands; smaller queues form by chance on an idle link."""

NOISE = 3e-4
"""Contribution of a host to the RTT, s."""

SHORT_QUEUE = 0.9
"""Queue length below which a queue is short, BDP."""

ACK_FRAME = 66
"""Bytes of an ACK frame as the shaper counts it, sent for every second segment."""

FULL_OF_ACKS = 0.8
"""Utilization of the reverse path by delayed ACKs from which it is full; some segments are acknowledged singly."""

RETURN_QUEUE = 0.3
"""Share of the least RTT from which queueing on the reverse path slows a flow."""

LOADED = 0.9
"""Processor load from which the computer itself may be the limit."""


class Findings(msgspec.Struct, frozen=True, kw_only=True):
    """Conclusions about a flow, or about all flows of a run, over a time span."""

    # The facts, under their own names
    case: Case
    evidence: Evidence
    losses: LossKind | None
    flows: int
    queues: int
    events: Mapping[LossKind | None, int]
    processor: float
    loss_varies: bool
    path_is_known: bool
    is_one_of_several: bool
    """True if the evidence covers a single one of several flows, so that queue drops cannot be attributed."""

    # Link and queue
    utilization: float
    """Utilization of the link; 0 if it is unshaped."""
    standing_queue: bool
    """True if segments wait at the bottleneck, by its samples or by the RTT."""
    link_is_full: bool
    """True if the link carries all it can."""
    gains_nothing: bool
    """True if the link is so full that more window or buffer would not help.

    A window equal to the BDP fills the link without a queue and is still the limit.
    """
    has_own_limit: bool
    """True if other flows fill the link and this flow gets less than its share."""
    short_queue: bool
    """True if the bottleneck's queue is clearly shorter than the least BDP."""
    queue_overflows: bool
    """True if a queue with sampled drops holds the window down."""
    is_processor_limited: bool
    """True if no rate is set and a processor is saturated."""

    # Limits of the hosts
    pace: float | None
    """Application's pacing rate per flow, as set or as the socket shows, bit/s of payload; None without one."""
    paced_by_application: bool
    """True if the application's pacing rate is the lower one, and the flow reaches it."""
    paced_by_fq: bool
    """True if the rate of the sender's fq is the lower one, and the flow reaches it."""
    is_host_limited: bool
    """True if data waits in the sender although nothing in the network stops it."""
    is_window_limited: bool
    """True if the receiver's window is the limit: full by the kernel's count, or by the data in flight."""
    buffer_filled: bool
    """True if a small send buffer is full, which the kernel does not always count."""
    is_buffer_limited: bool
    """True if the send buffer is the limit: full by the kernel's count, or small and full."""

    # Losses and growth
    is_stalled: bool
    """True if timeouts are the limit; not for an aggregate that still fills the link."""
    is_reordering: bool
    """True if the sender saw at least as many reorderings as losses."""
    repairs_one_by_one: bool
    """True without SACK if recovery, a single loss per RTT, takes most of the time."""
    ignores_losses: bool
    """True if loss-agnostic flows send at nearly the bottleneck's rate."""
    bbr_underestimates: bool
    """True if random loss makes BBR underestimate the bottleneck's rate clearly."""
    is_growing: bool
    """True if the window grows and is used, so that only its own growth limits the flow."""

    # Reverse path
    return_rate: float | None
    """Rate of the reverse path, bit/s of frames; None if unshaped."""
    ack_path_rate: float | None
    """Rate of the path that carries only ACKs, bit/s of frames; None if unshaped, or if flows go both ways."""
    acks_fill_return_path: bool
    """True if the reverse path cannot carry more ACKs."""
    waits_for_return_queue: bool
    """True if data fills the reverse path and its queue dominates the queueing delay."""


Condition = Callable[[Findings], bool]


def conclude(facts: Facts) -> Findings:
    """Return the conclusions from the facts of a time span."""
    case, evidence, losses, flows = facts.case, facts.evidence, facts.losses, facts.flows
    utilization = evidence.link_used or 0.0
    standing_queue = _has_standing_queue(case, evidence)
    link_is_full = utilization >= FULL or (utilization >= QUEUED and standing_queue)
    share = evidence.link_share
    # Flows of which no samples are left also have their share of the link.
    may_be_fewer = bool(case.experiment.flows.directions or case.experiment.lives)
    crowd = flows if may_be_fewer else max(flows, case.experiment.total_streams)
    has_own_limit = flows > 1 and share is not None and share * crowd < CROWDED
    queue_overflows = losses == "bottleneck" and evidence.queue_drops > 0

    # BBR leaves room in its window on purpose.
    waits_in_host = evidence.host_limited >= MOSTLY and not case.algorithms & LOSS_BLIND
    waits_at_bottleneck = link_is_full and standing_queue and not has_own_limit
    pace, fq = _pace(case, evidence, waits_in_host), case.fq_rate
    lower_pace = min((rate for rate in (pace, fq) if rate is not None), default=None)
    is_at_pace = lower_pace is not None and _reaches(lower_pace, evidence, waits_in_host, waits_at_bottleneck)
    buffer_filled = _fills_send_buffer(case, evidence)

    ack_path_rate = _ack_path_rate(case)
    return Findings(
        case=case,
        evidence=evidence,
        losses=losses,
        flows=flows,
        queues=facts.queues,
        events=facts.events,
        processor=facts.processor,
        loss_varies=facts.loss_varies,
        path_is_known=facts.path_is_known,
        is_one_of_several=flows > 1,
        utilization=utilization,
        standing_queue=standing_queue,
        link_is_full=link_is_full,
        gains_nothing=link_is_full and (standing_queue or utilization >= SATURATED),
        has_own_limit=has_own_limit,
        short_queue=case.bdp is not None and case.buffer < SHORT_QUEUE * case.bdp,
        queue_overflows=queue_overflows,
        is_processor_limited=facts.path_is_known and case.rate is None and facts.processor >= LOADED,
        pace=pace,
        paced_by_application=is_at_pace and pace is not None and (fq is None or pace <= fq),
        paced_by_fq=is_at_pace and fq is not None and (pace is None or fq < pace),
        is_host_limited=waits_in_host and not waits_at_bottleneck,
        is_window_limited=_fills_receive_window(evidence),
        buffer_filled=buffer_filled,
        is_buffer_limited=evidence.sndbuf_limited >= MOSTLY or buffer_filled,
        is_stalled=evidence.stalled >= STALLED and (flows > 1 or not link_is_full),
        is_reordering=_is_reordering(evidence, losses),
        repairs_one_by_one=repairs_one_by_one(case, evidence),
        # Without counted losses the application may have been idle.
        ignores_losses=evidence.loss_events is not None
        and case.algorithm in LOSS_BLIND
        and utilization >= UNUSED,
        # BBR may stay in recovery throughout, so that no new loss event begins.
        bbr_underestimates=case.loss > 0
        and bool(evidence.retransmits)
        and case.algorithm in LOSS_BLIND
        and utilization < UNUSED
        and not standing_queue,
        is_growing=facts.path_is_known and _is_growing(evidence),
        return_rate=case.path.rate if case.is_reverse else case.path.reverse_rate,
        ack_path_rate=ack_path_rate,
        acks_fill_return_path=acks_fill_return_path(case, evidence),
        waits_for_return_queue=_waits_for_return_queue(evidence, utilization),
    )


def _has_standing_queue(case: Case, evidence: Evidence) -> bool:
    """Return whether segments wait at the bottleneck.

    The RTT also contains queueing in the sender's fq; with fq it proves nothing.
    """
    threshold = max(0.1 * evidence.min_rtt_s, NOISE)
    if evidence.queue_s is None:
        return case.experiment.hosts.maxrate is None and evidence.rtt_rise_s > threshold
    frames = 8 * STANDING_FRAMES * case.frame / case.rate if case.rate else 0.0
    return evidence.queue_s > max(threshold, frames)


def _pace(case: Case, evidence: Evidence, waits_in_host: bool) -> float | None:
    """Return the application's pacing rate.

    The kernel's default pacing rate is 1.2 times cwnd/RTT, so it never equals the throughput.
    """
    requested, socket_rate = case.experiment.flows.pacing, evidence.pacing_bps
    is_shown = socket_rate and evidence.flow_bps >= NEAR_PACE * socket_rate and waits_in_host
    return socket_rate if requested is None and is_shown else requested


def _reaches(pace: float, evidence: Evidence, waits_in_host: bool, waits_at_bottleneck: bool) -> bool:
    if evidence.is_imported:
        return FOREIGN_PACE[0] * pace <= evidence.flow_bps <= FOREIGN_PACE[1] * pace
    share = NEAR_PACE if waits_in_host else AT_PACE
    return evidence.flow_bps >= share * pace and not waits_at_bottleneck


def _fills_receive_window(evidence: Evidence) -> bool:
    """Return whether the receiver's window is the limit.

    The kernel also counts time in which a missing segment stops the window. The window is the limit only if a
    fair part of it arrives in each RTT.
    """
    window, in_flight = evidence.receiver_window_bytes, evidence.in_flight_bytes
    if evidence.rwnd_limited >= MOSTLY and in_flight >= WINDOW_USED * window:
        return True
    return 0 < window < evidence.cwnd_bytes and in_flight >= UNUSED * window and evidence.rwnd_limited >= 0.1


def _fills_send_buffer(case: Case, evidence: Evidence) -> bool:
    """Return whether a small send buffer is full.

    The kernel counts only from a segment that leaves while the application is blocked; iperf3's large writes leave
    earlier. It also misses some flows that run out of data; they leave their cwnd unused.
    """
    requested = case.experiment.hosts.send_buffer or case.experiment.flows.buffer
    unused = evidence.in_flight_bytes <= UNUSED * evidence.cwnd_bytes and not evidence.has_losses
    return (
        requested is not None
        and evidence.send_buffer_bytes >= 0.5 * requested
        and (evidence.app_limited >= SHORT or unused)
    )


def _is_reordering(evidence: Evidence, losses: LossKind | None) -> bool:
    retransmits = evidence.retransmits or 0
    if losses == "random-loss" or (losses == "bottleneck" and 2 * evidence.spurious < retransmits):
        return False
    return retransmits > 0 and evidence.reordered >= max(3, evidence.loss_events or 0)


def repairs_one_by_one(case: Case, evidence: Evidence) -> bool:
    """Return whether recovery without SACK, a single loss per RTT, takes most of the time."""
    sacks = case.experiment.hosts.sysctls.get("tcp_sack", "1")
    return sacks == "0" and evidence.recovering >= MOSTLY and bool(evidence.retransmits)


def _is_growing(evidence: Evidence) -> bool:
    """Return whether the window grows and is used."""
    if evidence.is_imported and (evidence.retransmits != 0 or evidence.link_used is None):
        return False  # a different limit may have held the window, or the link may be full
    required_share = 0.3 if evidence.cwnd_growth >= FAST else UNUSED
    used = evidence.in_flight_bytes >= required_share * evidence.cwnd_bytes > 0
    return evidence.cwnd_growth >= RISING and used


def acks_fill_return_path(case: Case, evidence: Evidence) -> bool:
    """Return whether the reverse path cannot carry more ACKs.

    A receiver acknowledges every second segment, but every segment if they arrive far apart. Then half of the
    data fills the reverse path. A full reverse path has a queue, which shows in the RTT; without that queue, the
    receiver sent fewer ACKs.
    """
    ack_path_rate = _ack_path_rate(case)
    if not ack_path_rate or not evidence.throughput_bps:
        return False
    every_second = evidence.throughput_bps / case.mss / 2 * ACK_FRAME
    full = FULL_OF_ACKS * ack_path_rate
    wait = _unexplained_rtt_rise(case, evidence)
    if wait is None:
        return every_second >= full
    large_wait = max(0.5 * evidence.rtt_rise_s, RETURN_QUEUE * evidence.min_rtt_s, NOISE)
    small_wait = max(0.1 * evidence.min_rtt_s, NOISE)
    return wait > (small_wait if every_second >= full else large_wait) and 2 * every_second >= full


def _ack_path_rate(case: Case) -> float | None:
    directions = {case.experiment.reversed(flow.number) for flow in case.flows}
    if len(directions) != 1:
        return None
    return case.path.rate if case.is_reverse else case.path.reverse_rate


def _unexplained_rtt_rise(case: Case, evidence: Evidence) -> float | None:
    """Return the rise of the RTT that neither the sender nor the bottleneck explains, s.

    None without samples of these queues, or with data on the reverse path, which has a clause of its own. Jitter
    is not queueing, and reordered segments have unusual RTTs.
    """
    path = case.path
    delay_changes = any(one.name == "delay" for one in case.experiment.path.changes)
    if evidence.queue_s is None or evidence.return_used is not None or path.reorder or delay_changes:
        return None
    return evidence.rtt_rise_s - evidence.queue_s - (evidence.sender_queue_s or 0.0) - path.jitter


def _waits_for_return_queue(evidence: Evidence, utilization: float) -> bool:
    if evidence.return_used is None or evidence.return_queue_s is None or utilization >= FULL:
        return False
    threshold = max(0.5 * evidence.rtt_rise_s, RETURN_QUEUE * evidence.min_rtt_s, NOISE)
    return evidence.return_used >= FULL_OF_ACKS and evidence.return_queue_s > threshold


RULES: tuple[tuple[LimitedBy, Condition], ...] = (
    # Limits of the sender come before effects of the network.
    ("timeout", lambda f: f.is_stalled),
    # A program that gets no processor time writes too little, through no fault of its own.
    ("bottleneck", lambda f: f.is_processor_limited and f.evidence.busy < BUSY and _is_free_to_send(f)),
    ("application", lambda f: f.evidence.busy < BUSY),
    ("pacing", lambda f: f.paced_by_application or f.paced_by_fq),
    # ACKs clock the window, however full it is.
    ("bottleneck", lambda f: f.acks_fill_return_path or f.waits_for_return_queue),
    ("pacing", lambda f: f.is_host_limited),
    ("receive-window", lambda f: f.has_own_limit and f.is_window_limited),
    ("send-buffer", lambda f: f.has_own_limit and f.is_buffer_limited),
    ("reordering", lambda f: f.losses == "reordering" and f.is_reordering and f.utilization < FULL),
    ("bottleneck", lambda f: f.gains_nothing),
    ("bottleneck", lambda f: f.link_is_full and not (f.is_window_limited or f.is_buffer_limited)),
    ("receive-window", lambda f: f.is_window_limited),
    ("send-buffer", lambda f: f.is_buffer_limited),
    ("application", lambda f: f.evidence.app_limited >= MOSTLY),
    ("bottleneck", lambda f: f.ignores_losses),
    ("reordering", lambda f: f.is_reordering),
    ("random-loss", lambda f: f.bbr_underestimates),
    ("random-loss", lambda f: f.losses == "random-loss"),
    ("bottleneck", lambda f: f.losses == "bottleneck"),
    ("reordering", lambda f: f.losses == "reordering"),
    ("growing", lambda f: f.is_growing),
    ("bottleneck", lambda f: f.is_processor_limited),
)
"""Rules in order of precedence."""


def cause(findings: Findings) -> LimitedBy:
    """Return the limiting cause; `unexplained` if the samples show none."""
    return next((limited_by for limited_by, holds in RULES if holds(findings)), "unexplained")


def _is_free_to_send(findings: Findings) -> bool:
    """Return whether neither pacing nor the size of its writes holds the sending program back."""
    paced = findings.paced_by_application or findings.paced_by_fq
    return findings.case.experiment.flows.length is None and not paced
