"""The rough laws of senders that have no exact one, beside the exact ones that they come near to."""

from __future__ import annotations

import pytest

from tcptutor import theory
from tcptutor.theory.senders import RELATED, related_rate

RTT, LOSS, RTO = 0.05, 1e-3, 0.25


def rate(algorithm: str, loss: float = LOSS) -> float:
    return related_rate(algorithm, RTT, loss, RTO)


def test_senders_that_halve_and_add_one_have_renos_rate() -> None:
    reno = theory.limited_rates([theory.LimitedFlow(algorithm="reno", rtt=RTT, loss=LOSS, rto=RTO)])[0]
    for name in ("vegas", "lp", "nv", "cdg", "dctcp"):
        assert rate(name) == pytest.approx(reno, rel=0.03)


@pytest.mark.parametrize(("algorithm", "left"), [("veno", 4 / 5), ("yeah", 7 / 8), ("westwood", 7 / 8)])
def test_a_sender_that_keeps_more_is_faster_as_aimd_says(algorithm: str, left: float) -> None:
    faster = theory.aimd_window(LOSS, 1, left) / theory.reno_window(LOSS)
    assert rate(algorithm) / rate("vegas") == pytest.approx(faster, rel=0.08)


def test_hybla_makes_up_for_a_long_round_trip() -> None:
    near, far = (related_rate("hybla", rtt, LOSS, 0.3) for rtt in (0.025, 0.1))
    assert near == pytest.approx(far, rel=0.15)


@pytest.mark.parametrize("algorithm", RELATED)
def test_more_loss_leaves_less(algorithm: str) -> None:
    assert rate(algorithm, 1e-4) > rate(algorithm) > rate(algorithm, 1e-2) > 0


def test_bic_searches_for_the_window_of_the_last_loss_faster_than_scalable_grows() -> None:
    assert 1 < rate("bic") / rate("scalable") < 2.5
    # Up to 14 segments it is Reno.
    assert rate("bic", 0.05) == pytest.approx(rate("vegas", 0.05), rel=0.25)
