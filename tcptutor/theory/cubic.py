"""CUBIC's window: the curve between two losses, and the mean under loss."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tcptutor.theory.aimd import LEAST_WINDOW, aimd_window
from tcptutor.theory.domain import at_least, loss_rate, positive, require
from tcptutor.theory.renewal import Age, mean_window

CUBIC_C = 0.4
"""How steeply the cubic curve rises, segments/s^3 (RFC 9438, section 5.1)."""

CUBIC_BETA = 0.7
"""What is left of the window after a loss."""

CUBIC_RENO_ALPHA = 3 * (1 - CUBIC_BETA) / (1 + CUBIC_BETA)
"""Growth of CUBIC's Reno-friendly window, segments a round trip: the mean is then Reno's."""

CUBIC_MEAN = 0.87
"""Mean over peak of one CUBIC flow that has a link for itself, a ratio, from `theory.trajectories` (0.864 to 0.872).

RFC 9438's mean of the cubic region, (3 + beta) / 4 = 0.925, holds when every loss comes at the same window. Here the
steeper half of the curve overshoots it by a little, so that every second peak is lower and fast convergence acts.
"""

_WINDOWS_A_SEGMENT = 15 / 8
"""Windows that have to be acknowledged before Linux's Reno-friendly window grows by a segment.

1 / CUBIC_RENO_ALPHA in whole eighths: `beta_scale` of net/ipv4/tcp_cubic.c."""

_UPDATE_PERIOD = 1 / 32
"""Seconds between two computations of growth while cwnd stands still (`bictcp_update`, HZ / 32)."""

_TICK = 1 / 250
"""A tick of the kernel's clock, seconds, with the usual HZ of 250."""

_FASTEST = 0.5
"""Segments that cwnd grows by for each one acknowledged, at most (`bictcp_update`, cnt of at least 2)."""


def cubic_window(loss: float, rtt: float) -> float:
    """Mean congestion window of CUBIC, segments: (C*(3+beta) / (4*(1-beta)))^(1/4) * (rtt/loss)^(3/4).

    Never below the Reno-friendly window, which is Reno's. loss: loss events per segment at even distances,
    above 0 and at most 1. rtt: seconds, above 0. Source: RFC 9438, eq. 5 (the mean of the cubic region, proved
    in its appendix B) and eq. 3 (the Reno-friendly region). Raises ParameterError outside the domain.
    """
    return max(cubic_region_window(loss, rtt), aimd_window(loss, CUBIC_RENO_ALPHA, CUBIC_BETA))


def cubic_region_window(loss: float, rtt: float) -> float:
    """Mean congestion window of CUBIC by its curve alone, segments, without the Reno-friendly window.

    loss, rtt, errors: as `cubic_window`. Source: RFC 9438, eq. 5.
    """
    loss_rate(loss)
    positive("rtt", rtt, "a round trip takes time, in seconds")
    steepness = CUBIC_C * (3 + CUBIC_BETA) / (4 * (1 - CUBIC_BETA))
    return math.pow(steepness, 0.25) * math.pow(rtt / loss, 0.75)


def cubic_random_window(loss: float, rtt: float) -> float:
    """Mean congestion window of Linux's CUBIC, segments, when each segment is lost by chance.

    As `cubic_window`, but with losses at random distances, and as Linux has it: the greater of the curve and the
    Reno-friendly window at each moment, fast convergence, windows in whole segments, and growth that is looked at 32
    times a second while cwnd stands still. Below `cubic_window` where the window is small; without timeouts, so too
    high above a loss of about 0.01, and too low where a round trip is shorter than 4 ms, a tick of the kernel's clock.
    loss: share of segments, above 0 and at most 1. rtt: seconds, above 0. Source: net/ipv4/tcp_cubic.c, and
    `theory.renewal` for the mean over the losses. Raises ParameterError outside the domain.
    """
    loss_rate(loss)
    positive("rtt", rtt, "a round trip takes time, in seconds")
    return mean_window(LinuxCubic(rtt), loss, rtt)


def cubic_k(peak: float, start: float) -> float:
    """Seconds until the cubic curve is back at the window of the last loss: cbrt((peak - start) / C).

    peak: the window at that loss, segments, above 0. start: the window just after it, segments, above 0 and
    at most `peak`. Source: RFC 9438, eq. 2. Raises ParameterError outside the domain.
    """
    positive("peak", peak, "the window at the last loss, in segments")
    reason = "the window after the loss, in segments"
    require(0 < start <= peak, "start", start, "above 0, at most the peak", reason)
    return math.cbrt((peak - start) / CUBIC_C)


def cubic_curve(elapsed: float, peak: float, start: float | None = None) -> float:
    """CUBIC's window `elapsed` seconds after a loss, segments: C * (elapsed - K)^3 + peak.

    elapsed: seconds, 0 or above. peak, start: as `cubic_k`, which gives K; start is 0.7 * peak when None.
    The round-trip time is not in it. Source: RFC 9438, eq. 1. Raises ParameterError outside the domain.
    """
    at_least("elapsed", elapsed, 0, "seconds since the last loss")
    k = cubic_k(peak, CUBIC_BETA * peak if start is None else start)
    return CUBIC_C * (elapsed - k) ** 3 + peak


class LinuxCubic:
    """The sender of net/ipv4/tcp_cubic.c on a path without queue. Its mode: 1 after a loss with fast convergence."""

    modes = 2

    def __init__(self, rtt: float) -> None:
        self._rtt = rtt

    def epoch(self, window: float, mode: int) -> _CubicEpoch:
        # Linux rounds down to whole segments: 0.7 of a whole number is 0 to 9 tenths above one, 0.45 on average.
        start = max(LEAST_WINDOW, window * CUBIC_BETA - 0.45)
        peak = max(start, _last_max(window, mode))
        return _CubicEpoch(start, peak, cubic_k(peak, start), self._rtt)

    def follow(self, window: float, mode: int, found: float) -> int:
        # Windows are whole segments: half of one below on average is one below.
        return int(found < _last_max(window, mode) - 0.5)


def _last_max(window: float, mode: int) -> float:
    """`last_max_cwnd` after a loss at `window`: with fast convergence less, cut down to whole segments."""
    return window * (1 + CUBIC_BETA) / 2 - 0.5 if mode else window


@dataclass(frozen=True, slots=True)
class _CubicEpoch:
    """Linux's growth after a loss that has left `start`: along the curve that is flat at `peak` after `k` seconds."""

    start: float
    peak: float
    k: float
    rtt: float

    def grown(self, line: float, before: Age, after: Age) -> float:
        # Linux acts on a computation that is half a period old on average, and holds to it to the end of a tick: where
        # a tick is many round trips, the window makes up for the wait.
        tick = self.rtt / _TICK
        old = _UPDATE_PERIOD / 2 * (tick if tick < 1.0 else 1.0)
        fastest = line * (1 + _FASTEST * (after.rounds - before.rounds))
        target = self._curve(after.seconds - old)
        friendly = self._friendly(after.rounds - old / self.rtt)
        # Comparisons in place of min and max: a play asks this some ten thousand times.
        target = friendly if friendly > target else target
        target = fastest if fastest < target else target
        return target if target > line else line

    def _friendly(self, rounds: float) -> float:
        """The Reno-friendly window. A step is counted in whole segments: of eighths 7/16 is cut off on average."""
        return self.start + rounds * self.start / (_WINDOWS_A_SEGMENT * self.start - 7 / 16)

    def _curve(self, computed: float) -> float:
        """cwnd aims at the curve a round trip ahead, and each round trip gains what is missing then.

        Both are in whole segments, so half of one less on average. The line is half of one above cwnd.
        """
        t = computed - self.k
        ahead = t + self.rtt
        distance = CUBIC_C * abs(ahead) ** 3 - 0.5
        missing = 3 * CUBIC_C * t * t * self.rtt - 0.5
        aim = self.peak + 0.5
        if distance > 0:
            aim += distance if ahead > 0 else -distance
        return aim - missing if missing > 0 else aim
