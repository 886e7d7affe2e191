"""Marks in the chart where the algorithm or the MTU of the hosts, or the number of streams, changes."""

from __future__ import annotations

import msgspec
import pytest

from tcptutor import spec
from tcptutor.analysis import expect
from tcptutor.spec import ALGORITHMS, Change
from tcptutor.study.background import Forecast
from tcptutor.ui.widgets.chart import axes, chart
from tcptutor.ui.widgets.workbench.picture import scene_of_forecast

from .lives import ONE, live_of, scene, stored


@pytest.mark.parametrize("size", [(78, 12), (120, 24)])
def test_the_chart_names_each_change_at_its_instant(size: tuple[int, int]) -> None:
    run = stored(ONE)
    at = run.experiment.seconds / 2
    changes = (
        Change(0.6 * at, "streams", 3.0),
        Change(at, "algorithm", float(ALGORITHMS.index("bbr"))),
        Change(1.4 * at, "mtu", 900.0),
    )
    path = msgspec.structs.replace(run.experiment.path, changes=changes)
    experiment = msgspec.structs.replace(run.experiment, path=path)
    live = live_of(msgspec.structs.replace(run, experiment=experiment))
    lines = [line.text for line in chart.render(scene(live), *size, False)]
    across = axes.columns(size[0])
    marked = next(line for line in lines if "BBR" in line)
    assert any("MTU 900" in line for line in lines)
    assert any("3 flows" in line for line in lines)
    place = marked.index("BBR") - axes.GUTTER
    assert place == pytest.approx(across / 2, abs=4)
    without = chart.render(scene(live_of(run)), *size, False)
    assert not any("BBR" in line.text for line in without)


def test_the_forecast_of_the_bench_has_the_marks_and_shows_the_limits_of_each_stretch() -> None:
    parameters = {"rate": "100 Mbit/s", "delay": "50 ms", "duration": "30 s", "warmup": "5 s"}
    made = spec.build("m/e", {"parameters": {**parameters, "changes": "10 s streams=4; 20 s streams=1"}})
    drawn = scene_of_forecast(Forecast(made, expect(made), 17.0), ())
    assert drawn.host_changes == ((10.0, "4 flows"), (20.0, "1 flow"))
    alone = 100e6 * 0.05 / 8 / 1514
    (product,) = (guide for guide in drawn.references if guide.name == "BDP/n")
    assert [value for _, value in product.points] == pytest.approx(
        [alone, alone, alone / 4, alone / 4, alone, alone], rel=0.01
    )
    assert drawn.top > 2 * alone
