"""Questions of the shipped course as a room is asked."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
import pytest

from tcptutor.base.errors import UsageError
from tcptutor.course import Course, load
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activities.predict import Predict, ShapePrediction
from tcptutor.course.activities.read_off import ReadOff
from tcptutor.course.activities.run_question import RunQuestion
from tcptutor.course.activity import Activity, MarkContext
from tcptutor.course.setting_line import experiment_line
from tcptutor.course.step import Step
from tcptutor.room.asked import AskedQuestion, ask, can_ask
from tests.course.conftest import whole_run


@pytest.fixture(scope="module")
def course() -> Course:
    return load()


def _pages(course: Course) -> Iterator[tuple[str, Step, Activity]]:
    for module in course.modules:
        for step in module.steps:
            for activity in step.activities:
                yield module.id, step, activity


def test_every_question_of_the_course_can_be_asked_and_stored(course: Course) -> None:
    kinds = set()
    for module, step, activity in _pages(course):
        if not can_ask(activity) or isinstance(activity, RunQuestion | ReadOff):
            continue
        kinds.add(type(activity))
        asked = ask(step, activity.id, module=module, seed="lecture")
        assert msgspec.json.decode(msgspec.json.encode(asked), type=AskedQuestion) == asked
        for round_ in asked.rounds:
            assert "{" not in round_.text
            if round_.choices:
                marks = [round_.count(index).right for index in range(len(round_.choices))]
                assert marks.count(True) == 1
                assert all(round_.feedback)
                assert round_.right_answer.endswith(round_.choices[marks.index(True)])
            elif round_.numeric:
                assert round_.count(round_.right_answer).right
            else:
                assert round_.right_answer == ""
    assert len(kinds) == 4


def test_drawn_numbers_differ_between_the_rounds(course: Course) -> None:
    drawn = [(m, s, a) for m, s, a in _pages(course) if isinstance(a, Numeric) and a.draw]
    for module, step, activity in drawn:
        first, second = ask(step, activity.id, module=module, seed="lecture").rounds
        assert first.text != second.text
    assert drawn


def test_the_right_choice_is_not_always_the_first(course: Course) -> None:
    places = [
        ask(step, activity.id, module=module, seed="lecture").rounds[0].right[0]
        for module, step, activity in _pages(course)
        if can_ask(activity) and not isinstance(activity, RunQuestion | Numeric | Predict | ReadOff)
    ]
    for place in range(3):
        assert places.count(place) > len(places) / 8


def test_a_prediction_names_the_network_it_is_about(course: Course) -> None:
    for module, step, activity in _pages(course):
        if not can_ask(activity) or isinstance(activity, RunQuestion | ReadOff):
            continue
        setting = ask(step, activity.id, module=module, seed="lecture").setting
        if isinstance(activity, Predict | ShapePrediction) and step.experiment is not None:
            assert setting == experiment_line(step.experiment.experiment)
        elif not isinstance(activity, Predict):
            assert setting == ""


def test_a_prediction_is_counted_in_base_units(course: Course) -> None:
    module, step, activity = next(
        each for each in _pages(course) if isinstance(each[2], Predict) and each[2].unit == "rate"
    )
    asked = ask(step, activity.id, module=module, seed="lecture")
    answer = asked.rounds[0].count("12 Mbit/s")
    assert (answer.value, answer.right, asked.is_prediction) == (12e6, None, True)


def test_a_drawing_that_was_right_is_known(course: Course) -> None:
    module, step, activity = next(each for each in _pages(course) if isinstance(each[2], ShapePrediction))
    asked = ask(step, activity.id, module=module, seed="lecture").rounds[0]
    assert isinstance(activity, ShapePrediction)
    assert asked.choices[asked.right[0]] == activity.shapes[activity.right].text


def test_a_question_about_the_run_needs_the_run(course: Course) -> None:
    module, step, activity = next(
        each for each in _pages(course) if isinstance(each[2], RunQuestion) and each[1].id == "one-lossy-flow"
    )
    with pytest.raises(UsageError, match="run"):
        ask(step, activity.id, module=module, seed="lecture")
    asked = ask(step, activity.id, module=module, seed="lecture", context=MarkContext(run=whole_run()))
    assert asked.rounds[0].right


def test_a_value_to_read_off_is_a_number_that_the_run_decides(course: Course) -> None:
    module, step, activity = next(each for each in _pages(course) if isinstance(each[2], ReadOff))
    assert isinstance(activity, ReadOff)
    with pytest.raises(UsageError, match="run"):
        ask(step, activity.id, module=module, seed="lecture")
    run = whole_run()
    asked = ask(step, activity.id, module=module, seed="lecture", context=MarkContext(run=run))
    (round_, _) = asked.rounds
    right = activity.measured(run)
    assert round_.right_value == pytest.approx(right, rel=0.01)
    assert round_.count(round_.right_answer).right
    assert not round_.count(
        f"{3 * right:g} {asked.plain_unit}" if asked.unit != "time" else f"{3 * right:g} s"
    ).right
    assert msgspec.json.decode(msgspec.json.encode(asked), type=AskedQuestion) == asked


def test_other_activities_are_refused_in_one_line(course: Course) -> None:
    module, step, activity = next(each for each in _pages(course) if not can_ask(each[2]))
    for name in (activity.id, "no-such-question"):
        with pytest.raises(UsageError) as error:
            ask(step, name, module=module, seed="lecture")
        assert "\n" not in str(error.value)
