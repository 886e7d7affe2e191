"""Additive increase, multiplicative decrease: the mean window under loss."""

from __future__ import annotations

import math

from tcptutor.theory.domain import loss_rate, positive, require

MIN_WINDOW = 2.0
"""Smallest window of a loss-based sender after a loss, segments (RFC 5681, eq. 4)."""

ACK_EVERY = 2
"""Segments per ACK of a receiver (RFC 1122, section 4.2.3.2; RFC 5681, section 4.2)."""


ACK_STRETCHED = 3.0
"""Segments per ACK when a flight arrives at once, faster than the receiving program reads. Measured on Linux
6.12: a mean of 2.5 to 3.8, up to 6 in large flights. Only HighSpeed TCP and H-TCP depend on it."""

ACK_DELAY = 0.040
"""Seconds that a receiver waits for a second segment before it sends an ACK (Linux's TCP_DELACK_MIN)."""


def decrease_factor(beta: float) -> None:
    """Raise ParameterError unless `beta` is a valid factor for reducing a window."""
    require(0 <= beta < 1, "beta", beta, "0 or above, below 1", "the fraction of the window left by a loss")


def aimd_window(loss: float, alpha: float, beta: float) -> float:
    """Return the mean window of AIMD(alpha, beta), segments: sqrt(alpha * (1+beta) / (2 * (1-beta) * loss)).

    Source: RFC 8312, eq. 3, unchanged in RFC 9438, section 4.3. Raises ParameterError outside the domain.

    Args:
        loss: Loss events per segment at even distances, above 0 and at most 1.
        alpha: Segments added per round trip, above 0.
        beta: Fraction of the window left by a loss, 0 to below 1 (Reno: alpha 1, beta 0.5).
    """
    loss_rate(loss)
    positive("alpha", alpha, "a window that does not grow has no sawtooth")
    decrease_factor(beta)
    return math.sqrt(alpha * (1 + beta) / (2 * (1 - beta) * loss))


def reno_window(loss: float) -> float:
    """Return the mean congestion window of Reno, segments: sqrt(3 / (2 * loss)), i.e. aimd_window(loss, 1, 0.5).

    Source: Mathis 1997, section 2. Raises ParameterError outside the domain.

    Args:
        loss: Loss events per segment at even distances, above 0 and at most 1; random loss gives 7 % more.
    """
    return aimd_window(loss, 1, 0.5)
