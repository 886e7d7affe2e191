"""Distributions of delays, drawn from known samples, recorded runs and captured packets."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tcptutor import lab
from tcptutor.base import places
from tcptutor.base.chart import Chart, ChartSeries
from tcptutor.base.errors import TutorError, UsageError
from tcptutor.exchange.delay_chart import delay_chart
from tcptutor.run import FlowResult, QueueSample, QueueTable, Run, load
from tests.command import here as tcptutor

from .places import RUNS

RECORDED = places.assets() / "recorded" / "parallel-streams" / "one-lossy-flow.tcprun"


@pytest.fixture
def run() -> Run:
    """A run of a link of 100 Mbit/s with a queue of 1 to 400 kB, each for the same time."""
    run = load(RECORDED)
    path = msgspec.structs.replace(run.experiment.path, rate=100e6, queue=400_000, changes=())
    flows = msgspec.structs.replace(run.experiment.flows, warmup=0.0, duration=400.0)
    run.experiment = msgspec.structs.replace(run.experiment, path=path, flows=flows)
    run.samples = type(run.samples)(
        msgspec.structs.replace(row, t=row.t * 400 / run.experiment_s) for row in run.samples
    )
    run.queue = QueueTable(QueueSample(float(at), 1000 * at, at, 0, 1000 * at) for at in range(1, 401))
    return run


def curve(chart: Chart, panel: int = 0) -> ChartSeries:
    return next(each for each in chart.panels[panel].series if each.is_connected and not each.marker)


def marks(chart: Chart, panel: int = 0) -> list[tuple[float, float]]:
    return [*next(each for each in chart.panels[panel].series if not each.is_connected).points]


def test_the_curve_rises_to_100_percent_and_percentiles_lie_on_it(run: Run) -> None:
    chart = delay_chart([run], [None], ["queueing"])
    points = curve(chart).points
    assert points[-1] == pytest.approx((32, 100), rel=0.01)
    assert [share for _, share in points] == sorted(share for _, share in points)
    # 200, 380 and 396 kB at 100 Mbit/s, in ms.
    assert marks(chart) == [pytest.approx(each, rel=0.01) for each in ((16, 50), (30.4, 95), (31.7, 99))]
    assert chart.x.label == "delay, ms"


def test_a_full_queue_is_a_line_where_the_model_puts_it(run: Run) -> None:
    series = delay_chart([run], [None], ["queueing"]).panels[0].series
    (limit,) = (each for each in series if each.marker and each.is_connected)
    assert [at for at, _ in limit.points] == pytest.approx([32, 32])
    assert "a full queue" in limit.label


def test_rtt_and_queueing_delay_share_an_axis(run: Run) -> None:
    chart = delay_chart([run], [None])
    assert [panel.heading.split(",")[0] for panel in chart.panels] == ["smoothed RTT", "queueing delay"]
    assert len(delay_chart([run, load(RECORDED)], [None, None], ["rtt"]).panels) == 1


def test_transfers_have_a_step_each(run: Run) -> None:
    run.experiment = msgspec.structs.replace(
        run.experiment, flows=msgspec.structs.replace(run.experiment.flows, bytes=1000, streams=4)
    )
    run.flows = [
        FlowResult(
            flow=at, pair=0, throughput_bps=1e6, retransmits=0, losses=0, segments=1, mean_rtt_s=0.1,
            mean_cwnd_segments=1.0, mss=1448, completion_s=None if at == 3 else 1.0 + at,
        )
        for at in range(4)
    ]  # fmt: skip
    points = curve(delay_chart([run], [None], ["completion"])).points
    assert points == [(1, 0), (1, 25), (2, 25), (2, 50), (3, 50), (3, 75)]


@pytest.mark.parametrize(
    ("what", "said"),
    [(["rtts"], "did you mean rtt"), (["rtt", "completion"], "an axis of their own")],
)
def test_wrong_names_are_refused(run: Run, what: list[str], said: str) -> None:
    with pytest.raises(UsageError, match=said):
        delay_chart([run], [None], what)


def test_a_run_without_such_samples_says_so() -> None:
    run = load(RUNS / "full-link.tcprun")
    assert len(delay_chart([run], [None]).panels) == 1
    with pytest.raises(TutorError, match="no samples of completion"):
        delay_chart([run], [None], ["completion"])


def test_the_command_draws_lines_and_pictures(tmp_path: Path) -> None:
    shown = tcptutor("plot", str(RECORDED), "--kind", "distribution")
    assert shown.returncode == 0, shown.stderr
    assert "p95" in shown.stdout
    targets = [tmp_path / "one.svg", tmp_path / "two.svg"]
    for target in targets:
        made = tcptutor("plot", str(RECORDED), "--kind", "distribution", "--what", "rtt", "-o", str(target))
        assert made.returncode == 0, made.stderr
    assert targets[0].read_bytes() == targets[1].read_bytes()
    assert "p95" in targets[0].read_text()
    refused = tcptutor("plot", str(RECORDED), "--kind", "distribution", "--what", "delay")
    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1


def test_python_has_the_same_figure() -> None:
    figure = lab.load(RECORDED).plot(["rtt", "queueing"], kind="distribution")
    assert len(figure.axes) == 2
    with pytest.raises(UsageError, match="distribution"):
        lab.load(RECORDED).plot(kind="distributions")
