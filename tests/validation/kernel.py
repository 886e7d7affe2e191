"""The kernel's senders simulated ACK by ACK, in whole numbers, with independent losses.

`law` has the laws; this module has their code in net/ipv4, which counts segments and jiffies. What that costs:

- cwnd grows and is cut by whole segments, and only when an ACK comes, which acknowledges two segments;
- CUBIC's Reno-friendly window grows by one at a time, and while cwnd stands still it is looked at no more than 32 times
  a second (`bictcp_update`): where the RTT is shorter than that, it lags behind the law;
- H-TCP's time since a loss, which is what makes it fast, begins when the loss is repaired (`htcp_state`);
- it begins to count again at every step, without what that ACK acknowledged (`htcp_cong_avoid`), and scales its
  growth by the RTT in whole numbers of jiffies (`htcp_alpha_update`).

No timeouts. Congestion avoidance alone: slow start is over, and a loss is repaired in one round trip.
"""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from functools import cache

HZ = 250
"""Of the guest's kernel."""
_PER_ACK = 2


def _jiffies(seconds: float) -> int:
    return math.ceil(seconds * HZ - 1e-6)


class _Sender(ABC):
    def __init__(self, cwnd: int, rtt: float) -> None:
        self.cwnd, self.rtt, self.count = cwnd, rtt, 0

    @abstractmethod
    def acked(self, now: int, segments: int) -> None:
        """An ACK in congestion avoidance, at `now` jiffies."""

    @abstractmethod
    def lose(self, now: int) -> None:
        """A loss is found: cwnd is what the repair leaves."""

    def repaired(self, now: int) -> None:
        """The loss is repaired, a round trip after it was found; for those that care."""
        return

    def grow(self, every: int, segments: int) -> None:
        """tcp_cong_avoid_ai: a segment more for each `every` that are acknowledged."""
        if self.count >= every:
            self.count, self.cwnd = 0, self.cwnd + 1
        self.count += segments
        more, self.count = divmod(self.count, every)
        self.cwnd += more


class _Reno(_Sender):
    def acked(self, now: int, segments: int) -> None:
        self.grow(self.cwnd, segments)

    def lose(self, now: int) -> None:
        self.cwnd, self.count = max(self.cwnd >> 1, 2), 0


class _Cubic(_Sender):
    """net/ipv4/tcp_cubic.c"""

    _BETA, _SCALE = 717, 1024
    _FRIENDLY = 8 * (_SCALE + _BETA) // 3 // (_SCALE - _BETA)

    def __init__(self, cwnd: int, rtt: float) -> None:
        super().__init__(cwnd, rtt)
        self._every = 2
        self._peak = self._looked_cwnd = self._looked = self._origin = self._epoch = self._acks = (
            self._friendly
        ) = 0
        self._k = 0.0

    def acked(self, now: int, segments: int) -> None:
        self._update(now, segments)
        self.grow(self._every, segments)

    def _update(self, now: int, segments: int) -> None:
        self._acks += segments
        if self._looked_cwnd == self.cwnd and now - self._looked <= HZ // 32:
            return
        if not (self._epoch and now == self._looked):
            self._looked_cwnd, self._looked = self.cwnd, now
            if not self._epoch:
                self._epoch, self._acks, self._friendly = now, segments, self.cwnd
                self._origin = max(self._peak, self.cwnd)
                self._k = math.cbrt((self._origin - self.cwnd) / 0.4)
            t = (now - self._epoch) / HZ + self.rtt - self._k
            target = self._origin + int(0.4 * t**3)
            self._every = self.cwnd // (target - self.cwnd) if target > self.cwnd else 100 * self.cwnd
        step = self.cwnd * self._FRIENDLY >> 3
        while self._acks > step:
            self._acks, self._friendly = self._acks - step, self._friendly + 1
        if self._friendly > self.cwnd:
            self._every = min(self._every, self.cwnd // (self._friendly - self.cwnd))
        self._every = max(self._every, 2)

    def lose(self, now: int) -> None:
        self._epoch = self.count = 0
        fast = self.cwnd < self._peak
        self._peak = self.cwnd * (self._SCALE + self._BETA) // (2 * self._SCALE) if fast else self.cwnd
        self.cwnd = max(self.cwnd * self._BETA // self._SCALE, 2)


class _Htcp(_Sender):
    """net/ipv4/tcp_htcp.c, without a queue: its largest RTT is its least."""

    _LEAST, _MOST = 1 << 6, 102

    def __init__(self, cwnd: int, rtt: float) -> None:
        super().__init__(cwnd, rtt)
        self._least = _jiffies(rtt)
        self._beta, self._alpha, self._switch = self._LEAST, 1 << 7, False
        self._cut = self._since = self._packets = self._rate = self._most = self._before = 0

    def acked(self, now: int, segments: int) -> None:
        self._measure(now, segments)
        if self.count * self._alpha >> 7 >= self.cwnd:
            self.cwnd, self.count = self.cwnd + 1, 0
            self._set_alpha(now)
        else:
            self.count += segments

    def _measure(self, now: int, segments: int) -> None:
        """measure_achieved_throughput"""
        self._packets += segments
        if self._packets >= self.cwnd - (self._alpha >> 7 or 1) and now - self._since >= self._least:
            rate = self._packets * HZ // (now - self._since)
            if (now - self._cut) // self._least <= 3:
                self._rate = self._most = rate
            else:
                self._rate = (3 * self._rate + rate) // 4
                self._most = max(self._most, self._rate)
            self._packets, self._since = 0, now

    def _set_alpha(self, now: int) -> None:
        factor, diff = 1, now - self._cut
        if diff > HZ:
            diff -= HZ
            factor = 1 + (10 * diff + (diff // 2) * (diff // 2) // HZ) // HZ
        scale = min(max((HZ << 3) // (10 * self._least), 1 << 2), 10 << 3)
        factor = (factor << 3) // scale or 1
        self._alpha = 2 * factor * ((1 << 7) - self._beta)

    def lose(self, now: int) -> None:
        before, self._before = self._before, self._most
        steady = 4 * before <= 5 * self._most <= 6 * before
        if steady and self._switch and self._least > _jiffies(0.010):
            self._beta = self._MOST
        else:
            self._beta, self._switch = self._LEAST, steady
        self._set_alpha(now)
        self.cwnd, self.count = max(self.cwnd * self._beta >> 7, 2), 0

    def repaired(self, now: int) -> None:
        """htcp_state: only now the time since the last loss begins."""
        self._cut, self._packets, self._since = now, 0, now


class _HighSpeed(_Sender):
    """tcp_highspeed.c: an ACK counts as many times as the table's step says, whatever it acknowledges."""

    _STEPS = ((38, 128), (118, 112), (221, 104), (347, 98), (495, 93), (663, 89), (851, 86), (1058, 83))

    def __init__(self, cwnd: int, rtt: float) -> None:
        super().__init__(cwnd, rtt)
        self._place = 0

    def acked(self, now: int, segments: int) -> None:
        self._place = 0
        while self.cwnd > self._STEPS[self._place][0]:
            self._place += 1
        self.count += self._place + 1
        if self.count >= self.cwnd:
            self.count, self.cwnd = self.count - self.cwnd, self.cwnd + 1

    def lose(self, now: int) -> None:
        share = self._STEPS[self._place][1]
        self.cwnd, self.count = max(self.cwnd - (self.cwnd * share >> 8), 2), 0


_SENDERS: dict[str, type[_Sender]] = {
    "reno": _Reno,
    "cubic": _Cubic,
    "htcp": _Htcp,
    "highspeed": _HighSpeed,
}


@cache
def throughput(algorithm: str, mss: int, rtt: float, loss: float, events: int = 600) -> float:
    """Payload that arrives, bit/s. A loss is found a round trip after it, with what else is lost until then."""
    sender = _SENDERS[algorithm](max(2, round(1.2 / math.sqrt(loss))), rtt)
    draw, gap = random.Random(1).random, math.log1p(-loss)
    seconds, sent, lost, left = 1.0, 0, 0, _until_next(draw(), gap)
    for _ in range(events):
        found = math.inf  # segments until the loss is noticed
        waiting = 0
        while found > 0:
            seconds, sent, left, found = seconds + rtt / sender.cwnd, sent + 1, left - 1, found - 1
            if left == 0:
                lost, left = lost + 1, _until_next(draw(), gap)
                found = min(found, sender.cwnd)
            waiting += 1
            if waiting == _PER_ACK:
                waiting = 0
                sender.acked(int(seconds * HZ), _PER_ACK)
        sender.lose(int(seconds * HZ))
        # The round trip of the repair, in which cwnd stands still.
        seconds, sent, left = seconds + rtt, sent + sender.cwnd, left - sender.cwnd
        while left <= 0:
            lost, left = lost + 1, left + _until_next(draw(), gap)
        sender.repaired(int(seconds * HZ))
    return 8 * mss * (sent - lost) / (seconds - 1)


def _until_next(drawn: float, gap: float) -> int:
    return int(math.log(1 - drawn) / gap) + 1
