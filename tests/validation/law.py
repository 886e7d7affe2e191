"""The window laws as Linux has them, simulated with independent losses; no constant is fitted.

Beside the formulas' assumptions it has what the kernel does: a loss is found a round trip after it, what else is lost
until then belongs to it, and the window stands still while that round trip is repaired. No timeouts, no queue.
"""

from __future__ import annotations

import math
import random
from abc import ABC, abstractmethod
from functools import cache

from tcptutor import theory
from tcptutor.theory.high_speed import HTCP_BETA_MAX

EVENTS = 2500
_STEPS = 4
"""Steps of a round trip."""
_LEAST = 2.0


class _Law(ABC):
    """One sender in congestion avoidance, from just after a loss."""

    def __init__(self, rtt: float) -> None:
        self.rtt = rtt

    @abstractmethod
    def growth(self, window: float, elapsed: float) -> float:
        """Segments a round trip, `elapsed` seconds after the last cut."""

    @abstractmethod
    def cut(self, window: float, elapsed: float) -> float:
        """The window after a loss that comes `elapsed` seconds after the last cut."""


class _Reno(_Law):
    def growth(self, window: float, elapsed: float) -> float:
        return 1.0

    def cut(self, window: float, elapsed: float) -> float:
        return window / 2


class _Cubic(_Law):
    """net/ipv4/tcp_cubic.c: the curve a round trip ahead, the Reno-friendly window, fast convergence."""

    def __init__(self, rtt: float) -> None:
        super().__init__(rtt)
        self._last = self._start = self._peak = self._until = 0.0

    def growth(self, window: float, elapsed: float) -> float:
        friendly = self._start + theory.CUBIC_RENO_ALPHA * elapsed / self.rtt
        target = self._peak + theory.CUBIC_C * (elapsed + self.rtt - self._until) ** 3
        return min(window / 2, max(target - window, friendly - window + theory.CUBIC_RENO_ALPHA, 0.01))

    def cut(self, window: float, elapsed: float) -> float:
        self._start = max(_LEAST, window * theory.CUBIC_BETA)
        peak = window * (1 + theory.CUBIC_BETA) / 2 if window < self._last else window
        self._last, self._peak = window, max(peak, self._start)
        self._until = theory.cubic_k(self._peak, self._start)
        return self._start


class _Htcp(_Law):
    """net/ipv4/tcp_htcp.c: with no queue, beta is 0.8 where throughput is steady and the RTT above 10 ms."""

    def __init__(self, rtt: float) -> None:
        super().__init__(rtt)
        self._beta = theory.HTCP_BETA
        self._most = 0.0
        self._steady = False

    def growth(self, window: float, elapsed: float) -> float:
        return theory.htcp_growth(elapsed, self.rtt, self._beta)

    def cut(self, window: float, elapsed: float) -> float:
        if abs(window - self._most) > 0.2 * self._most:
            self._beta, self._steady = theory.HTCP_BETA, False
        elif self._steady and self.rtt > 0.010:
            self._beta = HTCP_BETA_MAX
        else:
            self._beta, self._steady = theory.HTCP_BETA, True
        self._most = window
        return window * self._beta


_LAWS: dict[str, type[_Law]] = {"reno": _Reno, "cubic": _Cubic, "htcp": _Htcp}


@cache
def throughput(algorithm: str, mss: int, rtt: float, loss: float, events: int = EVENTS) -> float:
    """Payload that arrives, bit/s, over `events` losses that each segment meets by chance."""
    law = _LAWS[algorithm](rtt)
    window = law.cut(2 * theory.reno_window(loss), 0.0)
    draw = random.Random(1).expovariate
    sent = lost = seconds = elapsed = 0.0
    left, still = draw(loss), 0.0
    for _ in range(events):
        found = math.inf
        while found > 1e-12:
            dt = min(rtt / _STEPS, found, left * rtt / window)
            moved = window * dt / rtt
            sent, left, seconds, elapsed = sent + moved, left - moved, seconds + dt, elapsed + dt
            found, still = found - dt, still - dt
            if still <= 0:
                window += law.growth(window, elapsed) * dt / rtt
            if left <= 1e-9:
                lost, left = lost + 1, draw(loss)
                found = min(found, rtt)
        window = max(_LEAST, law.cut(window, elapsed))
        elapsed, still = 0.0, rtt
    return 8 * mss * (sent - lost) / seconds
