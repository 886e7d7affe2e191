"""CUBIC's window: the curve between two losses, and the mean under loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tcptutor.theory.domain import at_least, loss_rate, positive, require
from tcptutor.theory.loss_laws import MIN_WINDOW, aimd_window
from tcptutor.theory.renewal import Age, mean_window

CUBIC_C = 0.4
"""Steepness of the cubic curve, segments/s^3 (RFC 9438, section 5.1)."""

CUBIC_BETA = 0.7
"""Fraction of the window left by a loss."""

CUBIC_RENO_ALPHA = 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA)
"""Growth of CUBIC's Reno-friendly window, segments per round trip, for Reno's mean."""

CUBIC_MEAN = 0.87
"""Mean over peak of the window of a lone CUBIC flow, from `theory.trajectories` (0.864 to 0.872).

RFC 9438's mean of the cubic region, (3 + beta) / 4 = 0.925, holds when every loss comes at the same window.
Here the steeper half of the curve overshoots it slightly, so that every second peak is lower and fast
convergence acts.
"""

_WINDOWS_A_SEGMENT = 15 / 8
"""Windows to be acknowledged before Linux's Reno-friendly window grows by a segment: 1 / CUBIC_RENO_ALPHA in
integer eighths, `beta_scale` of net/ipv4/tcp_cubic.c."""

_UPDATE_PERIOD = 1 / 32
"""Seconds between two computations of growth while cwnd is constant (`bictcp_update`, HZ / 32)."""

_TICK = 1 / 250
"""A tick of the kernel's clock, seconds, with the usual HZ of 250."""

_MAX_GROWTH = 0.5
"""Largest growth of cwnd per acknowledged segment (`bictcp_update`, cnt of at least 2)."""


def cubic_window(loss: float, rtt: float) -> float:
    """Return the mean congestion window of CUBIC, segments: (C*(3+beta) / (4*(1-beta)))^(1/4) * (rtt/loss)^(3/4).

    Never below the Reno-friendly window, which equals Reno's. Source: RFC 9438, eq. 5 (the mean of the cubic
    region, proved in its appendix B) and eq. 3 (the Reno-friendly region). Raises ParameterError outside the
    domain.

    Args:
        loss: Loss events per segment at even distances, above 0 and at most 1.
        rtt: Seconds, above 0.
    """
    return max(cubic_region_window(loss, rtt), aimd_window(loss, CUBIC_RENO_ALPHA, CUBIC_BETA))


def cubic_region_window(loss: float, rtt: float) -> float:
    """Return the mean congestion window of CUBIC's curve alone, segments, without the Reno-friendly window.

    Arguments and errors as in `cubic_window`. Source: RFC 9438, eq. 5.
    """
    loss_rate(loss)
    positive("rtt", rtt, "a round trip takes time, in seconds")
    steepness = CUBIC_C * (3 + CUBIC_BETA) / (4 * (1 - CUBIC_BETA))
    return math.pow(steepness, 0.25) * math.pow(rtt / loss, 0.75)


def cubic_random_window(loss: float, rtt: float) -> float:
    """Return the mean congestion window of Linux's CUBIC under random loss, segments.

    Like `cubic_window`, but with losses at random distances, and as implemented in Linux: the maximum of the
    curve and the Reno-friendly window at each moment, fast convergence, integer windows, and growth computed
    32 times a second while cwnd is constant. Below `cubic_window` for small windows. Without timeouts, so too
    high above a loss of about 0.01, and too low for round trips shorter than 4 ms, a tick of the kernel's
    clock. Source: net/ipv4/tcp_cubic.c, and `theory.renewal` for the mean over the losses. Raises
    ParameterError outside the domain.

    Args:
        loss: Loss probability of a segment, above 0 and at most 1.
        rtt: Seconds, above 0.
    """
    loss_rate(loss)
    positive("rtt", rtt, "a round trip takes time, in seconds")
    return mean_window(LinuxCubic(rtt), loss, rtt)


def cubic_k(peak: float, start: float) -> float:
    """Return the seconds until the cubic curve reaches the window of the last loss: cbrt((peak - start) / C).

    Source: RFC 9438, eq. 2. Raises ParameterError outside the domain.

    Args:
        peak: Window at that loss, segments, above 0.
        start: Window just after it, segments, above 0 and at most `peak`.
    """
    positive("peak", peak, "the window at the last loss, in segments")
    reason = "the window after the loss, in segments"
    require(0 < start <= peak, "start", start, "above 0, at most the peak", reason)
    return math.cbrt((peak - start) / CUBIC_C)


def cubic_curve(elapsed: float, peak: float, start: float | None = None) -> float:
    """Return CUBIC's window `elapsed` seconds after a loss, segments: C * (elapsed - K)^3 + peak.

    Independent of the round-trip time. Source: RFC 9438, eq. 1. Raises ParameterError outside the domain.

    Args:
        elapsed: Seconds, 0 or above.
        peak: See `cubic_k`, which computes K.
        start: See `cubic_k`; None for 0.7 * peak.
    """
    at_least("elapsed", elapsed, 0, "seconds since the last loss")
    k = cubic_k(peak, CUBIC_BETA * peak if start is None else start)
    return CUBIC_C * (elapsed - k) ** 3 + peak


class LinuxCubic:
    """The sender of net/ipv4/tcp_cubic.c on a path without queue. Mode 1: after a loss with fast convergence."""

    modes = 2

    def __init__(self, rtt: float) -> None:
        self._rtt = rtt

    def epoch(self, window: float, mode: int) -> _CubicEpoch:
        # Linux rounds down to integers: 0.7 of an integer exceeds the next lower integer by 0.45 on average.
        start = max(MIN_WINDOW, window * CUBIC_BETA - 0.45)
        peak = max(start, _last_max(window, mode))
        return _CubicEpoch(start, peak, cubic_k(peak, start), self._rtt)

    def next_mode(self, window: float, mode: int, next_window: float) -> int:
        # Windows are integers: half a segment below on average means a segment below.
        return int(next_window < _last_max(window, mode) - 0.5)


def _last_max(window: float, mode: int) -> float:
    """Return `last_max_cwnd` after a loss at `window`, reduced by fast convergence in mode 1, in integer segments."""
    return window * (1 + CUBIC_BETA) / 2 - 0.5 if mode else window


@dataclass(frozen=True, slots=True)
class _CubicEpoch:
    """Growth of Linux's CUBIC from `start` after a loss, along the curve that is flat at `peak` after `k` seconds."""

    start: float
    peak: float
    k: float
    rtt: float

    def grow(self, line: float, before: Age, after: Age) -> float:
        # Linux uses a computation that is half a period old on average, until the end of a tick. If a tick is many
        # round trips, the window catches up afterwards.
        tick = self.rtt / _TICK
        old = _UPDATE_PERIOD / 2 * (tick if tick < 1.0 else 1.0)
        fastest = line * (1 + _MAX_GROWTH * (after.rounds - before.rounds))
        target = self._curve(after.seconds - old)
        friendly = self._friendly(after.rounds - old / self.rtt)
        # Comparisons instead of min and max: a simulation calls this ten thousand times.
        target = friendly if friendly > target else target
        target = fastest if fastest < target else target
        return target if target > line else line

    def _friendly(self, rounds: float) -> float:
        """Return the Reno-friendly window. A step counts integer segments: of eighths a mean of 7/16 is cut off."""
        return self.start + rounds * self.start / (_WINDOWS_A_SEGMENT * self.start - 7 / 16)

    def _curve(self, computed: float) -> float:
        """Return the window aimed at: the curve a round trip ahead, less the growth missing in this round trip.

        Both are in integer segments, so half a segment less on average. The line is half a segment above
        cwnd.
        """
        t = computed - self.k
        ahead = t + self.rtt
        distance = CUBIC_C * abs(ahead) ** 3 - 0.5
        missing = 3 * CUBIC_C * t * t * self.rtt - 0.5
        aim = self.peak + 0.5
        if distance > 0:
            aim += distance if ahead > 0 else -distance
        return aim - missing if missing > 0 else aim
