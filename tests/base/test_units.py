import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor.base import units
from tcptutor.base.errors import UnitError


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
        # As iperf3, tc, and people write them.
        ("9M", "rate", 9e6),
        ("13 Mbits/sec", "rate", 13e6),
        ("13 mbit", "rate", 13e6),
        ("9 Mb/s", "rate", 9e6),
        ("9 mb/s", "rate", 9e6),
        ("1.1 Gbps", "rate", 1.1e9),
        ("950 KBit/s", "rate", 950e3),
        ("9 M bit / s", "rate", 9e6),
        ("1.3e7 bit/s", "rate", 13e6),
        ("8,97 Mbit/s", "rate", 8.97e6),
        ("12 345,6\u00a0kbit/s", "rate", 12_345_600),
        ("1\u202f000 kbit/s", "rate", 1e6),
        ("1,234.5 kbit/s", "rate", 1_234_500),
        ("1.234,5 kbit/s", "rate", 1_234_500),
        ("1,000,000 bit/s", "rate", 1e6),
        ("0,125 Mbit/s", "rate", 125e3),
        ("20\u2009ms", "time", 0.02),
        ("50 \u03bcs", "time", 50e-6),
        ("50 us", "time", 50e-6),
        ("2 seconds", "time", 2),
        ("0.1 percent", "ratio", 0.001),
        ("1 000", "count", 1000),
        # Large counts, as a page writes them.
        ("1.86 million", "count", 1_860_000),
        ("1.86M", "count", 1_860_000),
        ("1,860,000", "count", 1_860_000),
        ("1 860 000", "count", 1_860_000),
        ("1,862", "count", 1862),
        ("12k", "count", 12_000),
        ("1.1 million", "number", 1_100_000),
        ("1.86 million bytes", "size", 1_860_000),
        ("2 thousand kbit/s", "rate", 2e6),
        # b is bit, B is byte.
        ("1 MB/s", "rate", 8e6),
        ("1 MByte/s", "rate", 8e6),
        ("1 KiB/s", "rate", 8192),
        ("1 Mb", "size", 125_000),
        ("8 Mbit", "size", 1e6),
        ("8 kb", "size", 1000),
        ("8 b", "size", 1),
        ("1 MB", "size", 1e6),
        ("1 KB", "size", 1000),
        ("1 mB", "size", 1e6),
        ("3 B", "size", 3),
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
        ("2.5", "count"), ("4 flows", "count"), ("1e308 Gbit/s", "rate"), ("1e308 GiB", "size"),
        ("9..5 Mbit/s", "rate"), ("1 00 Mbit/s", "rate"), ("1,00,000 bit/s", "rate"), ("9 /s", "rate"),
        ("1 MB/s", "size"), ("9 Mbit/min", "rate"),
    ],
)  # fmt: skip
def test_a_wrong_quantity_is_told_how_to_write_it(text: str, kind: str) -> None:
    with pytest.raises(UnitError) as caught:
        units.parse(text, kind)
    assert "\n" not in str(caught.value)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "kind", "readings"),
    [
        ("1,000 Mbit/s", "rate", ("1.000", "1000")),
        ("9 MB", "rate", ("9 Mbit/s", "9 MB/s (72 Mbit/s)")),
        ("9 MBPS", "rate", ("9 Mbit/s", "9 MB/s (72 Mbit/s)")),
        ("64K", "size", ("64 kB", "64 KiB")),
        ("1 mb", "size", ("1 MB", "1 Mbit (125000 bytes)")),
        ("5 m", "time", ("5 ms", "5 min")),
        ("0.001", "ratio", ("0.001 %", "0.1 %")),
        ("1,000", "count", ("1.000", "1000")),
    ],
)
def test_what_may_mean_two_things_is_told_both(text: str, kind: str, readings: tuple[str, str]) -> None:
    with pytest.raises(UnitError) as caught:
        units.parse(text, kind)
    assert all(reading in str(caught.value) for reading in readings)


@pytest.mark.parametrize(
    ("text", "kind", "plain", "value"),
    [
        ("9", "rate", "Mbit/s", 9e6),
        ("8,97", "rate", "Mbit/s", 8.97e6),
        ("1.3e7", "rate", "bit/s", 1.3e7),
        ("9 kbit/s", "rate", "Mbit/s", 9e3),
        ("0.1", "ratio", "%", 0.001),
        ("20", "time", "ms", 0.02),
        ("1000", "size", "kB", 1e6),
    ],
)
def test_a_plain_number_has_the_unit_of_its_field(text: str, kind: str, plain: str, value: float) -> None:
    assert units.parse(text, kind, plain) == pytest.approx(value)


def test_a_written_power_of_ten_is_ambiguous_beside_a_field_with_a_prefix() -> None:
    with pytest.raises(UnitError) as caught:
        units.parse("1.86 million", "size", "kB")
    assert "1.86 million kB" in str(caught.value)
    assert "1.86 million bytes" in str(caught.value)
    assert units.parse("1.86 million", "rate", "bit/s") == 1.86e6


@pytest.mark.parametrize(
    ("text", "kind", "plain", "told"),
    [
        ("1.86 million", "count", "", "1860000"),
        ("1,860,000", "count", "", "1860000"),
        ("1,862", "count", "", "1862"),
        ("12k", "count", "", "12000"),
        ("1 860", "size", "kB", "1860 kB"),
        ("1.3e7", "rate", "bit/s", "13000000 bit/s"),
        ("1860", "count", "", ""),
        ("9", "rate", "Mbit/s", ""),
        ("9 MB/s", "rate", "Mbit/s", ""),
    ],
)
def test_what_was_understood_of_grouped_or_written_out_digits(
    text: str, kind: str, plain: str, told: str
) -> None:
    assert units.plain_reading(text, kind, plain) == told


def test_every_kind_has_an_example_and_a_field_that_reads_it() -> None:
    for kind, plain in units.FIELD_UNITS.items():
        assert units.parse(units.EXAMPLES[kind], kind, plain) > 0
        assert units.parse("7", kind, plain) > 0


@given(
    st.one_of(
        st.text(max_size=20),
        st.text(alphabet="0123456789.,'eE+- \u00a0\u202fkKmMgGtTibBsS/%‰µ", max_size=20),
        st.builds(
            "{} {}".format,
            st.floats(),
            st.sampled_from(["million", "billion bytes", "thousand bit/s", "k", "M"]),
        ),
        st.builds(
            "{} {}".format, st.floats(), st.sampled_from(["Gbit/s", "TiB", "min", "%", "MB/s", "b", ""])
        ),
    ),
    st.sampled_from(["rate", "time", "ratio", "size", "window", "count", "number"]),
    st.booleans(),
)
def test_whatever_is_typed_is_a_finite_number_or_told_so_in_a_line(text: str, kind: str, plain: bool) -> None:
    try:
        if kind == "window":
            value = units.parse_size(text, 1e300)
        else:
            value = units.parse(text, kind, units.FIELD_UNITS[kind] if plain else "")
    except UnitError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 200
    else:
        assert math.isfinite(value)


_PRINTED = [
    (units.rate, "rate"), (units.seconds, "time"), (units.size, "size"), (units.percent, "ratio"),
    *((lambda value, kind=kind: units.write(value, kind), kind) for kind in units.FIELD_UNITS),
]  # fmt: skip


@given(st.floats(1e-12, 1e15), st.sampled_from(_PRINTED))
def test_what_is_printed_is_read_back_as_itself(value: float, printed) -> None:
    write, kind = printed
    if kind == "count":
        value = float(round(value))
    text = write(value)
    assert write(units.parse(text, kind)) == text


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


@pytest.mark.parametrize(
    "text",
    ["8 kB", "9 kB", "500 kB", "625 kB", "1.6 kB", "1 MB", "64 KiB", "16 KiB", "100 KiB", "1 GiB", "1 TiB"],
)
def test_a_size_is_shown_as_it_was_typed(text: str) -> None:
    value = units.parse(text, "size")
    assert units.size(value) == units.write(value, "size") == text


def test_a_size_that_is_short_in_no_unit_is_decimal() -> None:
    assert units.size(300_123) == "300 kB"
    assert units.size(71_380.5) == "71.4 kB"
    assert units.write(96_896, "size") == "96.896 kB"


@given(st.floats(1e-4, 9.9e5), st.integers(1, 6))
def test_no_power_of_ten_stands_on_the_screen(value: float, digits: int) -> None:
    assert "e" not in units.number(value, digits)
    assert "e" not in units.percent(value / 100 * 1.001, digits)


def test_a_tiny_share_is_told_as_such() -> None:
    assert units.share(7.1e-7) == "< 0.01 %"
    assert units.share(0.0) == "0 %"
    assert units.share(1.4) == "140 %"
