"""A sweep as a page has it: what is read, what is refused, where a knee is, and what a prediction of it is told."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from tcptutor.authoring.lint import lint
from tcptutor.backends import replay
from tcptutor.base.errors import ContentError
from tcptutor.course import load
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.run import SweepActivity
from tcptutor.course.activity import MarkContext
from tcptutor.course.measures import MeasuredCurve, expected_knee, knee
from tcptutor.run import load as load_run

from .conftest import EXAMPLES

PAGE = "02-a-curve/01-window-and-link.md"


def swept(root: Path = EXAMPLES) -> SweepActivity:
    sweep = load(root).modules[1].steps[0].sweep
    assert sweep is not None
    return sweep


def edited(tmp_path: Path, old: str, new: str) -> Path:
    root = Path(shutil.copytree(EXAMPLES, tmp_path / "lessons"))
    text = (root / PAGE).read_text(encoding="utf-8")
    assert old in text
    (root / PAGE).write_text(text.replace(old, new, 1), encoding="utf-8")
    return root


VALUES = 'values = ["5 kB", "10 kB", "15 kB", "20 kB", "30 kB", "40 kB"]'
REFUSED = {
    "no such parameter": ('axis = "window"', 'axis = "windw"', "did you mean window?"),
    "a value out of bounds": ('"40 kB"]', '"40 bytes"]', "window: '40 bytes' is out of bounds"),
    "a value alone": (VALUES, 'values = ["5 kB"]', "sweep.values: 1 values: a curve has 2 to 8"),
    "nine values": (VALUES, f"values = {[f'{n} kB' for n in range(5, 14)]}", "9 values: a curve"),
    "values that fall": ('"30 kB", "40 kB"', '"40 kB", "30 kB"', "must rise from the first to the last"),
    "a value twice": ('"30 kB", "40 kB"', '"30 kB", "30000 B"', "two values give the same experiment"),
    "another number that goes along": (
        'set = { duration = "3 s" }',
        'set = { duration = "3 s" }\nwith = { delay = ["10 ms"] }',
        "sweep.with.delay: 1 values for the 6 values of the axis",
    ),
    "no such measure": ('measure = "throughput"', 'measure = "speed"', "sweep.measure"),
    "too many runs": ('knee = "10', 'seeds = 5\nknee = "10', "sweep.seeds: 5 at each of 6 values"),
    "no share": ('knee = "10 %"', 'knee = "a tenth"', "sweep.knee"),
    "an experiment as well": (
        "[sweep]",
        '[experiment]\nname = "small-window"\n[sweep]',
        "sweep: the page already has [experiment]",
    ),
    "a value in doubt": ("knee = true", 'at = "25 kB"\nknee = true', "predict.at"),
}


@pytest.mark.parametrize(("old", "new", "said"), REFUSED.values(), ids=REFUSED)
def test_a_sweep_that_cannot_run_is_refused(tmp_path: Path, old: str, new: str, said: str) -> None:
    with pytest.raises(ContentError) as caught:
        load(edited(tmp_path, old, new))
    assert str(caught.value).startswith(f"lessons/{PAGE}: ")
    assert said in str(caught.value)


LINTED = {
    "no such model": ('model = "window"', 'model = "windows"', "sweep.model: no model"),
    "no such table": (": experiment9", ": experiment7", "sweep.published.source: tcp_performance"),
    "no such key": ('x = "window_kb"', 'x = "windows"', "has no key 'windows': its keys are window_kb"),
    "scaled without a word": (
        "scale_reason = ",
        'scale_reason = "" # ',
        "sweep.published.scale_reason: is missing",
    ),
    "a prediction of something else": ("knee = true", "", "predict.at: is missing: on a sweep page"),
    "a knee in another unit": (
        'unit = "size"',
        'unit = "rate"',
        "predict.unit: the knee is a value of window",
    ),
    "a value that is not measured": (
        "knee = true",
        'at = "25 kB"',
        "predict.at: '25 kB' is not one of the sweep's values",
    ),
}


@pytest.mark.parametrize(("old", "new", "said"), LINTED.values(), ids=LINTED)
def test_a_sweep_that_does_not_teach_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    found = lint(edited(tmp_path, old, new))
    assert any(line.startswith(f"lessons/{PAGE}: ") and said in line for line in found), found


def test_every_value_runs_once_before_any_runs_again() -> None:
    cells = swept().cells(rounds=2)
    assert [at for at, _ in cells] == [0, 1, 2, 3, 4, 5] * 2
    assert [experiment.seed for _, experiment in cells] == [1] * 6 + [2] * 6
    assert [experiment.hosts.window for _, experiment in cells[:3]] == [5000, 10_000, 15_000]
    assert {experiment.flows.duration for _, experiment in cells} == {3.0}


def test_what_goes_along_goes_with_its_value(tmp_path: Path) -> None:
    along = 'with = { delay = ["10 ms", "20 ms", "30 ms", "40 ms", "50 ms", "60 ms"] }\nknee = "10'
    sweep = swept(edited(tmp_path, 'knee = "10', along))
    assert [round(experiment.path.delay, 3) for experiment in sweep.experiments] == [
        0.01, 0.02, 0.03, 0.04, 0.05, 0.06,
    ]  # fmt: skip


def test_published_points_stand_scaled_beside_ours() -> None:
    published = swept().published
    assert published is not None
    points = published.points()
    assert len(points) == 8
    assert points[-1] == pytest.approx((256 * 150, 95.6e6 * 0.04))


@pytest.mark.parametrize(
    ("values", "share", "cost", "at"),
    [
        ([9, 18, 36, 47, 47.8, 47.5], 0.1, False, 3),
        ([9, 18, 36, 72], 0.1, False, 3),
        ([47, 47.8, 47.5, 40], 0.1, False, 0),
        # A dip that is made good is no knee.
        ([9, 18, 17, 36], 0.1, False, 3),
        ([0.001, 0.00101, 0.00095, 0.002, 0.01], 0.25, True, 2),
        ([0.05, 0.05, 0.051], 0.1, True, 2),
    ],
)
def test_the_knee_is_where_more_adds_no_more(values: list[float], share: float, cost: bool, at: int) -> None:
    assert knee(values, share, cost) == at


def told(given: str, expected: tuple[float, ...] = (1e6, 2e6, 3e6, 3.8e6, 3.8e6, 3.8e6)) -> str:
    predict = load(EXAMPLES).modules[1].steps[0].activities_of(Predict)[0]
    curve = swept().curve([(1e6, 1.1e6), (2e6,), (3e6,), (3.7e6,), (3.8e6,), (3.8e6,)], expected)
    return predict.mark(given, MarkContext(curve=curve)).feedback


def test_a_predicted_knee_is_compared_with_runs_and_model() -> None:
    assert told("20 kB") == "20 kB is right: your runs have the knee at 20 kB, like the model."
    assert "17 kB is right" in told("17 kB"), "nothing was measured between 15 and 20 kB"
    assert "20 kB is right: your runs have the knee at 20 kB." in told("20 kB", ())
    assert "From 10 kB to 20 kB it still changed by +85 %" in told("10 kB")
    assert "40 kB is too late" in told("40 kB") and "less than 10 %" in told("40 kB")
    late = (1e6, 2e6, 3e6, 4e6, 5e6, 5e6)
    assert "30 kB matches the model: your runs have the knee at 20 kB, the model at 30 kB" in told(
        "30 kB", late
    )


def test_a_value_predicted_on_a_sweep_has_a_measurement_and_a_knee_none() -> None:
    knee = load(EXAMPLES).modules[1].steps[0].activities_of(Predict)[0]
    curve = swept().curve([(1e6, 1.1e6), (2e6,), (3e6,), (3.7e6,), (3.8e6,), (3.8e6,)])
    value = msgspec.structs.replace(knee, knee=False, at=swept().values[0], unit="rate")
    assert value.mark("2 Mbit/s", MarkContext(curve=curve)).measured == pytest.approx(1.05e6)
    assert knee.mark("20 kB", MarkContext(curve=curve)).measured is None


def test_without_a_sweep_a_prediction_is_told_nothing() -> None:
    predict = load(EXAMPLES).modules[1].steps[0].activities_of(Predict)[0]
    assert predict.mark("20 kB").feedback == ""


@pytest.mark.parametrize(("typed", "asked"), [("9.56", False), ("2000", True)])
def test_a_prediction_at_a_value_is_asked_about_by_the_link_at_that_value(typed: str, asked: bool) -> None:
    """The first of the links of that page has 300 kbit/s, the one that is asked about 10 Mbit/s."""
    steps = (step for module in load().modules for step in module.steps)
    page = next(step for step in steps if step.id == "the-rate-of-the-link")
    predict = next(each for each in page.activities if isinstance(each, Predict))
    assert bool(predict.doubt(typed, page.predicted_experiment(predict))) == asked


def test_a_cost_turns_in_the_gap_after_its_knee() -> None:
    """Lost datagrams at five numbers of flows: nothing up to 2, much at 5; nobody has measured 3 and 4."""
    curve = MeasuredCurve(
        kind="number",
        values=("1", "2", "5", "10"),
        xs=(1, 2, 5, 10),
        measure="udp-loss",
        share=0.25,
        measured=((0.01,), (0.01,), (0.04,), (0.09,)),
    )
    assert curve.knee == 1
    assert "4 is right: your runs have the knee at 2" in curve.feedback_on(4, "", 0.1)
    assert "1.5 is too early" in curve.feedback_on(1.5, "", 0.1)
    assert "5 is too late" in curve.feedback_on(5, "", 0.1)


def test_a_prediction_of_an_rtt_is_answered_by_the_run_and_the_models() -> None:
    page = next(step for module in load().modules for step in module.steps if step.id == "a-queue-too-long")
    (predict,) = page.activities_of(Predict)
    run = load_run(replay.recordings_folder() / "congestion-algorithms/a-queue-too-long.tcprun")
    near, far = (predict.mark(given, MarkContext(run=run)) for given in ("430 ms", "30 ms"))
    (flow,) = run.flows
    assert near.measured == pytest.approx(flow.mean_rtt_s, rel=0.005)
    assert 0.34 < flow.mean_rtt_s < 0.374
    had = f"the run had {near.measured * 1e3:.0f} ms, the model 374 ms"
    assert near.feedback == f"430 ms is too much: {had}."
    assert "right within ±20 %" in predict.mark("400 ms", MarkContext(run=run)).feedback
    assert "30 ms is too little" in far.feedback
    assert predict.mark("430 ms").feedback == ""


def test_a_prediction_says_what_of_the_run_it_is_of() -> None:
    page = next(step for module in load().modules for step in module.steps if step.id == "a-queue-too-long")
    (predict,) = page.activities_of(Predict)
    assert page.experiment
    experiment = page.experiment.experiment
    assert list(predict.problems(experiment)) == []
    silent = msgspec.structs.replace(predict, measure="throughput")
    assert [key for key, _ in silent.problems(experiment)] == ["unit"]
    assert predict.contradiction() is None
    assert msgspec.structs.replace(predict, knee=True).contradiction()


def test_a_level_line_of_a_model_has_no_knee() -> None:
    assert expected_knee([38.3, 38.3, 38.3], 0.1) is None
    assert expected_knee((), 0.1) is None
    assert expected_knee([9, 18, 36, 36], 0.1) == 2
