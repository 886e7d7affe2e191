"""Percentiles of samples whose percentiles can be read off, and what too few samples do not show."""

from __future__ import annotations

import math
import random

import pytest

from tcptutor.base.percentiles import Distribution, is_supported, time_weights


def of(*samples: float, weights: list[float] | None = None) -> Distribution:
    found = Distribution.of(samples, weights)
    assert found is not None
    return found


def test_percentiles_of_the_numbers_1_to_100() -> None:
    found = of(*range(100, 0, -1))
    assert [found.quantile(share) for share in (0.0, 0.5, 0.95, 0.99, 1.0)] == [1, 50, 95, 99, 100]


def test_a_percentile_is_a_sample_not_a_value_between_two() -> None:
    assert of(10, 20).quantile(0.5) == 10
    assert of(10, 20).quantile(0.51) == 20
    assert of(7).quantile(0.99) == 7


def test_a_sample_counts_by_its_weight() -> None:
    # 10 ms for 9 s and 50 ms for 1 s: up to 90 % of the time the delay is at most 10 ms.
    found = of(0.05, 0.01, weights=[1, 9])
    assert (found.quantile(0.9), found.quantile(0.91)) == (0.01, 0.05)
    assert found.shares == pytest.approx((0.9, 1.0))


def test_equal_samples_share_a_step() -> None:
    found = of(3, 1, 3, 3)
    assert (found.values, found.shares, found.samples) == ((1, 3), (0.25, 1.0), 4)


def test_nothing_has_no_distribution() -> None:
    assert Distribution.of([]) is None
    assert Distribution.of([1.0], [0.0]) is None


@pytest.mark.parametrize(("share", "least"), [(0.5, 6), (0.95, 59), (0.99, 299)])
def test_a_percentile_needs_as_many_samples_as_wilks_says(share: float, least: int) -> None:
    assert not is_supported(share, least - 1)
    assert is_supported(share, least)
    assert of(*range(least - 1)).supported_quantile(share) is None
    assert of(*range(least)).supported_quantile(share) is not None


def test_what_never_ended_is_slower_than_all_else() -> None:
    found = of(*range(90), *[math.inf] * 10)
    assert found.supported_quantile(0.5) == 49
    assert found.supported_quantile(0.95) is None


def test_an_instant_stands_for_half_of_the_time_to_its_neighbors() -> None:
    assert time_weights([0, 1, 2, 6]) == [0.5, 1, 2.5, 2]
    assert time_weights([3]) == [1]
    assert time_weights([]) == []


def test_unfinished_durations_count_as_far_as_they_were_seen() -> None:
    """The example of Kaplan and Meier's estimate: after a loss, the others of those left weigh more."""
    found = Distribution.of_censored([(1, True), (2, False), (3, True), (4, True), (5, False)])
    assert found is not None
    assert found.values == (1, 3, 4, math.inf)
    # 1/5 end at 1; of the three left at 3 one ends, of two left at 4 one.
    assert found.shares == pytest.approx((1 / 5, 1 - 4 / 5 * 2 / 3, 1 - 4 / 5 * 2 / 3 / 2, 1))
    assert (found.samples, found.quantile(0.5), found.quantile(0.9)) == (3, 4, math.inf)


def test_without_unfinished_durations_the_distribution_is_the_usual_one() -> None:
    times = [3.0, 1.0, 2.0, 2.0]
    assert Distribution.of_censored((time, True) for time in times) == of(*times)
    assert Distribution.of_censored([]) is None


def test_the_end_of_the_observation_hides_the_tail_but_does_not_shift_the_rest() -> None:
    """Exponential times, begun all along and cut off at an end: the median stays, unlike that of the complete ones."""
    draw = random.Random(1)
    begun = [(draw.uniform(0, 10), draw.expovariate(1 / 4)) for _ in range(20_000)]
    seen = [(min(time, 10 - start), time <= 10 - start) for start, time in begun]
    found = Distribution.of_censored(seen)
    assert found is not None
    assert found.quantile(0.5) == pytest.approx(4 * math.log(2), rel=0.05)
    assert found.quantile(0.8) == pytest.approx(4 * math.log(5), rel=0.05)
    assert of(*(time for time, is_complete in seen if is_complete)).quantile(0.8) < 0.7 * 4 * math.log(5)
