"""Shares of flows that cross one or both of two bottlenecks in a row: three ways in which they can be divided.

A route is the set of links that a flow crosses, 0 or 1 or both. Rates and capacities have the same unit, such as
bit/s of payload.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence

from tcptutor.theory.domain import positive, require

Route = Collection[int]

_STEPS = 200
"""Halvings of the logarithm of a price."""
_PRICES = (-60.0, 60.0)
"""Logarithms of the least and the greatest price tried."""


def max_min_shares(capacities: Sequence[float], routes: Sequence[Route]) -> tuple[float, ...]:
    """Return the max-min fair rate of each flow: no rate can grow without making a smaller one smaller.

    All rates grow together until a link is full; its flows keep that rate, and the others grow on. Source: Bertsekas,
    Gallager: Data Networks, 2nd edition, 1992, section 6.5.2. Raises ParameterError outside the domain.

    Args:
        capacities: Capacity of each link, above 0.
        routes: Links of each flow, at least one.
    """
    _check(capacities, routes)
    rates: dict[int, float] = {}
    left = list(capacities)
    while len(rates) < len(routes):
        growing = {
            link: [flow for flow, route in enumerate(routes) if link in route and flow not in rates]
            for link in range(len(capacities))
        }
        link = min(
            (link for link, flows in growing.items() if flows),
            key=lambda link: left[link] / len(growing[link]),
        )
        share = left[link] / len(growing[link])
        for flow in growing[link]:
            rates[flow] = share
            for crossed in routes[flow]:
                left[crossed] -= share
    return tuple(rates[flow] for flow in range(len(routes)))


def proportional_shares(capacities: Sequence[float], routes: Sequence[Route]) -> tuple[float, ...]:
    """Return the proportionally fair rate of each flow, which maximizes the sum of the logarithms of all rates.

    Each flow pays the same in all, so one that crosses two full links gets less. Source: Kelly, Maulloo, Tan: Rate
    control for communication networks, J. Oper. Res. Soc. 49, 1998, section 2. Raises ParameterError outside the
    domain.

    Args:
        capacities: Capacity of each of one or two links, above 0.
        routes: Links of each flow, at least one.
    """
    return _priced(capacities, routes, lambda _, price: 1 / price)


def square_root_shares(
    capacities: Sequence[float], routes: Sequence[Route], rtts: Sequence[float]
) -> tuple[float, ...]:
    """Return the rate of each flow by the square-root law, with the losses of its links added up.

    The rate is proportional to 1 / (rtt * sqrt(loss)), as Reno's (Mathis et al. 1997), and the loss of each full link
    is as large as needed to fill it. Losses are taken as small and independent of the flow's rate. Source: Massoulié,
    Roberts: Bandwidth sharing: objectives and algorithms, INFOCOM 1999. Raises ParameterError outside
    the domain.

    Args:
        capacities: Capacity of each of one or two links, above 0.
        routes: Links of each flow, at least one.
        rtts: Round-trip time of each flow, s, above 0.
    """
    require(
        len(rtts) == len(routes), "rtts", str(len(rtts)), str(len(routes)), "each flow has a round-trip time"
    )
    for rtt in rtts:
        positive("rtts", rtt, "each flow's round-trip time in seconds")
    return _priced(capacities, routes, lambda flow, price: 1 / (rtts[flow] * math.sqrt(price)))


def _check(capacities: Sequence[float], routes: Sequence[Route]) -> None:
    for capacity in capacities:
        positive("capacities", capacity, "the capacity of each link")
    links = range(len(capacities))
    is_possible = all(route and all(link in links for link in route) for route in routes)
    require(is_possible, "routes", "a flow over no link", "at least one link each", "a flow crosses a link")


def _priced(
    capacities: Sequence[float], routes: Sequence[Route], demand: Callable[[int, float], float]
) -> tuple[float, ...]:
    """Return the rates at the prices of one or two links with which each link is full, or free of charge.

    `demand` returns the rate of a flow at a price for its whole route, and falls with it.
    """
    _check(capacities, routes)
    require(len(capacities) <= 2, "capacities", str(len(capacities)), "1 or 2", "two links in a row at most")

    def rates(prices: Sequence[float]) -> list[float]:
        return [demand(flow, math.fsum(prices[link] for link in route)) for flow, route in enumerate(routes)]

    def load(link: int, prices: Sequence[float]) -> float:
        return math.fsum(rate for rate, route in zip(rates(prices), routes, strict=True) if link in route)

    def first_price(second: float) -> float:
        return _price(lambda price: load(0, (price, second)) - capacities[0])

    if len(capacities) == 1:
        return tuple(rates((first_price(0.0),)))
    second = _price(lambda price: load(1, (first_price(price), price)) - capacities[1])
    return tuple(rates((first_price(second), second)))


def _price(excess: Callable[[float], float]) -> float:
    """Return the least price at which the falling `excess` of a link's load is not above 0."""
    low, high = _PRICES
    for _ in range(_STEPS):
        middle = (low + high) / 2
        if excess(math.exp(middle)) > 0:
            low = middle
        else:
            high = middle
        if high - low < 1e-12:
            break
    return math.exp(high)
