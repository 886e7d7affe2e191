"""Shares of two links in a row: the values of the textbooks, and what each kind of fairness promises."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor.base.errors import ParameterError
from tcptutor.theory.links_in_row import max_min_shares, proportional_shares, square_root_shares

PARKING_LOT = ((0, 1), (0,), (1,))
ROUTES = st.lists(st.sampled_from([(0,), (1,), (0, 1)]), min_size=1, max_size=6)
CAPACITIES = st.tuples(st.floats(1e4, 1e10), st.floats(1e4, 1e10))


def load(link: int, rates: tuple[float, ...], routes: list[tuple[int, ...]]) -> float:
    return math.fsum(rate for rate, route in zip(rates, routes, strict=True) if link in route)


def test_the_long_flow_gets_half_a_third_or_a_quarter_of_equal_links() -> None:
    assert max_min_shares((10, 10), PARKING_LOT) == pytest.approx((5, 5, 5))
    assert proportional_shares((10, 10), PARKING_LOT) == pytest.approx((10 / 3, 20 / 3, 20 / 3))
    # The long flow has twice the loss and twice the round trip: 1 / (1 + 2 * sqrt(2)) of each link.
    long = 10 / (1 + 2 * math.sqrt(2))
    shares = square_root_shares((10, 10), PARKING_LOT, (0.04, 0.02, 0.02))
    assert shares == pytest.approx((long, 10 - long, 10 - long))


def test_one_link_is_shared_equally_and_by_the_round_trip() -> None:
    assert proportional_shares((9,), ((0,), (0,), (0,))) == pytest.approx((3, 3, 3))
    assert square_root_shares((9,), ((0,), (0,)), (0.01, 0.02)) == pytest.approx((6, 3))


def test_max_min_gives_to_those_who_can_take_it() -> None:
    assert max_min_shares((10, 2), PARKING_LOT) == pytest.approx((1, 9, 1))


@given(CAPACITIES, ROUTES)
def test_each_flow_has_a_full_link_and_no_link_carries_too_much(
    capacities: tuple[float, float], routes: list[tuple[int, ...]]
) -> None:
    rtts = [0.01 * (1 + number) for number in range(len(routes))]
    for rates in (
        max_min_shares(capacities, routes),
        proportional_shares(capacities, routes),
        square_root_shares(capacities, routes, rtts),
    ):
        full = set()
        for link, capacity in enumerate(capacities):
            carried = load(link, rates, routes)
            assert carried <= capacity * (1 + 1e-6)
            if carried >= capacity * (1 - 1e-3):
                full.add(link)
        assert all(full & {*route} for route in routes)


@given(CAPACITIES, ROUTES)
def test_the_least_rate_is_greatest_when_max_min_fair(
    capacities: tuple[float, float], routes: list[tuple[int, ...]]
) -> None:
    least = min(max_min_shares(capacities, routes))
    assert least >= min(proportional_shares(capacities, routes)) * (1 - 1e-6)


@pytest.mark.parametrize(
    ("capacities", "routes", "why"),
    [((0, 1), PARKING_LOT, "capacities"), ((1, 1), ((),), "routes"), ((1, 1), ((2,),), "routes")],
)
def test_what_is_outside_the_domain_is_refused(
    capacities: tuple[float, ...], routes: tuple[tuple[int, ...], ...], why: str
) -> None:
    with pytest.raises(ParameterError, match=why):
        max_min_shares(capacities, routes)
    with pytest.raises(ParameterError, match=why):
        proportional_shares(capacities, routes)
