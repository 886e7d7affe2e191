"""Experiments from Python: as its page says, in a notebook with an event loop, and refusals."""

from __future__ import annotations

import asyncio
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from tcptutor import lab
from tcptutor.base import places
from tcptutor.base.errors import LabUnavailable, MissingTool, UsageError
from tcptutor.run import load

RECORDED = places.assets() / "recorded" / "parallel-streams" / "one-lossy-flow.tcprun"
PAGE = places.assets() / "documentation" / "python.md"


@pytest.fixture(scope="module")
def recorded() -> lab.ReportedRun:
    return lab.ReportedRun(load(RECORDED))


@pytest.mark.guest
def test_the_page_s_example_runs_in_the_lab() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.S)
    names: dict[str, object] = {}
    exec(code, names)
    runs = names["runs"]
    assert isinstance(runs, list)
    low, high = (run.throughput_bps for run in runs)
    assert low > high > 0
    assert all(run.record.complete and run.record.environment.backend != "replay" for run in runs)
    assert runs[0].predictions["mathis"] > runs[1].predictions["mathis"]


def test_columns_have_numpy_s_types_and_the_run_s_values(recorded: lab.ReportedRun) -> None:
    columns = recorded.columns()
    assert {"flow", "t", "cwnd", "rtt"} <= set(columns)
    assert all(isinstance(column, np.ndarray) for column in columns.values())
    rows = list(recorded.record.samples)
    assert columns["cwnd"].tolist() == [row.cwnd for row in rows]
    assert len(columns["t"]) == len(rows) > 100


def test_flows_are_counted_from_1(recorded: lab.ReportedRun) -> None:
    assert set(recorded.columns()["flow"].tolist()) == {1}
    assert [each["flow"] for each in recorded.document["flows"]] == [1]


def test_percentiles_of_delays_are_those_of_the_document(recorded: lab.ReportedRun) -> None:
    queueing = recorded.latency.queueing
    assert queueing is not None
    assert queueing.p50_s is not None
    assert queueing.p95_s is not None
    assert 0 <= queueing.p50_s <= queueing.p95_s
    assert recorded.document["latency"]["queueing"]["p95_s"] == queueing.p95_s


def test_a_frame_has_a_row_for_each_sample(recorded: lab.ReportedRun) -> None:
    frame = recorded.frame("queue")
    assert list(frame.columns) == list(recorded.columns("queue"))
    assert len(frame) == len(recorded.record.queue)


def test_a_plot_has_a_panel_for_each_quantity(recorded: lab.ReportedRun) -> None:
    assert len(recorded.plot(["cwnd", "throughput"]).axes) >= 2


def test_columns_come_without_numpy_too(recorded: lab.ReportedRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lab.importlib.util, "find_spec", lambda _: None)
    assert list(recorded.columns()["cwnd"]) == [row.cwnd for row in recorded.record.samples]
    with pytest.raises(MissingTool, match=r"pip install .*pandas"):
        recorded.frame()


def test_a_run_is_saved_and_loaded(recorded: lab.ReportedRun, tmp_path: Path) -> None:
    file = recorded.save(tmp_path / "mine.tcprun")
    again = lab.load(file)
    assert again.throughput_bps == recorded.throughput_bps
    assert again.verdict == recorded.verdict


async def test_a_notebook_s_event_loop_does_not_matter() -> None:
    assert asyncio.get_running_loop()
    with pytest.raises(LabUnavailable, match="not recorded"):
        lab.run("random-loss", backend="replay", loss="0.3 %")


def test_wrong_names_are_refused(recorded: lab.ReportedRun) -> None:
    with pytest.raises(UsageError, match="random-loss"):
        lab.run("random-los")
    with pytest.raises(UsageError, match="samples"):
        recorded.columns("sample")


def test_the_command_line_does_not_load_numpy_or_pandas() -> None:
    import subprocess

    code = "import sys; from tcptutor import lab; assert not {'numpy', 'pandas', 'matplotlib'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
