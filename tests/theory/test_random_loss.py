"""The constants for independent random loss, found again by playing the windows against such losses."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from tcptutor import theory

Grow = Callable[[float, float], float]
"""New window from the window just after the last loss and the seconds since then."""


Epoch = Callable[[float, float], Grow]
"""The growth after a loss, from the windows before and after it."""


def mean_window(loss: float, rtt: float, beta: float, epoch: Epoch, events: int) -> float:
    """Segments in flight on average, over `events` losses."""
    draw = random.Random(1).expovariate
    window = theory.reno_window(loss)
    segments = seconds = 0.0
    for _ in range(events):
        peak, start = window, window * beta
        grow, left, t, window = epoch(peak, start), draw(loss), 0.0, start
        while left > 0:
            sent = min(left, max(1.0, window / 25))
            dt = rtt * sent / window
            t, left = t + dt, left - sent
            segments, seconds = segments + sent, seconds + dt
            window = grow(window, t)
    return segments / seconds * rtt


def aimd(alpha: float, rtt: float) -> Epoch:
    return lambda _, start: lambda _window, t: start + alpha * t / rtt


def cubic() -> Epoch:
    last = [0.0]

    def epoch(peak: float, start: float) -> Grow:
        # Fast convergence: a peak below the last one gives way to others.
        top = peak * (1 + theory.CUBIC_BETA) / 2 if peak < last[0] else peak
        last[0] = top
        top = max(top, start)
        k = ((top - start) / theory.CUBIC_C) ** (1 / 3)
        return lambda _window, t: top + theory.CUBIC_C * (t - k) ** 3

    return epoch


def htcp(rtt: float) -> Epoch:
    def epoch(_peak: float, _start: float) -> Grow:
        before = [0.0]

        def grow(window: float, t: float) -> float:
            dt, before[0] = t - before[0], t
            return window + max(1.0, min(2.0, rtt / 0.1) * theory.htcp_alpha(t)) * dt / rtt

        return grow

    return epoch


def test_reno() -> None:
    window = mean_window(1e-3, 0.05, 0.5, aimd(1, 0.05), events=2500)
    assert window * 1e-3**0.5 == pytest.approx(theory.MATHIS_RANDOM, rel=0.025)


def test_cubic_in_its_reno_friendly_region() -> None:
    window = mean_window(1e-3, 0.01, theory.CUBIC_BETA, aimd(theory.CUBIC_RENO_ALPHA, 0.01), events=2500)
    assert window / theory.reno_window(1e-3) == pytest.approx(theory.CUBIC_RENO_RANDOM, rel=0.025)


def test_cubic_in_its_own_region() -> None:
    window = mean_window(1e-4, 0.2, theory.CUBIC_BETA, cubic(), events=2000)
    assert window / theory.cubic_window(1e-4, 0.2) == pytest.approx(theory.CUBIC_RANDOM, rel=0.05)


def test_htcp() -> None:
    window = mean_window(1e-4, 0.1, theory.HTCP_BETA, htcp(0.1), events=1500)
    assert window / theory.htcp_window(1e-4, 0.1) == pytest.approx(theory.HTCP_RANDOM, rel=0.05)
