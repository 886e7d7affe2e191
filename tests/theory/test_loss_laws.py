"""Laws that no published table has: DCTCP's window by playing RFC 8257, and the time of small writes."""

from __future__ import annotations

import math
import random

import pytest

from tcptutor import theory
from tcptutor.base.errors import ParameterError
from tcptutor.theory.limits import write_limited

GAIN = 1 / 16
"""g of RFC 8257, section 4.2."""


@pytest.mark.parametrize("threshold", [200.0, 2000.0, 20_000.0])
def test_a_threshold_marks_as_the_root_of_the_window(threshold: float) -> None:
    """All segments of the round trip in which the window passes the threshold are marked, no others."""
    slow = (
        0.05 * 1.386 / math.sqrt(2 * threshold)
    )  # SIGCOMM 2010, section 3.4: below 1.386 / sqrt(2 * window)
    window, share = threshold, math.sqrt(2 / threshold)
    sent = marked = 0.0
    for round_trip in range(60_000):
        above = window > threshold
        if round_trip > 10_000:
            sent, marked = sent + window, marked + window * above
        share += slow * (above - share)
        window = window * (1 - share / 2) if above else window + 1
    assert theory.dctcp_window(marked / sent) == pytest.approx(threshold, rel=0.08)
    assert theory.dctcp_marking(threshold) == pytest.approx(marked / sent, rel=0.04)


def test_marks_by_chance_leave_about_two_in_every_round_trip() -> None:
    draw = random.Random(1)
    for marking in (0.02, 0.005):
        window, share = 2 / marking, marking
        total = 0.0
        rounds = 6000
        for _ in range(rounds):
            total += window
            marks = sum(draw.random() < marking for _ in range(round(window)))
            share += GAIN * (marks / round(window) - share)
            window = (window + 1) * (1 - share / 2 if marks else 1)
        # A round trip may pass without a mark, which the formula leaves out: up to a seventh more.
        assert 1 < total / rounds / theory.dctcp_window(marking, step=False) < 1.2


def test_the_two_ways_are_far_from_each_other_and_from_reno() -> None:
    assert theory.dctcp_window(0.05) == pytest.approx(800)
    assert theory.dctcp_window(0.05, step=False) == pytest.approx(40)
    assert theory.ecn_window(0.05) == theory.reno_window(0.05) == pytest.approx(5.48, abs=0.01)


def test_a_smaller_cut_after_a_mark_gives_a_larger_window() -> None:
    assert theory.ecn_window(0.01, theory.ABE_BETA) == pytest.approx((1.8 / 0.4 / 0.01) ** 0.5)


def test_a_processor_divides_its_time_between_writes_and_segments() -> None:
    rate = write_limited(12, 1448, 5e-6, 20e-6)
    writes, segments = rate / 8 / 12, rate / 8 / 1448
    assert writes * 5e-6 + segments * 20e-6 == pytest.approx(1)


@pytest.mark.parametrize("wrong", ["length", "mss", "write", "segment"])
def test_outside_the_domain_it_says_so(wrong: str) -> None:
    given = {"length": 12.0, "mss": 1448.0, "write": 5e-6, "segment": 2e-5} | {wrong: -1.0}
    with pytest.raises(ParameterError, match=wrong):
        write_limited(**given)
