"""What each sitting reveals, for every state that an activity can be in."""

from __future__ import annotations

from itertools import product

import pytest

from tcptutor.course.activities.choice import Alternative, SingleChoice
from tcptutor.course.activities.predict import Predict
from tcptutor.course.page_record import ActivityRecord, Response
from tcptutor.course.sitting import Sitting

LEARN, REVIEW, EXAM = Sitting.LEARN, Sitting.REVIEW, Sitting.EXAM
CHOICES = (Alternative(text="a", correct=True, feedback="Yes."), Alternative(text="b", feedback="No."))
QUESTION = SingleChoice(id="q", prompt="?", choices=CHOICES)
ABOUT_RUN = SingleChoice(id="q", prompt="?", choices=CHOICES, about_run=True)
PREDICT = Predict(prompt="?")

NOTHING = ActivityRecord()
RIGHT = NOTHING.with_response(Response((0,), True))
WRONG = NOTHING.with_response(Response((1,), False))
CHANGED = RIGHT.with_response(Response((1,), False))
"""First right, then wrong."""
LOCKED = NOTHING.with_response(Response("1 Mbit/s", None, value=1e6))

ALL = list(product(Sitting, (False, True)))
"""Every sitting, going on and ended."""


@pytest.mark.parametrize("sitting", Sitting)
@pytest.mark.parametrize("ran", [False, True])
def test_what_is_about_the_run_comes_after_it_and_all_else_at_once(sitting: Sitting, ran: bool) -> None:
    assert sitting.reveals(ABOUT_RUN, ran) == ran
    assert sitting.reveals(QUESTION, ran)
    assert sitting.reveals(PREDICT, ran)


@pytest.mark.parametrize(("sitting", "hints"), [(LEARN, True), (REVIEW, True), (EXAM, False)])
def test_an_exam_has_no_hints(sitting: Sitting, hints: bool) -> None:
    assert sitting.allows_hints == hints


ACCEPTS = {
    # sitting: (nothing, right, wrong, changed, prediction locked) is accepted / is due
    LEARN: ((True, True, True, True, False), (True, False, True, False, False)),
    REVIEW: ((True, False, False, False, False), (True, False, False, False, False)),
    EXAM: ((True, True, True, True, False), (True, False, False, False, False)),
}


@pytest.mark.parametrize(("sitting", "ended"), ALL)
def test_who_may_answer_again(sitting: Sitting, ended: bool) -> None:
    states = [
        (QUESTION, NOTHING),
        (QUESTION, RIGHT),
        (QUESTION, WRONG),
        (QUESTION, CHANGED),
        (PREDICT, LOCKED),
    ]
    accepted, due = ACCEPTS[sitting]
    assert [sitting.accepts(*state, ended) for state in states] == [each and not ended for each in accepted]
    assert [sitting.is_due(*state, ended) for state in states] == [each and not ended for each in due]


@pytest.mark.parametrize(("sitting", "ended"), ALL)
def test_an_exam_tells_marks_at_its_end_only(sitting: Sitting, ended: bool) -> None:
    assert sitting.shows_mark(ended) == (ended or sitting is not EXAM)


@pytest.mark.parametrize(("sitting", "ended"), ALL)
@pytest.mark.parametrize("correct", [True, False, None])
def test_the_explanation_waits_while_it_would_give_a_try_away(
    sitting: Sitting, ended: bool, correct: bool | None
) -> None:
    expected = {LEARN: bool(correct) or ended, REVIEW: True, EXAM: ended}
    assert sitting.shows_explanation(correct, ended) == expected[sitting]


def test_learning_counts_a_right_answer_and_an_exam_the_latest() -> None:
    for sitting, given in ((LEARN, (0,)), (REVIEW, (1,)), (EXAM, (1,))):
        counted = sitting.counted_response(QUESTION, CHANGED)
        assert counted is not None
        assert counted.answer == given
    again = LOCKED.with_response(Response("2 Mbit/s", None, value=2e6))
    for sitting in Sitting:
        assert sitting.counted_response(PREDICT, again) == LOCKED.first
        assert sitting.counted_response(QUESTION, NOTHING) is None


@pytest.mark.parametrize(("sitting", "afresh"), [(LEARN, False), (REVIEW, True), (EXAM, True)])
def test_only_learning_goes_on_from_earlier_answers(sitting: Sitting, afresh: bool) -> None:
    assert sitting.starts_fresh == afresh
