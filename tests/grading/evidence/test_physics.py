"""Honest runs break no rule; tests/grading/test_abuse.py has those that do."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tcptutor.base import places
from tcptutor.grading.evidence.physics import SAMPLING_INTERVAL, impossibilities
from tcptutor.run import QueueTable, load
from tcptutor.spec import Experiment
from tcptutor.wire.protocol import RunExperiment
from tests.each import each
from tests.grading.evidence.student import RUNS, STUDENTS

RECORDED = sorted((places.assets() / "recorded").rglob("*.tcprun"))


@pytest.mark.parametrize("name", STUDENTS)
def test_a_run_of_the_lab_can_be(name: str) -> None:
    assert list(impossibilities(load(RUNS / f"{name}.tcprun"))) == []


def test_none_of_the_recordings_breaks_a_rule_but_that_samples_were_left_out_of_them() -> None:
    left_out = ("is not what its samples give", "and the lab takes one in 10")
    broken = {
        path.name: others
        for path in RECORDED
        if (others := [said for said in impossibilities(load(path)) if not said.endswith(left_out)])
    }
    assert len(RECORDED) > 100
    assert broken == {}


@each("path", RECORDED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_recording_cannot_be_passed_off_as_a_run(path: Path) -> None:
    """Samples are left out of recordings; one that the lab does not stand for is worth nothing anyhow."""
    assert any(impossibilities(load(path))) or load(path).fidelity.status == "suspect"


def test_samples_are_as_far_apart_as_the_lab_takes_them() -> None:
    assert 1 / RunExperiment(Experiment(name="any")).sample_hz == SAMPLING_INTERVAL


def test_a_run_may_miss_a_few_samples() -> None:
    run = load(RUNS / f"{STUDENTS[0]}.tcprun")
    every = [*run.queue]
    most = msgspec.structs.replace(run, queue=QueueTable([row for at, row in enumerate(every) if at % 8]))
    half = msgspec.structs.replace(run, queue=QueueTable(every[::3]))
    assert list(impossibilities(most)) == []
    assert list(impossibilities(half)) == [
        "the queue: its samples are 30 ms apart, and the lab takes one in 10"
    ]
