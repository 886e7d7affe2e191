"""What a plain run leaves out: the table names tests that exist, and a plain run is the same each time."""

from __future__ import annotations

import pytest

from tests import full


def test_every_name_and_pattern_of_the_table_matches_a_test(request: pytest.FixtureRequest) -> None:
    """Of the files that this run collected: of all in a whole run."""
    assert request.config.stash[full.UNMATCHED] == []


def test_a_name_or_a_pattern_that_matches_nothing_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {
        "tests/a.py::test_x": full.FullOnly("long", ("one", "no-*")),
        "tests/a.py::test_gone": full.FullOnly("long"),
        "tests/other.py::test_y": full.FullOnly("long"),
    }
    monkeypatch.setattr(full, "FULL_ONLY", table)
    assert full.unmatched(["tests/a.py::test_x[one]", "tests/a.py::test_x[two]"]) == [
        "tests/a.py::test_x[no-*]",
        "tests/a.py::test_gone",
    ]


def test_a_plain_run_takes_what_is_not_listed_and_the_parameters_that_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = {
        "tests/a.py::test_x": full.FullOnly("long", ("*-0", "a [b]")),
        "tests/a.py::test_y": full.FullOnly("long"),
    }
    monkeypatch.setattr(full, "FULL_ONLY", table)
    assert full.plain("tests/a.py::test_z[1]")
    assert full.plain("tests/a.py::test_x[reader-0]")
    assert not full.plain("tests/a.py::test_x[reader-1]")
    assert not full.plain("tests/a.py::test_y")


def test_every_test_that_is_left_out_has_a_reason() -> None:
    assert [name for name, entry in full.FULL_ONLY.items() if not entry.reason] == []
