"""How long transfers of a fixed amount take when each segment is lost by chance: the mean, and how much it varies.

A short transfer meets few losses, so its duration varies by more than any mean says. Sample transfers are played here
round trip by round trip, with losses drawn from a fixed sequence, so the same transfer always gives the same answer.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from tcptutor.theory.aimd import MIN_WINDOW, reno_window
from tcptutor.theory.domain import at_least, positive, require
from tcptutor.theory.limits import INITIAL_WINDOW
from tcptutor.theory.meeting import sender
from tcptutor.theory.renewal import Age, Epoch

_PLAYS = 200
"""Sample transfers: their mean is known to a fourteenth of their standard deviation."""

_WORK = 40_000
"""Round trips that are played of all sample transfers together, some 50 ms; fewer transfers where each has many."""

_FEWEST = 20

_LONGEST = 2000
"""Round trips of a transfer above which it is no short one: its mean is that of a flow that never ends."""

_REORDERING_WAIT = 0.25
"""Round trips for which RACK waits before it repairs a loss that fewer than three later segments reveal."""

_PROBE = 2.0
"""Round trips after which a probe reveals the loss of a transfer's last segments (RFC 8985, section 7.2)."""


_MOST = 0.95
"""Share of the sample transfers whose rate is within `TransferTime.spread`."""


class TransferTime(NamedTuple):
    """The duration of a transfer, from its first segment to its last acknowledgement."""

    seconds: float
    """Harmonic mean, by which the amount over `seconds` is the mean rate."""
    spread: float
    """Relative difference from the mean rate within which 95 % of the transfers are."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """One transfer on one path."""

    algorithm: str
    """One of `theory.LIMITED`."""
    segments: int
    """What is to be sent, 1 or more."""
    rtt: float
    """Seconds without queue, above 0."""
    loss: float
    """Share of the segments that are lost by chance, above 0 and below 1."""
    rto: float
    """The first retransmission timeout, seconds, above 0."""
    rate: float = math.inf
    """Segments a second that the link carries, above 0."""
    queue: float = math.inf
    """Segments that wait before the link at most, 0 or above."""
    window: float = math.inf
    """Segments that windows, buffers and pacing let be in flight, 1 or above."""

    def __post_init__(self) -> None:
        at_least("segments", self.segments, 1, "without a segment nothing is transferred")
        positive("rtt", self.rtt, "a round trip takes time, in seconds")
        require(0 < self.loss < 1, "loss", self.loss, "above 0, below 1", "share of segments")
        positive("rto", self.rto, "a retransmission timeout in seconds")
        require(self.rate > 0, "rate", self.rate, "above 0", "a link without a rate carries nothing")
        require(self.queue >= 0, "queue", self.queue, "0 or above", "segments that wait")
        require(self.window >= 1, "window", self.window, "1 or above", "segments in flight")

    @property
    def is_short(self) -> bool:
        """Whether the transfer is over before its start and its few losses are forgotten."""
        window = min(self.window, max(MIN_WINDOW, reno_window(self.loss)))
        return self.segments / window / (1 - self.loss) <= _LONGEST

    @property
    def full(self) -> float:
        """Segments in flight when the queue is full."""
        return self.rate * self.rtt + self.queue


@lru_cache(maxsize=256)
def transfer_time(transfer: Transfer) -> TransferTime:
    """Return how long `transfer` takes, and how much that varies by chance.

    Slow start doubles the window until the first loss, found a round trip later; then the window follows the
    sender's own law as in `theory.renewal`. Source: the phases of Cardwell, Savage, Anderson: Modeling TCP Latency,
    INFOCOM 2000, played instead of averaged one by one; SACK, RACK and tail loss probes (RFC 6675, RFC 8985) repair
    losses, and a timeout is left for flights that are lost whole.
    """
    chance = random.Random(1)
    rounds, times = 0, list[float]()
    while len(times) < _PLAYS and (rounds < _WORK or len(times) < _FEWEST):
        play = _Play(transfer, chance)
        times.append(play.seconds())
        rounds += play.rounds
    mean = len(times) / math.fsum(1 / one for one in times)
    apart = sorted(abs(mean / one - 1) for one in times)
    return TransferTime(mean, apart[math.ceil(_MOST * len(apart)) - 1])


class _Play:
    """One sample transfer. Owns its window and what it has left to send."""

    def __init__(self, transfer: Transfer, chance: random.Random) -> None:
        self.transfer = transfer
        self.rounds = 0
        self._chance = chance
        self._sender = sender(transfer.algorithm, transfer.rtt)
        self._gap = self._next_gap()
        self._window = float(INITIAL_WINDOW)
        self._last, self._mode = 0.0, 0
        self._epoch: Epoch | None = None
        self._age = Age(0.0, 0.0)

    def seconds(self) -> float:
        given = self.transfer
        left, now, backoff, is_repairing = given.segments, 0.0, 1, False
        while left > 0:
            self.rounds += 1
            flight = min(left, max(1, int(min(self._window, given.window))))
            dropped = int(max(0.0, flight - max(1.0, given.full)))
            lost = min(flight, self._losses(flight - dropped) + dropped)
            turn = max(given.rtt, (flight - dropped) / given.rate)
            left -= flight - lost
            now += turn
            if lost == flight:
                # Nothing comes back: a timeout, which doubles as long as nothing does.
                now += max(0.0, given.rto * backoff - turn)
                backoff = min(64, 2 * backoff)
                self._cut(1.0 + (flight > 1))
                continue
            backoff = 1
            if lost:
                if left == lost:
                    # Only repairs are left, and nothing that is sent later reveals the losses.
                    is_tail = self._chance.random() < lost / flight
                    now += self._tail_wait(is_repairing) if is_tail else _REORDERING_WAIT * given.rtt
                self._cut(float(flight))
            else:
                self._grow(turn)
            is_repairing = lost > 0
        return now

    def _tail_wait(self, is_repairing: bool) -> float:
        """Return the seconds until the loss of the last segments is found: no probe is sent during a repair."""
        return self.transfer.rto if is_repairing else _PROBE * self.transfer.rtt

    def _losses(self, sent: int) -> int:
        """Return how many of `sent` segments are lost by chance."""
        lost = 0
        while self._gap < sent:
            lost += 1
            sent -= self._gap + 1
            self._gap = self._next_gap()
        self._gap -= sent
        return lost

    def _next_gap(self) -> int:
        """Return how many segments arrive before the next loss."""
        return int(math.log(1 - self._chance.random()) / math.log1p(-self.transfer.loss))

    def _cut(self, window: float) -> None:
        self._mode = self._sender.follow(self._last, self._mode, window)
        self._epoch, self._last = self._sender.epoch(window, self._mode), window
        self._window, self._age = self._epoch.start, Age(0.0, 0.0)

    def _grow(self, turn: float) -> None:
        if self._epoch is None:
            # The window grows only while it is used (tcp_is_cwnd_limited).
            self._window = min(2 * self._window, 2 * self.transfer.window)
            return
        after = Age(self._age.seconds + turn, self._age.rounds + 1)
        if self._window <= self.transfer.window:
            self._window = self._epoch.grown(self._window, self._age, after)
        self._age = after
