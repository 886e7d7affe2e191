"""H-TCP and HighSpeed TCP as laws: AIMD whose two numbers change, with time or with the window."""

from __future__ import annotations

from tcptutor.theory.highspeed import decrease, growth
from tcptutor.theory.htcp import HTCP_BETA, htcp_beta, rtt_scale, speed_up
from tcptutor.theory.trajectory.law import LossBased

_LEAST_RTT = 0.010  # Linux trusts H-TCP's ratio of round trips only above this


class HighSpeed(LossBased):
    """RFC 3649, section 5."""

    def grow(self, dt: float, rtt: float) -> None:
        self.window += growth(self.window) * dt / rtt

    def cut(self, *, full: bool) -> float:  # noqa: ARG002
        return 1 - decrease(self.window)


class HTCP(LossBased):
    """Linux's H-TCP. While it is the queue that overflows, a loss takes what the queue held and no more.

    Linux compares the throughput before the last two losses: over a full link they are equal, between random
    losses they are not. Here the kind of loss stands for that.
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
        adapts = full and self._steady and self.base > _LEAST_RTT
        self._beta = htcp_beta(self.base, self._longest) if adapts else HTCP_BETA
        self._steady = full
        self._elapsed, self._longest = 0.0, self.base
        return self._beta
