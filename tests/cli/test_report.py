"""What a run says of itself in text: each flow, UDP, the binding model, and nothing where nothing was measured."""

from __future__ import annotations

import json
from pathlib import Path

import click
import msgspec
import pytest

from tcptutor.analysis import DelayFigures, Report, report
from tcptutor.analysis.expected.queue_limit import QueueLimit
from tcptutor.base import units
from tcptutor.commands.report import report_lines
from tcptutor.run import Fidelity, Run, SampleTable, UdpResult, load, save
from tests.cli.places import FOUR, RUNS
from tests.command import here


def lines(run: Run, result: Report, *, all_flows: bool = False) -> list[str]:
    return report_lines(run, result, None, all_flows)


def flow_rows(told: list[str]) -> list[list[str]]:
    """The cells of the lines of flows, which begin with their number."""
    rows = [line.split() for line in told if line.startswith("    ")]
    return [row for row in rows if row[0].isdigit() and row[1] != "×"]


def test_each_flow_has_its_rate_share_spread_and_losses() -> None:
    run = load(FOUR)
    result = report(run)
    told = lines(run, result)
    assert any(f"Jain's index {result.jain_index:.3f}, CoV " in line for line in told)
    rows = flow_rows(told)
    assert len(rows) == len(result.flows) == 4
    for row, flow in zip(rows, result.flows, strict=True):
        assert flow.cov is not None
        assert row[:4] == [
            str(flow.flow + 1), f"{flow.throughput_bps / 1e6:.2f}", f"{100 * flow.share:.1f}", f"{100 * flow.cov:.0f}",
        ]  # fmt: skip
        assert row[-2:] == [str(flow.losses), str(flow.retransmits)]
    assert sum(float(row[2]) for row in rows) == pytest.approx(100, abs=0.2)


def delay_row(told: list[str], name: str) -> str:
    return next(line.strip().removeprefix(name) for line in told if line.strip().startswith(name))


def test_percentiles_name_their_samples_and_what_a_full_queue_takes() -> None:
    run = load(FOUR)
    result = report(run)
    told = lines(run, result)
    rtt = result.latency.rtt
    assert rtt is not None
    assert rtt.p95_s is not None
    shown = delay_row(told, "smoothed RTT")
    assert units.seconds(rtt.p95_s) in shown
    assert f"{rtt.samples} samples" in shown
    queueing = DelayFigures(source="queue", samples=600, p50_s=0.031, p95_s=0.043, p99_s=0.045, max_s=0.05)
    limit = QueueLimit(delay_s=0.05, label="a full queue")
    latency = msgspec.structs.replace(result.latency, queueing=queueing, queue_limit=limit)
    told = lines(run, msgspec.structs.replace(result, latency=latency))
    shown = delay_row(told, "queueing delay")
    assert shown.split()[:6] == ["31", "ms", "43", "ms", "45", "ms"]
    assert "600 samples of the queue" in shown
    assert "a full queue is 50 ms" in shown


def test_a_percentile_without_enough_samples_is_a_dash() -> None:
    run = load(FOUR)
    result = report(run)
    times = DelayFigures(source="transfers", samples=8, p50_s=1.2, p95_s=None, p99_s=None, max_s=3.3)
    latency = msgspec.structs.replace(result.latency, completion=times, slowest_expected_s=2.9)
    shown = delay_row(lines(run, msgspec.structs.replace(result, latency=latency)), "completion")
    assert shown.split()[:4] == ["1.2", "s", "–", "–"]
    assert "8 transfers" in shown
    assert "3.3 s (expected 2.9 s)" in shown
    open_ended = msgspec.structs.replace(times, unfinished=2, max_s=None)
    latency = msgspec.structs.replace(latency, completion=open_ended)
    shown = delay_row(lines(run, msgspec.structs.replace(result, latency=latency)), "completion")
    assert "2 unfinished" in shown
    assert "slowest" not in shown


def test_of_many_flows_the_extremes_are_told_and_all_when_asked() -> None:
    run = load(FOUR)
    result = report(run)
    many = tuple(
        msgspec.structs.replace(
            result.flows[0], flow=number, throughput_bps=1e6 * (1 + number % 7 + number / 100)
        )
        for number in range(20)
    )
    result = msgspec.structs.replace(result, flows=many)
    told = lines(run, result)
    rates = [float(row[1]) for row in flow_rows(told)]
    everything = sorted((flow.throughput_bps / 1e6 for flow in many), reverse=True)
    assert rates == pytest.approx([*everything[:3], *everything[-3:]], abs=0.01)
    assert any("14 more: --flows shows them" in line for line in told)
    assert [row[0] for row in flow_rows(lines(run, result, all_flows=True))] == [str(n) for n in range(1, 21)]


def test_one_flow_has_no_table() -> None:
    run = load(RUNS / "short-queue.tcprun")
    told = lines(run, report(run))
    assert flow_rows(told) == []
    assert any("   1 flow, " in line and "CoV" in line for line in told)
    assert not any("Jain" in line for line in told)


def test_udp_flows_have_rate_loss_jitter_and_order() -> None:
    run = load(FOUR)
    run.udp = [
        UdpResult(
            flow=0,
            pair=0,
            sent_bps=2e6,
            received_bps=1.9e6,
            lost=5,
            datagrams=100,
            jitter_s=0.0012,
            out_of_order=3,
        )
    ]
    told = lines(run, report(run))
    assert any("UDP 1.9 Mbit/s" in line for line in told)
    head = next(place for place, line in enumerate(told) if line.split()[:1] == ["UDP"])
    assert told[head + 1].split() == ["1", "2.00", "1.90", "5.00", "5", "of", "100", "1.20", "3"]
    run.udp = [msgspec.structs.replace(run.udp[0], out_of_order=None)]
    assert "None" not in "\n".join(lines(run, report(run)))


def test_the_binding_model_is_marked_and_comes_first() -> None:
    run = load(FOUR)
    result = report(run)
    told = lines(run, result)
    first = next(place for place, line in enumerate(told) if line.startswith("  models")) + 1
    assert told[first].startswith("  ▸")
    assert result.comparisons[0].prediction.label in told[first]
    assert sum("▸" in line for line in told[first:]) == 1


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    """A run that ended before anything was measured."""
    run = load(FOUR)
    run.samples, run.flows, run.complete, run.note = SampleTable(), [], False, "the lab ended during it"
    save(run, tmp_path / "empty.tcprun")
    return tmp_path / "empty.tcprun"


@pytest.mark.parametrize("words", [[], ["--json"], ["--text"]])
def test_nothing_measured_is_one_line_and_no_figure(empty: Path, words: list[str]) -> None:
    done = here("show", empty, *words)
    assert done.returncode == 1
    if "--json" in words:
        told = json.loads(done.stdout)
        assert (told["flows"], told["predictions"], set(told["aggregate"].values())) == ([], [], {None})
    else:
        assert done.stdout == ""
    assert done.stderr == f"tcptutor: nothing was measured in {empty}: the lab ended during it\n"


def test_what_the_lab_found_wrong_is_why_nothing_was_measured(tmp_path: Path) -> None:
    run = load(FOUR)
    run.samples, run.flows = SampleTable(), []
    run.fidelity = Fidelity(status="invalid", reasons=("they were over too soon: let them send more bytes",))
    save(run, tmp_path / "over.tcprun")
    done = here("show", tmp_path / "over.tcprun", "--text")
    assert done.returncode == 1
    assert done.stderr.endswith("over.tcprun: they were over too soon: let them send more bytes\n")


def test_a_run_is_shown_in_a_pipe_as_it_was_told_when_it_ended() -> None:
    done = here("show", FOUR)
    assert (done.returncode, done.stderr) == (0, "")
    run = load(FOUR)
    assert done.stdout.splitlines() == [click.unstyle(line) for line in report_lines(run, report(run), FOUR)]
    assert here("show", FOUR, "--text").stdout == done.stdout
    assert json.loads(here("show", FOUR, "--json").stdout)["file"] == str(FOUR)
