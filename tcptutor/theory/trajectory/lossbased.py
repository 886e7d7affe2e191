"""Loss-based senders as window laws: Reno, HighSpeed TCP, H-TCP, and CUBIC as in Linux."""

from __future__ import annotations

import math

from tcptutor.theory.cubic import CUBIC_BETA, CUBIC_C, CUBIC_RENO_ALPHA, cubic_k
from tcptutor.theory.highspeed import decrease, growth
from tcptutor.theory.htcp import HTCP_BETA, htcp_beta, rtt_scale, speed_up
from tcptutor.theory.trajectory.law import LossBased

_MIN_RTT = 0.010  # Linux trusts H-TCP's ratio of round trips only above this

_HYSTART_MIN = 16.0  # segments; below, HyStart does not look
_TRAIN = 0.5  # of the shortest round trip: an ACK train that long ends slow start
_DELAY_SHARE, _DELAY_LEAST, _DELAY_MOST = 1 / 8, 0.004, 0.016  # so does a queue of rtt/8, within 4 to 16 ms
_FIRST_GROWTH = 0.05  # a round trip, until the first loss shows where the limit is
_MAX_GROWTH = 1.5  # times a round trip


class AIMD(LossBased):
    """`alpha` segments more per round trip, `beta` of the window left by a loss; the defaults are Reno (RFC 5681)."""

    alpha, beta = 1.0, 0.5

    def grow(self, dt: float, rtt: float) -> None:
        self.window += self.alpha * dt / rtt

    def cut(self, *, full: bool) -> float:  # noqa: ARG002
        return self.beta


class HighSpeed(LossBased):
    """HighSpeed TCP, RFC 3649, section 5."""

    def grow(self, dt: float, rtt: float) -> None:
        self.window += growth(self.window) * dt / rtt

    def cut(self, *, full: bool) -> float:  # noqa: ARG002
        return 1 - decrease(self.window)


class HTCP(LossBased):
    """Linux's H-TCP. If the queue overflowed, a loss removes exactly the queue's content from the window.

    Linux compares the throughput before the last two losses: on a full link they are equal, between random
    losses they are not. Here the cause of the loss decides.
    """

    def __init__(self, rtt: float, initial: float, most: float) -> None:
        super().__init__(rtt, initial, most)
        self._elapsed = 0.0
        self._beta, self._scale = HTCP_BETA, rtt_scale(rtt)
        self._longest = rtt
        self._steady = False

    def pass_time(self, dt: float, rtt: float, rate: float, filled: float) -> None:
        self._longest = max(self._longest, rtt)
        self._elapsed += dt
        super().pass_time(dt, rtt, rate, filled)

    def grow(self, dt: float, rtt: float) -> None:
        faster = max(1.0, self._scale * speed_up(self._elapsed - dt / 2))
        self.window += 2 * (1 - self._beta) * faster * dt / rtt

    def cut(self, *, full: bool) -> float:
        # As in Linux, the first loss at a steady throughput only arms it.
        adapts = full and self._steady and self.base > _MIN_RTT
        self._beta = htcp_beta(self.base, self._longest) if adapts else HTCP_BETA
        self._steady = full
        self._elapsed, self._longest = 0.0, self.base
        return self._beta


class Cubic(LossBased):
    """CUBIC, RFC 9438, eq. 1, 2 and 4, and net/ipv4/tcp_cubic.c.

    HyStart is simplified: its ACK train is the data in flight of all flows over the bandwidth-delay product,
    as if all acknowledgments were spaced evenly, and its delay is that of the queue without noise.
    """

    def __init__(self, rtt: float, initial: float, most: float) -> None:
        super().__init__(rtt, initial, most)
        self._last_peak = 0.0
        self._begin()

    def slow_start_limit(self, rtt: float, filled: float) -> float:
        threshold = min(_DELAY_MOST, max(_DELAY_LEAST, self.base * _DELAY_SHARE))
        if rtt - self.base >= threshold:
            return max(_HYSTART_MIN, self.window)
        if filled >= _TRAIN:
            # This many acknowledgments of the round trip form the train, and each has increased the window.
            return max(_HYSTART_MIN, self.window * (1 + _TRAIN / filled))
        return math.inf

    def leave_slow_start(self) -> None:
        super().leave_slow_start()
        self._begin()

    def grow(self, dt: float, rtt: float) -> None:
        self._elapsed += dt
        self._friendly += CUBIC_RENO_ALPHA * dt / rtt
        target = max(self._top + CUBIC_C * (self._elapsed - self._k) ** 3, self._friendly)
        if not self._last_peak:
            target = max(target, self.window * (1 + _FIRST_GROWTH * dt / rtt))
        self.window = max(self.window, min(target, self.window * _MAX_GROWTH ** (dt / rtt)))

    def lose(self, room: float) -> None:
        super().lose(room)
        self._begin()

    def cut(self, *, full: bool) -> float:  # noqa: ARG002
        # Fast convergence: a flow that lost below its last peak yields to others. Linux counts integers.
        lower = self.window < self._last_peak - 1
        self._last_peak = self.window * (1 + CUBIC_BETA) / 2 if lower else self.window
        return CUBIC_BETA

    def _begin(self) -> None:
        """Start an epoch from the current window: up to the last peak, or from here if the window is higher."""
        self._elapsed = 0.0
        self._friendly = self.window
        self._top = max(self._last_peak, self.window)
        self._k = cubic_k(self._top, self.window)
