"""Windows on paths that reorder, beside a count of the segments that RACK takes for lost."""

from __future__ import annotations

import math
import random

import pytest

from tcptutor.base.errors import ParameterError
from tcptutor.theory.loss_laws import (
    JITTER_MISTAKES,
    OVERTAKING_MISTAKES,
    combine_with_link,
    jitter_window,
    overtaking_window,
)


def late_share(window: int, jitter: float, rtt: float) -> float:
    """Draw delays for a steady stream, and count segments that arrive after one sent more than `rtt` later."""
    chance = random.Random(7)
    gap, number = rtt / window, 20_000
    arrivals = [place * gap + chance.uniform(rtt - jitter, rtt + jitter) for place in range(number)]
    first, least = [math.inf] * number, math.inf
    for place in reversed(range(number - window)):
        least = min(least, arrivals[place + window])
        first[place] = least
    return sum(arrival > later for arrival, later in zip(arrivals, first, strict=True)) / number


@pytest.mark.parametrize("share", [0.75, 0.9, 1.0])
def test_at_the_window_a_round_trip_has_that_many_mistakes(share: float) -> None:
    rtt = 0.04
    window = jitter_window(share * rtt, rtt)
    mistakes = window * late_share(round(window), share * rtt, rtt)
    assert mistakes == pytest.approx(JITTER_MISTAKES, rel=0.35)


def test_jitter_that_rack_waits_for_is_no_limit() -> None:
    assert jitter_window(0.02, 0.04) == math.inf
    assert jitter_window(0.021, 0.04) > jitter_window(0.03, 0.04) > jitter_window(0.04, 0.04)


def test_fewer_segments_that_overtake_leave_a_larger_window() -> None:
    assert overtaking_window(0.01) == pytest.approx(OVERTAKING_MISTAKES / 0.01)


def test_a_link_and_a_window_leave_less_than_either() -> None:
    assert combine_with_link(20.0, 20.0) == pytest.approx(20 / math.sqrt(2))
    assert combine_with_link(math.inf, 20.0) == pytest.approx(20.0)


def test_outside_the_domain_they_say_so() -> None:
    with pytest.raises(ParameterError, match="reorder"):
        overtaking_window(0.0)
    with pytest.raises(ParameterError, match="jitter"):
        jitter_window(0.05, 0.04)
    with pytest.raises(ParameterError, match="rtt"):
        jitter_window(0.05, 0.0)
    with pytest.raises(ParameterError, match="window"):
        combine_with_link(0.0, 1.0)
