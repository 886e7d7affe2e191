"""Transfers of a fixed amount under random loss, beside the mean that Cardwell's model has for the long ones."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tcptutor import theory
from tcptutor.base.errors import ParameterError
from tcptutor.theory.transfers import Transfer, transfer_time


def transfer(**more: Any) -> Transfer:
    given = {"algorithm": "reno", "segments": 300, "rtt": 0.05, "loss": 0.01, "rto": 0.25}
    return Transfer(**given | more)


def test_hardly_any_loss_leaves_slow_start() -> None:
    found = transfer_time(transfer(loss=1e-9))
    # 10, 20, 40, 80 and 150 segments.
    assert found.seconds == pytest.approx(5 * 0.05)
    assert found.spread == pytest.approx(0)


def test_a_long_transfer_has_the_rate_of_a_flow_that_never_ends() -> None:
    found = transfer_time(transfer(segments=20_000))
    endless = theory.limited_rates([theory.LimitedFlow(algorithm="reno", rtt=0.05, loss=0.01, rto=0.25)])[0]
    assert 20_000 / found.seconds == pytest.approx(endless, rel=0.1)


@pytest.mark.parametrize("algorithm", sorted(theory.LIMITED))
def test_few_losses_make_a_transfer_uncertain_and_many_do_not(algorithm: str) -> None:
    few, many = (transfer_time(transfer(algorithm=algorithm, segments=n)) for n in (100, 5000))
    assert few.spread > 2 * many.spread
    assert few.seconds < many.seconds


def test_neither_link_nor_window_is_exceeded() -> None:
    assert transfer_time(transfer(rate=200.0, queue=20.0)).seconds > 300 / 200
    assert transfer_time(transfer(window=5.0)).seconds > 300 / 5 * 0.05


def test_the_same_transfer_takes_as_long_each_time() -> None:
    found = transfer_time(transfer())
    transfer_time.cache_clear()
    assert transfer_time(transfer()) == found


@pytest.mark.parametrize(
    "wrong",
    [
        {"segments": 0},
        {"rtt": 0.0},
        {"loss": 0.0},
        {"loss": 1.0},
        {"rto": math.inf},
        {"rate": 0.0},
        {"window": 0.5},
    ],
)
def test_outside_the_domain_it_says_so(wrong: dict[str, float]) -> None:
    with pytest.raises(ParameterError, match=next(iter(wrong))):
        transfer(**wrong)
