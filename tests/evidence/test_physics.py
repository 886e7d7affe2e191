"""Honest runs break no rule; tests/grading/test_abuse.py has those that do."""

from __future__ import annotations

import pytest

from tcptutor import places
from tcptutor.evidence.physics import impossibilities
from tcptutor.run import load
from tests.evidence.student import RUNS, STUDENTS

RECORDED = sorted((places.assets() / "recorded").rglob("*.tcprun"))


@pytest.mark.parametrize("name", STUDENTS)
def test_a_run_of_the_lab_can_be(name: str) -> None:
    assert list(impossibilities(load(RUNS / f"{name}.tcprun"))) == []


def test_none_of_the_recordings_breaks_a_rule_but_that_samples_were_left_out_of_them() -> None:
    broken = {
        path.name: left
        for path in RECORDED
        if (
            left := [
                said for said in impossibilities(load(path)) if "is not what its samples give" not in said
            ]
        )
    }
    assert len(RECORDED) > 100
    assert broken == {}


def test_a_recording_cannot_be_passed_off_as_a_run() -> None:
    """Samples are left out of recordings, and their flows' figures are of all."""
    thinned = [path for path in RECORDED if list(impossibilities(load(path)))]
    assert len(thinned) > 0.9 * len(RECORDED)
