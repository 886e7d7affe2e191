"""H-TCP: the longer since the last loss, the faster the window grows."""

from __future__ import annotations

from dataclasses import dataclass

from tcptutor.theory.aimd import ACK_EVERY, LEAST_WINDOW, decrease_factor
from tcptutor.theory.domain import at_least, loss_rate, positive
from tcptutor.theory.renewal import Age, mean_window

HTCP_BETA = 0.5
"""What Linux leaves of the window after a loss unless throughput is steady, and the least that it ever leaves."""

HTCP_BETA_MOST = 0.8
"""The most that is left of the window after a loss."""

_LOW_SPEED = 1.0
"""Seconds after a loss during which H-TCP grows as Reno does."""

_STEADY = 0.2
"""A throughput that differs by less from the one before the last loss is steady (`htcp_beta_update`)."""

_STEADY_RTT = 0.010
"""Seconds: Linux keeps more than half of the window only where the round trip is longer."""


def htcp_alpha(elapsed: float, beta: float = HTCP_BETA) -> float:
    """H-TCP's growth `elapsed` seconds after a loss, segments a round trip, without Linux's scaling by RTT.

    2 * (1-beta), times 1 + 10*(d-1) + ((d-1)/2)^2 when d = elapsed is above 1 s. elapsed: seconds, 0 or
    above. beta: what was left of the window after the loss, 0 to below 1. Source: Leith, Shorten: H-TCP,
    PFLDnet 2004; draft-leith-tcp-htcp-06, section 3. Raises ParameterError outside the domain.
    """
    at_least("elapsed", elapsed, 0, "seconds since the last loss")
    decrease_factor(beta)
    return 2 * (1 - beta) * speed_up(elapsed)


def htcp_growth(elapsed: float, rtt: float, beta: float = HTCP_BETA) -> float:
    """The growth of Linux's H-TCP, segments a round trip: htcp_alpha scaled by the round-trip time.

    htcp_alpha times rtt / 100 ms within 0.1 and 2, and never below 2 * (1-beta). elapsed, beta: as
    `htcp_alpha`. rtt: seconds without queue, above 0. Source: `htcp_alpha_update` of net/ipv4/tcp_htcp.c,
    without its rounding to whole steps. Raises ParameterError outside the domain.
    """
    positive("rtt", rtt, "a round trip takes time, in seconds")
    at_least("elapsed", elapsed, 0, "seconds since the last loss")
    decrease_factor(beta)
    return 2 * (1 - beta) * max(1.0, rtt_scale(rtt) * speed_up(elapsed))


def speed_up(elapsed: float) -> float:
    """How many times as fast as Reno H-TCP grows where the round trip is 100 ms."""
    d = max(0.0, elapsed - _LOW_SPEED)
    return 1 + 10 * d + (d / 2) ** 2


def rtt_scale(rtt: float) -> float:
    """Linux's scaling by the round trip, a ratio."""
    return min(2.0, max(0.1, rtt / 0.1))


def htcp_beta(rtt: float, longest: float) -> float:
    """What H-TCP leaves of its window after a loss when throughput is steady, a ratio: rtt / longest.

    Within 0.5 and 0.8: it drains the queue and no more. rtt: seconds without queue, above 0. longest:
    seconds with the queue full, `rtt` or above. Linux does so only if rtt is above 10 ms and throughput has
    changed by less than 20 % since the last loss, else it leaves half. Source: Leith, Shorten 2004, section 2;
    `htcp_beta_update` of net/ipv4/tcp_htcp.c. Raises ParameterError outside the domain.
    """
    positive("rtt", rtt, "a round trip takes time, in seconds")
    at_least("longest", longest, rtt, "the round trip with a queue takes no less than without")
    return min(HTCP_BETA_MOST, max(HTCP_BETA, rtt / longest))


def htcp_window(loss: float, rtt: float) -> float:
    """Mean congestion window of Linux's H-TCP, segments, with a loss every 1/loss segments and beta 0.5.

    The time between losses solves: segments sent in it = 1/loss, where the window grows from half its peak by
    `htcp_growth` segments a round trip. loss: loss events per segment, above 0 and at most 1. rtt: seconds,
    above 0. Source: Leith, Shorten 2004 and net/ipv4/tcp_htcp.c. Raises ParameterError outside the domain.
    """
    loss_rate(loss)
    positive("rtt", rtt, "a round trip takes time, in seconds")
    low, high = 0.0, 1.0
    while _sent(high, rtt) < 1 / loss:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if _sent(middle, rtt) > 1 / loss else (middle, high)
    return rtt / (loss * high)


def htcp_random_window(loss: float, rtt: float) -> float:
    """Mean congestion window of Linux's H-TCP, segments, when each segment is lost by chance.

    As `htcp_window`, but with losses at random distances, and as Linux has it: time since a loss counts from its
    repair on, cwnd and its growth are in whole segments and ACKs, and without a queue 0.8 of the window is left
    after a loss when throughput is steady. Below `htcp_window` where the window is small; without timeouts, so too high
    above a loss of about 0.01. loss: share of segments, above 0 and at most 1. rtt: seconds, above 0. Source:
    net/ipv4/tcp_htcp.c, and `theory.renewal` for the mean over the losses. Raises ParameterError outside the domain.
    """
    loss_rate(loss)
    positive("rtt", rtt, "a round trip takes time, in seconds")
    return mean_window(LinuxHTCP(rtt), loss, rtt)


class LinuxHTCP:
    """The sender of net/ipv4/tcp_htcp.c on a path without queue. Its mode: how many losses found it steady in a row."""

    def __init__(self, rtt: float, acked: float = ACK_EVERY) -> None:
        """rtt: seconds without queue. acked: segments that an ACK acknowledges, on average."""
        self._rtt, self._acked = rtt, acked
        # htcp_beta_update: the first such loss only sets `modeswitch`; from the second on beta is minRTT / maxRTT, at
        # most 0.8, and without a queue that is 1.
        betas = (HTCP_BETA, HTCP_BETA, HTCP_BETA_MOST)
        self._betas = betas if rtt > _STEADY_RTT else (HTCP_BETA,)

    @property
    def modes(self) -> int:
        return len(self._betas)

    def epoch(self, window: float, mode: int) -> _HTCPEpoch:
        beta = self._betas[mode]
        # Linux rounds down to whole segments: half of an odd window loses half of one, 0.8 of any as much on average.
        rounding = 0.25 if beta == HTCP_BETA else 0.5
        return _HTCPEpoch(max(LEAST_WINDOW, window * beta - rounding), beta, self._rtt, self._acked)

    def follow(self, window: float, mode: int, found: float) -> int:
        steady = abs(found - window) <= _STEADY * window
        return min(mode + 1, self.modes - 1) if steady else 0


@dataclass(frozen=True, slots=True)
class _HTCPEpoch:
    """Linux's growth after a loss that has left `start`, which is `beta` of the window at the loss."""

    start: float
    beta: float
    rtt: float
    acked: float

    def grown(self, line: float, before: Age, after: Age) -> float:
        """By the midpoint rule, from the segments that have to be acknowledged for a growth of one.

        `htcp_cong_avoid` counts window / alpha of them, rounded up to an ACK, so half an ACK more on average; and the
        ACK at which it finds the count full starts a new count without being counted.
        """
        alpha = (
            2
            * (1 - self.beta)
            * max(1.0, rtt_scale(self.rtt) * speed_up((before.seconds + after.seconds) / 2))
        )
        rounds, lost = after.rounds - before.rounds, 1.5 * self.acked
        middle = line + rounds / 2 * line / (line / alpha + lost)
        return line + rounds * middle / (middle / alpha + lost)


def _sent(seconds: float, rtt: float, steps: int = 100) -> float:
    """Segments sent between two losses that are `seconds` apart."""
    dt = seconds / steps
    scale = rtt_scale(rtt)
    grown = area = 0.0
    for step in range(steps):
        growth = 2 * (1 - HTCP_BETA) * max(1.0, scale * speed_up((step + 0.5) * dt)) * dt / rtt
        area += (grown + growth / 2) * dt
        grown += growth
    # The window begins at beta of its peak, so at beta / (1 - beta) of what it grows by.
    return (HTCP_BETA / (1 - HTCP_BETA) * grown * seconds + area) / rtt
