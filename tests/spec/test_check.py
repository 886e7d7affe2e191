"""Experiments that come from elsewhere than `spec.build`: what the lab takes, and what can be meant at all."""

from __future__ import annotations

import math
from typing import Any

import msgspec
import pytest

from tcptutor import spec
from tcptutor.base.errors import ParameterError

GOOD = spec.build(
    "m/e", {"parameters": {"rate": "10 Mbit/s", "delay": "20 ms", "changes": "3s rate=5Mbit/s"}}
)


def with_part(part: str, **values: Any) -> spec.Experiment:
    if not part:
        return msgspec.structs.replace(GOOD, **values)
    return msgspec.structs.replace(GOOD, **{part: msgspec.structs.replace(getattr(GOOD, part), **values)})


def test_what_was_built_is_taken() -> None:
    spec.check(GOOD)
    spec.check_plausible(GOOD)


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("path", {"delay": 200.0}),
        ("path", {"rate": 9000.0}),
        ("path", {"loss": 0.95}),
        ("path", {"qdisc": "sfq"}),
        ("path", {"jitter": 0.1}),
        ("path", {"changes": (spec.Change(1.0, "delay", 500.0),)}),
        ("path", {"changes": (spec.Change(99.0, "delay", 0.1),)}),
        ("hosts", {"mtu": 60_000}),
        ("flows", {"streams": 100}),
        ("flows", {"duration": 0.5}),
        ("", {"pairs": 8}),
    ],
)
def test_what_only_the_lab_does_not_take_may_have_been_set_up_elsewhere(
    part: str, values: dict[str, Any]
) -> None:
    odd = with_part(part, **values)
    spec.check_plausible(odd)
    with pytest.raises(ParameterError) as caught:
        spec.check(odd)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("part", "values"),
    [
        ("path", {"delay": math.nan}),
        ("path", {"delay": -1.0}),
        ("path", {"rate": math.inf}),
        ("path", {"rate": 0.0}),
        ("path", {"loss": 1.5}),
        ("path", {"queue": 10**400}),
        ("path", {"qdisc": "\x1b]52;c;AAAA\x07"}),
        ("path", {"pair_delays": (0.1,) * 5000}),
        ("path", {"changes": (spec.Change(math.nan, "delay", 0.1),)}),
        ("path", {"changes": (spec.Change(1.0, "mtu", 0.1),)}),
        ("path", {"changes": (spec.Change(1.0, "rate", -5.0),)}),
        ("hosts", {"algorithm": "reno\n"}),
        ("hosts", {"sysctls": {"kernel.panic": "1"}}),
        ("hosts", {"sysctls": {"tcp_sack": "1; reboot"}}),
        ("flows", {"streams": 10**9}),
        ("flows", {"duration": 1e300}),
        ("flows", {"starts": (-math.inf,)}),
        ("", {"pairs": 0}),
        ("", {"seed": -1}),
        ("", {"framing": 10**400}),
        ("", {"title": "\x1b[31m"}),
    ],
)
def test_what_no_network_can_be_is_refused_in_one_printable_line(part: str, values: dict[str, Any]) -> None:
    for judge in (spec.check_plausible, spec.check):
        with pytest.raises(ParameterError) as caught:
            judge(with_part(part, **values))
        assert str(caught.value).isprintable() and len(str(caught.value)) < 300
