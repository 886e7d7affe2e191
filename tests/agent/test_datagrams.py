"""Rates of UDP that nobody announced, from counts at a few instants."""

from __future__ import annotations

import pytest

from tcptutor.agent.session.datagrams import steady


def test_a_rate_is_of_the_time_in_which_it_went_on() -> None:
    # A hundred a second, found when 30 had gone, and over soon after 1.4 s.
    counts = [
        (0.0, 30),
        (0.2, 50),
        (0.4, 70),
        (0.6, 90),
        (0.8, 110),
        (1.0, 130),
        (1.2, 150),
        (1.4, 170),
        (1.6, 172),
    ]
    assert steady(counts) == pytest.approx(100)
    assert steady([*counts, (1.8, 172), (2.0, 172)]) == pytest.approx(100)
    # What waits before it is read does not count.
    assert steady([(-0.4, 30), (-0.2, 30), *counts]) == pytest.approx(100)


def test_too_little_to_tell_is_little() -> None:
    assert steady([]) == steady([(0.0, 5)]) == steady([(0.0, 5), (1.0, 5)]) == 0
    assert steady([(0.0, 5), (0.2, 25)]) == pytest.approx(100)
