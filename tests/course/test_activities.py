"""What holds for every kind of activity, and for every one of the course."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tcptutor.authoring.lint import lint
from tcptutor.authoring.observations import recorded_context
from tcptutor.backends import replay
from tcptutor.base import units
from tcptutor.base.errors import ContentError, UsageError
from tcptutor.course import load
from tcptutor.course.activities import TABLES, front_matter
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.run import RunActivity, SweepActivity
from tcptutor.course.activities.run_question import RunQuestion
from tcptutor.course.activity import NO_RUN, Activity, MarkContext, Stage
from tcptutor.course.page_record import ActivityRecord, PageRecord, Response
from tcptutor.course.step import Step
from tcptutor.run import load as load_run
from tcptutor.spec import build
from tests.each import each

from .conftest import EXAMPLES, whole_run

MODULES = {step.id: module.id for module in load().modules for step in module.steps}
STEPS = [step for module in load().modules for step in module.steps]
SHIPPED = [activity for step in STEPS for activity in step.activities]
EXAMPLE, CURVE, *BY_HAND = (step for module in load(EXAMPLES).modules for step in module.steps)
EVERY = [*SHIPPED, *(activity for step in (EXAMPLE, CURVE, *BY_HAND) for activity in step.activities)]
MEASURED = [(1e6,), (2e6,), (3e6,), (3.7e6,), (3.8e6,), (3.8e6,), (3.8e6,), (3.8e6,)]
"""What a sweep of so many values at most measures."""


def context(step: Step) -> MarkContext:
    """A run, and a curve over the values of the step's own sweep; of a challenge its start and its solution."""
    if (
        step.activities_of(RunQuestion)
        and (found := recorded_context(step, MODULES.get(step.id, ""))) is not None
    ):
        return found
    if step.challenge is not None:
        start, solution = (
            load_run(next(replay.recordings_folder().glob(f"*/{step.id}/{key}.tcprun")))
            for key in ("start", "solution")
        )
        return MarkContext(run=solution, start=start)
    sweep = step.sweep or CURVE.sweep
    assert sweep is not None
    return MarkContext(run=whole_run(), curve=sweep.curve(MEASURED[: len(sweep.values)]))


TRIED = [
    pytest.param(activity, step, id=f"{activity.table}-{activity.id}")
    for step in (*STEPS, EXAMPLE, CURVE, *BY_HAND)
    for activity in step.activities
]
RUN = context(CURVE)


@each(("activity", "step"), TRIED)
def test_it_takes_its_own_right_response_and_not_its_empty_one(activity: Activity, step: Step) -> None:
    run = context(step)
    reference = activity.reference(run)
    assert reference.right is not None
    wanted = {Stage.BEFORE_RUN: None}.get(activity.stage, True)
    assert activity.mark(reference.right, run).correct == wanted
    if isinstance(activity, RunActivity | SweepActivity):
        assert not activity.mark(reference.empty, NO_RUN).correct
    elif isinstance(activity, RunQuestion):
        assert activity.mark(reference.empty, run).correct is None
    elif activity.stage >= Stage.RUN:
        with pytest.raises(UsageError):
            activity.mark(reference.empty, run)


@each(("activity", "step"), TRIED)
def test_it_is_done_when_it_was_done(activity: Activity, step: Step) -> None:
    run = context(step)
    assert not activity.is_done(PageRecord(visited=True))
    right = activity.reference(run).right
    assert right is not None
    mark = activity.mark(right, run)
    record = ActivityRecord().with_response(Response(right, mark.correct))
    assert activity.is_done(PageRecord(visited=True, runs=1, whole_runs=1, activities={activity.id: record}))


@each(("activity", "step"), TRIED)
def test_a_response_of_the_wrong_kind_is_no_attempt(activity: Activity, step: Step) -> None:
    run = context(step)
    if activity.stage is not Stage.RUN:
        wrong = ("gone",) if isinstance(activity.reference(run).right, str) else "1 Mbit/s"
        with pytest.raises(UsageError):
            activity.mark(wrong, run)


def test_a_run_counts_when_it_is_whole_only() -> None:
    run = next(activity for activity in SHIPPED if activity.stage is Stage.RUN)
    assert not run.is_done(PageRecord(visited=True, runs=2))


def test_a_page_asks_before_the_run_runs_and_asks_after_it() -> None:
    assert [name for name, *_ in front_matter()][:7] == [
        "example",
        "predict",
        "challenge",
        "experiment",
        "sweep",
        "shell",
        "question",
    ]
    for module in load().modules:
        for step in module.steps:
            places = [activity.stage for activity in step.activities]
            assert places == sorted(places)


def test_every_kind_has_an_example_that_is_tried_here() -> None:
    def kind(table: type) -> tuple[str, object]:
        return table.table, table.__struct_config__.tag

    assert {kind(table) for table in TABLES} == {kind(type(activity)) for activity in EVERY}


def test_the_examples_lint_clean() -> None:
    assert lint(EXAMPLES) == []


WRONG = {
    "a kind that is not": (
        'kind = "order"',
        'kind = "sort"',
        ["question[1].kind", "observe, sender, single, multiple, order, numeric, read-off"],
    ),
    "no kind": ('kind = "order"\n', "", ["question[1].kind", "is missing"]),
    "a key of another kind": (
        'quantity = "slow-start-end"',
        'quantity = "slow-start-end"\nunit = "time"',
        ["question[2].unit", "the keys are kind, id, prompt"],
    ),
    "a quantity that is not": (
        '"slow-start-end"',
        '"slow-start"',
        ["question[2].quantity", "did you mean slow-start-end?"],
    ),
    "an event without feedback": (
        'feedback = "Nothing can',
        'note = "',
        ["question[1].event[1].note", "text, id, feedback"],
    ),
    "an instant without unit": ('"slow-start-end"', '"cwnd-at"\nat = "5"', ["question[2].at", "no unit"]),
    "an id twice": ('id = "seen"', 'id = "recovery"', ["question[4].id", "another question"]),
}


@pytest.mark.parametrize(("old", "new", "said"), WRONG.values(), ids=WRONG)
def test_a_wrong_table_names_key_and_reason(tmp_path: Path, old: str, new: str, said: list[str]) -> None:
    root = Path(shutil.copytree(EXAMPLES, tmp_path / "lessons"))
    page = root / "01-own-run/01-a-loss.md"
    text = page.read_text(encoding="utf-8")
    assert old in text
    page.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(ContentError) as caught:
        load(root)
    assert str(caught.value).startswith("lessons/01-own-run/01-a-loss.md: ")
    for part in said:
        assert part in str(caught.value)


LINTED = {
    "a flow that is not there": (
        'quantity = "slow-start-end"',
        'quantity = "slow-start-end"\nflow = 2',
        "question end-of-slow-start: flow",
    ),
    "an instant after the end": (
        '"slow-start-end"',
        '"cwnd-at"\nat = "30 s"',
        "question end-of-slow-start: at",
    ),
    "an event that says nothing": (
        "Nothing can follow from a loss before there is one.",
        "No",
        "question recovery: event[1].feedback",
    ),
    "about a run that is not there": ('[experiment]\nname = "lossy"', "", "question seen: about_run"),
}


@pytest.mark.parametrize(("old", "new", "said"), LINTED.values(), ids=LINTED)
def test_the_linter_asks_every_activity(tmp_path: Path, old: str, new: str, said: str) -> None:
    root = Path(shutil.copytree(EXAMPLES, tmp_path / "lessons"))
    page = root / "01-own-run/01-a-loss.md"
    text = page.read_text(encoding="utf-8")
    assert old in text
    page.write_text(text.replace(old, new, 1), encoding="utf-8")
    assert any(f"01-a-loss.md: {said}" in line for line in lint(root)), lint(root)


PREDICT = Predict(prompt="How fast?", hints=("A nudge.", "A method."))
PATH = build("test/path", {"parameters": {"rate": "100 Mbit/s", "delay": "50 ms"}})


@pytest.mark.parametrize(
    ("typed", "asked"),
    [
        ("9 kbit/s", "9 kbit/s: did you mean 9 Mbit/s?"),
        ("9 Gbit/s", "9 Gbit/s: did you mean 9 Mbit/s?"),
        ("9 MB/s", "9 MB/s is 72 Mbit/s: did you mean 9 Mbit/s?"),
        ("9 kB/s", "9 kB/s is 72 kbit/s: did you mean 9 Mbit/s?"),
        ("9000000", "9000 Gbit/s is 9e+04 times the link's rate: is that the unit you meant?"),
        ("1000", "1 Gbit/s is 10 times the link's rate: is that the unit you meant?"),
        ("0.002", "2 kbit/s is less than a segment in 100 round trips: is that the unit you meant?"),
    ],
)
def test_a_slip_is_asked_about_by_what_the_page_gives(typed: str, asked: str) -> None:
    assert PREDICT.doubt(typed, PATH) == asked.replace("9e+04", "90000")


@pytest.mark.parametrize(
    "typed", ["", "0", "9", "9 Mbit/s", "900", "9000 kbit/s", "0.5", "500000 bit/s", "0.009 Gbps", "9M", "99"]
)
def test_what_is_no_slip_is_locked_at_once(typed: str) -> None:
    assert PREDICT.doubt(typed, PATH) == ""


@pytest.mark.parametrize("unit", ["time", "ratio", "size"])
def test_other_quantities_are_asked_about_by_their_unit_alone(unit: str) -> None:
    activity = Predict(prompt="How much?", unit=unit, hints=PREDICT.hints)
    assert activity.doubt("20", PATH) == ""
    other = {"time": "20 s", "ratio": "20 ‰", "size": "20 Mbit"}[unit]
    assert ("did you mean 20 " in activity.doubt(other, PATH)) == (unit != "ratio")


@pytest.mark.parametrize("experiment", [None, PATH])
@pytest.mark.parametrize("typed", ["fast", "-3", "1,000", "9 MB", "1e308 Gbit/s"])
def test_what_is_no_prediction_is_told_so_before_anything_is_asked(typed: str, experiment) -> None:
    for told in (lambda: PREDICT.doubt(typed, experiment), lambda: PREDICT.mark(typed)):
        with pytest.raises(UsageError):
            told()


def test_a_prediction_is_answered_by_the_run_and_by_nothing_before_it() -> None:
    assert PREDICT.mark("99").feedback == ""
    assert "that is the link's rate" in PREDICT.mark("99", RUN).feedback
    assert "right within ±10 %" in PREDICT.mark("9", RUN).feedback
    assert PREDICT.mark("", RUN).feedback == ""


def test_no_page_has_the_examples_values() -> None:
    """What an error shows as an example must not be a page's answer, nor anything that is given there."""
    for module in load().modules:
        for step in module.steps:
            given = step.experiment.experiment.parameters if step.experiment else {}
            answers = [(each.unit, str(each.reference().right)) for each in step.activities_of(Numeric)]
            for kind, example in units.EXAMPLES.items():
                if kind != "window":
                    value = units.parse(example, kind)
                    assert value not in [
                        number for number in given.values() if isinstance(number, float | int)
                    ]
                    assert value not in [units.parse(text, unit) for unit, text in answers if unit == kind]
