"""CUBIC's window: the curve between two losses, and the mean under loss."""

from __future__ import annotations

import math

from tcptutor.theory.aimd import aimd_window
from tcptutor.theory.domain import at_least, loss_rate, positive, require

CUBIC_C = 0.4
"""How steeply the cubic curve rises, segments/s^3 (RFC 9438, section 5.1)."""

CUBIC_BETA = 0.7
"""What is left of the window after a loss."""

CUBIC_RENO_ALPHA = 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA)
"""Growth of CUBIC's Reno-friendly window, segments a round trip: the mean is then Reno's."""

CUBIC_MEAN = 0.87
"""Mean over peak of one CUBIC flow that has a link for itself, a ratio, from `theory.trajectories` (0.864 to 0.872).

RFC 9438's mean of the cubic region, (3 + beta) / 4 = 0.925, holds when every loss comes at the same window. Here the
steeper half of the curve overshoots it by a little, so that every second peak is lower and fast convergence acts.
"""

CUBIC_RANDOM = 1.16
"""Mean window under independent random loss over the one under periodic loss, with fast convergence.

From a simulation of the curve with independent losses; about 1.27 without fast convergence. In the
Reno-friendly region the factor is CUBIC_RENO_RANDOM."""

CUBIC_RENO_RANDOM = 1.04
"""The same for AIMD(CUBIC_RENO_ALPHA, 0.7); Reno's own is 1.31 / 1.2247 = 1.07."""


def cubic_window(loss: float, rtt: float) -> float:
    """Mean congestion window of CUBIC, segments: (C*(3+beta) / (4*(1-beta)))^(1/4) * (rtt/loss)^(3/4).

    Never below the Reno-friendly window, which is Reno's. loss: loss events per segment at even distances,
    above 0 and at most 1. rtt: seconds, above 0. Source: RFC 9438, eq. 5 (the mean of the cubic region, proved
    in its appendix B) and eq. 3 (the Reno-friendly region). Raises ParameterError outside the domain.
    """
    return max(cubic_region_window(loss, rtt), aimd_window(loss, CUBIC_RENO_ALPHA, CUBIC_BETA))


def cubic_region_window(loss: float, rtt: float) -> float:
    """The same without the Reno-friendly window: the cubic curve alone, segments. Source: RFC 9438, eq. 5."""
    loss_rate(loss)
    positive("rtt", rtt, "a round trip takes time, in seconds")
    steepness = CUBIC_C * (3 + CUBIC_BETA) / (4 * (1 - CUBIC_BETA))
    return math.pow(steepness, 0.25) * math.pow(rtt / loss, 0.75)


def cubic_k(peak: float, start: float) -> float:
    """Seconds until the cubic curve is back at the window of the last loss: cbrt((peak - start) / C).

    peak: the window at that loss, segments, above 0. start: the window just after it, segments, above 0 and
    at most `peak`. Source: RFC 9438, eq. 2. Raises ParameterError outside the domain.
    """
    positive("peak", peak, "the window at the last loss, in segments")
    reason = "the window after the loss, in segments"
    require(0 < start <= peak, "start", start, "above 0, at most the peak", reason)
    return math.cbrt((peak - start) / CUBIC_C)


def cubic_curve(elapsed: float, peak: float, start: float | None = None) -> float:
    """CUBIC's window `elapsed` seconds after a loss, segments: C * (elapsed - K)^3 + peak.

    elapsed: seconds, 0 or above. peak, start: as `cubic_k`, which gives K; start is 0.7 * peak when None.
    The round-trip time is not in it. Source: RFC 9438, eq. 1. Raises ParameterError outside the domain.
    """
    at_least("elapsed", elapsed, 0, "seconds since the last loss")
    k = cubic_k(peak, CUBIC_BETA * peak if start is None else start)
    return CUBIC_C * (elapsed - k) ** 3 + peak
