"""Outside its domain a model refuses, and says which parameter, which bound and why."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tcptutor import theory
from tcptutor.errors import ParameterError

REFUSED: list[tuple[str, Callable[[], object]]] = [
    ("mss: 0", lambda: theory.mathis(0, 0.05, 1e-3)),
    ("rtt: -1", lambda: theory.mathis(1448, -1, 1e-3)),
    ("loss: 0", lambda: theory.mathis(1448, 0.05, 0)),
    ("loss: 1.5", lambda: theory.mathis(1448, 0.05, 1.5)),
    ("loss: nan", lambda: theory.mathis(1448, 0.05, float("nan"))),
    ("c: 0", lambda: theory.mathis(1448, 0.05, 1e-3, c=0)),
    ("loss: 1", lambda: theory.padhye(1448, 0.05, 1, 0.2)),
    ("rto: 0", lambda: theory.padhye_full(1448, 0.05, 0.1, 0)),
    ("b: 0.5", lambda: theory.padhye(1448, 0.05, 0.1, 0.2, b=0.5)),
    ("max_window: 0", lambda: theory.padhye(1448, 0.05, 0.1, 0.2, max_window=0)),
    ("window: 0", lambda: theory.window_limited(0, 0.1)),
    ("rtt: inf", lambda: theory.window_limited(1e5, float("inf"))),
    ("rate: 0", lambda: theory.bdp(0, 0.1)),
    ("rtt: -0.1", lambda: theory.bdp(1e6, -0.1)),
    ("mtu: 52", lambda: theory.goodput_ratio(52)),
    ("framing: -1", lambda: theory.goodput_ratio(1500, framing=-1)),
    ("alpha: 0", lambda: theory.aimd_window(0.1, 0, 0.5)),
    ("beta: 1", lambda: theory.aimd_window(0.1, 1, 1)),
    ("loss: 2", lambda: theory.reno_window(2)),
    ("rtt: 0", lambda: theory.cubic_window(0.1, 0)),
    ("elapsed: -1", lambda: theory.htcp_alpha(-1)),
    ("rtt: 0", lambda: theory.htcp_window(0.1, 0)),
    ("loss: 0", lambda: theory.highspeed_window(0)),
    ("streams: none", lambda: theory.aggregate([])),
    ("link: 0", lambda: theory.aggregate([(1448, 0.05, 1e-3)], link=0)),
    ("flows: 0", lambda: theory.shared_utilisation(0, 0.5)),
    ("beta: -0.1", lambda: theory.shared_utilisation(1, -0.1)),
    ("buffer_ratio: -1", lambda: theory.sawtooth_utilisation(-1)),
    ("initial: 0", lambda: theory.slow_start_duration(10, 0.1, initial=0)),
    ("rates: none", lambda: theory.jain_index([])),
    ("rates: all 0", lambda: theory.jain_index([0, 0])),
    ("rates: -1", lambda: theory.jain_index([1, -1])),
    ("samples: inf", lambda: theory.coefficient_of_variation([1, float("inf")])),
]


@pytest.mark.parametrize(
    ("begins", "call"), REFUSED, ids=[f"{n}-{name}" for n, (name, _) in enumerate(REFUSED)]
)
def test_a_value_outside_the_domain_is_refused_by_name(begins: str, call: Callable[[], object]) -> None:
    with pytest.raises(ParameterError) as error:
        call()
    message = str(error.value)
    assert message.startswith(begins + " is out of bounds: ")
    assert message.count(": ") >= 3  # the parameter, its bound, and the reason
    assert "\n" not in message


PROMISED = {
    "mathis", "padhye", "padhye_full", "window_limited", "bdp", "goodput_ratio", "aimd_window", "reno_window",
    "cubic_window", "htcp_alpha", "highspeed_window", "aggregate", "shared_utilisation",
    "sawtooth_utilisation", "slow_start_duration", "jain_index", "coefficient_of_variation",
}  # fmt: skip


def test_everything_promised_is_exported() -> None:
    assert set(theory.__all__) >= PROMISED
    assert all(callable(getattr(theory, name)) for name in PROMISED)
