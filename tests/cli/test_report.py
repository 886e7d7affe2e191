"""What a run says of itself in text: each flow, UDP, the binding model, and nothing where nothing was measured."""

from __future__ import annotations

import json
from pathlib import Path

import click
import msgspec
import pytest

from tcptutor.analysis import Report, report
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
