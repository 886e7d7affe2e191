"""The window at which reordering stops a sender's growth on a path without loss.

Linux considers a segment lost when a segment that was sent a round trip and a waiting time later has arrived
before it (RACK, RFC 8985). The window is halved and, as soon as the late segment arrives, restored (RFC 3522,
RFC 3708). In between it does not grow, and a second such mistake can make the reduction permanent. So windows
grow until a round trip has about a single mistake.
"""

from __future__ import annotations

import math

from tcptutor.theory.domain import positive, require

OVERTAKING_MISTAKES, OVERTAKING_MISTAKES_CUBIC = 0.75, 0.5
"""Mistakes per round trip at which a window stays, when single segments arrive a round trip early; measured.

CUBIC tolerates fewer: each mistake restarts its curve.
"""

JITTER_MISTAKES = 1.3
"""Like OVERTAKING_MISTAKES, for varying delays: a recovery covers several late segments; measured."""


def overtaking_window(reorder: float, mistakes: float = OVERTAKING_MISTAKES) -> float:
    """Return the window that stays constant when a fraction of segments overtakes, segments: mistakes / reorder.

    A segment that skips the whole delay reduces the minimum RTT, and with it RACK's waiting time, to about 0,
    so each is a mistake. Source: RFC 8985, section 6.2; the mistakes were counted on Linux 6.12. Raises
    ParameterError outside the domain.

    Args:
        reorder: Fraction of segments, above 0, at most 1.
        mistakes: Mistakes per round trip at this window, above 0.
    """
    require(0 < reorder <= 1, "reorder", reorder, "above 0, at most 1", "share of segments that overtake")
    positive("mistakes", mistakes, "without mistakes reordering is no limit")
    return mistakes / reorder


def jitter_window(jitter: float, rtt: float) -> float:
    """Return the window that stays constant when each delay is drawn from rtt ± jitter, segments.

    RACK learns to wait for up to a round trip T, so a segment is a mistake if it arrives after a segment that
    was sent more than T later. Of w segments per round trip w² (2j − T)³ / (24 j² T) are mistakes for a
    uniform distribution; infinite for 2j <= T. Source: RFC 8985, section 6.2, and the mean over uniform
    delays; JITTER_MISTAKES was measured on Linux 6.12. Raises ParameterError outside the domain.

    Args:
        jitter: Seconds, above 0 and at most rtt.
        rtt: Mean round trip, seconds, above 0.
    """
    positive("rtt", rtt, "a round trip takes time, in seconds")
    require(
        0 < jitter <= rtt, "jitter", jitter, "above 0, at most rtt", "no segment arrives before it is sent"
    )
    late = 2 * jitter - rtt
    if late <= 0:
        return math.inf
    return math.sqrt(JITTER_MISTAKES * 24 * jitter**2 * rtt / late**3)


def combine_with_link(window: float, link: float) -> float:
    """Combine a limit by reordering with a limit by the link: 1 / √(1/window² + 1/link²).

    Equal limits leave 0.71 of either. Source: an interpolation between the two limits. Raises ParameterError
    outside the domain.

    Args:
        window: Segments per round trip, above 0; may be infinite.
        link: Segments per round trip, above 0.
    """
    require(window > 0, "window", window, "above 0", "segments a round trip")
    positive("link", link, "segments that the link carries in a round trip")
    return 1 / math.hypot(1 / window, 1 / link)
