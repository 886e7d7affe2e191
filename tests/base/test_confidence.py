"""Student's t against the printed tables, and summaries."""

from __future__ import annotations

import pytest

from tcptutor.base.confidence import summarize, t_quantile

# NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, upper critical values: columns 0.975 and 0.995.
TABLE = {
    1: (12.706, 63.657), 2: (4.303, 9.925), 3: (3.182, 5.841), 4: (2.776, 4.604), 5: (2.571, 4.032),
    6: (2.447, 3.707), 7: (2.365, 3.499), 8: (2.306, 3.355), 9: (2.262, 3.250), 10: (2.228, 3.169),
    15: (2.131, 2.947), 20: (2.086, 2.845), 29: (2.045, 2.756), 30: (2.042, 2.750), 60: (2.000, 2.660),
    100: (1.984, 2.626),
}  # fmt: skip


@pytest.mark.parametrize("freedom", TABLE)
def test_the_quantiles_are_those_of_the_published_table(freedom: int) -> None:
    two_sided_95, two_sided_99 = TABLE[freedom]
    assert t_quantile(freedom) == pytest.approx(two_sided_95, abs=6e-4)
    assert t_quantile(freedom, 0.99) == pytest.approx(two_sided_99, abs=6e-4)


def test_many_degrees_come_to_the_normal_distribution() -> None:
    assert t_quantile(9_999) == pytest.approx(1.96020, abs=1e-4)


def test_one_run_has_a_mean_and_no_interval() -> None:
    one = summarize([4.0])
    assert (one.n, one.mean, one.stdev, one.low, one.high, one.half_width) == (1, 4.0, None, None, None, None)


def test_the_interval_of_a_mean() -> None:
    """By hand: mean 3, s = √2.5, 2.776 s / √5 = 1.963."""
    five = summarize([1.0, 2.0, 3.0, 4.0, 5.0])
    assert five.mean == 3
    assert five.stdev == pytest.approx(2.5**0.5)
    assert five.half_width == pytest.approx(1.963, abs=1e-3)
    assert (five.low, five.high) == (pytest.approx(3 - 1.963, abs=1e-3), pytest.approx(3 + 1.963, abs=1e-3))


def test_equal_runs_have_an_interval_of_no_width() -> None:
    assert summarize([7.0, 7.0, 7.0]).half_width == 0
