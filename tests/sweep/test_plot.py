"""Plots: what is on the paper, by the text of the SVG and by the axes' own account."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from tcptutor.analysis import report
from tcptutor.base import places
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.commands.runs import show_run
from tcptutor.run import load as load_run
from tcptutor.sweep import figure
from tcptutor.sweep.results import run_row
from tcptutor.sweep.results_file import Store, SweepTable, load
from tests.sweep.made import definition_of, table_of

GRID = ["loss=0.01%..1%/x3", "rtt=10ms,50ms", "seed=1..4/4"]


def _texts(path: Path) -> set[str]:
    return set(re.findall(r"<text[^>]*>([^<]*)</text>", path.read_text()))


def test_an_svg_names_axes_units_lines_and_the_model(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "out.svg"
    figure.draw(table_of(GRID), "loss", path)
    texts = _texts(path)
    assert {"loss, %", "throughput, Mbit/s; bars: 95% confidence", "binding model"} <= texts
    assert {"delay 10ms", "delay 50ms"} <= texts
    assert {"0.01", "0.1", "1"} <= texts  # a tick at each value of the grid
    assert "parallel-streams/random-loss" in texts


@pytest.mark.parametrize(
    ("grid", "label", "ticks"),
    [
        ("queue=0.1BDP..1BDP/x4", "queue, BDP", {"0.1", "0.2154", "0.4642", "1"}),
        ("queue=100kB,150kB", "queue, kB", {"100", "150"}),
        ("queue=64KiB,128KiB", "queue, KiB", {"64", "128"}),
        ("queue=64KiB,100kB", "queue, kB", {"65.54", "100"}),
    ],
)
def test_sizes_stand_in_the_unit_they_were_written_in(
    tmp_path: Path, grid: str, label: str, ticks: set[str]
) -> None:
    figure.draw(table_of([grid]), None, tmp_path / "out.svg")
    assert {label, *ticks} <= _texts(tmp_path / "out.svg")


def test_the_same_table_gives_the_same_file(tmp_path: Path) -> None:
    for name in ("a.svg", "b.svg"):
        figure.draw(table_of(GRID), "loss", tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


@pytest.mark.parametrize("name", ["out.pdf", "out.png"])
def test_the_other_formats(tmp_path: Path, name: str) -> None:
    figure.draw(table_of(GRID), "rtt", tmp_path / name, group="loss")
    assert (tmp_path / name).read_bytes()[:4] in (b"%PDF", b"\x89PNG")


@pytest.mark.parametrize("y", figure.QUANTITIES)
def test_every_quantity_can_be_drawn_or_says_why_not(tmp_path: Path, y: str) -> None:
    if y in ("completion", "share", "utilization", "rtt_p95", "queueing", "queueing_p95"):
        remedy = "--set bytes" if y == "completion" else "another quantity"
        with pytest.raises(TutorError, match=f"no cell of this sweep has a result for {y}: .*{remedy}"):
            figure.draw(table_of(GRID), "loss", tmp_path / "out.svg", y)
        return
    figure.draw(table_of(GRID), "loss", tmp_path / "out.svg", y)
    assert ("binding model" in _texts(tmp_path / "out.svg")) == (y == "throughput")


def test_a_row_has_the_delays_shares_and_use_of_its_run() -> None:
    run = load_run(places.assets() / "recorded" / "parallel-streams" / "one-lossy-flow.tcprun")
    row, latency = run_row(run), report(run).latency
    assert latency.queueing is not None
    assert latency.rtt is not None
    assert row.queueing_p95_s == latency.queueing.p95_s
    assert row.rtt_p95_s == latency.rtt.p95_s
    assert row.queueing_s is not None
    assert row.link_used is not None
    assert 0 < row.link_used <= 1.01
    assert row.share == 1
    path = run.experiment.path
    assert row.queue_limit_s == pytest.approx(8 * path.queue / (path.rate or 0))


def test_queueing_delay_is_drawn_next_to_that_of_a_full_queue(tmp_path: Path) -> None:
    table = table_of(["queue=50kB,100kB,150kB"])
    for at, row in table.rows.items():
        table.rows[at] = msgspec.structs.replace(
            row, queueing_p95_s=0.03 * (at + 1), queue_limit_s=0.04 * (at + 1)
        )
    drawn = figure.chart(table, None, "queueing_p95")
    (limit,) = (each for each in drawn.panels[0].series if each.is_connected)
    assert limit.label.startswith("full queue")
    assert [value for _, value in limit.points] == pytest.approx([40, 80, 120])
    (measured,) = (each for each in drawn.panels[0].series if each.label == "measured")
    assert [value for _, value in measured.points] == pytest.approx([30, 60, 90])


def test_names_stand_side_by_side(tmp_path: Path) -> None:
    figure.draw(table_of(["algorithm=reno,cubic"]), None, tmp_path / "out.svg")
    assert {"reno", "cubic", "algorithm", "measured"} <= _texts(tmp_path / "out.svg")


@pytest.mark.parametrize(
    ("values", "geometric"),
    [
        ([1, 10, 100], True),
        ([1, 2, 5, 10, 20], True),
        ([10, 20, 30, 40], False),
        ([0, 1, 10], False),
        ([1, 10], False),
    ],
)
def test_an_axis_is_logarithmic_where_the_grid_is_geometric(values: list[float], geometric: bool) -> None:
    assert figure.is_geometric(values) == geometric


def test_a_part_of_a_sweep_is_drawn_and_says_so(tmp_path: Path) -> None:
    table = table_of(GRID)
    del table.rows[0], table.rows[1]
    figure.draw(table, "loss", tmp_path / "out.svg")
    assert any("2 of 24 cells are missing" in text for text in _texts(tmp_path / "out.svg"))


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"x": "rate"}, "not an axis"),
        ({"x": "loss", "y": "speed"}, "no quantity"),
        ({"x": "loss", "y": "queuing_p95"}, "did you mean queueing_p95"),
        ({"x": "loss", "group": "rate"}, "not an axis"),
        ({"x": "loss", "group": "loss"}, "on the x axis already"),
    ],
)
def test_what_cannot_be_drawn(tmp_path: Path, how: dict[str, str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        figure.draw(table_of(GRID), path=tmp_path / "out.svg", **how)  # type: ignore[arg-type]
    assert not (tmp_path / "out.svg").exists()


def test_an_empty_table_and_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(TutorError, match="finish the sweep"):
        figure.draw(SweepTable(definition_of(*GRID)), "loss", tmp_path / "out.svg")
    (tmp_path / "file").touch()
    with pytest.raises(TutorError, match="cannot write"):
        figure.draw(table_of(GRID), "loss", tmp_path / "file" / "out.svg")
    with pytest.raises(TutorError):
        load(tmp_path / "file")


def test_without_matplotlib_one_line_says_what_to_install(tmp_path: Path) -> None:
    code = f"""
import sys
sys.modules["matplotlib"] = None
from pathlib import Path
from tcptutor.base.errors import TutorError
from tcptutor.sweep import figure
from tests.sweep.made import table_of
try:
    figure.draw(table_of(["loss=0.1%,1%"]), "loss", Path({str(tmp_path / "x.svg")!r}))
except TutorError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "-m pip install 'matplotlib>=3.8,<4'" in done.stdout


def doubted(texts: list[str]) -> SweepTable:
    """A table whose first cell the lab doubts."""
    table = table_of(texts)
    table.add(msgspec.structs.replace(table.rows[0], fidelity="suspect", reasons=("only 3 loss events",)))
    return table


def test_a_suspect_point_is_hollow_and_named(tmp_path: Path) -> None:
    figure.draw(table_of(GRID), "loss", tmp_path / "sound.svg")
    figure.draw(doubted(GRID), "loss", tmp_path / "doubted.svg")
    assert "suspect" not in _texts(tmp_path / "sound.svg")
    assert "suspect" in _texts(tmp_path / "doubted.svg")
    assert "fill: #ffffff; stroke: #8c96a0" in (tmp_path / "doubted.svg").read_text()


def test_a_size_is_in_the_unit_in_which_it_was_asked_for(tmp_path: Path) -> None:
    figure.draw(table_of(["queue=0.1BDP..1BDP/x4"]), None, tmp_path / "bdp.svg")
    assert {"queue, BDP", "0.1", "1"} <= _texts(tmp_path / "bdp.svg")
    figure.draw(table_of(["queue=50kB,0.1MB"]), None, tmp_path / "mixed.svg")
    assert {"queue, kB", "50", "100"} <= _texts(tmp_path / "mixed.svg")


def test_show_prints_the_table_of_a_sweep_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "x.tcpsweep"
    table = doubted(GRID)
    with Store(file, table.definition) as store:
        for row in table.sorted_rows()[1:]:
            store.add(row)
        store.add(table.rows[0])
    assert show_run(str(file), as_json=False, as_text=False, all_flows=False) == 0
    told = capsys.readouterr().out
    assert "throughput" in told and "1 of 4 not valid: only 3 loss events" in told
    assert show_run(str(file), as_json=True, as_text=False, all_flows=False) == 0
    whole = json.loads(capsys.readouterr().out)
    assert [point["doubtful"] for point in whole["points"]] == [1, 0, 0, 0, 0, 0]
