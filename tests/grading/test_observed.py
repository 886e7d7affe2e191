"""Marks for saying what a run showed: against the run, or the sweep, that the hand-in has."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tcptutor.course.activities.observe import Observation, Observe
from tcptutor.course.claim import Denominator, RunCondition
from tcptutor.course.outline import Course
from tcptutor.course.page_record import Response
from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.grade import ActivityMark, GivenAnswer, GradedFile
from tcptutor.grading.item_statistics import answer_counts
from tcptutor.grading.marking import grade_hand_in
from tcptutor.grading.survey import survey
from tests.chosen import chosen
from tests.grading.evidence.student import KEY, SWEPT, Student, course, student


def _observe(*choices: RunCondition) -> Observe:
    texts = {"feedback": "Look at the chart again."}
    return Observe(
        id="seen",
        prompt="What did it show?",
        choices=tuple(
            Observation(text=f"Choice {number}", when=(when,), **texts)
            for number, when in enumerate(choices, 1)
        ),
    )


LOST = _observe(
    RunCondition(quantity="losses", value="0"), RunCondition(quantity="losses", relation="above", value="0")
)
NEITHER = _observe(
    RunCondition(quantity="losses", value="0"),
    RunCondition(quantity="losses", relation="above", value="1000000"),
)
_RATIO = Denominator(set={"window": "10 kB"})
ROSE = _observe(
    *(
        RunCondition(
            quantity="throughput", set={"window": "25 kB"}, ratio_to=_RATIO, relation=relation, value="1.5"
        )
        for relation in ("below", "above")
    )
)


def _asking(observe: Observe, number: int, of: Course) -> Course:
    """The course with that question on a page."""
    (module,) = of.modules
    steps = tuple(
        msgspec.structs.replace(step, activities=(*step.activities, observe)) if at == number else step
        for at, step in enumerate(module.steps, 1)
    )
    return msgspec.structs.replace(of, modules=(msgspec.structs.replace(module, steps=steps),))


def _marked(folder: Path, observe: Observe, number: int, *given: int | None) -> ActivityMark:
    with student("ada", folder) as one:
        one.course = _asking(observe, number, one.course)
        _does(one, observe, number, *given)
        file = one.hands_in()
    with open_hand_in(file) as hand_in:
        found = grade_hand_in(hand_in, _asking(observe, number, course()), KEY.code)
    return next(mark for mark in found.marks if mark.activity == "seen")


def _does(one: Student, observe: Observe, number: int, *given: int | None) -> None:
    if number == 3:
        one.sweeps(*SWEPT)
    else:
        one.runs()
    for choice in given:
        one.journal.respond(
            one.module.id, one.module.steps[number - 1].id, "seen", _response(observe, choice)
        )


def _response(asked: Observe, choice: int | None) -> Response:
    return Response(() if choice is None else chosen(asked, choice), None)


@pytest.mark.parametrize(
    ("observe", "page", "given", "outcome", "share"),
    [
        (LOST, 2, [1], "full", 1.0),
        (LOST, 2, [0], "none", 0.0),
        (LOST, 2, [0, 1], "part", 0.5),
        (LOST, 2, [None], "none", 0.0),
        (LOST, 2, [None, 1], "full", 1.0),
        (NEITHER, 2, [1], "inconclusive", 0.0),
        (ROSE, 3, [1], "full", 1.0),
        (ROSE, 3, [0], "none", 0.0),
    ],
)
def test_it_is_marked_by_the_run_that_was_handed_in(
    observe: Observe, page: int, given: list[int | None], outcome: str, share: float, tmp_path: Path
) -> None:
    mark = _marked(tmp_path, observe, page, *given)
    assert (mark.outcome, mark.marks) == (outcome, share * mark.of)


def test_an_answer_before_the_run_counts_for_nothing(tmp_path: Path) -> None:
    with student("ada", tmp_path) as one:
        one.course = _asking(LOST, 2, one.course)
        one.journal.respond(one.module.id, "ran", "seen", _response(LOST, 1))
        one.runs()
        file = one.hands_in()
    with open_hand_in(file) as hand_in:
        found = grade_hand_in(hand_in, _asking(LOST, 2, course()), KEY.code)
    assert next(mark.outcome for mark in found.marks if mark.activity == "seen") == "refused"


def test_the_class_counts_an_answer_as_wrong_by_the_mark_it_got(tmp_path: Path) -> None:
    of = _asking(LOST, 2, course())
    graded = []
    for name, choice in (("ada", 1), ("bob", 0)):
        with student(name, tmp_path / name) as one:
            one.course = _asking(LOST, 2, one.course)
            _does(one, LOST, 2, choice)
            file = one.hands_in()
        with open_hand_in(file) as hand_in:
            graded.append(GradedFile(name, grade_hand_in(hand_in, of, KEY.code)))
    row = next(row for row in survey(graded, of).questions if row.activity == "seen")
    assert [(each.text, each.right, each.students) for each in row.answers] == [
        ("Choice 1", False, 1),
        ("Choice 2", True, 1),
    ]
    assert [each.text for each in row.wrong] == ["Choice 1"]


def test_a_choice_that_is_right_on_one_run_and_wrong_on_another_counts_as_both() -> None:
    (id,) = chosen(LOST, 0)
    given = [
        GivenAnswer(at="", text="Choice 1", chosen=(id,), correct=correct) for correct in (True, False, True)
    ]
    assert [(each.right, each.students) for each in answer_counts(LOST, given)] == [(True, 2), (False, 1)]
