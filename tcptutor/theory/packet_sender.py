"""Sender of a simulated flow: which segment may leave, and what an ACK or a timeout changes.

Slow start and congestion avoidance (RFC 5681), recovery with SACK (RFC 6675) and without (RFC 6582), the timer
(RFC 6298), pacing, and BBR's cycle at a known rate. Everything counts full segments, numbered from 1.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from dataclasses import dataclass
from typing import Literal

from tcptutor.theory.bbr import BBR_CWND_GAIN, BBR_PACING_CYCLE
from tcptutor.theory.domain import at_least, positive, require
from tcptutor.theory.limits import INITIAL_WINDOW
from tcptutor.theory.loss_laws import MIN_WINDOW

DUPLICATE_ACKS = 3
"""Duplicate ACKs that mean a loss (RFC 5681, section 3.2), or segments with SACK above the hole (RFC 6675)."""
INITIAL_RTO, RTO_ABOVE_RTT, MAX_RTO = 1.0, 0.2, 120.0
"""Seconds: RFC 6298, rule 2.1; the smallest distance of Linux's timeout from the RTT, and its largest timeout."""
LINUX_PACING = (2.0, 1.2)
"""Linux's pacing rate over cwnd / RTT: in slow start and afterwards."""
PACINGS: dict[str, tuple[float, float] | None] = {"off": None, "even": (1.0, 1.0), "linux": LINUX_PACING}
"""Pacing rates over cwnd / RTT by name; even spreads the window over the RTT."""

Algorithm = Literal["fixed", "reno", "bbr", "udp"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketFlow:
    """A flow to simulate: its data, its sender's rules, and the events of its own packets."""

    algorithm: Algorithm = "reno"
    """fixed keeps `window` in flight; bbr is BBR's ProbeBW, which already knows rate and RTT of the path.

    udp sends at `rate`, without ACKs.
    """
    start: float = 0.0
    """Seconds, 0 or above."""
    segments: float = math.inf
    """Segments to send, 1 or above; endless by default."""
    size: float = 1448
    """Bytes that a segment takes on the link, above 0."""
    window: float = math.inf
    """The receiver's window in segments, 1 or above."""
    initial: float = INITIAL_WINDOW
    """First cwnd, segments, 1 or above."""
    ssthresh: float = math.inf
    """First threshold of slow start, segments."""
    sack: bool = True
    tail_probe: bool = False
    """Whether it sends a probe after two round trips without an ACK (RFC 8985, section 7)."""
    pacing: tuple[float, float] | None = None
    """Pacing rate over cwnd / RTT, in slow start and afterwards; None for bursts. `LINUX_PACING` is Linux's."""
    ack_every: int = 1
    """Segments per ACK, 1 or 2; a second segment is waited for up to ACK_DELAY."""
    rto_above_rtt: float = RTO_ABOVE_RTT
    """Smallest distance of the timeout from the smoothed RTT, seconds, above 0."""
    rate: float = 0.0
    """Rate of a UDP program, bit/s."""
    losses: tuple[tuple[int, int], ...] = ()
    """Segments that die on the path: number, and which transmission, from 1."""
    late: tuple[tuple[int, float], ...] = ()
    """Segments whose first transmission takes longer: number and seconds."""

    def __post_init__(self) -> None:
        at_least("start", self.start, 0, "seconds after the beginning")
        require(self.segments >= 1, "segments", self.segments, "1 or above", "segments to send")
        positive("size", self.size, "bytes of a segment")
        require(self.window >= 1, "window", self.window, "1 or above", "the receiver's window in segments")
        fixed = self.algorithm == "fixed" and self.window == math.inf
        require(not fixed, "window", self.window, "finite", "a fixed window needs a size")
        at_least("initial", self.initial, 1, "segments that may be sent at once")
        is_silent = self.algorithm == "udp" and self.rate <= 0
        require(not is_silent, "rate", self.rate, "above 0", "a program without TCP chooses its rate")
        positive("rto_above_rtt", self.rto_above_rtt, "an ACK may be late, in seconds")
        require(self.ack_every in (1, 2), "ack_every", self.ack_every, "1 or 2", "segments per ACK")
        require(not self.pacing or min(self.pacing) > 0, "pacing", self.pacing, "above 0", "a rate's factor")


def bbr_gain(t: float, rtt: float) -> float:
    """Return BBR's pacing rate over the link's rate, `t` seconds after its start: a round trip of 1, then its cycle."""
    phase = int(t / rtt + 1e-9) - 1
    return BBR_PACING_CYCLE[phase % len(BBR_PACING_CYCLE)] if phase >= 0 else 1.0


class PacketSender:
    """Window, scoreboard and timer of a sender."""

    def __init__(self, flow: PacketFlow, rtt: float, rate: float) -> None:
        """Start with nothing sent; `rtt` is the empty path's in seconds, `rate` the link's in segments/s."""
        self.flow = flow
        self.base_rtt, self.link_rate = rtt, rate
        self.cwnd = {"fixed": flow.window, "bbr": BBR_CWND_GAIN * rate * rtt}.get(
            flow.algorithm, flow.initial
        )
        self.ssthresh = flow.ssthresh
        self.first, self.next = 1, 1
        """Lowest segment without an ACK, and the next new one."""
        self.state: Literal["open", "recovery", "loss"] = "open"
        self.timer: float | None = None
        """Instant of the next timeout, seconds; None without data in flight."""
        self.rto = INITIAL_RTO
        self._srtt = self._rttvar = 0.0
        self._sent: dict[int, float] = {}  # instants of first transmissions, which alone measure the RTT
        self._sacked: list[int] = []
        self._duplicates = 0
        self._lost: set[int] = set()  # lost and not yet retransmitted
        self._judged = 1  # segments below it are known as lost or arrived
        self._recover = 0  # the highest segment sent before the last loss or timeout
        self._urgent = False  # the first retransmission leaves whatever cwnd says
        self._probes = flow.tail_probe  # whether the timer's next end means a probe

    @property
    def in_flight(self) -> int:
        """Segments that the sender counts as on the path: RFC 6675's pipe; none without ACKs."""
        if self.flow.algorithm == "udp":
            return 0
        arrived = len(self._sacked) if self.flow.sack else self._duplicates
        return max(0, self.next - self.first - arrived - len(self._lost))

    def due(self) -> int | None:
        """Return the segment that may leave now, lost ones first; None if the window is used up."""
        fits = self.in_flight + 1 <= self.cwnd
        if self._lost:
            return min(self._lost) if fits or self._urgent else None
        allowed = self.next <= self.flow.segments and self.next - self.first + 1 <= self.flow.window
        return self.next if fits and allowed else None

    def gap(self, t: float) -> float:
        """Return the seconds from a segment that leaves at `t` to the next; 0 without pacing."""
        if self.flow.algorithm == "udp":
            return 8 * self.flow.size / self.flow.rate
        if self.flow.algorithm == "bbr":
            return 1 / (bbr_gain(t - self.flow.start, self.base_rtt) * self.link_rate)
        if self.flow.pacing is None:
            return 0.0
        early, later = self.flow.pacing
        gain = early if self.cwnd < self.ssthresh and self.flow.algorithm == "reno" else later
        return (self._srtt or self.base_rtt) / (gain * min(self.cwnd, self.flow.window))

    def send(self, t: float, number: int) -> None:
        """Note that `number`, the segment that was due, leaves at `t`."""
        self._urgent = False
        self._lost.discard(number)
        if number == self.next:
            self._sent[number] = t
            self.next += 1
        else:
            self._sent.pop(number, None)  # Karn's algorithm, RFC 6298, section 3
        if self.timer is None and self.flow.algorithm != "udp":
            self._restart_timer(t)

    def on_ack(self, t: float, ack: int, blocks: tuple[tuple[int, int], ...]) -> None:
        """Take an ACK for everything below `ack`; `blocks` are the first and last segments of SACK blocks."""
        newly = ack - self.first
        if newly < 0:
            return
        if newly > 0:
            self._measure_rtt(t, ack - 1)
            self._forget_below(ack)
            self._restart_timer(t)
        if self.flow.sack:
            for low, high in blocks:
                self._note_arrived(low, high)
        if newly == 0 and self.next > self.first and self.state != "loss":
            self._duplicates = min(self._duplicates + 1, self.next - self.first - 1)
        if newly and self.state == "open":
            self._duplicates = 0
        if self.state == "recovery":
            self._recover_further(ack, newly)
        elif self._shows_loss():
            self._enter_recovery()
        elif newly:
            self._grow(newly)
            if self.state == "loss" and ack > self._recover:
                self.state = "open"

    def on_timer(self, t: float) -> bool:
        """Take the end of the timer; return False if it only means a probe."""
        if self._probes:
            # The last segment once more; the timeout counts from here.
            self._probes = False
            self._lost.add(self.next - 1)
            self._urgent = True
            self.timer = t + self.rto
            return False
        self._time_out(t)
        return True

    def _restart_timer(self, t: float) -> None:
        """Start the timer for data in flight; its first end is a probe, if two round trips are less than a timeout."""
        probe = 2 * (self._srtt or self.base_rtt)
        self._probes = self.flow.tail_probe and self.state == "open" and probe < self.rto
        self.timer = t + (probe if self._probes else self.rto) if self.next > self.first else None

    def _time_out(self, t: float) -> None:
        """Start over from a single segment (RFC 5681, eq. 4) and double the timeout (RFC 6298, rule 5.5)."""
        if self.state != "loss":
            self._halve()
        if self.flow.algorithm == "reno":
            self.cwnd = 1.0
        self.state = "loss"
        self._recover = self.next - 1
        self._duplicates = 0
        self._lost = set(range(self.first, self.next)).difference(self._sacked)
        self._judged = self.next
        self._urgent = True
        self.rto = min(2 * self.rto, MAX_RTO)
        self.timer = t + self.rto

    def _measure_rtt(self, t: float, number: int) -> None:
        """Update the timeout (RFC 6298, section 2)."""
        if number not in self._sent:
            return
        rtt = t - self._sent[number]
        if self._srtt:
            self._rttvar += (abs(self._srtt - rtt) - self._rttvar) / 4
            self._srtt += (rtt - self._srtt) / 8
        else:
            self._srtt, self._rttvar = rtt, rtt / 2
        self.rto = self._srtt + max(self.flow.rto_above_rtt, 4 * self._rttvar)

    def _forget_below(self, ack: int) -> None:
        for number in range(self.first, ack):
            self._sent.pop(number, None)
            self._lost.discard(number)
        del self._sacked[: bisect_left(self._sacked, ack)]
        self.first = ack
        self.next = max(self.next, ack)
        self._judged = max(self._judged, ack)

    def _note_arrived(self, low: int, high: int) -> None:
        for number in range(max(low, self.first), high + 1):
            at = bisect_left(self._sacked, number)
            if at == len(self._sacked) or self._sacked[at] != number:
                insort(self._sacked, number)
                self._lost.discard(number)

    def _shows_loss(self) -> bool:
        """Return True if the first segment is lost; after a timeout only if it left later (RFC 6582, section 4)."""
        seen = len(self._sacked) if self.flow.sack else self._duplicates
        return self.state == "open" and seen >= DUPLICATE_ACKS and self.first > self._recover

    def _enter_recovery(self) -> None:
        self.state = "recovery"
        self._recover = self.next - 1
        self._halve()
        if self.flow.algorithm == "reno":
            self.cwnd = self.ssthresh
        self._judged = self.first
        self._urgent = True
        self._mark_lost()

    def _recover_further(self, ack: int, newly: int) -> None:
        if ack > self._recover:
            self.state, self._duplicates = "open", 0
            return
        if self.flow.sack:
            self._mark_lost()
        elif newly:
            # A partial ACK: the next hole; data behind the filled hole is no longer in flight (RFC 6582, section 3.2).
            self._duplicates = max(0, self._duplicates - newly + 1)
            self._lost.add(self.first)
            self._urgent = True

    def _mark_lost(self) -> None:
        """Mark the segments that RFC 6675's IsLost finds; without SACK only the first."""
        if not self.flow.sack:
            self._lost.add(self.first)
            return
        if len(self._sacked) < DUPLICATE_ACKS:
            return
        end = self._sacked[-DUPLICATE_ACKS]
        arrived = set(self._sacked)
        self._lost.update(number for number in range(self._judged, end) if number not in arrived)
        self._judged = max(self._judged, end)

    def _halve(self) -> None:
        if self.flow.algorithm == "reno":
            # Without the segments of RFC 3042, which duplicate ACKs let go (RFC 5681, section 3.2, step 2).
            self.ssthresh = max(MIN_WINDOW, min(self.next - self.first, self.cwnd) / 2)

    def _grow(self, newly: int) -> None:
        """Grow as Linux does, by acknowledged segments and not by ACKs, up to what the receiver allows."""
        if self.flow.algorithm != "reno":
            return
        if self.state == "loss":
            newly = 1  # an ACK that jumps over a filled hole allows no burst (RFC 5681, eq. 2)
        if self.cwnd < self.ssthresh:
            self.cwnd = min(self.cwnd + newly, self.ssthresh)
        else:
            self.cwnd += newly / self.cwnd
        self.cwnd = min(self.cwnd, self.flow.window)
