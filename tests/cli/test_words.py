"""Means with their confidence intervals, as commands write them."""

from __future__ import annotations

import pytest

from tcptutor.base.confidence import summarize
from tcptutor.commands.output import rate_with_interval, with_interval


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ([9.53e6], "9.53 Mbit/s"),
        ([9.5e6, 9.56e6], "9.53 ± 0.38 Mbit/s"),
        ([9.53e6, 9.53e6], "9.53 ± 0 Mbit/s"),
        ([9.53e6, 9.53e6 + 1], "9.53 ± 0.00 Mbit/s"),
        ([2e3, 2e3 + 1e-3], "2 ± 0.00 kbit/s"),
    ],
)
def test_a_rate_has_no_more_digits_than_tell_something(values: list[float], told: str) -> None:
    assert rate_with_interval(summarize(values)) == told


def test_a_mean_of_nothing_has_an_interval_too() -> None:
    assert with_interval(summarize([0.0, 0.0]), 1e-2, "%") == "0 ± 0 %"
    assert with_interval(summarize([-1.0, 1.0]), 1, "") == "0 ± 13"
