import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor import units
from tcptutor.errors import UnitError


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ("100 Mbit/s", "rate", 1e8),
        ("100Mbit/s", "rate", 1e8),
        ("1.5gbit", "rate", 1.5e9),
        ("500 kbps", "rate", 5e5),
        ("20 ms", "time", 0.02),
        ("20ms", "time", 0.02),
        ("2 min", "time", 120),
        ("50 µs", "time", 50e-6),
        ("0.1 %", "ratio", 0.001),
        ("0.1%", "ratio", 0.001),
        ("64KiB", "size", 65536),
        ("64 kB", "size", 64000),
        ("1448 bytes", "size", 1448),
        ("0", "time", 0),
        ("8", "count", 8),
    ],
)
def test_quantities_as_users_write_them(text: str, kind: str, value: float) -> None:
    assert units.parse(text, kind) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("100", "rate"), ("20", "time"), ("0.1", "ratio"), ("64", "size"),
        ("20 ms", "rate"), ("100 Mbit/s", "time"), ("5 %", "size"),
        ("fast", "rate"), ("", "rate"), ("1e999 bit/s", "rate"), ("nan s", "time"),
        ("2.5", "count"), ("4 flows", "count"),
    ],
)  # fmt: skip
def test_a_wrong_quantity_is_told_how_to_write_it(text: str, kind: str) -> None:
    with pytest.raises(UnitError) as caught:
        units.parse(text, kind)
    assert "\n" not in str(caught.value)
    assert repr(text) in str(caught.value)


def test_a_size_may_be_a_multiple_of_the_bdp() -> None:
    assert units.parse_size("2 BDP", 250_000) == 500_000
    assert units.parse_size("64KiB", None) == 65536
    with pytest.raises(UnitError, match="no BDP"):
        units.parse_size("2 BDP", None)


@given(st.floats(1e4, 1e11), st.sampled_from(["rate"]))
def test_a_rate_written_is_read_back(value: float, kind: str) -> None:
    assert units.parse(units.write(value, kind), kind) == pytest.approx(value, rel=1e-5)


@given(st.floats(1e-6, 3600))
def test_a_time_written_is_read_back(value: float) -> None:
    assert units.parse(units.write(value, "time"), "time") == pytest.approx(value, rel=1e-5)


@given(st.floats(1, 2**34))
def test_a_size_written_is_read_back(value: float) -> None:
    assert units.parse(units.write(value, "size"), "size") == pytest.approx(value, rel=1e-5)


@given(st.floats(1, 1e12))
def test_a_rate_on_the_screen_never_shows_four_digits_before_the_unit(value: float) -> None:
    number = units.rate(value).split()[0]
    assert math.isfinite(float(number))
    assert value >= 1e12 / 1.01 or float(number) < 1000


def test_differences_carry_their_sign() -> None:
    assert units.signed_percent(0.061) == "+6 %"
    assert units.signed_percent(-0.08) == "−8 %"
    assert units.signed_percent(0.001) == "±0 %"
