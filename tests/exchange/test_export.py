"""CSV and JSON as other programs read them."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tcptutor.base.errors import TutorError
from tcptutor.exchange import export
from tcptutor.run import (
    SSTHRESH_INFINITE,
    AckSample,
    AckTable,
    QueueSample,
    QueueTable,
    Run,
    Sample,
    load,
)

from .places import ROOT, RUNS

ONE_FLOW = ROOT / "tests" / "run" / "files" / "one-flow.tcprun"


@pytest.fixture
def run() -> Run:
    return load(RUNS / "four-lossy-streams.tcprun")


@pytest.fixture
def traced(run: Run) -> Run:
    """With the tables that this run was not asked for."""
    run.queue = QueueTable([QueueSample(0.1, 3000, 2, 0, 50_000), QueueSample(0.2, 0, 0, 1, 90_000)])
    run.acks = AckTable([AckSample(0, 0.1, 10, SSTHRESH_INFINITE, 0.05)])
    return run


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_has_a_row_an_instant_and_flow_and_units_in_its_header(run: Run) -> None:
    rows = rows_of(export.as_csv(run.samples))
    assert len(rows) == len(run.samples)
    for row, sample in zip(rows[::97], list(run.samples)[::97], strict=True):
        assert int(row["flow"]) == sample.flow + 1, "as in the app and in plots"
        assert float(row["t (s)"]) == pytest.approx(sample.t, rel=1e-8)
        assert int(row["cwnd (segments)"]) == sample.cwnd
        assert float(row["rtt (s)"]) == pytest.approx(sample.rtt)
        assert int(row["bytes_acked (bytes)"]) == sample.bytes_acked
        assert row["ca_state"] in ("open", "disorder", "cwr", "recovery", "loss")


def test_an_infinite_ssthresh_is_an_empty_cell_and_null(run: Run) -> None:
    assert run.samples[0].ssthresh == SSTHRESH_INFINITE
    assert rows_of(export.as_csv(run.samples))[0]["ssthresh (segments)"] == ""
    assert json.loads(export.as_json(run, None))["samples"]["ssthresh"][0] is None


@pytest.mark.parametrize("table", ["samples", "queue", "acks"])
def test_every_column_with_a_unit_says_so(traced: Run, table: str) -> None:
    without = {"flow", "ca_state", "app_limited", "reord_seen", "dsack_dups", "total_rto"}
    names = export.as_csv(export.tables(traced)[table]).splitlines()[0].split(",")
    assert all(name.endswith(")") for name in names if name not in without)


def test_queue_and_acks_are_files_beside_the_samples(traced: Run, tmp_path: Path) -> None:
    files = [
        each.write() for each in export.export_files(traced, ONE_FLOW, "csv", tmp_path / "deep" / "x.csv")
    ]
    assert [file.name for file in files] == ["x.csv", "x-queue.csv", "x-acks.csv"]
    assert rows_of(files[1].read_text())[0] == {
        "t (s)": "0.1",
        "bytes (bytes)": "3000",
        "packets (packets)": "2",
        "drops (packets)": "0",
        "sent (bytes)": "50000",
    }


def test_json_is_the_document_with_the_columns(traced: Run) -> None:
    whole = json.loads(export.as_json(traced, "here"))
    assert {"experiment", "flows", "aggregate", "predictions", "verdict", "fidelity", "units"} <= set(whole)
    assert [flow["flow"] for flow in whole["flows"]] == list(range(1, len(traced.flows) + 1))
    assert set(whole["samples"]["flow"]) == {flow["flow"] for flow in whole["flows"]}
    assert {flow["flow"] for flow in whole["verdict"]["flows"]} == set(whole["samples"]["flow"])
    assert whole["samples"]["cwnd"] == traced.samples.column("cwnd").tolist()
    assert whole["queue"]["bytes"] == [3000, 0]
    assert whole["units"]["rtt"] == "s"
    assert "acks" not in json.loads(export.as_json(load(ONE_FLOW), None))


# No deadline: it tells what is read back, and on a busy machine a first example may take any time (imports, the file).
@settings(deadline=None)
@given(
    st.lists(
        st.fixed_dictionaries(
            {
                "cwnd": st.integers(0, 2**40),
                "rtt": st.floats(0, 1e6),
                "ca_state": st.integers(-1, 9),
                "app_limited": st.booleans(),
            }
        ),
        max_size=5,
    )
)
def test_any_sample_is_read_back(changes: list[dict[str, object]]) -> None:
    run = load(ONE_FLOW)
    plain = run.samples[-1]
    table = type(run.samples)(msgspec.structs.replace(plain, **change) for change in changes)
    rows = rows_of(export.as_csv(table))
    assert len(rows) == len(changes)
    for row, sample in zip(rows, table, strict=True):
        assert isinstance(sample, Sample)
        assert int(row["cwnd (segments)"]) == sample.cwnd
        assert float(row["rtt (s)"]) == pytest.approx(sample.rtt, rel=1e-8)


def test_a_place_that_cannot_be_written_is_told(run: Run) -> None:
    with pytest.raises(TutorError, match=r"cannot write.*-o"):
        [each.write() for each in export.export_files(run, ONE_FLOW, "csv", Path("/proc/nowhere/x.csv"))]
