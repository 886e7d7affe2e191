"""Answers in, marks out; what cannot be marked is no attempt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor.base import units
from tcptutor.base.errors import UnitError, UsageError
from tcptutor.course import load
from tcptutor.course.activities.choice import Alternative, ChoiceQuestion, MultipleChoice, SingleChoice
from tcptutor.course.activities.numeric import Numeric
from tcptutor.course.activity import Question
from tests.chosen import chosen
from tests.each import each

QUESTIONS = [
    question
    for module in load().modules
    for step in module.steps
    for question in step.activities_of(Question)
]
CHOICES = [
    question
    for module in load().modules
    for step in module.steps
    for question in step.activities_of(ChoiceQuestion)
    if not question.against_run
]
SINGLE = SingleChoice(
    id="q",
    prompt="?",
    choices=(
        Alternative(text="a", feedback="Not a."),
        Alternative(text="b", correct=True, feedback="Yes, b."),
    ),
)
MULTIPLE = MultipleChoice(
    id="q",
    prompt="?",
    choices=(
        Alternative(text="a", correct=True, feedback="Yes, a."),
        Alternative(text="b", correct=True, feedback="Yes, b."),
        Alternative(text="c", feedback="Not c."),
    ),
)


def numeric(answer: str = "10 Mbit/s", unit: str = "rate", tolerance: float = 0.05) -> Numeric:
    return Numeric(
        id="q", prompt="?", answer=answer, unit=unit, tolerance=tolerance, feedback="Count."  # type: ignore[arg-type]
    )  # fmt: skip


@each("question", [each for each in QUESTIONS if not each.against_run], ids=lambda question: question.id)
def test_every_shipped_question_takes_its_own_solution(question: Question) -> None:
    assert question.mark(question.reference().right).correct


@each("question", CHOICES, ids=lambda question: question.id)
def test_every_wrong_choice_is_told_why(question: ChoiceQuestion) -> None:
    for index, choice in enumerate(question.choices):
        result = question.mark(chosen(question, index))
        if not choice.correct:
            assert (result.correct, result.feedback.split("\n")[0]) == (False, choice.feedback)


def test_a_single_choice() -> None:
    assert SINGLE.mark(chosen(SINGLE, 1)).feedback == "Yes, b."
    assert not SINGLE.mark(chosen(SINGLE, 0)).correct


def test_multiple_tells_what_is_wrong_first_and_how_many_are_missing() -> None:
    assert MULTIPLE.mark(chosen(MULTIPLE, 1, 0)).correct
    part = MULTIPLE.mark(chosen(MULTIPLE, 0))
    assert (part.correct, part.feedback) == (
        False,
        "What you chose is right, but 1 right answer is still missing.",
    )
    mixed = MULTIPLE.mark(chosen(MULTIPLE, 0, 1, 2))
    assert (mixed.correct, mixed.feedback) == (False, "Not c.")


@pytest.mark.parametrize("answer", [(), SINGLE.entry_ids[:2], ("gone",), "b"])
def test_a_choice_that_cannot_be_marked_is_no_attempt(answer: tuple[str, ...] | str) -> None:
    with pytest.raises(UsageError):
        SINGLE.mark(answer)


@pytest.mark.parametrize("answer", ["ten", "", "10 ms", "1,000", "1e999 Mbit/s", "10 Mbit/s or so"])
def test_a_number_that_cannot_be_read_is_no_attempt(answer: str) -> None:
    with pytest.raises(UnitError):
        numeric().mark(answer)


@pytest.mark.parametrize(
    "answer", ["10", "9,8", "10Mbit/s", "10000 kbit/s", "0.01 Gbps", "1e7 bit/s", "9.6 mbit/s"]
)
def test_a_number_counts_in_every_unit_of_its_kind(answer: str) -> None:
    assert numeric().mark(answer).correct


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("80 Mbit/s", "bits or bytes"),
        ("1.25 Mbit/s", "bits or bytes"),
        ("10 kbit/s", "factor of 1000"),
        ("1 Mbit/s", "factor of 10:"),
        ("11 Mbit/s", "Count."),
        ("0", "Count."),
        ("-10 Mbit/s", "Count."),
        ("1e-300 Mbit/s", "Count."),
    ],
)
def test_a_wrong_number_is_told_the_likely_slip(answer: str, said: str) -> None:
    result = numeric().mark(answer)
    assert not result.correct
    assert said in result.feedback
    assert result.feedback.endswith("Count.")


def test_a_choice_for_a_numeric_question_is_no_attempt() -> None:
    with pytest.raises(UsageError, match="42 Mbit/s"):
        numeric().mark(("b",))


kinds = st.sampled_from(["rate", "time", "ratio", "size"])


@given(
    value=st.floats(1e-3, 1e6),
    kind=kinds,
    tolerance=st.floats(0.001, 0.5),
    share=st.floats(-2, 2).filter(lambda share: abs(abs(share) - 1) > 1e-3),
)
def test_what_lies_inside_the_tolerance_counts_and_nothing_else(
    value: float, kind: str, tolerance: float, share: float
) -> None:
    unit = units.EXAMPLES[kind].split()[1]
    question = numeric(f"{value!r} {unit}", kind, tolerance)
    given_value = value * (1 + share * tolerance)
    assert question.mark(f"{given_value!r} {unit}").correct == (abs(share) <= 1)


@given(percent=st.integers(1, 40))
def test_the_edge_of_the_tolerance_still_counts(percent: int) -> None:
    question = numeric("100 ms", "time", percent / 100)
    assert question.mark(f"{100 - percent} ms").correct
    assert question.mark(f"{100 + percent} ms").correct


@given(st.text(max_size=30))
def test_any_text_is_marked_or_refused(text: str) -> None:
    try:
        numeric().mark(text)
    except UnitError as error:
        assert str(error)
