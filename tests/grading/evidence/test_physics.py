"""Honest runs break no rule; tests/grading/test_abuse.py has those that do."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tcptutor.base import places
from tcptutor.grading.evidence.physics import SAMPLING_INTERVAL, impossibilities
from tcptutor.run import CA_STATES, Fidelity, QueueTable, Run, SampleTable, load
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


def _with_more_in_flight(state: str) -> Run:
    """A run in which a sample of that state has three windows of segments that are not acknowledged.

    Two of the windows are reported as received behind a gap.
    """
    run = load(RUNS / f"{STUDENTS[0]}.tcprun")
    rows = list(run.samples)
    at = next(at for at, row in enumerate(rows) if row.ca_state == CA_STATES.index("recovery"))
    row, window = rows[at], max(row.cwnd for row in rows)
    rows[at] = msgspec.structs.replace(
        row,
        unacked=3 * window,
        delivered=row.segs_out - row.retransmits - window,
        ca_state=CA_STATES.index(state),
    )
    return msgspec.structs.replace(run, samples=SampleTable(rows))


def test_segments_that_arrived_behind_a_gap_are_not_in_flight() -> None:
    said = [*impossibilities(_with_more_in_flight("recovery"))]
    assert not [each for each in said if "in flight" in each]
    said = [*impossibilities(_with_more_in_flight("open"))]
    assert [each for each in said if "in flight" in each]


def test_an_rtt_may_be_rounded_down_to_a_timestamp_where_segments_were_retransmitted() -> None:
    run = load(RUNS / f"{STUDENTS[0]}.tcprun")
    delay = run.experiment.delay(0)
    for below, can_be in ((0.9e-3, True), (2e-3, False)):
        rtt = delay * 0.99 - 1e-4 - below
        rows = [msgspec.structs.replace(row, min_rtt=rtt) for row in run.samples]
        said = [*impossibilities(msgspec.structs.replace(run, samples=SampleTable(rows)))]
        assert any("smallest RTT" in each for each in said) != can_be


def test_a_run_that_the_lab_doubts_is_not_called_impossible_for_the_same_reason() -> None:
    run = load(RUNS / f"{STUDENTS[0]}.tcprun")
    short = msgspec.structs.replace(run, experiment_s=run.experiment.seconds * 0.8)
    assert any("but is marked complete" in each for each in impossibilities(short))
    doubted = msgspec.structs.replace(short, fidelity=Fidelity(status="suspect", reasons=("it was busy",)))
    assert not any("but is marked complete" in each for each in impossibilities(doubted))


def test_a_run_may_miss_a_few_samples() -> None:
    run = load(RUNS / f"{STUDENTS[0]}.tcprun")
    every = [*run.queue]
    most = msgspec.structs.replace(run, queue=QueueTable([row for at, row in enumerate(every) if at % 8]))
    half = msgspec.structs.replace(run, queue=QueueTable(every[::3]))
    assert list(impossibilities(most)) == []
    assert list(impossibilities(half)) == [
        "the queue: its samples are 30 ms apart, and the lab takes one in 10"
    ]
