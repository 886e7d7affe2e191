"""Window laws: growth of a sender's window over time, and its reduction by a loss."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from tcptutor.theory.aimd import MIN_WINDOW


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
