"""A window law: how a sender's window changes while time passes, and what a loss leaves of it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

from tcptutor.theory.aimd import MIN_WINDOW


class WindowLaw(ABC):
    """The sender of one flow. Segments: `window` is what the kernel reports as cwnd, `flight` what is on the path."""

    def __init__(self, rtt: float, initial: float, most: float) -> None:
        """rtt: seconds without queue. initial: the first window, most: the receiver's, both segments."""
        self.base = rtt
        self.most = most
        self.window = self.flight = min(initial, most)

    @abstractmethod
    def pass_time(self, dt: float, rtt: float, rate: float, filled: float) -> None:
        """`dt` seconds go by, at most a round trip.

        rtt: the round trip with its queue, seconds. rate: what arrives, segments/s. filled: what all flows
        have in flight over the bandwidth-delay product; above 1 there is a queue.
        """

    @abstractmethod
    def lose(self, room: float) -> None:
        """A loss is noticed.

        room: the share of all that is in flight that path and queue can hold: below 1 when the queue has overflowed,
        1 for a loss that it is not to blame for.
        """


class LossBased(WindowLaw):
    """Slow start to the first loss, then a law of its own for growth and cut; keeps a whole window in flight."""

    def __init__(self, rtt: float, initial: float, most: float) -> None:
        super().__init__(rtt, initial, most)
        self.slow_start = True

    def pass_time(self, dt: float, rtt: float, rate: float, filled: float) -> None:  # noqa: ARG002
        if self.slow_start:
            # RFC 5681, section 3.1: one segment more for each that is acknowledged.
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
        """The window at which slow start ends before a loss, segments."""
        return math.inf

    def leave_slow_start(self) -> None:
        self.slow_start = False

    @abstractmethod
    def grow(self, dt: float, rtt: float) -> None:
        """Congestion avoidance: change `window` by what `dt` seconds bring."""

    @abstractmethod
    def cut(self, *, full: bool) -> float:
        """What this loss leaves of the window, a ratio. full: whether the queue overflowed."""
