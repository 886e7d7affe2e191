"""HighSpeed TCP: large windows grow faster and lose a smaller fraction."""

from __future__ import annotations

import math
from bisect import bisect_left

from tcptutor.theory.domain import loss_rate, positive
from tcptutor.theory.loss_laws import reno_window

_LOW_WINDOW, _HIGH_WINDOW = 38.0, 83000.0
_HIGH_DECREASE = 0.1

_STEPS = (
    (38, 128), (118, 112), (221, 104), (347, 98), (495, 93), (663, 89), (851, 86), (1058, 83), (1284, 81),
    (1529, 78), (1793, 76), (2076, 74), (2378, 72), (2699, 71), (3039, 69), (3399, 68), (3778, 66), (4177, 65),
    (4596, 64), (5036, 62), (5497, 61), (5979, 60), (6483, 59), (7009, 58), (7558, 57), (8130, 56), (8726, 55),
    (9346, 54), (9991, 53), (10661, 52), (11358, 52), (12082, 51), (12834, 50), (13614, 49), (14424, 48),
    (15265, 48), (16137, 47), (17042, 46), (17981, 45), (18955, 45), (19965, 44), (21013, 43), (22101, 43),
    (23230, 42), (24402, 41), (25618, 41), (26881, 40), (28193, 39), (29557, 39), (30975, 38), (32450, 38),
    (33986, 37), (35586, 36), (37253, 36), (38992, 35), (40808, 35), (42707, 34), (44694, 33), (46776, 33),
    (48961, 32), (51258, 32), (53677, 31), (56230, 30), (58932, 30), (61799, 29), (64851, 28), (68113, 28),
    (71617, 27), (75401, 26), (79517, 26), (84035, 25), (89053, 24),
)  # fmt: skip
"""`hstcp_aimd_vals` of net/ipv4/tcp_highspeed.c: the largest window of each step in segments, and 256 b(w)."""

_TOPS = tuple(top for top, _ in _STEPS)


def highspeed_decrease(window: float) -> float:
    """Return the fraction of the window lost by HighSpeed TCP per loss, b(w): 0.5 up to 38 segments, then less.

    0.5 - 0.4 * ln(w/38) / ln(83000/38), so 0.1 at 83000 segments and above. Source: RFC 3649, section 5, the
    equation for b(w), and appendix B. Raises ParameterError outside the domain.

    Args:
        window: Segments, above 0.
    """
    positive("window", window, "the congestion window in segments")
    return decrease(window)


def highspeed_growth(window: float) -> float:
    """Return HighSpeed TCP's growth a(w), segments per round trip: w^2 * p(w) * 2 * b(w) / (2 - b(w)), at least 1.

    p(w) = 0.078 / w^1.2 is the loss rate at which `window` is the mean, rounded as in the RFC. Source: RFC
    3649, section 5, the equation for a(w), and appendix B. Raises ParameterError outside the domain.

    Args:
        window: Segments, above 0.
    """
    positive("window", window, "the congestion window in segments")
    return growth(window)


def step(window: float) -> tuple[int, float]:
    """Return Linux's growth a(w), segments per round trip, and decrease b(w) at `window` segments.

    Source: `hstcp_cong_avoid` and `hstcp_ssthresh` of net/ipv4/tcp_highspeed.c, which read both from the
    table of RFC 3649, appendix B, without interpolation.
    """
    place = min(bisect_left(_TOPS, window), len(_STEPS) - 1)
    return place + 1, _STEPS[place][1] / 256


def decrease(window: float) -> float:
    along = min(1.0, max(0.0, math.log(window / _LOW_WINDOW) / math.log(_HIGH_WINDOW / _LOW_WINDOW)))
    return 0.5 + (_HIGH_DECREASE - 0.5) * along


def growth(window: float) -> float:
    b = decrease(window)
    return max(1.0, 0.078 * math.pow(window, 0.8) * 2 * b / (2 - b))


def highspeed_window(loss: float) -> float:
    """Return the mean congestion window of HighSpeed TCP, segments: 0.12 / loss^0.835, or Reno's if larger.

    Source: RFC 3649, section 5, with its default parameters. Raises ParameterError outside the domain.

    Args:
        loss: Loss events per segment, above 0 and at most 1; both windows are equal near 1e-3, at about 38
            segments.
    """
    loss_rate(loss)
    return max(0.12 / math.pow(loss, 0.835), reno_window(loss))
