"""Up to which window a path that reorders segments leaves a sender alone, where nothing is lost.

Linux takes a segment for lost when one that was sent a round trip and a waiting time later has arrived before it
(RACK, RFC 8985). The window is halved and, as soon as the segment arrives after all, restored (RFC 3522, RFC 3708). In
between it does not grow, and a second such mistake may make the halving final. So windows grow until a round trip has
about one mistake.
"""

from __future__ import annotations

import math

from tcptutor.theory.domain import positive, require

OVERTAKING_MISTAKES, OVERTAKING_MISTAKES_CUBIC = 0.75, 0.5
"""Mistakes a round trip at which a window stays, when single segments arrive a round trip early; measured.

CUBIC has fewer: each of them starts its curve anew.
"""

JITTER_MISTAKES = 1.3
"""As OVERTAKING_MISTAKES, when each delay varies: one recovery covers several late segments; measured."""


def overtaking_window(reorder: float, mistakes: float = OVERTAKING_MISTAKES) -> float:
    """Return the segments a round trip at which a window stays when a share `reorder` of them overtakes the rest.

    A segment that skips the whole delay brings the least round trip, and with it RACK's waiting time, to about 0, so
    each is a mistake: mistakes / reorder. reorder: above 0, at most 1. mistakes: that a round trip has at this window,
    above 0. Source: RFC 8985, section 6.2; the mistakes were counted on Linux 6.12. Raises ParameterError outside the
    domain.
    """
    require(0 < reorder <= 1, "reorder", reorder, "above 0, at most 1", "share of segments that overtake")
    positive("mistakes", mistakes, "without mistakes reordering is no limit")
    return mistakes / reorder


def jitter_window(jitter: float, rtt: float) -> float:
    """Return the segments a round trip at which a window stays when each delay is drawn from rtt ± jitter.

    RACK learns to wait for up to a round trip T, so a segment is a mistake when it was sent more than T before one
    that it arrives after. Of w segments a round trip w² (2j − T)³ / (24 j² T) are, with all delays equally likely;
    infinite where 2j <= T. jitter: seconds, above 0 and at most rtt. rtt: the mean, seconds, above 0. Source: RFC 8985,
    section 6.2, and the mean over uniform delays; JITTER_MISTAKES was measured on Linux 6.12. Raises ParameterError
    outside the domain.
    """
    positive("rtt", rtt, "a round trip takes time, in seconds")
    require(
        0 < jitter <= rtt, "jitter", jitter, "above 0, at most rtt", "no segment arrives before it is sent"
    )
    late = 2 * jitter - rtt
    if late <= 0:
        return math.inf
    return math.sqrt(JITTER_MISTAKES * 24 * jitter**2 * rtt / late**3)


def beside_link(window: float, link: float) -> float:
    """Return the segments a round trip of a flow that reordering keeps to `window`, and the link to `link`.

    1 / √(1/window² + 1/link²), so that equal ones leave 0.71 of either. window, link: segments a round trip, above 0;
    window may be infinite. Source: an interpolation between the two limits. Raises ParameterError outside the domain.
    """
    require(window > 0, "window", window, "above 0", "segments a round trip")
    positive("link", link, "segments that the link carries in a round trip")
    return 1 / math.hypot(1 / window, 1 / link)
