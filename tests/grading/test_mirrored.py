"""The shipped course's mark scheme against students whose answers are known: right ones, none, each wrong choice alone,
and chosen at random.
"""

from __future__ import annotations

import random
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest

from tcptutor.base import places
from tcptutor.course import load
from tcptutor.course.activities.choice import SingleChoice
from tcptutor.course.activity import Activity, Question
from tcptutor.course.outline import Course
from tcptutor.course.page_record import Given
from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.grade import ActivityMark, Grade
from tcptutor.grading.marking import grade_hand_in
from tcptutor.study.study import Study
from tests.chosen import chosen
from tests.grading.evidence.doer import Answer, Doer, right


@pytest.fixture(scope="module")
def course() -> Course:
    return load(places.lessons())


def _grade(course: Course, folder: Path, answer: Answer) -> Grade:
    one = Doer(course, folder, answer)
    one.does()
    file = one.hands_in()
    one.journal.close()
    with open_hand_in(file) as hand_in:
        return grade_hand_in(hand_in, course)


def _open(course: Course) -> dict[tuple[str, str, str], Question]:
    """The questions that need no run, and no repair of a network, by their place."""
    return {
        (module.id, step.id, question.id): question
        for module in course.modules
        for step in module.steps
        for question in step.activities_of(Question)
        if not question.about_run and not question.against_run and not (step.shell and step.shell.fault)
    }


def _marks(found: Grade, asked: dict[tuple[str, str, str], Question]) -> Iterator[ActivityMark]:
    return (mark for mark in found.marks if (mark.module, mark.page, mark.activity) in asked)


def test_reference_answers_get_all_there_is_for_them(course: Course, tmp_path: Path) -> None:
    asked = _open(course)
    found = [*_marks(_grade(course, tmp_path, right), asked)]
    assert len(found) == len(asked) > 100
    assert {mark.outcome for mark in found} == {"full"}


def test_an_empty_hand_in_gets_nothing(course: Course, tmp_path: Path) -> None:
    found = _grade(course, tmp_path, lambda *_: None)
    assert found.total == 0
    assert {mark.outcome for mark in found.marks} == {"missing"}


@pytest.mark.parametrize("nth", [0, 1, 2, 3])
def test_each_wrong_choice_is_told_by_its_own_feedback(course: Course, nth: int, tmp_path: Path) -> None:
    def answer(activity: Activity, _: Study) -> Given | None:
        wrong = _wrong(activity)
        return chosen(activity, wrong[nth]) if nth < len(wrong) else None

    asked = {place: each for place, each in _open(course).items() if nth < len(_wrong(each))}
    found = [*_marks(_grade(course, tmp_path, answer), asked)]
    assert len(found) == len(asked)
    for mark in found:
        question = asked[mark.module, mark.page, mark.activity]
        assert isinstance(question, SingleChoice)
        choice = question.choices[_wrong(question)[nth]]
        assert (mark.marks, mark.outcome) == (0, "none")
        assert [(each.text, each.feedback) for each in mark.answers] == [(choice.text, choice.feedback)]


def _wrong(activity: Activity) -> list[int]:
    if not isinstance(activity, SingleChoice):
        return []
    return [number for number, choice in enumerate(activity.choices) if not choice.correct]


def test_who_chooses_at_random_gets_what_chance_gives(course: Course, tmp_path: Path) -> None:
    asked = {place: each for place, each in _open(course).items() if isinstance(each, SingleChoice)}
    shares = []
    for seed in range(4):
        chance = random.Random(seed)

        def answer(activity: Activity, _: Study, chance: random.Random = chance) -> Given | None:
            if not isinstance(activity, SingleChoice):
                return None
            return chosen(activity, chance.randrange(len(activity.choices)))

        found = [*_marks(_grade(course, tmp_path / f"{seed}", answer), asked)]
        shares.append(sum(mark.marks for mark in found) / sum(mark.of for mark in found))
    chances = [1 / len(each.choices) for each in asked.values()]
    expected = statistics.fmean(chances)
    spread = (sum(p * (1 - p) for p in chances) / len(chances) ** 2 / len(shares)) ** 0.5
    assert statistics.fmean(shares) == pytest.approx(expected, abs=3 * spread)
