"""What independent random loss makes of the windows, found again by playing them against such losses."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tcptutor import theory
from tcptutor.theory.high_speed import step as step
from tcptutor.theory.renewal import Age
from tcptutor.theory.renewal import mean_window as mean_of_chain
from tcptutor.theory.senders import RELATED, related_rate
from tests.each import each
from tests.validation import kernel
from tests.validation.simulated import KEPT

STEPS = 4
"""Of a round trip, in which a window grows by a segment at most: 25 give the same to 0.2 %."""

Grow = Callable[[float, float], float]
"""New window from the window just after the last loss and the seconds since then."""


Epoch = Callable[[float, float], Grow]
"""The growth after a loss, from the windows before and after it."""
_RTT, _LOSS, _RTO = 0.05, 1e-3, 0.25


def mean_window(loss: float, rtt: float, beta: float, epoch: Epoch, events: int) -> float:
    """Segments in flight on average, over `events` losses."""
    draw = random.Random(1).expovariate
    window = theory.reno_window(loss)
    segments = seconds = 0.0
    for _ in range(events):
        peak, start = window, window * beta
        grow, left, t, window = epoch(peak, start), draw(loss), 0.0, start
        while left > 0:
            sent = min(left, max(1.0, window / STEPS))
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


def test_reno() -> None:
    window = mean_window(1e-3, 0.05, 0.5, aimd(1, 0.05), events=1500)
    assert window * 1e-3**0.5 == pytest.approx(theory.MATHIS_RANDOM, rel=0.025)


def test_cubic_in_its_reno_friendly_region() -> None:
    window = mean_window(1e-5, 0.01, theory.CUBIC_BETA, aimd(theory.CUBIC_RENO_ALPHA, 0.01), events=1500)
    assert window == pytest.approx(theory.cubic_random_window(1e-5, 0.01), rel=0.025)


def test_cubic_in_its_own_region() -> None:
    window = mean_window(1e-4, 0.2, theory.CUBIC_BETA, cubic(), events=2000)
    assert window == pytest.approx(theory.cubic_random_window(1e-4, 0.2), rel=0.05)


@each("loss", [3e-4, 1e-3, 3e-3, 1e-2])
@each("rtt", [0.0101, 0.0301, 0.0801, 0.2001])
@each(
    ("algorithm", "law"),
    [
        ("reno", lambda loss, _rtt: theory.reno_random_window(loss)),
        ("cubic", theory.cubic_random_window),
        ("htcp", theory.htcp_random_window),
    ],
)
def test_what_the_kernels_code_makes_of_such_losses(
    algorithm: str, law: Callable[[float, float], float], rtt: float, loss: float
) -> None:
    """Played ACK by ACK. What came out is kept with the validation's results, and played again by its tests."""
    window = KEPT.windows[f"kernel {algorithm} {loss:g} {rtt:g}"]
    assert window == pytest.approx(law(loss, rtt), rel=0.05)


# Mean windows of the kernel's sender, played segment by segment by somebody else's simulation of its table.
HIGHSPEED_PLAYED = {1e-4: 180.0, 3e-4: 81.4, 1e-3: 33.0, 2e-3: 20.7}


@pytest.mark.parametrize(("loss", "window"), HIGHSPEED_PLAYED.items())
def test_highspeed_takes_the_steps_of_the_kernels_table(loss: float, window: float) -> None:
    """With RFC 3649's smooth b(w) in place of the table it would be 3 to 5 % below."""
    assert theory.highspeed_random_window(loss) == pytest.approx(window, rel=0.015)


def test_highspeed_as_played_here_has_the_same_window() -> None:
    played = kernel.throughput("highspeed", 1448, 0.05, 1e-3, events=1500) * 0.05 / 8 / 1448
    assert theory.highspeed_random_window(1e-3) == pytest.approx(played, rel=0.04)


def test_highspeed_leaves_nine_sixteenths_from_39_segments_on() -> None:
    """Row 1 of the kernel's table is 0.5; row 2, from 39 to 118 segments, is 112/256."""
    assert (step(38), step(39)) == ((1, 0.5), (2, 112 / 256))
    assert step(200_000) == (72, 24 / 256)


@dataclass(frozen=True)
class Line:
    start: float
    slope: float

    def grow(self, line: float, before: Age, after: Age) -> float:
        return line + self.slope * (after.seconds - before.seconds)


class Aimd:
    """As the chain of `theory.renewal` takes a sender, in real numbers."""

    modes = 1

    def __init__(self, alpha: float, beta: float, rtt: float) -> None:
        self.slope, self.beta = alpha / rtt, beta

    def epoch(self, window: float, mode: int) -> Line:
        return Line(window * self.beta, self.slope)

    def next_mode(self, window: float, mode: int, next_window: float) -> int:
        return 0


@pytest.mark.parametrize("rtt", [0.001, 0.2])
def test_the_chain_gives_renos_constant(rtt: float) -> None:
    """Where windows are large, so that a round trip of repair and half a segment are nothing.

    That of Ott, Kemperman, Mathis: The Stationary Behavior of Ideal TCP Congestion Avoidance, 1996.
    """
    reno = mean_of_chain(Aimd(1, 0.5, rtt), 1e-8, rtt) / theory.reno_window(1e-8)
    assert reno * theory.MATHIS_PERIODIC == pytest.approx(1.3098, rel=0.002)


def test_a_round_trip_of_repair_takes_from_a_small_window() -> None:
    """Reno's constant falls with the window, as its code played says."""
    chain = mean_of_chain(Aimd(1, 0.5, 0.05), 1e-2, 0.05)
    played = kernel.throughput("reno", 1448, 0.05, 1e-2, events=1500) * 0.05 / 8 / 1448
    assert 0.9 * theory.MATHIS_RANDOM < chain * 0.1 < 0.97 * theory.MATHIS_RANDOM
    assert played == pytest.approx(chain, rel=0.03)


def related(algorithm: str, loss: float = _LOSS) -> float:
    return related_rate(algorithm, _RTT, loss, _RTO)


def test_senders_that_halve_and_add_one_have_renos_rate() -> None:
    reno = theory.limited_rates([theory.LimitedFlow(algorithm="reno", rtt=_RTT, loss=_LOSS, rto=_RTO)])[0]
    for name in ("vegas", "lp", "nv", "cdg", "dctcp"):
        assert related(name) == pytest.approx(reno, rel=0.03)


@pytest.mark.parametrize(("algorithm", "left"), [("veno", 4 / 5), ("yeah", 7 / 8), ("westwood", 7 / 8)])
def test_a_sender_that_keeps_more_is_faster_as_aimd_says(algorithm: str, left: float) -> None:
    faster = theory.aimd_window(_LOSS, 1, left) / theory.reno_window(_LOSS)
    assert related(algorithm) / related("vegas") == pytest.approx(faster, rel=0.08)


def test_hybla_makes_up_for_a_long_round_trip() -> None:
    near, far = (related_rate("hybla", rtt, _LOSS, 0.3) for rtt in (0.025, 0.1))
    assert near == pytest.approx(far, rel=0.15)


@pytest.mark.parametrize("algorithm", RELATED)
def test_more_loss_leaves_less(algorithm: str) -> None:
    assert related(algorithm, 1e-4) > related(algorithm) > related(algorithm, 1e-2) > 0


def test_bic_searches_for_the_window_of_the_last_loss_faster_than_scalable_grows() -> None:
    assert 1 < related("bic") / related("scalable") < 2.5
    # Up to 14 segments it is Reno.
    assert related("bic", 0.05) == pytest.approx(related("vegas", 0.05), rel=0.25)
