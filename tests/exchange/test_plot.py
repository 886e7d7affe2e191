"""Plots: what they show, that the same run gives the same bytes, and what is said when there is nothing to plot."""

from __future__ import annotations

import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor.base.errors import TutorError, UsageError
from tcptutor.base.places import MATPLOTLIB
from tcptutor.exchange import curves
from tcptutor.exchange import plot as plots
from tcptutor.exchange.run_chart import change_label, run_chart
from tcptutor.run import QueueSample, QueueTable, Run, SampleTable, load
from tcptutor.spec import ALGORITHMS, Change, Flows

from .places import FILES, ROOT, RUNS, import_run


@pytest.fixture
def run() -> Run:
    return load(RUNS / "four-lossy-streams.tcprun")


def figure(runs: list[Run], what: tuple[str, ...] = ()) -> Any:
    return plots._figure(runs, what)


def panel(drawn: Any, title: str) -> Any:
    return next(axis for axis in drawn.axes if axis.get_title(loc="left").startswith(title))


def line(axis: Any, label: str) -> Any:
    return next(each for each in axis.lines if each.get_label() == label)


def test_the_panels_show_what_was_measured(run: Run) -> None:
    drawn = figure([run])
    titles = [axis.get_title(loc="left") for axis in drawn.axes]
    assert titles == [
        "Congestion window, segments",
        "Smoothed RTT, ms",
        "Throughput, Mbit/s",
        "Retransmissions so far, segments",
        "Payload acknowledged so far, MB",
    ]
    throughput = panel(drawn, "Throughput")
    together = line(throughput, "total").get_ydata()[10:]
    assert sum(together) / len(together) == pytest.approx(36.7, rel=0.03)
    flows = [line(throughput, f"flow {n}").get_ydata() for n in (1, 2, 3, 4)]
    assert [sum(each) for each in zip(*flows, strict=True)] == pytest.approx(
        line(throughput, "total").get_ydata()
    )
    assert line(throughput, "expected (4 × Reno)").get_ydata()[0] == pytest.approx(37.2, rel=0.01)
    assert line(panel(drawn, "Payload"), "total").get_ydata()[-1] == pytest.approx(
        sum(row.bytes_acked for row in list(run.samples)[-4:]) / 1e6, rel=1e-3
    )


def test_the_title_says_what_where_and_how_sure(run: Run) -> None:
    first, second = figure([run]).get_suptitle().splitlines()
    assert first == "parallel-streams/random-loss: Reno on a path with random loss"
    assert "36.7 Mbit/s" in second
    assert "guest, virtual clock, Linux 6.12" in second
    assert "fidelity valid" in second


def test_the_title_and_the_legend_name_what_sent(run: Run) -> None:
    hosts = msgspec.structs.replace(run.experiment.hosts, algorithms=("cubic", "bbr"))
    mixed = msgspec.structs.replace(run, experiment=msgspec.structs.replace(run.experiment, hosts=hosts))
    drawn = figure([mixed])
    first = drawn.get_suptitle().splitlines()[0]
    assert first.endswith("here with cubic + bbr")
    labels = [each.get_label() for each in panel(drawn, "Throughput").lines]
    assert {"flow 1, cubic", "flow 2, bbr", "flow 3, cubic", "flow 4, bbr"} <= set(labels)


def test_no_two_flows_differ_by_colour_alone(run: Run) -> None:
    axis = panel(figure([run]), "Throughput")
    experiment = msgspec.structs.replace(run.experiment, flows=Flows(streams=8))
    eight = [plots._line(curves.Curve([], flow), None, experiment) for flow in range(8)]
    assert len({(how["color"], str(how["linestyle"])) for how in eight}) == 8
    assert len({str(how["linestyle"]) for how in eight}) == 5
    looks = [(each.get_color(), each.get_linestyle()) for each in axis.lines]
    assert len({dashes for _, dashes in looks[:4]}) == 4
    assert len(set(looks)) == len(looks)


def test_the_queue_is_plotted_with_its_buffer(run: Run) -> None:
    run.queue = QueueTable([QueueSample(t / 10, 1000 * t, t, 0, 0) for t in range(200)])
    axis = panel(figure([run]), "Queue")
    assert axis.get_title(loc="left") == "Queue at the bottleneck, kB"
    assert line(axis, "buffer").get_ydata()[0] == pytest.approx(run.experiment.path.queue / 1e3)


def test_several_runs_lie_over_each_other_named_by_what_differs() -> None:
    runs = [load(RUNS / f"{name}.tcprun") for name in ("cubic-loss", "htcp-loss")]
    drawn = figure(runs)
    names = [text.get_text() for text in drawn.legends[0].get_texts()]
    assert names[0].startswith("algorithm cubic")
    assert names[1].startswith("algorithm htcp")
    assert all("Mbit/s" in name for name in names[:2])
    assert len(panel(drawn, "Throughput").lines) == 2


def test_the_same_run_twice_is_told_apart_by_its_id(run: Run) -> None:
    again = msgspec.structs.replace(run, id="another")
    names = [text.get_text() for text in figure([run, again]).legends[0].get_texts()]
    assert len(set(names[:2])) == 2


def test_slow_start_s_overshoot_does_not_hide_the_rest(run: Run) -> None:
    axis = panel(figure([run]), "Congestion window")
    assert axis.get_ylim()[1] < 150
    assert any("peak 461 in the warm-up" in text.get_text() for text in axis.texts)


@pytest.mark.parametrize("suffix", [".svg", ".pdf", ".png"])
def test_the_same_run_gives_the_same_bytes(run: Run, tmp_path: Path, suffix: str) -> None:
    for name in ("a", "b"):
        plots.plot([run], tmp_path / f"{name}{suffix}", ["cwnd", "queue"])
    first = (tmp_path / f"a{suffix}").read_bytes()
    assert first == (tmp_path / f"b{suffix}").read_bytes()
    assert first[:8].startswith((b"<?xml", b"%PDF", b"\x89PNG"))
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"a{suffix}", f"b{suffix}"]


def test_a_plot_of_another_process_and_day_has_the_same_bytes(run: Run, tmp_path: Path) -> None:
    plots.plot([run], tmp_path / "here.svg", ["throughput"])
    subprocess.run(
        [sys.executable, "-m", "tcptutor", "plot", RUNS / "four-lossy-streams.tcprun", "--what", "throughput",
         "-o", tmp_path / "there.svg"],
        check=True, cwd=ROOT, capture_output=True, env={"PATH": "/usr/bin:/bin", "TZ": "Asia/Tokyo"},
    )  # fmt: skip
    assert (tmp_path / "here.svg").read_bytes() == (tmp_path / "there.svg").read_bytes()


@pytest.mark.parametrize(
    "name", ["flent-4-tcp_nup.flent.gz", "iperf3-3.12-reverse.json", "iperf3-3.7-bidir.json"]
)
def test_runs_from_elsewhere_are_plotted_without_what_they_lack(name: str) -> None:
    drawn = figure([import_run(FILES / name)])
    titles = [axis.get_title(loc="left").partition(",")[0] for axis in drawn.axes]
    assert "Throughput" in titles
    assert ("Congestion window" in titles) == ("reverse" not in name)
    assert not any(each.get_label().startswith("expected") for axis in drawn.axes for each in axis.lines)


@pytest.mark.parametrize("name", sorted(file.stem for file in RUNS.glob("*.tcprun")))
def test_every_recorded_run_is_drawn_whole(name: str) -> None:
    run = load(RUNS / f"{name}.tcprun")
    for axis in figure([run]).axes:
        low, high = axis.get_xlim()
        for drawn in axis.lines:
            assert all(math.isfinite(value) for value in (*drawn.get_xdata(), *drawn.get_ydata()))
            assert low <= drawn.get_xdata()[0] <= drawn.get_xdata()[-1] <= high + 0.5


@pytest.mark.parametrize(
    ("target", "what", "says"),
    [
        ("x.gif", [], r"\.svg, \.pdf, \.png"),
        ("x", [], r"\.svg"),
        ("x.svg", ["window"], "no quantity 'window'.*cwnd"),
    ],
)
def test_wrong_usage_is_told(run: Run, tmp_path: Path, target: str, what: list[str], says: str) -> None:
    with pytest.raises(UsageError, match=says):
        plots.plot([run], tmp_path / target, what)
    assert list(tmp_path.iterdir()) == []


def test_nothing_to_plot_is_told(run: Run, tmp_path: Path) -> None:
    with pytest.raises(TutorError, match="nothing of queue"):
        plots.plot([run], tmp_path / "x.svg", ["queue"])
    run.samples = SampleTable()
    with pytest.raises(TutorError, match="nothing was measured"):
        plots.plot([run], tmp_path / "x.svg")


def test_a_place_that_cannot_be_written_is_told(run: Run) -> None:
    with pytest.raises(TutorError, match=r"cannot write.*-o"):
        plots.plot([run], Path("/proc/nowhere/x.svg"))


def test_without_matplotlib_one_line_says_what_to_install(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(TutorError, match=re.escape(f"-m pip install '{MATPLOTLIB}'")):
        plots.plot([run], tmp_path / "x.svg")


@given(
    st.lists(st.tuples(st.floats(0, 100), st.floats(0, 1e9)), min_size=1, max_size=300), st.integers(1, 12)
)
def test_thinning_keeps_ends_and_extremes(points: list[tuple[float, float]], times: int) -> None:
    many = sorted(points * times * 10)
    kept = curves.thinned(many)
    assert len(kept) <= max(len(many) and curves.POINTS + 4, 0)
    assert set(kept) <= set(many)
    assert (kept[0], kept[-1]) == (many[0], many[-1])
    values = [value for _, value in many]
    assert {min(values), max(values)} <= {value for _, value in kept}


def test_the_expected_course_of_flows_that_are_alike_is_one_line() -> None:
    four = figure([load(RUNS / "four-lossy-streams.tcprun")])
    cwnd = panel(four, "Congestion window")
    assert sum(each.get_label() == "expected trajectory" for each in cwnd.lines) == 1
    assert line(cwnd, "expected trajectory").get_linestyle() != "-"


def test_changes_of_hosts_and_streams_are_marked_and_named(run: Run) -> None:
    half = run.experiment.seconds / 2
    changes = (Change(half, "algorithm", float(ALGORITHMS.index("bbr"))), Change(1.2 * half, "streams", 9.0))
    path = msgspec.structs.replace(run.experiment.path, changes=changes)
    run.experiment = msgspec.structs.replace(run.experiment, path=path)
    label = f"BBR at {half:g} s, 9 flows at {1.2 * half:g} s"
    marked = [
        each.points[0][0] for each in run_chart([run], ("cwnd",)).panels[0].series if each.label == label
    ]
    assert marked == pytest.approx([half, 1.2 * half])
    axis = panel(figure([run]), "Congestion window")
    assert [each.get_xdata()[0] for each in axis.lines if each.get_label() == label] == marked
    assert change_label([(1.0, "BBR")] * 6).endswith("BBR at 1 s, …")
