"""Marks in place of losses: the windows of classic ECN and of DCTCP.

DCTCP's marked fraction p and window W satisfy p = sqrt(2 / W) when a threshold marks all segments above it,
so W = 2 / p^2; with an independent probability per segment, W = 2 / p.
"""

from __future__ import annotations

import math

from tcptutor.theory.aimd import aimd_window, decrease_factor
from tcptutor.theory.domain import at_least, require

ABE_BETA = 0.8
"""Fraction of the window that RFC 8511, section 3, leaves to Reno after a mark; a loss leaves half."""


def ecn_window(marking: float, beta: float = 0.5) -> float:
    """Return the mean congestion window with classic ECN, segments: sqrt((1+beta) / (2 * (1-beta) * marking)).

    Every mark counts like a loss; for Reno sqrt(3 / (2 * marking)). Source: RFC 3168, section 6.1.2; RFC
    9438, eq. 3. Raises ParameterError outside the domain.

    Args:
        marking: Events per segment, above 0 and at most 1; the marks of a round trip are a single event.
        beta: Fraction of the window left by an event, 0 to below 1; ABE_BETA if the system has it.
    """
    _check_marking(marking)
    decrease_factor(beta)
    return aimd_window(marking, 1, beta)


def dctcp_window(marking: float, step: bool = True) -> float:
    """Return the congestion window of DCTCP in its steady state, segments: 2 / marking^2, or 2 / marking.

    With a step the sender's estimate must be slow enough for the sawtooth (Linux's gain of 1/16 is, up to
    about 250 segments); a faster estimate has fewer marks. Source: Alizadeh et al.: Data Center TCP (DCTCP),
    SIGCOMM 2010, section 3.3, eq. 6 (step, small marking) and 3.4 (the gain); De Schepper et al.: PI2, CoNEXT
    2016, appendix A (both). Raises ParameterError outside the domain.

    Args:
        marking: Fraction of segments that carry a mark, above 0 and at most 1.
        step: True if the queue marks everything above a threshold, as DCTCP expects, so that all marks of a
            sawtooth fall into a single round trip. False if it marks segments independently, so that about
            two marks come in every round trip and the reduction of marking / 2 cancels its growth.
    """
    _check_marking(marking)
    return 2 / marking**2 if step else 2 / marking


def dctcp_marking(window: float, step: bool = True) -> float:
    """Return the fraction of marked segments at DCTCP's `window`: sqrt(2 / window), or 2 / window.

    The inverse of `dctcp_window`. Source: Alizadeh et al. 2010, eq. 6, and De Schepper et al. 2016, appendix
    A. Raises ParameterError outside the domain.

    Args:
        window: Segments, 2 or above; at 2 every segment is marked.
        step: See `dctcp_window`.
    """
    at_least("window", window, 2, "below two segments every one of them is marked")
    return math.sqrt(2 / window) if step else 2 / window


def _check_marking(marking: float) -> None:
    reason = "marks per segment; without marks there is no congestion to answer"
    require(0 < marking <= 1, "marking", marking, "above 0, at most 1", reason)
