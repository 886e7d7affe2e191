"""Two runs side by side: only what differs."""

from __future__ import annotations

import msgspec

from tcptutor.history.comparison import compare
from tcptutor.run import Run, load
from tests.ui.record import RUNS


def run(name: str) -> Run:
    return load(RUNS / f"{name}.tcprun")


def test_a_run_does_not_differ_from_itself() -> None:
    found = compare(run("lossy"), run("lossy"))
    assert (found.settings, found.results) == ((), ())
    assert "throughput" in found.same


def test_only_what_differs_is_shown() -> None:
    one, other = run("lossy"), run("eight")
    found = compare(one, other)
    settings = {each.name: (each.one, each.other) for each in found.settings}
    assert settings["streams"] == ("1", "8")
    assert all(one != other for one, other in settings.values())
    assert all(before != after for _, before, after, _ in found.results)
    assert {row[0] for row in found.results}.isdisjoint(found.same)
    assert found.settings[0].name == "experiment"


def test_a_lab_that_differs_is_named_after_the_settings() -> None:
    one, other = run("lossy"), run("lossy")
    other.environment = msgspec.structs.replace(other.environment, clock="real")
    assert [each.name for each in compare(one, other).settings] == ["lab"]
