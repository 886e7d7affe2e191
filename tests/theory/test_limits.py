"""Limits that no published table has."""

from __future__ import annotations

import pytest

from tcptutor.base.errors import ParameterError
from tcptutor.theory.limits import write_limited


def test_a_processor_divides_its_time_between_writes_and_segments() -> None:
    rate = write_limited(12, 1448, 5e-6, 20e-6)
    writes, segments = rate / 8 / 12, rate / 8 / 1448
    assert writes * 5e-6 + segments * 20e-6 == pytest.approx(1)


@pytest.mark.parametrize("wrong", ["length", "mss", "write", "segment"])
def test_outside_the_domain_it_says_so(wrong: str) -> None:
    given = {"length": 12.0, "mss": 1448.0, "write": 5e-6, "segment": 2e-5} | {wrong: -1.0}
    with pytest.raises(ParameterError, match=wrong):
        write_limited(**given)
