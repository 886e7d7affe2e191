"""Additive increase, multiplicative decrease: the mean window under loss."""

from __future__ import annotations

import math

from tcptutor.theory.domain import loss_rate, positive, require

LEAST_WINDOW = 2.0
"""Segments: a sender that goes by losses keeps them after any (RFC 5681, eq. 4)."""

ACK_EVERY = 2
"""Segments that a receiver acknowledges at a time (RFC 1122, section 4.2.3.2; RFC 5681, section 4.2)."""


ACK_STRETCHED = 3.0
"""Segments that an ACK acknowledges where a flight arrives at once, faster than the receiver's program reads it.

Counted on Linux 6.12: 2.5 to 3.8 on average, up to 6 in large flights. Only HighSpeed TCP and H-TCP feel it."""

ACK_DELAY = 0.040
"""Seconds for which a receiver waits for another segment before it acknowledges one (Linux's TCP_DELACK_MIN)."""


def decrease_factor(beta: float) -> None:
    """Raise ParameterError unless `beta` is a factor that a window can shrink by."""
    require(0 <= beta < 1, "beta", beta, "0 or above, below 1", "what is left of the window after a loss")


def aimd_window(loss: float, alpha: float, beta: float) -> float:
    """Mean congestion window of AIMD(alpha, beta), segments: sqrt(alpha * (1+beta) / (2 * (1-beta) * loss)).

    loss: loss events per segment at even distances, above 0 and at most 1. alpha: segments added each round
    trip, above 0. beta: what is left of the window after a loss, 0 to below 1 (Reno: 1 and 0.5). Source: RFC
    8312, eq. 3, unchanged in RFC 9438, section 4.3. Raises ParameterError outside the domain.
    """
    loss_rate(loss)
    positive("alpha", alpha, "a window that does not grow has no sawtooth")
    decrease_factor(beta)
    return math.sqrt(alpha * (1 + beta) / (2 * (1 - beta) * loss))


def reno_window(loss: float) -> float:
    """Mean congestion window of Reno, segments: sqrt(3 / (2 * loss)), which is aimd_window(loss, 1, 0.5).

    loss: loss events per segment at even distances, above 0 and at most 1; random loss gives 7 % more.
    Source: Mathis 1997, section 2. Raises ParameterError outside the domain.
    """
    return aimd_window(loss, 1, 0.5)
