"""Window laws: growth of a sender's window over time, and its reduction by a loss.

Loss-based senders are Reno, HighSpeed TCP, H-TCP, and CUBIC as in Linux. BBR version 1 keeps data in flight by its
estimates of rate and round trip.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import deque

from tcptutor.theory.bbr import BBR_CWND_GAIN, BBR_MIN_WINDOW, BBR_PACING_CYCLE, BBR_STARTUP_GAIN
from tcptutor.theory.cubic import CUBIC_BETA, CUBIC_C, CUBIC_RENO_ALPHA, cubic_k
from tcptutor.theory.high_speed import HTCP_BETA, decrease, growth, htcp_beta, rtt_scale, speed_up
from tcptutor.theory.loss_laws import MIN_WINDOW

_MIN_RTT = 0.010  # Linux trusts H-TCP's ratio of round trips only above this

_HYSTART_MIN = 16.0  # segments; below, HyStart does not look
_TRAIN = 0.5  # of the shortest round trip: an ACK train that long ends slow start
_DELAY_SHARE, _DELAY_LEAST, _DELAY_MOST = 1 / 8, 0.004, 0.016  # so does a queue of rtt/8, within 4 to 16 ms
_FIRST_GROWTH = 0.05  # a round trip, until the first loss shows where the limit is
_MAX_GROWTH = 1.5  # times a round trip
_FULL, _FULL_ROUNDS = 1.25, 3  # the pipe is full when the rate has not grown by a quarter in three rounds
_RATE_ROUNDS = 10  # round trips for which the largest measured rate counts
_RTT_PERIOD, _RTT_TIME = 10.0, 0.2  # every 10 s it keeps 4 segments for 200 ms, to see the empty path


class WindowLaw(ABC):
    """The sender of a flow. Segments: `window` is the kernel's cwnd, `flight` the data in flight."""

    def __init__(self, rtt: float, initial: float, most: float) -> None:
        """Start with `initial` segments; `most` is the receiver's window, `rtt` the base RTT in seconds."""
        self.base = rtt
        self.most = most
        self.window = self.flight = min(initial, most)

    @abstractmethod
    def pass_time(self, dt: float, rtt: float, rate: float, filled: float) -> None:
        """Advance by `dt` seconds, at most a round trip.

        Args:
            dt: Seconds.
            rtt: Round trip with its queue, seconds.
            rate: Arriving segments per second.
            filled: Data in flight of all flows over the bandwidth-delay product; above 1 there is a queue.
        """

    @abstractmethod
    def lose(self, room: float) -> None:
        """React to a loss.

        Args:
            room: Fraction of the data in flight that path and queue can hold: below 1 if the queue has
                overflowed, 1 for a loss with another cause.
        """


class LossBased(WindowLaw):
    """Slow start to the first loss, then the subclass's growth and reduction; keeps a full window in flight."""

    def __init__(self, rtt: float, initial: float, most: float) -> None:
        super().__init__(rtt, initial, most)
        self.slow_start = True

    def pass_time(self, dt: float, rtt: float, rate: float, filled: float) -> None:  # noqa: ARG002
        if self.slow_start:
            # RFC 5681, section 3.1: a segment more per acknowledged segment.
            limit = self.slow_start_limit(rtt, filled)
            self.window *= 2 ** (dt / rtt)
            if self.window >= limit:
                self.window = limit
                self.leave_slow_start()
        else:
            self.grow(dt, rtt)
        self.window = self.flight = min(self.window, self.most)

    def lose(self, room: float) -> None:
        self.slow_start = False
        self.window = self.flight = max(MIN_WINDOW, self.window * self.cut(full=room < 1))

    def slow_start_limit(self, rtt: float, filled: float) -> float:  # noqa: ARG002
        """Return the window at which slow start ends without a loss, segments."""
        return math.inf

    def leave_slow_start(self) -> None:
        self.slow_start = False

    @abstractmethod
    def grow(self, dt: float, rtt: float) -> None:
        """Change `window` by `dt` seconds of congestion avoidance."""

    @abstractmethod
    def cut(self, *, full: bool) -> float:
        """Return the fraction of the window left by this loss; `full` means that the queue overflowed."""


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


class BBR(WindowLaw):
    """Cardwell et al. 2016 and net/ipv4/tcp_bbr.c: Startup, Drain, ProbeBW, ProbeRTT.

    Simplified: the base RTT is known, each gain lasts for a base RTT, and a loss only removes the dropped
    segments from the data in flight. `phase` is the start of the cycle of ProbeBW; Linux draws it at random,
    so that the flows of a path do not probe together.
    """

    def __init__(self, rtt: float, initial: float, most: float, phase: int = 0) -> None:
        super().__init__(rtt, initial, most)
        self._mode = "startup"
        self._phase = (2 + phase) % len(BBR_PACING_CYCLE)
        self._in_phase = self._in_round = self._since_probe = self._now = 0.0
        self._rates: deque[tuple[float, float]] = deque()
        self._best, self._stalled = 0.0, 0

    def pass_time(self, dt: float, rtt: float, rate: float, filled: float) -> None:  # noqa: ARG002
        self._since_probe += dt
        if self._mode != "startup" and self._since_probe >= _RTT_PERIOD:
            self._probe_rtt(rtt)
            return
        # The arrivals of a window of 4 segments do not measure the link: that time does not count.
        self._now += dt
        estimate = self._max_recent_rate(rate, rtt)
        if self._mode == "startup":
            self._startup(dt, rtt, estimate)
        else:
            self._probe_rate(dt, rate, estimate)

    def lose(self, room: float) -> None:
        self.flight = max(BBR_MIN_WINDOW, self.flight * room)

    def _max_recent_rate(self, rate: float, rtt: float) -> float:
        rates = self._rates
        while rates and rates[-1][1] <= rate:
            rates.pop()
        rates.append((self._now, rate))
        while rates[0][0] < self._now - _RATE_ROUNDS * rtt:
            rates.popleft()
        return rates[0][1]

    def _startup(self, dt: float, rtt: float, estimate: float) -> None:
        """Double the rate each round trip, until three round trips have increased it by less than a quarter."""
        most = max(self.window, BBR_STARTUP_GAIN * estimate * self.base)
        self.window = self.flight = min(self.most, most, self.window * 2 ** (dt / rtt))
        self._in_round += dt
        if self._in_round < rtt:
            return
        self._in_round = 0.0
        if estimate >= _FULL * self._best:
            self._best, self._stalled = estimate, 0
            return
        self._stalled += 1
        if self._stalled >= _FULL_ROUNDS:
            self._mode = "drain"

    def _probe_rate(self, dt: float, rate: float, estimate: float) -> None:
        """Pace at a gain over the estimate: below 1 after Startup, then through the cycle."""
        product = estimate * self.base
        drains = self._mode == "drain"
        pacing = 1 / BBR_STARTUP_GAIN if drains else self._cycle(dt, product)
        room = BBR_STARTUP_GAIN if drains else BBR_CWND_GAIN
        self.window = min(self.most, max(BBR_MIN_WINDOW, room * product))
        self.flight = min(self.window, max(BBR_MIN_WINDOW, self.flight + (pacing * estimate - rate) * dt))
        if drains and self.flight <= product:
            self._mode = "probe"

    def _cycle(self, dt: float, product: float) -> float:
        """Return the pacing gain of this phase; the gain below 1 ends when the queue of the probe is empty."""
        gain = BBR_PACING_CYCLE[self._phase]
        self._in_phase += dt
        drained = gain < 1 and self.flight <= product
        if self._in_phase >= self.base * (1 - 1e-9) or drained:
            self._phase = (self._phase + 1) % len(BBR_PACING_CYCLE)
            self._in_phase = 0.0
        return gain

    def _probe_rtt(self, rtt: float) -> None:
        self.window = self.flight = BBR_MIN_WINDOW
        if self._since_probe >= _RTT_PERIOD + max(_RTT_TIME, rtt):
            self._since_probe = 0.0
            product = self._rates[0][1] * self.base
            self.window = min(self.most, max(BBR_MIN_WINDOW, BBR_CWND_GAIN * product))
            self.flight = min(self.window, max(BBR_MIN_WINDOW, product))
