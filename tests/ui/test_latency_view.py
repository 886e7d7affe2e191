"""The view of a run's delays: percentiles with their samples, on scales that fit, at any size."""

from __future__ import annotations

import pytest

from tcptutor.analysis import DelayFigures, Latency
from tcptutor.base import units
from tcptutor.ui.widgets.chart.history import History
from tcptutor.ui.widgets.panel import layout
from tcptutor.ui.widgets.panel.latency import latency_table

from .lives import ONE, WINDOW, ended, going


def figures(p95: float | None, source: str = "queue", longest: float = 0.1) -> DelayFigures:
    return DelayFigures(source=source, samples=600, p50_s=0.05, p95_s=p95, p99_s=None, max_s=longest)  # type: ignore[arg-type]


def shown(latency: Latency, width: int = 76, room: int = 20) -> list[str]:
    lines = latency_table(latency, 5.0, width, room)
    assert len(lines) <= room
    assert all(line.width <= width for line in lines)
    return [line.text for line in lines]


def test_a_run_s_percentiles_are_those_of_its_report() -> None:
    live = ended(ONE)
    assert live.report is not None
    latency = live.report.latency
    assert latency.queueing is not None
    assert latency.queueing.p95_s is not None
    text = "\n".join(shown(latency))
    assert units.seconds(latency.queueing.p95_s) in text
    assert f"{latency.queueing.samples} samples of the queue" in text


def test_the_view_is_there_once_the_run_has_ended() -> None:
    assert "latency" not in layout.views(going(ONE, 10.0))
    live = ended(ONE)
    assert layout.views(live)[-1] == "latency"
    lines = layout.render(live, History(live.run.experiment_s), None, "", "latency", 76, 20)
    assert any("queueing delay" in line.text for line in lines)


def test_a_mark_stands_where_its_value_is_on_the_scale() -> None:
    scale = next(line for line in shown(Latency(queueing=figures(0.1)), width=103) if "─" in line)
    assert (scale.index("●"), scale.index("▲")) == (52, 102)
    assert "■" not in scale


def test_a_percentile_without_enough_samples_is_a_dash() -> None:
    row = next(line for line in shown(Latency(queueing=figures(None))) if line.startswith("queueing"))
    assert row.split()[2:] == ["50", "ms", "–", "–"]


def test_completion_times_have_a_scale_of_their_own() -> None:
    latency = Latency(queueing=figures(0.1), completion=figures(5.0, "transfers", 5.0))
    first, second = (line for line in shown(latency, width=103) if "─" in line)
    assert first.index("●") == 52
    assert second.index("●") == 3


@pytest.mark.parametrize("name", [ONE, WINDOW])
@pytest.mark.parametrize(("width", "room"), [(30, 4), (40, 8), (76, 12), (200, 60)])
def test_it_fits_at_any_size(name: str, width: int, room: int) -> None:
    live = ended(name)
    assert live.report is not None
    assert shown(live.report.latency, width, room)[0].startswith("latency")
