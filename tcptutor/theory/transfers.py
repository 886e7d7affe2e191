"""Completion time of a transfer: the formula of its parts, and a simulation of its mean and variation under loss.

A short transfer meets few losses, so its duration varies widely. Sample transfers are simulated round trip by
round trip, with losses from a fixed sequence, so the result is reproducible.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from tcptutor.theory.domain import at_least, path, positive, require
from tcptutor.theory.limited_flows import sender
from tcptutor.theory.limits import INITIAL_WINDOW
from tcptutor.theory.loss_laws import MIN_WINDOW, backoff, mean_peak, reno_window, timeout_share
from tcptutor.theory.renewal import Age, Epoch

MIN_TIMEOUT = 0.2
"""Seconds by which Linux's retransmission timeout exceeds the round trip at least."""
_SAMPLES = 200
"""Sample transfers: the standard error of their mean is a fourteenth of their standard deviation."""

_WORK = 40_000
"""Simulated round trips of all sample transfers, about 50 ms of computation; fewer transfers if each has many."""

_FEWEST = 20

_LONGEST = 2000
"""Round trips above which a transfer is not short: its mean is that of an endless flow."""

_REORDERING_WAIT = 0.25
"""Round trips that RACK waits before it repairs a loss revealed by fewer than three later segments."""

_PROBE = 2.0
"""Round trips after which a probe reveals the loss of a transfer's last segments (RFC 8985, section 7.2)."""


_SPREAD_SHARE = 0.95
"""Fraction of sample transfers within `TransferTime.spread`."""


def completion_time(
    size: float,
    mss: float,
    rtt: float,
    rate: float | None = None,
    initial: float = INITIAL_WINDOW,
    loss: float = 0.0,
    rto: float | None = None,
) -> float:
    """Return the seconds from the first segment of a transfer to its last acknowledgment, without the handshake.

    Without losses the link sends size bytes, and idles at the end of each window until its first
    acknowledgment: 8*size/rate + rtt + sum of max(0, 8*mss/rate + rtt - window * 8*mss/rate) over all windows
    but the last, which double from `initial`. With losses it is the expected time of slow start until the
    first loss, of its repair, and of the rest at Reno's throughput with timeouts; never less than without
    losses. Source: Kurose, Ross: Computer Networking, 3rd ed., section 3.7, TCP delay modeling, the dynamic
    window, here from `initial` on; Cardwell, Savage, Anderson: Modeling TCP Latency, INFOCOM 2000, eq. 5, 11
    and 15 to 23 without delayed ACKs. Raises ParameterError outside the domain.

    Args:
        size: Payload bytes, above 0.
        mss: Payload bytes of a segment, above 0.
        rtt: Base RTT, seconds, above 0.
        rate: Payload rate, bit/s, above 0; None for a link without limit.
        initial: Segments of the first window, 1 or above.
        loss: Loss events per segment, 0 or above, below 1.
        rto: Retransmission timeout, seconds, above 0; None for rtt + 0.2 s.
    """
    positive("size", size, "without payload nothing is transferred")
    path(mss, rtt)
    if rate is not None:
        positive("rate", rate, "a link without a rate never finishes")
    at_least("initial", initial, 1, "segments that may be sent at once")
    require(0 <= loss < 1, "loss", loss, "0 or above, below 1", "loss events per segment")
    timeout = rtt + MIN_TIMEOUT if rto is None else rto
    positive("rto", timeout, "a retransmission timeout in seconds")
    segments = math.ceil(size / mss)
    each = 0.0 if rate is None else 8 * mss / rate
    without = each * size / mss + rtt + _idle(segments, each, rtt, initial)
    return max(without, _lossy(segments, rtt, initial, loss, timeout)) if loss else without


def _idle(segments: int, each: float, rtt: float, initial: float) -> float:
    """Return the seconds in which the sender waits for acknowledgments; a segment takes `each` seconds on the link."""
    waited, window, sent = 0.0, initial, initial
    while sent < segments and (stall := each + rtt - window * each) > 0:
        waited += stall
        window *= 2
        sent += window
    return waited


def _lossy(segments: int, rtt: float, initial: float, loss: float, rto: float) -> float:
    """Return Cardwell's expected time for the data, eq. 25 without delayed ACKs; equation numbers are the paper's."""
    some_lost = -math.expm1(segments * math.log1p(-loss))  # 16
    first = min(float(segments), some_lost * (1 - loss) / loss + 1)  # 5: sent in the first slow start
    window = (first + initial) / 2  # 11, doubling: reached when the loss comes
    start = rtt * math.log2(first / initial + 1)  # 15
    timed_out = min(1.0, timeout_share(window, loss))  # 17
    repair = some_lost * (timed_out * backoff(loss) * rto / (1 - loss) + (1 - timed_out) * rtt)  # 18 to 20
    return start + repair + (segments - first) / _delivered(rtt, loss, rto)  # 21, 24


def _delivered(rtt: float, loss: float, rto: float) -> float:
    """Return the steady-state rate of arriving (not sent) segments per second, by the full model; eq. 22 and 23."""
    window = mean_peak(loss, 1)
    timeout = timeout_share(window, loss)
    arrive = (1 - loss) / loss + window / 2 + timeout
    return arrive / (rtt * (window / 2 + 1) + timeout * backoff(loss) * rto / (1 - loss))


class TransferTime(NamedTuple):
    """Duration of a transfer, from its first segment to its last acknowledgment."""

    seconds: float
    """Harmonic mean: the amount over `seconds` is the mean rate."""
    spread: float
    """Relative difference from the mean rate that contains 95 % of the transfers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """A transfer on a path."""

    algorithm: str
    """A member of `theory.LIMITED`."""
    segments: int
    """Segments to send, 1 or more."""
    rtt: float
    """Base RTT, seconds, above 0."""
    loss: float
    """Loss probability of a segment, above 0 and below 1."""
    rto: float
    """First retransmission timeout, seconds, above 0."""
    rate: float = math.inf
    """Capacity of the link, segments per second, above 0."""
    queue: float = math.inf
    """Largest queue of the link, segments, 0 or above."""
    window: float = math.inf
    """Limit of windows, buffers and pacing on the segments in flight, 1 or above."""
    initial: float = INITIAL_WINDOW
    """Segments of the first window, 1 or above."""

    def __post_init__(self) -> None:
        at_least("segments", self.segments, 1, "without a segment nothing is transferred")
        positive("rtt", self.rtt, "a round trip takes time, in seconds")
        require(0 < self.loss < 1, "loss", self.loss, "above 0, below 1", "share of segments")
        positive("rto", self.rto, "a retransmission timeout in seconds")
        require(self.rate > 0, "rate", self.rate, "above 0", "a link without a rate carries nothing")
        require(self.queue >= 0, "queue", self.queue, "0 or above", "segments that wait")
        require(self.window >= 1, "window", self.window, "1 or above", "segments in flight")
        at_least("initial", self.initial, 1, "segments that may be sent at once")

    @property
    def is_short(self) -> bool:
        """Return True if slow start and few losses dominate the transfer."""
        window = min(self.window, max(MIN_WINDOW, reno_window(self.loss)))
        return self.segments / window / (1 - self.loss) <= _LONGEST

    @property
    def inflight_at_full_queue(self) -> float:
        """Return the segments in flight when the queue is full."""
        return self.rate * self.rtt + self.queue


@lru_cache(maxsize=256)
def transfer_time(transfer: Transfer) -> TransferTime:
    """Return the mean duration of `transfer`, and its random variation.

    Slow start doubles the window until the first loss, found a round trip later; then the window follows the
    sender's law as in `theory.renewal`. Source: the phases of Cardwell, Savage, Anderson: Modeling TCP
    Latency, INFOCOM 2000, simulated instead of averaged separately; SACK, RACK and tail loss probes (RFC
    6675, RFC 8985) repair losses, and a timeout remains for flights without any arrival.
    """
    chance = random.Random(1)
    rounds, times = 0, list[float]()
    while len(times) < _SAMPLES and (rounds < _WORK or len(times) < _FEWEST):
        sample = _SampleTransfer(transfer, chance)
        times.append(sample.seconds())
        rounds += sample.rounds
    mean = len(times) / math.fsum(1 / duration for duration in times)
    differences = sorted(abs(mean / duration - 1) for duration in times)
    return TransferTime(mean, differences[math.ceil(_SPREAD_SHARE * len(differences)) - 1])


class _SampleTransfer:
    """A sample transfer. Owns its window and its remaining segments."""

    def __init__(self, transfer: Transfer, chance: random.Random) -> None:
        self.transfer = transfer
        self.rounds = 0
        self._chance = chance
        self._sender = sender(transfer.algorithm, transfer.rtt)
        self._gap = self._segments_to_next_loss()
        self._window = float(transfer.initial)
        self._last, self._mode = 0.0, 0
        self._epoch: Epoch | None = None
        self._age = Age(0.0, 0.0)

    def seconds(self) -> float:
        transfer = self.transfer
        remaining, now, backoff, is_repairing = transfer.segments, 0.0, 1, False
        while remaining > 0:
            self.rounds += 1
            flight = min(remaining, max(1, int(min(self._window, transfer.window))))
            dropped = int(max(0.0, flight - max(1.0, transfer.inflight_at_full_queue)))
            lost = min(flight, self._lost_segments(flight - dropped) + dropped)
            round_trip = max(transfer.rtt, (flight - dropped) / transfer.rate)
            remaining -= flight - lost
            now += round_trip
            if lost == flight:
                # No segment arrives: a timeout, which doubles until a segment does.
                now += max(0.0, transfer.rto * backoff - round_trip)
                backoff = min(64, 2 * backoff)
                self._cut(1.0 + (flight > 1))
                continue
            backoff = 1
            if lost:
                if remaining == lost:
                    # Only repairs remain, and no later segment reveals their losses.
                    is_tail = self._chance.random() < lost / flight
                    now += self._tail_wait(is_repairing) if is_tail else _REORDERING_WAIT * transfer.rtt
                self._cut(float(flight))
            else:
                self._grow(round_trip)
            is_repairing = lost > 0
        return now

    def _tail_wait(self, is_repairing: bool) -> float:
        """Return the seconds until the loss of the last segments is found: no probe is sent during a repair."""
        return self.transfer.rto if is_repairing else _PROBE * self.transfer.rtt

    def _lost_segments(self, sent: int) -> int:
        lost = 0
        while self._gap < sent:
            lost += 1
            sent -= self._gap + 1
            self._gap = self._segments_to_next_loss()
        self._gap -= sent
        return lost

    def _segments_to_next_loss(self) -> int:
        return int(math.log(1 - self._chance.random()) / math.log1p(-self.transfer.loss))

    def _cut(self, window: float) -> None:
        self._mode = self._sender.next_mode(self._last, self._mode, window)
        self._epoch, self._last = self._sender.epoch(window, self._mode), window
        self._window, self._age = self._epoch.start, Age(0.0, 0.0)

    def _grow(self, round_trip: float) -> None:
        if self._epoch is None:
            # An unused window does not grow (tcp_is_cwnd_limited).
            self._window = min(2 * self._window, 2 * self.transfer.window)
            return
        after = Age(self._age.seconds + round_trip, self._age.rounds + 1)
        if self._window <= self.transfer.window:
            self._window = self._epoch.grow(self._window, self._age, after)
        self._age = after
