"""What the runs of one point say together, and what makes a run no result."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tcptutor.base.errors import LabError
from tcptutor.commands.output import not_valid
from tcptutor.run import SampleTable, load
from tcptutor.sweep.results import Row, point, run_row

FOUR = Path(__file__).parents[1] / "analysis" / "runs" / "four-lossy-streams.tcprun"


@pytest.fixture(scope="module")
def valid() -> Row:
    return run_row(load(FOUR))


def doubtful(row: Row, *reasons: str) -> Row:
    return msgspec.structs.replace(row, fidelity="suspect", reasons=reasons)


def test_the_most_frequent_reason_is_given_whatever_its_numbers(valid: Row) -> None:
    rows = [
        valid,
        doubtful(valid, "the ping took 31 ms"),
        doubtful(valid, "only 5 loss events: take longer"),
        doubtful(valid, "only 3 loss events: take longer", "the ping took 31 ms"),
    ]
    assert not_valid(point(rows)) == "3 of 4 not valid: only 5 loss events: take longer"
    assert not_valid(point(rows[:1])) == ""
    assert not_valid(point([doubtful(valid)])) == "1 of 1 not valid"


def test_models_are_told_where_the_first_run_has_none(valid: Row) -> None:
    invalid = msgspec.structs.replace(valid, predictions=(), fidelity="invalid")
    assert list(point([invalid, valid]).models) == [one.model for one in valid.predictions]
    assert point([invalid]).models == {}


def test_nothing_measured_is_a_failure_and_no_row_of_zeros() -> None:
    run = load(FOUR)
    run.samples, run.flows, run.note = SampleTable(), [], "the network went away"
    with pytest.raises(LabError, match="nothing was measured: the network went away"):
        run_row(run)
