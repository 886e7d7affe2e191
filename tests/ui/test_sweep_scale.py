"""The upright axis of a sweep's chart: a law of proportion is drawn as a straight line."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from tcptutor.base.chart import ratio_ticks
from tcptutor.course import load as load_course
from tcptutor.course.activities.predict import Predict
from tcptutor.course.page_sweep import models, page_cell
from tcptutor.figures.axes import rounded_down
from tcptutor.run import load
from tcptutor.study.live_sweep import LiveSweep
from tcptutor.ui.widgets.chart import axes
from tcptutor.ui.widgets.sweep import plot
from tcptutor.ui.widgets.sweep.scene import CurveScene, scene_of

RECORDED = Path(__file__).parents[2] / "assets" / "recorded"


@cache
def recorded(module: str, step: str, guess: tuple[str, float] | None = None) -> CurveScene:
    """Of the recorded runs of a page's sweep, with what was predicted of it."""
    page = next(
        each for part in load_course().modules if part.id == module for each in part.steps if each.id == step
    )
    assert page.sweep is not None
    cells = [
        page_cell(page.sweep, at, load(path))
        for at in range(len(page.sweep.values))
        for path in sorted((RECORDED / module / step).glob(f"{at + 1}-*.tcprun"))
    ]
    live = LiveSweep(module, step, page.sweep, cells=cells, models=models(page.sweep), state="ended")
    return scene_of(live, next(iter(page.activities_of(Predict)), None), guess)


def test_a_prediction_far_off_leaves_the_axis_to_the_data() -> None:
    page = "tcp-basics", "the-rate-of-the-link"
    near, far = recorded(*page, ("150 Mbit/s", 150e6)), recorded(*page, ("10 Gbit/s", 1e10))
    assert near.top > far.top
    assert far.top == recorded(*page).top
    assert far.own is not None
    assert far.own.text == "10 Gbit/s"
    assert any("you 10 Gbit/s" in line.text for line in plot.render(far, 78, 12))


def test_throughput_over_the_rate_of_the_link_is_a_straight_line() -> None:
    scene = recorded("tcp-basics", "the-rate-of-the-link")
    heights = [scene.height(each[1]) for each in scene.measured if each]
    assert len(heights) == len(scene.places) == 6
    slopes = [
        (heights[at + 1] - heights[at]) / (scene.places[at + 1] - scene.places[at]) for at in range(1, 5)
    ]
    assert max(slopes) / min(slopes) == pytest.approx(1, abs=0.05)
    (line,) = [line for line in scene.lines if line.kind == "formula"]
    course = [(at, scene.height(value)) for at, value in scene.trajectory(line, 200)]
    (x0, y0), (x1, y1) = course[0], course[-1]
    assert all(abs(y - (y0 + (y1 - y0) * (x - x0) / (x1 - x0))) < 0.03 for x, y in course)


def test_points_of_different_rates_have_rows_of_their_own() -> None:
    scene = recorded("tcp-basics", "the-rate-of-the-link")
    rows = [plot._row_from_bottom(each[1], scene, 12) for each in scene.measured if each]
    assert rows == sorted(set(rows))
    lines = [line.text for line in plot.render(scene, 78, 12)]
    assert sum("●" in line for line in lines) == 6
    numbers = [float(line[: axes.GUTTER - 1]) for line in lines[:12] if line[: axes.GUTTER - 1].strip()]
    assert numbers == sorted(numbers, reverse=True)
    assert all(number > 0 for number in numbers)
    assert len(numbers) >= 3


def test_equal_steps_stay_on_an_axis_that_begins_at_nothing() -> None:
    scene = recorded("parallel-streams", "the-whole-curve")
    assert scene.bottom == 0
    assert scene.height(0.0) == 0
    assert scene.height(scene.top) == 1


@pytest.mark.parametrize(
    ("value", "below"), [(0.27, 0.2), (1.0, 1.0), (4.99, 2.0), (5.0, 5.0), (937.0, 500.0)]
)
def test_an_axis_begins_at_a_round_number(value: float, below: float) -> None:
    assert rounded_down(value) == pytest.approx(below)


@pytest.mark.parametrize(("low", "high"), [(0.2, 100.0), (1.0, 12.0), (1e-3, 1e5), (500.0, 80_000.0)])
@pytest.mark.parametrize("number", [2, 4, 8])
def test_ticks_of_equal_ratios_are_round_and_few(low: float, high: float, number: int) -> None:
    found = ratio_ticks(low, high, number)
    assert found == sorted(found)
    assert all(low * 0.99 <= value <= high * 1.01 for value in found)
    assert all(f"{value:.0e}"[0] in "1235" for value in found)
    assert len(found) <= max(number, 9)
