"""CUBIC's mean window under loss."""

from __future__ import annotations

import math

from tcptutor.theory.aimd import aimd_window
from tcptutor.theory.domain import loss_rate, positive

CUBIC_C = 0.4
"""How steeply the cubic curve rises, segments/s^3 (RFC 9438, section 5.1)."""

CUBIC_BETA = 0.7
"""What is left of the window after a loss."""

CUBIC_RENO_ALPHA = 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA)
"""Growth of CUBIC's Reno-friendly window, segments a round trip: the mean is then Reno's."""

CUBIC_RANDOM = 1.16
"""Mean window under independent random loss over the one under periodic loss, with fast convergence.

From a simulation of the curve with independent losses; about 1.27 without fast convergence. In the
Reno-friendly region the factor is CUBIC_RENO_RANDOM."""

CUBIC_RENO_RANDOM = 1.04
"""The same for AIMD(CUBIC_RENO_ALPHA, 0.7); Reno's own is 1.31 / 1.2247 = 1.07."""


def cubic_window(loss: float, rtt: float) -> float:
    """Mean congestion window of CUBIC, segments: (C*(3+beta) / (4*(1-beta)))^(1/4) * (rtt/loss)^(3/4).

    Never below the Reno-friendly window, which is Reno's. loss: loss events per segment at even distances,
    above 0 and at most 1. rtt: seconds, above 0. Source: RFC 8312, eq. 5 and 3, unchanged in RFC 9438,
    section 5 (the mean of the cubic region) and 4.3 (the Reno-friendly region).
    Raises ParameterError outside the domain.
    """
    return max(cubic_region_window(loss, rtt), aimd_window(loss, CUBIC_RENO_ALPHA, CUBIC_BETA))


def cubic_region_window(loss: float, rtt: float) -> float:
    """The same without the Reno-friendly window: the cubic curve alone, segments."""
    loss_rate(loss)
    positive("rtt", rtt, "a round trip takes time, in seconds")
    steepness = CUBIC_C * (3 + CUBIC_BETA) / (4 * (1 - CUBIC_BETA))
    return math.pow(steepness, 0.25) * math.pow(rtt / loss, 0.75)
