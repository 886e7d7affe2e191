"""H-TCP: the longer since the last loss, the faster the window grows."""

from __future__ import annotations

import math

from tcptutor.theory.aimd import decrease_factor
from tcptutor.theory.domain import loss_rate, positive, require

HTCP_RANDOM = 1.25
"""Mean window under independent random loss over the one under periodic loss, once losses are a second apart.

From a simulation; below a second H-TCP is Reno, and the factor is 1.07."""

HTCP_BETA = 0.5
"""What Linux leaves of the window after a loss unless throughput is steady, and the least it ever does."""

_LOW_SPEED = 1.0
"""Seconds after a loss during which H-TCP grows as Reno does."""


def htcp_alpha(elapsed: float, beta: float = HTCP_BETA) -> float:
    """H-TCP's growth `elapsed` seconds after a loss, segments a round trip, without Linux's scaling by RTT.

    2 * (1-beta), times 1 + 10*(d-1) + ((d-1)/2)^2 when d = elapsed is above 1 s. elapsed: seconds, 0 or
    above. beta: what was left of the window after the loss, 0 to below 1. Source: Leith, Shorten: H-TCP,
    PFLDnet 2004; draft-leith-tcp-htcp-06, section 3. Raises ParameterError outside the domain.
    """
    ok = math.isfinite(elapsed) and elapsed >= 0
    require(ok, "elapsed", elapsed, "0 or above", "seconds since the last loss")
    decrease_factor(beta)
    d = max(0.0, elapsed - _LOW_SPEED)
    return 2 * (1 - beta) * (1 + 10 * d + (d / 2) ** 2)


def htcp_window(loss: float, rtt: float) -> float:
    """Mean congestion window of Linux's H-TCP, segments, with a loss every 1/loss segments and beta 0.5.

    The time between losses solves: segments sent in it = 1/loss, where the window grows from half its peak by
    htcp_alpha over max(1, alpha * rtt/100 ms) segments a round trip (rtt/100 ms within 0.1 and 2, as in
    Linux). loss: loss events per segment, above 0 and at most 1. rtt: seconds, above 0. Source: Leith,
    Shorten 2004 and net/ipv4/tcp_htcp.c. Raises ParameterError outside the domain.
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


def _sent(seconds: float, rtt: float, steps: int = 100) -> float:
    """Segments sent between two losses that are `seconds` apart."""
    scale = min(2.0, max(0.1, rtt / 0.1))
    dt = seconds / steps
    grown = area = 0.0
    for step in range(steps):
        growth = max(1.0, scale * htcp_alpha((step + 0.5) * dt)) * dt / rtt
        area += (grown + growth / 2) * dt
        grown += growth
    # The window begins at beta of its peak, so at beta / (1 - beta) of what it grows by: the same for 0.5.
    return (HTCP_BETA / (1 - HTCP_BETA) * grown * seconds + area) / rtt
