"""What a turn of a knob makes of its value."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor.spec import ALGORITHMS, PARAMETERS, read
from tcptutor.ui.knobs import GROUPS, SEED, SYSCTL, can_turn, turn_value

TURNED = [known for known in PARAMETERS.values() if can_turn(known)]


def ladder(name: str, value: object, by: int, number: int) -> list[str]:
    found = []
    for _ in range(number):
        value = turn_value(PARAMETERS[name], value, by, ALGORITHMS)
        found.append(PARAMETERS[name].text(value))
    return found


def test_every_parameter_is_a_knob_of_one_group() -> None:
    placed = Counter(name for names in GROUPS.values() for name in names)
    assert set(placed.values()) == {1}
    assert set(placed) == {*PARAMETERS, SEED, SYSCTL}


@pytest.mark.parametrize(
    ("name", "value", "by", "there"),
    [
        ("rate", 100e6, 1, ["200 Mbit/s", "500 Mbit/s", "1 Gbit/s"]),
        ("rate", 100e6, -1, ["50 Mbit/s", "20 Mbit/s", "10 Mbit/s"]),
        ("rate", 60e6, -1, ["50 Mbit/s"]),
        ("rate", 50e9, 1, ["100 Gbit/s", "none", "none"]),
        ("rate", None, -1, ["100 Mbit/s"]),
        ("delay", 0.02, 1, ["50 ms", "100 ms"]),
        ("delay", 2e-4, -1, ["100 µs", "0 s", "0 s"]),
        ("delay", 0.0, 1, ["100 µs", "200 µs"]),
        ("loss", 1e-5, -1, ["0 %"]),
        ("loss", 0.5, 1, ["75 %", "75 %"]),
        ("duration", 1.0, -1, ["1 s"]),
        ("queue", 250_000, 1, ["500 kB", "1 MB"]),
        ("queue", 3001, -1, ["3 kB", "3 kB"]),
        ("window", 65536, 1, ["128 KiB"]),
        ("window", 1 << 30, 1, ["none"]),
        ("streams", 1, 1, ["2", "3"]),
        ("pairs", 4, 1, ["4"]),
        ("mtu", 1500, 1, ["3000", "4500", "9000", "9000"]),
        ("qdisc", "fifo", -1, ["red"]),
        ("offloads", False, 1, ["on", "off"]),
        ("algorithm", "reno", 1, ["cubic", "bbr"]),
    ],
)
def test_steps(name: str, value: object, by: int, there: list[str]) -> None:
    assert ladder(name, value, by, len(there)) == there


def test_an_algorithm_that_the_kernel_lacks_is_left_out() -> None:
    known = PARAMETERS["algorithm"]
    assert turn_value(known, "reno", 1, ("reno", "bbr")) == "bbr"
    assert turn_value(known, "cdg", 1, ("reno", "bbr")) == "reno"


def test_a_list_is_typed() -> None:
    assert turn_value(PARAMETERS["starts"], (1.0,), 1, ()) == (1.0,)
    assert turn_value(PARAMETERS["changes"], (), 1, ()) == ()


@given(st.sampled_from(TURNED), st.lists(st.sampled_from((1, -1)), max_size=80))
def test_wherever_it_is_turned_the_value_can_be_typed(known, turns) -> None:  # type: ignore[no-untyped-def]
    value = known.choices[0] if known.choices else None if known.optional else known.low or known.high
    if known.kind == "name":
        value = "reno" if known.name == "algorithm" else known.choices[0]
    if known.choices == ("off", "on"):
        value = False
    for by in turns:
        value = turn_value(known, value, by, ALGORITHMS)
        again = read(known.name, known.text(value))
        assert again == pytest.approx(value) if isinstance(value, float) else again == value
