"""HighSpeed TCP: the larger the window, the faster it grows and the less a loss takes."""

from __future__ import annotations

import math

from tcptutor.theory.aimd import reno_window
from tcptutor.theory.domain import loss_rate, positive

_LOW_WINDOW, _HIGH_WINDOW = 38.0, 83000.0
_HIGH_DECREASE = 0.1


def highspeed_decrease(window: float) -> float:
    """Share of the window that a loss takes from HighSpeed TCP, b(w), a ratio: 0.5 to 38 segments, then less.

    0.5 - 0.4 * ln(w/38) / ln(83000/38), so 0.1 at 83000 segments, and no less above. window: segments, above
    0. Source: RFC 3649, section 5, the equation for b(w), and appendix B. Raises ParameterError outside the
    domain.
    """
    positive("window", window, "the congestion window in segments")
    return decrease(window)


def highspeed_growth(window: float) -> float:
    """Growth of HighSpeed TCP, a(w), segments a round trip: w^2 * p(w) * 2 * b(w) / (2 - b(w)), at least 1.

    p(w) = 0.078 / w^1.2 is the loss rate at which `window` is the mean, rounded as in the RFC. window:
    segments, above 0. Source: RFC 3649, section 5, the equation for a(w), and appendix B. Raises
    ParameterError outside the domain.
    """
    positive("window", window, "the congestion window in segments")
    return growth(window)


def decrease(window: float) -> float:
    """`highspeed_decrease` of a window that is known to be one."""
    along = min(1.0, max(0.0, math.log(window / _LOW_WINDOW) / math.log(_HIGH_WINDOW / _LOW_WINDOW)))
    return 0.5 + (_HIGH_DECREASE - 0.5) * along


def growth(window: float) -> float:
    """`highspeed_growth` of a window that is known to be one."""
    b = decrease(window)
    return max(1.0, 0.078 * math.pow(window, 0.8) * 2 * b / (2 - b))


def highspeed_window(loss: float) -> float:
    """Mean congestion window of HighSpeed TCP, segments: 0.12 / loss^0.835, and Reno's where that is more.

    loss: loss events per segment, above 0 and at most 1; the two meet near 1e-3, at about 38 segments.
    Source: RFC 3649, section 5, with its default parameters. Raises ParameterError outside the domain.
    """
    loss_rate(loss)
    return max(0.12 / math.pow(loss, 0.835), reno_window(loss))
