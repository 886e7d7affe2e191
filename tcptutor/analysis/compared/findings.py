"""Findings: case and evidence of a time span, and the conclusions that rules and clauses use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tcptutor.analysis.case import FULL, QUEUED, SATURATED, Case
from tcptutor.analysis.observed.evidence import Evidence
from tcptutor.analysis.observed.path import LossKind
from tcptutor.base import units
from tcptutor.spec import Experiment
from tcptutor.theory.models import LOSS_BLIND

MOSTLY = 0.5
"""Share of the time from which a window, a buffer or a wait is the limit."""

SHORT = 0.3
"""Share of the time without data from which a full send buffer starves the sender."""

UNUSED = 0.8
"""Share of the window in flight below which the window is not the limit."""

WINDOW_USED = 0.2
"""Share of the receiver's window per RTT below which missing segments keep the window from advancing."""

ROUNDING = 0.02
"""Relative difference that the kernel's rounding of a window makes."""

BUSY = 0.8
"""Share of the time with data to send below which the application is the limit."""

STALLED, NOTABLY_STALLED = 0.25, 0.1
"""Share of the time in timeouts that makes them the limit, and the share worth a mention."""

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

KEEP_SHORT = {"codel": "CoDel", "fq_codel": "FQ-CoDel", "cake": "CAKE", "red": "RED"}
"""Queue disciplines that drop early."""


@dataclass(frozen=True)
class Findings:
    """Conclusions about a flow, or about all flows of a run."""

    case: Case
    evidence: Evidence
    losses: LossKind | None
    """Cause of the losses that hold the window down; None without such losses, or if unknown."""
    flows: int = 1
    """Number of flows on the link; 1 if the evidence covers them all."""
    events: Mapping[LossKind | None, int] = field(default_factory=dict)
    """Loss events by cause."""
    processor: float = 0.0
    """Share of the time that the busiest processor was busy; 0 if unknown."""
    loss_varies: bool = False
    """True if the path's loss changes in this time."""
    path_is_known: bool = True
    """False if the path is unknown, which makes the case's path values meaningless."""

    @property
    def experiment(self) -> Experiment:
        return self.case.experiment

    @property
    def is_imported(self) -> bool:
        """True for an imported run, which has no loss events."""
        return self.evidence.loss_events is None

    @property
    def utilization(self) -> float:
        """Utilization of the link; 0 if it is unshaped."""
        return self.evidence.link_used or 0.0

    @property
    def standing_queue(self) -> bool:
        """True if segments wait at the bottleneck, by its samples or by the RTT.

        The RTT also contains queueing in the sender's fq; with fq it proves nothing.
        """
        evidence = self.evidence
        threshold = max(0.1 * evidence.min_rtt_s, NOISE)
        if evidence.queue_s is None:
            return self.experiment.hosts.maxrate is None and evidence.rtt_rise_s > threshold
        frames = 8 * STANDING_FRAMES * self.case.frame / self.case.rate if self.case.rate else 0.0
        return evidence.queue_s > max(threshold, frames)

    @property
    def link_is_full(self) -> bool:
        """True if the link carries all it can."""
        return self.utilization >= FULL or (self.utilization >= QUEUED and self.standing_queue)

    @property
    def gains_nothing(self) -> bool:
        """True if the link is so full that more window or buffer would not help.

        A window equal to the BDP fills the link without a queue and is still the limit.
        """
        return self.link_is_full and (self.standing_queue or self.utilization >= SATURATED)

    @property
    def has_own_limit(self) -> bool:
        """True if other flows fill the link and this flow gets less than its share."""
        share = self.evidence.link_share
        return self.flows > 1 and share is not None and share * self.flows < CROWDED

    @property
    def pace(self) -> float | None:
        """Application's pacing rate per flow, as set or as the socket shows, bit/s of payload; None without one.

        The kernel's default pacing rate is 1.2 times cwnd/RTT, so it never equals the throughput.
        """
        requested, socket_rate = self.experiment.flows.pacing, self.evidence.pacing_bps
        if (
            requested is None
            and socket_rate
            and self.evidence.flow_bps >= NEAR_PACE * socket_rate
            and self._waits_in_host
        ):
            return socket_rate
        return requested

    @property
    def paced_by_application(self) -> bool:
        """True if the application's pacing rate is the lower one, and the flow reaches it."""
        fq = self.case.fq_rate
        return self.pace is not None and (fq is None or self.pace <= fq) and self._reaches(self.pace)

    @property
    def paced_by_fq(self) -> bool:
        """True if the rate of the sender's fq is the lower one, and the flow reaches it."""
        fq = self.case.fq_rate
        return fq is not None and (self.pace is None or fq < self.pace) and self._reaches(fq)

    @property
    def is_host_limited(self) -> bool:
        """True if data waits in the sender although nothing in the network stops it."""
        return self._waits_in_host and not self._waits_at_bottleneck

    @property
    def _waits_in_host(self) -> bool:
        """True if data waits in the sender most of the time; BBR leaves room in its window on purpose."""
        return self.evidence.held >= MOSTLY and not self.case.algorithms & LOSS_BLIND

    @property
    def _waits_at_bottleneck(self) -> bool:
        """True if segments wait at a full bottleneck instead, and the flow gets its share."""
        return self.link_is_full and self.standing_queue and not self.has_own_limit

    def _reaches(self, pace: float) -> bool:
        if self.is_imported:
            return FOREIGN_PACE[0] * pace <= self.evidence.flow_bps <= FOREIGN_PACE[1] * pace
        share = NEAR_PACE if self._waits_in_host else AT_PACE
        return self.evidence.flow_bps >= share * pace and not self._waits_at_bottleneck

    @property
    def is_window_limited(self) -> bool:
        """True if the receiver's window is the limit: full by the kernel's count, or by the data in flight.

        The kernel also counts time in which a missing segment stops the window. The window is the limit only if a
        fair part of it arrives in each RTT.
        """
        evidence = self.evidence
        is_used = evidence.in_flight_bytes >= WINDOW_USED * evidence.receiver_window_bytes
        is_counted = evidence.rwnd_limited >= MOSTLY and is_used
        return is_counted or (self.window_filled and evidence.rwnd_limited >= 0.1)

    @property
    def repairs_one_by_one(self) -> bool:
        """True without SACK if recovery, a single loss per RTT, takes most of the time."""
        evidence, sacks = self.evidence, self.experiment.hosts.sysctls.get("tcp_sack", "1")
        return sacks == "0" and evidence.recovering >= MOSTLY and bool(evidence.retransmits)

    @property
    def window_filled(self) -> bool:
        evidence = self.evidence
        return 0 < evidence.receiver_window_bytes < evidence.cwnd_bytes and (
            evidence.in_flight_bytes >= UNUSED * evidence.receiver_window_bytes
        )

    @property
    def is_buffer_limited(self) -> bool:
        """True if the send buffer is the limit: full by the kernel's count, or small and full."""
        return self.evidence.sndbuf_limited >= MOSTLY or self.buffer_filled

    @property
    def buffer_filled(self) -> bool:
        """True if a small send buffer is full, which the kernel does not always count.

        The kernel counts only from a segment that leaves while the application is blocked; iperf3's large writes leave
        earlier. It also misses some flows that run out of data; they leave their cwnd unused.
        """
        evidence, requested = self.evidence, self.experiment.hosts.send_buffer or self.experiment.flows.buffer
        unused = evidence.in_flight_bytes <= UNUSED * evidence.cwnd_bytes and not evidence.has_losses
        return (
            requested is not None
            and evidence.send_buffer_bytes >= 0.5 * requested
            and (evidence.app_limited >= SHORT or unused)
        )

    @property
    def is_growing(self) -> bool:
        """True if the window grows and is used, so that only its own growth limits the flow.

        On an unknown path other limits cannot be excluded.
        """
        evidence = self.evidence
        if self.is_imported and (evidence.retransmits != 0 or evidence.link_used is None):
            return False  # a different limit may have held the window, or the link may be full
        required_share = 0.3 if evidence.cwnd_growth >= FAST else UNUSED
        return (
            self.path_is_known
            and evidence.cwnd_growth >= RISING
            and evidence.in_flight_bytes >= required_share * evidence.cwnd_bytes > 0
        )

    @property
    def ignores_losses(self) -> bool:
        """True if loss-agnostic flows send at nearly the bottleneck's rate."""
        known = self.evidence.loss_events is not None  # otherwise the application may have been idle
        return known and self.case.algorithm in LOSS_BLIND and self.utilization >= UNUSED

    @property
    def bbr_underestimates(self) -> bool:
        """True if random loss makes BBR underestimate the bottleneck's rate clearly.

        BBR may stay in recovery throughout, so that no new loss event begins.
        """
        lost = self.case.loss > 0 and bool(self.evidence.retransmits)
        return (
            lost
            and self.case.algorithm in LOSS_BLIND
            and self.utilization < UNUSED
            and not self.standing_queue
        )

    @property
    def is_one_of_several(self) -> bool:
        """True if the evidence covers a single one of several flows, so that queue drops cannot be attributed."""
        return self.flows > 1

    @property
    def is_stalled(self) -> bool:
        """True if timeouts are the limit; not for an aggregate that still fills the link."""
        return self.evidence.stalled >= STALLED and (self.is_one_of_several or not self.link_is_full)

    @property
    def return_rate(self) -> float | None:
        """Rate of the reverse path, bit/s of frames; None if unshaped."""
        return self.case.path.rate if self.case.is_reverse else self.case.path.reverse_rate

    @property
    def ack_path_rate(self) -> float | None:
        """Rate of the path that carries only ACKs, bit/s of frames; None if unshaped, or if flows go both ways."""
        rates = (self.case.path.reverse_rate, self.case.path.rate)
        directions = {self.experiment.reversed(flow.number) for flow in self.case.flows}
        return rates[self.case.is_reverse] if len(directions) == 1 else None

    @property
    def waits_for_return_queue(self) -> bool:
        """True if data fills the reverse path and its queue dominates the queueing delay."""
        evidence = self.evidence
        if evidence.return_used is None or evidence.return_queue_s is None or self.utilization >= FULL:
            return False
        threshold = max(0.5 * evidence.rtt_rise_s, RETURN_QUEUE * evidence.min_rtt_s, NOISE)
        return evidence.return_used >= FULL_OF_ACKS and evidence.return_queue_s > threshold

    @property
    def acks_fill_return_path(self) -> bool:
        """True if the reverse path cannot carry more ACKs.

        A receiver acknowledges every second segment, but every segment if they arrive far apart. Then half of the
        data fills the reverse path. A full reverse path has a queue, which shows in the RTT; without that queue, the
        receiver sent fewer ACKs.
        """
        if not self.ack_path_rate or not self.evidence.throughput_bps:
            return False
        every_second = self.evidence.throughput_bps / self.case.mss / 2 * ACK_FRAME
        full = FULL_OF_ACKS * self.ack_path_rate
        wait = self._unexplained_rtt_rise
        if wait is None:
            return every_second >= full
        evidence = self.evidence
        large_wait = max(0.5 * evidence.rtt_rise_s, RETURN_QUEUE * evidence.min_rtt_s, NOISE)
        small_wait = max(0.1 * evidence.min_rtt_s, NOISE)
        return wait > (small_wait if every_second >= full else large_wait) and 2 * every_second >= full

    @property
    def _unexplained_rtt_rise(self) -> float | None:
        """Rise of the RTT that neither the sender nor the bottleneck explains, s.

        None without samples of these queues, or with data on the reverse path, which has a clause of its own. Jitter
        is not queueing, and reordered segments have unusual RTTs.
        """
        evidence, path = self.evidence, self.case.path
        delay_changes = any(one.name == "delay" for one in self.experiment.path.changes)
        if evidence.queue_s is None or evidence.return_used is not None or path.reorder or delay_changes:
            return None
        return evidence.rtt_rise_s - evidence.queue_s - (evidence.sender_queue_s or 0.0) - path.jitter

    @property
    def is_reordering(self) -> bool:
        """True if the sender saw at least as many reorderings as losses."""
        evidence = self.evidence
        retransmits = evidence.retransmits or 0
        if self.losses == "random-loss" or (
            self.losses == "bottleneck" and 2 * evidence.spurious < retransmits
        ):
            return False
        return retransmits > 0 and evidence.reordered >= max(3, evidence.loss_events or 0)

    @property
    def is_processor_limited(self) -> bool:
        """True if no rate is set and a processor is saturated."""
        return self.path_is_known and self.case.rate is None and self.processor >= LOADED

    @property
    def queue_overflows(self) -> bool:
        """True if a queue with sampled drops holds the window down."""
        return self.losses == "bottleneck" and self.evidence.queue_drops > 0

    @property
    def short_queue(self) -> bool:
        """True if the bottleneck's queue is clearly shorter than the least BDP."""
        bdp = self.case.bdp
        return bdp is not None and self.case.buffer < SHORT_QUEUE * bdp

    @property
    def texts(self) -> dict[str, str]:
        """Figures as text for the clauses; configured values replace the kernel's rounded values."""
        evidence, path, hosts, flows = (
            self.evidence,
            self.case.path,
            self.experiment.hosts,
            self.experiment.flows,
        )
        cuts = self.events.get("random-loss", evidence.loss_events)
        return {
            "used": _percent(self.utilization),
            "busy": _percent(evidence.busy),
            "starved": _percent(evidence.app_limited),
            "window": f"the receiver's window, {units.size(self._window)},"
            if self._window
            else "the receiver's window",
            "windowed": _percent(evidence.rwnd_limited),
            "flight": units.size(evidence.in_flight_bytes),
            "buffer": units.size(hosts.send_buffer or flows.buffer or evidence.send_buffer_bytes),
            "buffered": _percent(evidence.sndbuf_limited),
            "pace": units.rate(self.pace or 0.0),
            "maxrate": units.rate(hosts.maxrate or 0.0),
            "held": _percent(evidence.held),
            "loss": f"random loss, {units.percent(self.case.loss)},"
            if self.case.loss and not self.loss_varies
            else "random loss",
            "times": "once" if cuts == 1 else f"{cuts} times",
            "queueing": units.seconds(evidence.queueing_s, 2),
            "marked": f"{evidence.marks} segments" if self.case.algorithm == "dctcp" else "segments",
            "qdisc": KEEP_SHORT.get(path.qdisc, path.qdisc),
            "drops": f"{evidence.queue_drops}",
            "retransmits": f"{evidence.retransmits}",
            "growth": f"{evidence.cwnd_growth:.2g}-fold"
            if evidence.cwnd_growth >= FAST
            else f"by {_percent(evidence.cwnd_growth - 1)}",
            "reordered": f"{evidence.reordered}",
            "spurious": f"{evidence.spurious} of {evidence.retransmits} retransmissions",
            "recovering": _percent(evidence.recovering),
            "return": units.rate(self.return_rate or 0.0),
            "return_queueing": units.seconds(evidence.return_queue_s or 0.0, 2),
            "timeouts": f"{evidence.timeouts}",
            "stalled": _percent(evidence.stalled),
            "back": units.rate(self.ack_path_rate or 0.0),
            "processor": _percent(self.processor),
        }

    @property
    def _window(self) -> float:
        """Receiver's window, bytes: the configured value if the advertised window differs only by rounding."""
        requested, advertised = self.experiment.hosts.window, self.evidence.receiver_window_bytes
        is_rounded = requested is not None and (
            not advertised or abs(advertised - requested) <= ROUNDING * requested
        )
        return requested if is_rounded and requested is not None else advertised


Condition = Callable[[Findings], bool]


def _percent(share: float) -> str:
    """Return a rounded percentage, with one digit below 1 %."""
    return f"{100 * share:.1g} %" if 0 < share < 0.01 else f"{round(100 * share)} %"
