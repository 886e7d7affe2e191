"""Marks instead of losses: the window of classic ECN, and of DCTCP by the way in which the queue marks.

DCTCP's marked share and window are bound by p = sqrt(2 / W) where a threshold marks all that arrives above it, so by
W = 2 / p^2; where each segment is marked with a chance of its own, it is W = 2 / p.
"""

from __future__ import annotations

import math

from tcptutor.theory.aimd import aimd_window, decrease_factor
from tcptutor.theory.domain import at_least, require

ABE_BETA = 0.8
"""What RFC 8511, section 3, lets Reno keep of its window after a mark; after a loss it keeps half."""


def ecn_window(marking: float, beta: float = 0.5) -> float:
    """Mean congestion window of a flow with classic ECN, segments: as if every mark were a loss.

    sqrt((1+beta) / (2 * (1-beta) * marking)), for Reno sqrt(3 / (2 * marking)). marking: events per segment,
    above 0 and at most 1; the marks of one round trip are one event. beta: what is left of the window after
    one, 0 to below 1; ABE_BETA where the system has it. Source: RFC 3168, section 6.1.2 (the response is that
    to a loss); RFC 9438, eq. 3. Raises ParameterError outside the domain.
    """
    _share(marking)
    decrease_factor(beta)
    return aimd_window(marking, 1, beta)


def dctcp_window(marking: float, step: bool = True) -> float:
    """Congestion window of DCTCP in its steady state, segments: 2 / marking^2, or 2 / marking.

    marking: share of segments that carry a mark, above 0 and at most 1. step: true where the queue marks all
    that arrives above a threshold, as DCTCP asks for, so that all marks of a sawtooth fall into one round
    trip; false where it marks each segment by chance, so that about two marks come in every round trip and
    the cut of marking / 2 takes what the round trip added. With a step the sender's estimate must be slow
    enough for the sawtooth (Linux's gain of 1/16 is, up to some 250 segments); a faster one has fewer marks.
    Source: Alizadeh et al.: Data Center TCP (DCTCP), SIGCOMM 2010, section 3.3, eq. 6 (step, small marking) and
    3.4 (the gain); De Schepper et al.: PI2, CoNEXT 2016, appendix A (both). Raises ParameterError outside the
    domain.
    """
    _share(marking)
    return 2 / marking**2 if step else 2 / marking


def dctcp_marking(window: float, step: bool = True) -> float:
    """Share of segments that carry a mark when DCTCP's window is `window`: sqrt(2 / window), or 2 / window.

    The inverse of `dctcp_window`. window: segments, 2 or above; at 2 every one is marked. step: as `dctcp_window`.
    Source: Alizadeh et al. 2010, eq. 6, and De Schepper et al. 2016, appendix A. Raises ParameterError outside
    the domain.
    """
    at_least("window", window, 2, "below two segments every one of them is marked")
    return math.sqrt(2 / window) if step else 2 / window


def _share(marking: float) -> None:
    reason = "marks per segment; without marks there is no congestion to answer"
    require(0 < marking <= 1, "marking", marking, "above 0, at most 1", reason)
