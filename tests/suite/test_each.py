"""A test over many values reports all that fail, and takes fixtures as any other test."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.each import each


def test_every_failure_is_reported_with_its_name() -> None:
    @each("number", [1, 2, 3, 4], ids=lambda number: f"number {number}")
    def check(number: int) -> None:
        if number == 3:
            pytest.skip("not this one")
        assert number % 2

    with pytest.raises(pytest.fail.Exception) as caught:
        check()
    first, *lines = str(caught.value).splitlines()
    assert first == "2 of 4 fail:"
    assert [line.partition(": test_each.py:")[0] for line in lines if line.startswith("number")] == [
        "number 2", "number 4",
    ]  # fmt: skip


def test_a_test_that_holds_for_all_is_called_for_all() -> None:
    seen: list[tuple[int, str]] = []

    @each(("number", "text"), [(1, "a"), pytest.param(2, "b", id="second")])
    def check(number: int, text: str) -> None:
        seen.append((number, text))

    check()
    assert seen == [(1, "a"), (2, "b")]


@each("name", ["a", "b"])
def test_fixtures_are_given_beside_the_values(tmp_path: Path, name: str) -> None:
    assert not (tmp_path / name).exists()
    (tmp_path / name).touch()
    assert len(list(tmp_path.iterdir())) == ["a", "b"].index(name) + 1
