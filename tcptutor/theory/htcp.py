"""H-TCP: the window grows faster with the time since the last loss."""

from __future__ import annotations

from dataclasses import dataclass

from tcptutor.theory.domain import at_least, loss_rate, positive
from tcptutor.theory.loss_laws import ACK_EVERY, MIN_WINDOW, decrease_factor
from tcptutor.theory.renewal import Age, mean_window

HTCP_BETA = 0.5
"""Fraction of the window that Linux leaves after a loss while throughput varies; also the smallest fraction."""

HTCP_BETA_MAX = 0.8
"""Largest fraction of the window left by a loss."""

_LOW_SPEED = 1.0
"""Seconds after a loss in which H-TCP grows like Reno."""

_STEADY = 0.2
"""Relative change of throughput between losses below which it counts as steady (`htcp_beta_update`)."""

_STEADY_RTT = 0.010
"""Round trip, seconds, above which Linux may keep more than half of the window."""


def htcp_alpha(elapsed: float, beta: float = HTCP_BETA) -> float:
    """Return H-TCP's growth `elapsed` seconds after a loss, segments per round trip, without Linux's RTT scaling.

    2 * (1-beta), times 1 + 10*(d-1) + ((d-1)/2)^2 for d = elapsed above 1 s. Source: Leith, Shorten: H-TCP,
    PFLDnet 2004; draft-leith-tcp-htcp-06, section 3. Raises ParameterError outside the domain.

    Args:
        elapsed: Seconds, 0 or above.
        beta: Fraction of the window left by the loss, 0 to below 1.
    """
    at_least("elapsed", elapsed, 0, "seconds since the last loss")
    decrease_factor(beta)
    return 2 * (1 - beta) * speed_up(elapsed)


def htcp_growth(elapsed: float, rtt: float, beta: float = HTCP_BETA) -> float:
    """Return the growth of Linux's H-TCP, segments per round trip: htcp_alpha scaled by the round-trip time.

    htcp_alpha times rtt / 100 ms within 0.1 and 2, and never below 2 * (1-beta). Source: `htcp_alpha_update`
    of net/ipv4/tcp_htcp.c, without its rounding to integers. Raises ParameterError outside the domain.

    Args:
        elapsed: Seconds since the loss, 0 or above.
        rtt: Base RTT, seconds, above 0.
        beta: Fraction of the window left by the loss, 0 to below 1.
    """
    positive("rtt", rtt, "a round trip takes time, in seconds")
    at_least("elapsed", elapsed, 0, "seconds since the last loss")
    decrease_factor(beta)
    return 2 * (1 - beta) * max(1.0, rtt_scale(rtt) * speed_up(elapsed))


def speed_up(elapsed: float) -> float:
    """Return H-TCP's growth over Reno's at a round trip of 100 ms."""
    d = max(0.0, elapsed - _LOW_SPEED)
    return 1 + 10 * d + (d / 2) ** 2


def rtt_scale(rtt: float) -> float:
    return min(2.0, max(0.1, rtt / 0.1))


def htcp_beta(rtt: float, longest: float) -> float:
    """Return the fraction of H-TCP's window left by a loss at steady throughput: rtt / longest, within 0.5 and 0.8.

    It drains the queue exactly. Linux applies it only if rtt is above 10 ms and throughput changed by less
    than 20 % since the last loss, otherwise it leaves half. Source: Leith, Shorten 2004, section 2;
    `htcp_beta_update` of net/ipv4/tcp_htcp.c. Raises ParameterError outside the domain.

    Args:
        rtt: Base RTT, seconds, above 0.
        longest: Round trip with a full queue, seconds, `rtt` or above.
    """
    positive("rtt", rtt, "a round trip takes time, in seconds")
    at_least("longest", longest, rtt, "the round trip with a queue takes no less than without")
    return min(HTCP_BETA_MAX, max(HTCP_BETA, rtt / longest))


def htcp_window(loss: float, rtt: float) -> float:
    """Return the mean congestion window of Linux's H-TCP, segments, with a loss every 1/loss segments and beta 0.5.

    The time between losses solves: segments sent in it = 1/loss, where the window grows from half its peak by
    `htcp_growth` segments per round trip. Source: Leith, Shorten 2004 and net/ipv4/tcp_htcp.c. Raises
    ParameterError outside the domain.

    Args:
        loss: Loss events per segment, above 0 and at most 1.
        rtt: Seconds, above 0.
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
    """Return the mean congestion window of Linux's H-TCP under random loss, segments.

    Like `htcp_window`, but with losses at random distances, and as implemented in Linux: the time since a
    loss starts at its repair, cwnd and its growth are integers in segments and ACKs, and without a queue a
    loss at steady throughput leaves 0.8 of the window. Below `htcp_window` for small windows. Without
    timeouts, so too high above a loss of about 0.01. Source: net/ipv4/tcp_htcp.c, and `theory.renewal` for
    the mean over the losses. Raises ParameterError outside the domain.

    Args:
        loss: Loss probability of a segment, above 0 and at most 1.
        rtt: Seconds, above 0.
    """
    loss_rate(loss)
    positive("rtt", rtt, "a round trip takes time, in seconds")
    return mean_window(LinuxHTCP(rtt), loss, rtt)


class LinuxHTCP:
    """The sender of net/ipv4/tcp_htcp.c on a path without queue. The mode counts losses at steady throughput."""

    def __init__(self, rtt: float, acked: float = ACK_EVERY) -> None:  # acked: mean segments per ACK
        self._rtt, self._acked = rtt, acked
        # htcp_beta_update: the first such loss only sets `modeswitch`; from the second on beta is minRTT / maxRTT, at
        # most 0.8, and without a queue that is 1.
        betas = (HTCP_BETA, HTCP_BETA, HTCP_BETA_MAX)
        self._betas = betas if rtt > _STEADY_RTT else (HTCP_BETA,)

    @property
    def modes(self) -> int:
        return len(self._betas)

    def epoch(self, window: float, mode: int) -> _HTCPEpoch:
        beta = self._betas[mode]
        # Linux rounds down to integers: half of an odd window loses half a segment, 0.8 of any window half on average.
        rounding = 0.25 if beta == HTCP_BETA else 0.5
        return _HTCPEpoch(max(MIN_WINDOW, window * beta - rounding), beta, self._rtt, self._acked)

    def next_mode(self, window: float, mode: int, next_window: float) -> int:
        steady = abs(next_window - window) <= _STEADY * window
        return min(mode + 1, self.modes - 1) if steady else 0


@dataclass(frozen=True, slots=True)
class _HTCPEpoch:
    """Growth of Linux's H-TCP after a loss that left `start`, which is `beta` of the window at the loss."""

    start: float
    beta: float
    rtt: float
    acked: float

    def grow(self, line: float, before: Age, after: Age) -> float:
        """Integrate by the midpoint rule, from the segments to be acknowledged for a growth of 1.

        `htcp_cong_avoid` counts window / alpha of them, rounded up to an ACK, so half an ACK more on average;
        and the ACK that completes the count starts a new count without being counted.
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
    """Return the segments sent between two losses `seconds` apart."""
    dt = seconds / steps
    scale = rtt_scale(rtt)
    increase = area = 0.0
    for step in range(steps):
        growth = 2 * (1 - HTCP_BETA) * max(1.0, scale * speed_up((step + 0.5) * dt)) * dt / rtt
        area += (increase + growth / 2) * dt
        increase += growth
    # The window begins at beta of its peak, so at beta / (1 - beta) of what it grows by.
    return (HTCP_BETA / (1 - HTCP_BETA) * increase * seconds + area) / rtt
