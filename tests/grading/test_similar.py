"""Hand-ins that are more alike than chance makes them, and those that are not."""

from __future__ import annotations

import itertools
import random
import statistics
from pathlib import Path

import msgspec
import pytest

from tcptutor.grading.batch import GradingBasis
from tcptutor.grading.grade import ActivityMark, GivenAnswer, Grade
from tcptutor.grading.similar import SimilarPair, _at_least, similar_pairs
from tcptutor.grading.survey import survey
from tcptutor.grading.views import similarities
from tcptutor.run import load
from tests.grading.evidence.student import KEY, LESSONS, RUNS, student
from tests.grading.graded import graded

_QUESTIONS = 40


def _grade(name: str, chosen: dict[int, int], samples: dict[str, str] | None = None, start: int = 0) -> Grade:
    """Of one who chose that first where it is given, 0 being right, and answered all else rightly."""
    marks = tuple(
        ActivityMark(
            module="m",
            page="p",
            title="",
            activity=f"q{number}",
            kind="question",
            marks=1,
            of=1,
            outcome="full",
            answers=(
                GivenAnswer(
                    at=f"2026-01-01T{start + number // 60:02}:{number % 60:02}:00+00:00",
                    text=f"choice {chosen.get(number, 0)}",
                    correct=not chosen.get(number),
                ),
            ),
        )
        for number in range(_QUESTIONS)
    )
    return Grade(student=name, course="C", title="", made="", marks=marks, samples=samples or {})


def _random_class(seed: int, size: int = 40) -> list[tuple[str, Grade]]:
    """Students who know different parts, and fall for the same mistakes as often as the class does."""
    chance = random.Random(seed)
    found = []
    for number in range(size):
        knows = chance.uniform(0.3, 0.9)
        wrong = {
            question: chance.choices((1, 2, 3), (5, 2, 1))[0]
            for question in range(_QUESTIONS)
            if chance.random() > knows
        }
        found.append((f"s{number}.tcphandin", _grade(f"s{number}", wrong)))
    return found


def _pair(found: list[SimilarPair]) -> list[tuple[str, str]]:
    return [(each.one, each.other) for each in found]


def test_who_copies_wrong_answers_is_told_with_its_probability() -> None:
    graded = _random_class(1)
    copied = {number: 1 + number % 3 for number in range(15)}
    graded += [("x", _grade("x", copied)), ("y", _grade("y", copied))]
    (pair,) = similar_pairs(graded)
    assert (pair.one, pair.other, pair.both_wrong, pair.same_wrong) == ("x", "y", 15, 15)
    assert pair.probability < 1e-4
    assert pair.pairs == pytest.approx(pair.probability * 42 * 41 / 2)
    assert (pair.together, pair.answered) == (_QUESTIONS, _QUESTIONS)


def test_who_answers_at_another_time_was_not_together() -> None:
    copied = {number: 1 + number % 3 for number in range(15)}
    graded = [*_random_class(1), ("x", _grade("x", copied)), ("y", _grade("y", copied, start=5))]
    (pair,) = similar_pairs(graded)
    assert pair.together == 0


def test_a_class_without_copies_has_hardly_a_pair() -> None:
    """One class in a hundred, by what is told; and no more than that by how it is worked out."""
    found = [len([*similar_pairs(_random_class(seed))]) for seed in range(60)]
    assert statistics.fmean(found) <= 0.1


def test_probabilities_are_those_of_counting() -> None:
    chances = [0.5, 0.2, 0.9]
    for number in range(5):
        exact = 0.0
        for each in itertools.product((True, False), repeat=3):
            if sum(each) >= number:
                weight = 1.0
                for came, chance in zip(each, chances, strict=True):
                    weight *= chance if came else 1 - chance
                exact += weight
        assert _at_least(number, tuple(chances)) == pytest.approx(exact)


def test_equal_samples_of_two_students_of_a_course_are_told_first() -> None:
    graded = [
        ("a", _grade("a", {}, {"run-1": "11", "run-2": "22"})),
        ("b", _grade("b", {}, {"run-7": "22"})),
        ("c", _grade("c", {}, {"run-9": "99"})),
    ]
    (pair,) = similar_pairs(graded)
    assert (pair.one, pair.other, pair.runs) == ("a", "b", ("run-2",))


def test_equal_samples_of_who_is_in_no_course_say_nothing() -> None:
    """Everybody has the same seeds there, and the lab repeats."""
    graded = [(name, _grade("", {}, {name: "11"})) for name in ("a", "b")]
    assert [*similar_pairs(graded)] == []


def test_two_files_of_one_student_are_not_alike_by_their_runs() -> None:
    graded = [(file, _grade("a", {}, {"run": "11"})) for file in ("first", "second")]
    assert [*similar_pairs(graded)] == []


def test_drawn_numbers_are_not_compared() -> None:
    def drawn(name: str) -> Grade:
        marks = tuple(
            ActivityMark(
                module="m", page="p", title="", activity=f"q{number}", kind="question", marks=0, of=1,
                outcome="none", answers=(GivenAnswer(at="", text="1", correct=False, drawn=True),),
            )
            for number in range(20)
        )  # fmt: skip
        return Grade(student=name, course="C", title="", made="", marks=marks)

    assert [*similar_pairs([("x", drawn("x")), ("y", drawn("y")), *_random_class(2)])] == []


@pytest.mark.parametrize(
    ("backend", "enrolled", "pairs"), [("guest", True, 1), ("replay", True, 0), ("guest", False, 0)]
)
def test_runs_that_are_equal_for_all_students_make_no_pair(
    backend: str, enrolled: bool, pairs: int, tmp_path: Path
) -> None:
    run = load(RUNS / "ada.tcprun")
    run.environment = msgspec.structs.replace(run.environment, backend=backend)
    files = []
    for name in ("ada", "bob"):
        with student(name, tmp_path / name, enrolled=enrolled) as one:
            one.runs(run)
            if not enrolled:
                one.journal.enrol(name, KEY.code)
            files.append(one.hands_in().rename(tmp_path / f"{name}.tcphandin"))
    basis = GradingBasis(LESSONS, KEY.code)
    assert len(survey(graded(files, basis), basis.course).similar) == pairs


def test_times_of_a_few_answers_are_no_similarity() -> None:
    few, many = (
        SimilarPair(one="a", other="b", together=number, answered=number, runs=("run",)) for number in (1, 8)
    )
    assert (len([*similarities(few)]), len([*similarities(many)])) == (1, 2)
