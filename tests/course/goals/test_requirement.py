"""What a goal may ask of a quantity."""

from __future__ import annotations

import pytest

from tcptutor.base.errors import UsageError
from tcptutor.course.goals.goal import read_requirement
from tcptutor.course.goals.terms import TERMS


@pytest.mark.parametrize(
    ("written", "kind", "are", "are_not"),
    [
        ("20 ms", "time", [0.02, 0.0201, 0.01999], [0.021, 0.019, 0.0, None]),
        (">= 5 MB", "size", [5e6, 6e6], [4.99e6, None]),
        ("> 0 %", "ratio", [1e-6], [0.0]),
        ("<= 5 ms", "time", [0.0, 0.005], [0.0051]),
        ("8 Mbit/s to 9.5 Mbit/s", "rate", [8e6, 9.5e6], [7.9e6, 9.6e6]),
        ("0 s", "time", [0.0, 5e-7], [1e-5]),
        ("none", "rate", [None], [1e6]),
        (4, "count", [4], [3, 5]),
        (">= 2", "count", [2, 64], [1]),
        (["reno", "cubic"], "algorithm", ["reno", "cubic"], ["bbr", None]),
        ("0", "sysctl", ["0"], ["1", None]),
        ("10,240 87,380 52,428,800", "sysctl", ["10240 87380 52428800"], ["10240 87380"]),
    ],
)
def test_what_is_asked_holds_of_some_values(
    written: object, kind: str, are: list[object], are_not: list[object]
) -> None:
    wanted = read_requirement(written, kind)
    assert [value for value in are if not wanted.holds(value)] == []
    assert [value for value in are_not if wanted.holds(value)] == []


def test_a_switch_is_a_word() -> None:
    assert read_requirement(True, "name", ("off", "on")).holds("on")


@pytest.mark.parametrize(
    ("written", "kind", "says"),
    [
        ("20", "time", "has no unit"),
        ("fast", "rate", "not a number with a unit"),
        ("9 ms to 8 ms", "time", "write the lower bound first"),
        ("rino", "algorithm", "did you mean reno?"),
        (["20 ms"], "time", "one value, not a list"),
        ("a;b", "sysctl", "is not a sysctl's value"),
        ("1.5", "count", "is not a whole number"),
    ],
)
def test_what_cannot_be_asked_is_refused(written: object, kind: str, says: str) -> None:
    with pytest.raises(UsageError, match=says.replace("?", r"\?")):
        read_requirement(written, kind, ("bottleneck",))


def test_no_value_is_two_that_exclude_each_other() -> None:
    one, other = read_requirement("20 ms", "time"), read_requirement("0 s", "time")
    assert one.excludes(other)
    assert not one.excludes(read_requirement(">= 10 ms", "time"))
    assert read_requirement("reno", "algorithm").excludes(read_requirement("cubic", "algorithm"))


def test_every_quantity_is_of_the_lab_or_of_a_run() -> None:
    assert {
        "path.delay",
        "hosts.algorithm",
        "flow.bytes",
        "queue.drops",
        "run.throughput",
        "run.limited-by",
    } <= set(TERMS)
    assert all(term.about_run for term in TERMS.values() if term.at_end)
