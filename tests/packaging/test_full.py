"""What a plain run leaves out: what is listed exists, every share has its part, and all shares together are all."""

from __future__ import annotations

import re

import pytest

from tests import full


@pytest.mark.parametrize("name", full.LEFT_OUT)
def test_what_is_left_out_exists_and_has_a_reason(name: str) -> None:
    file, _, test = name.partition("::")
    assert re.search(rf"^(async )?def {test}\(", (full.ROOT / file).read_text(), re.MULTILINE)
    assert full.LEFT_OUT[name].reason


@pytest.mark.parametrize(
    ("name", "places"), [(name, left.shares) for name, left in full.LEFT_OUT.items() if left.shares]
)
def test_over_the_commits_every_test_comes_along(
    name: str, places: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = []
    for number in range(places):
        monkeypatch.setattr(full, "commit", lambda number=number: f"{number:040x}")
        taken += [place for place in range(2 * places) if full.plain(name, place)]
    assert sorted(taken) == list(range(2 * places))


def test_every_share_of_the_kills_has_every_victim() -> None:
    from tests.faults.running import VICTIMS

    name = "tests/faults/test_killed.py::test_a_run_killed_at_a_random_moment"
    shares = full.LEFT_OUT[name].shares
    for number in range(shares):
        for victims in VICTIMS.values():
            assert len({moment % len(victims) for moment in range(number, 20, shares)}) == len(victims)
