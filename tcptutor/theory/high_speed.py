"""HighSpeed TCP, whose growth follows the window, and H-TCP, whose growth follows the time since the last loss."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass

from tcptutor.theory.domain import at_least, loss_rate, positive
from tcptutor.theory.loss_laws import ACK_EVERY, MIN_WINDOW, decrease_factor, reno_window
from tcptutor.theory.renewal import Age, mean_window

_LOW_WINDOW, _HIGH_WINDOW = 38.0, 83000.0
_HIGH_DECREASE = 0.1

_STEPS = (
    (38, 128), (118, 112), (221, 104), (347, 98), (495, 93), (663, 89), (851, 86), (1058, 83), (1284, 81),
    (1529, 78), (1793, 76), (2076, 74), (2378, 72), (2699, 71), (3039, 69), (3399, 68), (3778, 66), (4177, 65),
    (4596, 64), (5036, 62), (5497, 61), (5979, 60), (6483, 59), (7009, 58), (7558, 57), (8130, 56), (8726, 55),
    (9346, 54), (9991, 53), (10661, 52), (11358, 52), (12082, 51), (12834, 50), (13614, 49), (14424, 48),
    (15265, 48), (16137, 47), (17042, 46), (17981, 45), (18955, 45), (19965, 44), (21013, 43), (22101, 43),
    (23230, 42), (24402, 41), (25618, 41), (26881, 40), (28193, 39), (29557, 39), (30975, 38), (32450, 38),
    (33986, 37), (35586, 36), (37253, 36), (38992, 35), (40808, 35), (42707, 34), (44694, 33), (46776, 33),
    (48961, 32), (51258, 32), (53677, 31), (56230, 30), (58932, 30), (61799, 29), (64851, 28), (68113, 28),
    (71617, 27), (75401, 26), (79517, 26), (84035, 25), (89053, 24),
)  # fmt: skip
"""`hstcp_aimd_vals` of net/ipv4/tcp_highspeed.c: the largest window of each step in segments, and 256 b(w)."""

_TOPS = tuple(top for top, _ in _STEPS)

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


def highspeed_decrease(window: float) -> float:
    """Return the fraction of the window lost by HighSpeed TCP per loss, b(w): 0.5 up to 38 segments, then less.

    0.5 - 0.4 * ln(w/38) / ln(83000/38), so 0.1 at 83000 segments and above. Source: RFC 3649, section 5, the
    equation for b(w), and appendix B. Raises ParameterError outside the domain.

    Args:
        window: Segments, above 0.
    """
    positive("window", window, "the congestion window in segments")
    return decrease(window)


def highspeed_growth(window: float) -> float:
    """Return HighSpeed TCP's growth a(w), segments per round trip: w^2 * p(w) * 2 * b(w) / (2 - b(w)), at least 1.

    p(w) = 0.078 / w^1.2 is the loss rate at which `window` is the mean, rounded as in the RFC. Source: RFC
    3649, section 5, the equation for a(w), and appendix B. Raises ParameterError outside the domain.

    Args:
        window: Segments, above 0.
    """
    positive("window", window, "the congestion window in segments")
    return growth(window)


def step(window: float) -> tuple[int, float]:
    """Return Linux's growth a(w), segments per round trip, and decrease b(w) at `window` segments.

    Source: `hstcp_cong_avoid` and `hstcp_ssthresh` of net/ipv4/tcp_highspeed.c, which read both from the
    table of RFC 3649, appendix B, without interpolation.
    """
    place = min(bisect_left(_TOPS, window), len(_STEPS) - 1)
    return place + 1, _STEPS[place][1] / 256


def decrease(window: float) -> float:
    along = min(1.0, max(0.0, math.log(window / _LOW_WINDOW) / math.log(_HIGH_WINDOW / _LOW_WINDOW)))
    return 0.5 + (_HIGH_DECREASE - 0.5) * along


def growth(window: float) -> float:
    b = decrease(window)
    return max(1.0, 0.078 * math.pow(window, 0.8) * 2 * b / (2 - b))


def highspeed_window(loss: float) -> float:
    """Return the mean congestion window of HighSpeed TCP, segments: 0.12 / loss^0.835, or Reno's if larger.

    Source: RFC 3649, section 5, with its default parameters. Raises ParameterError outside the domain.

    Args:
        loss: Loss events per segment, above 0 and at most 1; both windows are equal near 1e-3, at about 38
            segments.
    """
    loss_rate(loss)
    return max(0.12 / math.pow(loss, 0.835), reno_window(loss))


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
