"""What is known of a stretch of time: the case, the evidence of the samples, and what the two say together.

Rules, clauses and reasons look at nothing else.
"""

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
"""Share of the time from which a window, a buffer or a wait is what limits."""

SHORT = 0.3
"""Share of the time with nothing to send from which a full send buffer is what keeps it from having more."""

UNUSED = 0.8
"""Share of the window in flight below which it is not what limits."""

WINDOW_USED = 0.2
"""Share of the receiver's window that arrives in a round trip below which something else keeps it from moving on."""

ROUNDING = 0.02
"""Relative difference of a window from the one asked for that the kernel's rounding makes."""

BUSY = 0.8
"""Share of the time with data to send below which the application is what limits."""

STALLED, NOTABLY_STALLED = 0.25, 0.1
"""Shares of the time lost to timeouts: from the first they are the limit, from the second worth telling."""

CROWDED = 0.7
"""Share of an equal part of the link under which a flow is held by something of its own, however full the link."""

RISING = 1.002
"""Growth of the window from which it is growing; above `FAST` by so much that what is in flight lags a round trip."""

FAST = 1.1

AT_PACE, NEAR_PACE = 0.9, 0.7
"""Shares of a pace: from the first on a flow goes as fast as that, from the second on where it also waits for it."""

FOREIGN_PACE = (0.97, 1.1)
"""Shares of a pace between which an imported flow goes as fast as that: `-b` writes whole blocks, the first at once."""

STANDING_FRAMES = 2
"""Frames that wait on average from which a queue stands: one or two meet by chance on a link that is not full."""

NOISE = 3e-4
"""What a host itself adds to an RTT, s."""

SHORT_QUEUE = 0.9
"""BDPs below which a queue is short."""

ACK_FRAME = 66
"""Bytes of an acknowledgement as the shaper counts it, for every second segment."""

FULL_OF_ACKS = 0.8
"""Share of the way back that acknowledgements take from which it is full: delayed ones are sometimes single."""

RETURN_QUEUE = 0.3
"""Share of the least RTT from which what waits in the other direction slows a flow notably."""

LOADED = 0.9
"""Share of the time that a processor is busy from which the computer itself may be the limit."""

KEEP_SHORT = {"codel": "CoDel", "fq_codel": "FQ-CoDel", "cake": "CAKE", "red": "RED"}
"""Queue disciplines that drop before they must."""


@dataclass(frozen=True)
class Findings:
    """Of one flow, or of all of one run."""

    case: Case
    evidence: Evidence
    losses: LossKind | None
    """What the losses that hold the window down came from; None where none do, or where nothing tells."""
    flows: int = 1
    """How many share the link; 1 where the evidence is of them all."""
    events: Mapping[LossKind | None, int] = field(default_factory=dict)
    """Loss events in this time, by what they came from."""
    processor: float = 0.0
    """Share of the time that the busiest processor was busy; 0 unknown."""
    loss_varies: bool = False
    """Whether the path's loss changes in this time, so that no one number is that of it all."""
    known: bool = True
    """Whether the path is; what the case has of it says nothing otherwise."""

    @property
    def experiment(self) -> Experiment:
        return self.case.experiment

    @property
    def is_foreign(self) -> bool:
        """Whether another program measured this: it tells of no loss events."""
        return self.evidence.loss_events is None

    @property
    def used(self) -> float:
        """Share of the link that was used; 0 where it is not shaped."""
        return self.evidence.link_used or 0.0

    @property
    def standing_queue(self) -> bool:
        """Whether segments wait at the bottleneck, by its own samples; else, by the RTT, anywhere on the path.

        What fq holds back in the sender is in the RTT as well: then that tells nothing of the bottleneck.
        """
        seen = self.evidence
        least = max(0.1 * seen.min_rtt_s, NOISE)
        if seen.queue_s is None:
            return self.experiment.hosts.maxrate is None and seen.rtt_rise_s > least
        frames = 8 * STANDING_FRAMES * self.case.frame / self.case.rate if self.case.rate else 0.0
        return seen.queue_s > max(least, frames)

    @property
    def full(self) -> bool:
        """Whether the link carries all that it can."""
        return self.used >= FULL or (self.used >= QUEUED and self.standing_queue)

    @property
    def gains_nothing(self) -> bool:
        """Whether the link is so full that more window or buffer would not help.

        A window of just the path's size fills the link without a queue, and is still the limit.
        """
        return self.full and (self.standing_queue or self.used >= SATURATED)

    @property
    def alone(self) -> bool:
        """Whether others fill the link, and this flow does not get its part of it: something of its own holds it."""
        share = self.evidence.link_share
        return self.flows > 1 and share is not None and share * self.flows < CROWDED

    @property
    def pace(self) -> float | None:
        """What the application paces each flow at, bit/s of payload: as set, or as its socket shows; None for nothing.

        A pace that the kernel makes of the window is a fifth above what the window gives, however steady.
        """
        asked, shown = self.experiment.flows.pacing, self.evidence.pacing_bps
        if asked is None and shown and self.evidence.flow_bps >= NEAR_PACE * shown and self._held:
            return shown
        return asked

    @property
    def paced_by_application(self) -> bool:
        """Whether the application's pace is the lower one, and a flow goes as fast as that."""
        fq = self.case.fq_rate
        return self.pace is not None and (fq is None or self.pace <= fq) and self._goes_at(self.pace)

    @property
    def paced_by_fq(self) -> bool:
        """Whether the sender's fq has the lower pace, and a flow goes as fast as that."""
        fq = self.case.fq_rate
        return fq is not None and (self.pace is None or fq < self.pace) and self._goes_at(fq)

    @property
    def held_by_host(self) -> bool:
        """Whether data waits in the sender though it might go, whoever has its host let no more out."""
        return self._held and not self._stuck

    @property
    def _held(self) -> bool:
        """BBR leaves room in its window on purpose."""
        return self.evidence.held >= MOSTLY and not self.case.algorithms & LOSS_BLIND

    @property
    def _stuck(self) -> bool:
        """Whether segments wait at a full bottleneck instead, and this flow has its part of it."""
        return self.full and self.standing_queue and not self.alone

    def _goes_at(self, pace: float) -> bool:
        if self.is_foreign:
            return FOREIGN_PACE[0] * pace <= self.evidence.flow_bps <= FOREIGN_PACE[1] * pace
        share = NEAR_PACE if self._held else AT_PACE
        return self.evidence.flow_bps >= share * pace and not self._stuck

    @property
    def windowed(self) -> bool:
        """Whether the receiver limits: by the kernel's own count, or because a window's worth is in flight.

        While a segment is missing the window cannot move on, and the kernel counts that as well: the window is the
        limit only where a good part of it arrives in each round trip.
        """
        seen = self.evidence
        used = seen.in_flight_bytes >= WINDOW_USED * seen.receiver_window_bytes
        counted = seen.rwnd_limited >= MOSTLY and used
        return counted or (self.window_filled and seen.rwnd_limited >= 0.1)

    @property
    def repairs_one_by_one(self) -> bool:
        """Whether most of the time goes by in recoveries that repair one loss in each round trip, as without SACK."""
        seen, sacks = self.evidence, self.experiment.hosts.sysctls.get("tcp_sack", "1")
        return sacks == "0" and seen.recovering >= MOSTLY and bool(seen.retransmits)

    @property
    def window_filled(self) -> bool:
        seen = self.evidence
        return 0 < seen.receiver_window_bytes < seen.cwnd_bytes and (
            seen.in_flight_bytes >= UNUSED * seen.receiver_window_bytes
        )

    @property
    def buffered(self) -> bool:
        """Whether the send buffer limits: by the kernel's own count, or because a small one is kept filled."""
        return self.evidence.sndbuf_limited >= MOSTLY or self.buffer_filled

    @property
    def buffer_filled(self) -> bool:
        """Whether a small send buffer is kept filled, which the kernel does not always count.

        It counts only from a segment that leaves while the application waits for room; iperf3's large writes leave
        before it waits. Nor does it always say that the flow runs dry, which then shows in a window that is not used.
        """
        seen, asked = self.evidence, self.experiment.hosts.send_buffer or self.experiment.flows.buffer
        unused = seen.in_flight_bytes <= UNUSED * seen.cwnd_bytes and not seen.lossy
        return (
            asked is not None
            and seen.send_buffer_bytes >= 0.5 * asked
            and (seen.app_limited >= SHORT or unused)
        )

    @property
    def growing(self) -> bool:
        """Whether the window grows and is used: then nothing but its own pace keeps it from more.

        Of a path that is not known nobody can say that nothing else did.
        """
        seen = self.evidence
        if self.is_foreign and (seen.retransmits != 0 or seen.link_used is None):
            return False  # something else may have held the window, or the link may be full
        used = 0.3 if seen.cwnd_growth >= FAST else UNUSED
        return (
            self.known and seen.cwnd_growth >= RISING and seen.in_flight_bytes >= used * seen.cwnd_bytes > 0
        )

    @property
    def blind(self) -> bool:
        """Whether flows that do not take losses for congestion send at nearly what the bottleneck carries."""
        known = (
            self.evidence.loss_events is not None
        )  # else nothing tells whether its application kept it waiting
        return known and self.case.algorithm in LOSS_BLIND and self.used >= UNUSED

    @property
    def underestimates(self) -> bool:
        """Whether random loss takes so much from BBR that it measures clearly less than the bottleneck's rate.

        It may stay in recovery all the time, so that no loss event begins.
        """
        lost = self.case.loss > 0 and bool(self.evidence.retransmits)
        return lost and self.case.algorithm in LOSS_BLIND and self.used < UNUSED and not self.standing_queue

    @property
    def shared(self) -> bool:
        """Whether the evidence is of one of several flows: then nobody knows which packets of the queue's were its."""
        return self.flows > 1

    @property
    def stalls(self) -> bool:
        """Whether timeouts limit: not all flows together where others of them fill the link meanwhile."""
        return self.evidence.stalled >= STALLED and (self.shared or not self.full)

    @property
    def return_rate(self) -> float | None:
        """Rate of the other direction, bit/s of frames; None where it is not shaped."""
        return self.case.path.rate if self.case.backward else self.case.path.reverse_rate

    @property
    def back(self) -> float | None:
        """Rate of the way of the acknowledgements, bit/s of frames; None where unshaped or flows go both ways."""
        rates = (self.case.path.reverse_rate, self.case.path.rate)
        ways = {self.experiment.reversed(flow.number) for flow in self.case.flows}
        return rates[self.case.backward] if len(ways) == 1 else None

    @property
    def behind_return_queue(self) -> bool:
        """Whether data fills the other direction, and its queue is most of what waiting adds to the round trip."""
        seen = self.evidence
        if seen.return_used is None or seen.return_queue_s is None or self.used >= FULL:
            return False
        least = max(0.5 * seen.rtt_rise_s, RETURN_QUEUE * seen.min_rtt_s, NOISE)
        return seen.return_used >= FULL_OF_ACKS and seen.return_queue_s > least

    @property
    def full_of_acks(self) -> bool:
        """Whether the way back has no room for more acknowledgements.

        A receiver acknowledges every second segment. It acknowledges each where they come far apart, as they do behind
        a slow way back: that is full with half of the data. Acknowledgements that fill it wait there, which shows in
        the RTT: where nothing waits, the receiver has sent fewer.
        """
        if not self.back or not self.evidence.throughput_bps:
            return False
        every_second = self.evidence.throughput_bps / self.case.mss / 2 * ACK_FRAME
        full = FULL_OF_ACKS * self.back
        waits = self._wait_on_way_back
        if waits is None:
            return every_second >= full
        seen = self.evidence
        most = max(0.5 * seen.rtt_rise_s, RETURN_QUEUE * seen.min_rtt_s, NOISE)
        some = max(0.1 * seen.min_rtt_s, NOISE)
        return waits > (some if every_second >= full else most) and 2 * every_second >= full

    @property
    def _wait_on_way_back(self) -> float | None:
        """What the round trip has above its least neither in the sender nor at the bottleneck, s.

        None where these were not sampled, or where data goes the other way: that has a clause of its own. Jitter is no
        queue, and a segment that overtakes has an RTT that no other has.
        """
        seen, path = self.evidence, self.case.path
        changes = any(one.name == "delay" for one in self.experiment.path.changes)
        if seen.queue_s is None or seen.return_used is not None or path.reorder or changes:
            return None
        return seen.rtt_rise_s - seen.queue_s - (seen.sender_queue_s or 0.0) - path.jitter

    @property
    def reordering(self) -> bool:
        """Whether TCP found at least as much out of order as it took for lost."""
        seen = self.evidence
        again = seen.retransmits or 0
        if self.losses == "random-loss" or (self.losses == "bottleneck" and 2 * seen.spurious < again):
            return False
        return again > 0 and seen.reordered >= max(3, seen.loss_events or 0)

    @property
    def computer(self) -> bool:
        """Whether no rate is set and a processor had no time left."""
        return self.known and self.case.rate is None and self.processor >= LOADED

    @property
    def overflowed(self) -> bool:
        """Whether a queue that is seen to drop holds the window down."""
        return self.losses == "bottleneck" and self.evidence.queue_drops > 0

    @property
    def short_queue(self) -> bool:
        """Whether the bottleneck's queue holds clearly less than the BDP, of the flow with the least."""
        bdp = self.case.bdp
        return bdp is not None and self.case.buffer < SHORT_QUEUE * bdp

    @property
    def words(self) -> dict[str, str]:
        """The numbers as they are said. What the student asked for is said so: the kernel rounds it."""
        seen, path, hosts, flows = (
            self.evidence,
            self.case.path,
            self.experiment.hosts,
            self.experiment.flows,
        )
        cuts = self.events.get("random-loss", seen.loss_events)
        return {
            "used": _percent(self.used),
            "busy": _percent(seen.busy),
            "starved": _percent(seen.app_limited),
            "window": f"the receiver's window, {units.size(self._window)},"
            if self._window
            else "the receiver's window",
            "windowed": _percent(seen.rwnd_limited),
            "flight": units.size(seen.in_flight_bytes),
            "buffer": units.size(hosts.send_buffer or flows.buffer or seen.send_buffer_bytes),
            "buffered": _percent(seen.sndbuf_limited),
            "pace": units.rate(self.pace or 0.0),
            "maxrate": units.rate(hosts.maxrate or 0.0),
            "held": _percent(seen.held),
            "loss": f"random loss, {units.percent(self.case.loss)},"
            if self.case.loss and not self.loss_varies
            else "random loss",
            "times": "once" if cuts == 1 else f"{cuts} times",
            "queueing": units.seconds(seen.queueing_s, 2),
            "marked": f"{seen.marks} segments" if self.case.algorithm == "dctcp" else "segments",
            "qdisc": KEEP_SHORT.get(path.qdisc, path.qdisc),
            "drops": f"{seen.queue_drops}",
            "retransmits": f"{seen.retransmits}",
            "growth": f"{seen.cwnd_growth:.2g}-fold"
            if seen.cwnd_growth >= FAST
            else f"by {_percent(seen.cwnd_growth - 1)}",
            "reordered": f"{seen.reordered}",
            "spurious": f"{seen.spurious} of {seen.retransmits} retransmissions",
            "recovering": _percent(seen.recovering),
            "return": units.rate(self.return_rate or 0.0),
            "return_queueing": units.seconds(seen.return_queue_s or 0.0, 2),
            "timeouts": f"{seen.timeouts}",
            "stalled": _percent(seen.stalled),
            "back": units.rate(self.back or 0.0),
            "processor": _percent(self.processor),
        }

    @property
    def _window(self) -> float:
        """The receiver's, bytes: what it advertised, as it was asked for where that is the same but for rounding."""
        asked, seen = self.experiment.hosts.window, self.evidence.receiver_window_bytes
        same = asked is not None and (not seen or abs(seen - asked) <= ROUNDING * asked)
        return asked if same and asked is not None else seen


Condition = Callable[[Findings], bool]


def _percent(share: float) -> str:
    """Whole ones, but of less than one its first digit."""
    return f"{100 * share:.1g} %" if 0 < share < 0.01 else f"{round(100 * share)} %"
