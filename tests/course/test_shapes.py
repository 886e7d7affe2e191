"""A prediction that is one of some drawings: what may be written, and what each choice is told."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tcptutor.base.errors import UsageError
from tcptutor.course.activities.predict import Predict, ShapePrediction
from tcptutor.course.activity import Activity, MarkContext
from tests.chosen import chosen

from .conftest import whole_run

RUN = MarkContext(run=whole_run())
TEETH = {
    "curve": [[0, 0.5], [0.5, 1], [0.5, 0.5], [1, 1]],
    "text": "It climbs slowly and falls by half.",
    "correct": True,
    "feedback": "One segment each RTT, then a loss.",
}
FLAT = {
    "curve": [[0, 0.5], [1, 0.5]],
    "text": "It stays level.",
    "feedback": "Nothing tells the sender to stay.",
}
STEPS = {
    "curve": [[0, 0.2], [0.5, 0.2], [0.5, 0.8], [1, 0.8]],
    "text": "It jumps once.",
    "feedback": "A window moves by segments.",
}
TABLE: dict[str, Any] = {
    "prompt": "How will cwnd look?",
    "hints": ["What does a loss do?", "And what comes between two losses?"],
    "shape": [TEETH, FLAT, STEPS],
}


def table(**changes: Any) -> Predict:
    return msgspec.convert({**TABLE, **changes}, Predict)


def made(of: Predict) -> Activity:
    return of.activity(lambda name, _set: pytest.fail(name))


def test_a_prediction_with_shapes_is_one_of_them() -> None:
    shapes = made(table())
    assert isinstance(shapes, ShapePrediction)
    assert table().contradiction() is None
    assert shapes.contradiction() is None
    assert list(shapes.problems()) == []


def test_it_is_told_nothing_before_the_run_and_its_own_feedback_after_it() -> None:
    shapes = made(table())
    for number in range(3):
        assert shapes.mark(chosen(shapes, number)).feedback == ""
    assert (
        shapes.mark(chosen(shapes, 0), RUN).feedback
        == "That is the shape. One segment each RTT, then a loss."
    )
    wrong = shapes.mark(chosen(shapes, 1), RUN)
    assert (
        wrong.feedback
        == "Nothing tells the sender to stay. The right drawing is this: It climbs slowly and falls by half."
    )
    assert wrong.correct is None
    assert shapes.mark((), RUN).feedback == ""


@pytest.mark.parametrize("given", [(3,), (-1,), (0, 1), "1"])
def test_what_is_none_of_them_is_no_prediction(given: tuple[int, ...] | str) -> None:
    with pytest.raises(UsageError):
        made(table()).mark(given)


def shape(of: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {"shape": [TEETH, {**of, **changes}, STEPS]}


REFUSED = {
    "two": ({"shape": [TEETH, FLAT]}, "give 3 or 4"),
    "none right": (shape(FLAT) | {"shape": [FLAT, STEPS, FLAT]}, "0 shapes are correct"),
    "two right": (shape(FLAT, correct=True), "2 shapes are correct"),
    "a unit": ({"unit": "time"}, "remove `unit`"),
    "nothing to draw": (shape(FLAT, curve=[]), "either a curve or bars"),
    "two kinds": (shape(FLAT, bars={"h1": 0.5}), "either a curve or bars"),
    "curves and bars": (shape(FLAT, curve=[], bars={"h1": 0.5}), "all of them as curves"),
    "a point": (shape(FLAT, curve=[[0, 1]]), "at least two points"),
    "backwards": (shape(FLAT, curve=[[1, 0], [0, 0]]), "from left to right"),
    "too high": (shape(FLAT, curve=[[0, 0], [1, 1.1]]), "outside of 0 to 1"),
    "more than all": (shape(FLAT, curve=[], bars={"h1": 1.5}), "outside of 0 to 1"),
}


@pytest.mark.parametrize(("changes", "said"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_chosen_from_is_not_loaded(changes: dict[str, Any], said: str) -> None:
    of = table(**changes)
    wrong = of.contradiction() or made(of).contradiction()
    assert wrong is not None
    assert said in wrong[1]


LINTED = {
    "no sentence": (shape(FLAT, text="flat"), "shape[2].text", "needs a sentence"),
    "no feedback": (shape(FLAT, feedback=""), "shape[2].feedback", "needs a sentence"),
    "drawn twice": (shape(FLAT, curve=TEETH["curve"]), "shape", "alike"),
    "said twice": (shape(FLAT, text=TEETH["text"]), "shape.text", "alike"),
    "no hints": ({"hints": []}, "hints", "levels"),
}


@pytest.mark.parametrize(("changes", "key", "said"), LINTED.values(), ids=LINTED)
def test_the_linter_judges_drawings_and_words(changes: dict[str, Any], key: str, said: str) -> None:
    problems = list(made(table(**changes)).problems())
    assert any(found == key and said in reason for found, reason in problems), problems
