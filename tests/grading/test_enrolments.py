"""What was made before enrolling, and under other ids."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.grade import Grade
from tcptutor.grading.marking import grade_hand_in
from tcptutor.grading.remarks import to_decide
from tests.command import here as tcptutor
from tests.grading.evidence.student import KEY, LESSONS, SWEPT, Student, course, handed_in, identity


def _grade(file: Path, code: str = KEY.code, before_enrolling: float = 0.0) -> Grade:
    graded = course()
    scheme = msgspec.structs.replace(graded.marks, before_enrolling=before_enrolling)
    with open_hand_in(file) as hand_in:
        return grade_hand_in(hand_in, msgspec.structs.replace(graded, marks=scheme), code)


def _marks(found: Grade) -> dict[str, float]:
    return {f"{mark.page} {mark.activity}": mark.marks for mark in found.marks}


PLAIN = {"asked which": 2, "ran predict": 1, "ran after": 2, "swept predict": 1}
"""Marks of what every student may be asked alike."""
PERSONAL = {
    "asked how-much": 2, "ran experiment": 1, "ran largest": 2, "swept sweep": 2,
    "turned challenge": 3, "by-hand shell": 3,
}  # fmt: skip


def _enrols_last(one: Student) -> None:
    one.does_all()
    one.journal.enrol("ada", KEY.code)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_personal_work_before_enrolling_earns_what_the_course_says(share: float, tmp_path: Path) -> None:
    found = _grade(handed_in("ada", tmp_path, _enrols_last, enrolled=False), before_enrolling=share)
    assert _marks(found) == {**PLAIN, **{name: share * of for name, of in PERSONAL.items()}}
    reasons = {mark.reason for mark in found.marks if mark.marks < mark.of}
    assert reasons == (set() if share == 1 else {"made before enrolling"})
    (remark,) = to_decide(found.remarks)
    assert remark == "4 answers, 2 predictions, 5 runs and 1 network by hand were made before enrolling"
    # Others may have equal runs from that time.
    assert found.samples == {}


def test_without_the_courses_key_work_before_enrolling_is_told_and_counts(tmp_path: Path) -> None:
    found = _grade(handed_in("ada", tmp_path, _enrols_last, enrolled=False), code="")
    assert found.total == 19
    assert "made before enrolling" in to_decide(found.remarks)[0]


def test_a_page_or_two_before_enrolling_needs_no_decision(tmp_path: Path) -> None:
    def do(one: Student) -> None:
        one.answer(1, "which")
        one.journal.enrol("ada", KEY.code)

    found = _grade(handed_in("ada", tmp_path, do, enrolled=False))
    assert (found.total, to_decide(found.remarks)) == (2, ())
    assert str(found.remarks[0]) == "1 answer was made before enrolling"


def _enrols(one: Student, name: str) -> None:
    one.journal.enrol(name, KEY.code)
    one.name, one.course = name, course().for_student(identity(name))


def _again(one: Student, name: str) -> None:
    """Enrol, begin each page anew and do it again."""
    _enrols(one, name)
    for step in one.module.steps:
        one.journal.reset(one.module.id, step.id)
    one.does_all()


def test_who_does_it_again_after_enrolling_has_all_marks(tmp_path: Path) -> None:
    def do(one: Student) -> None:
        one.does_all()
        _again(one, "ada")

    found = _grade(handed_in("ada", tmp_path, do, enrolled=False))
    lost = {name: of - _marks(found)[name] for name, of in {**PLAIN, **PERSONAL}.items()}
    assert {name for name, marks in lost.items() if marks} == set()


@pytest.mark.parametrize(
    ("typed", "do", "decides"),
    [
        ("s1234567", lambda one: one.answer(1, "which"), False),  # a typing error, seen on the first page
        ("nobody", lambda one: one.page(1), False),  # another id, and nothing done as that
        ("nobody", lambda one: one.answer(1, "which"), True),
        ("s1234567", Student.does_all, True),  # alike as ids of neighbors are, after real work
    ],
)
def test_a_typing_error_is_no_theft(
    typed: str, do: Callable[[Student], object], decides: bool, tmp_path: Path
) -> None:
    def work(one: Student) -> None:
        one.journal.enrol(typed, KEY.code)
        do(one)
        one.journal.enrol("s1234576", KEY.code)

    found = _grade(handed_in("ada", tmp_path, work, enrolled=False))
    assert found.student == "s1234576"
    assert bool(to_decide(found.remarks)) == decides
    assert typed in str(found.remarks[0])


def test_work_made_under_another_id_counts_as_before_enrolling(tmp_path: Path) -> None:
    def do(one: Student) -> None:
        one.does_all()
        one.journal.enrol("bob", KEY.code)

    found = _grade(handed_in("ada", tmp_path, do))
    assert (found.student, found.total) == ("bob", sum(PLAIN.values()))
    assert to_decide(found.remarks) == (
        "work was taken over from another id: 4 answers, 2 predictions, 5 runs and 1 network by hand were made as ada",
    )


def test_a_teacher_says_that_another_id_is_the_same_student(tmp_path: Path) -> None:
    """A typing error that was seen after weeks."""

    def do(one: Student) -> None:
        one.does_all()
        one.journal.enrol("ada.l", KEY.code)

    file = handed_in("ada", tmp_path, do)
    decided = tmp_path / "decisions.toml"
    given = ("ada", "--same-as", "ada.l", "--reason", "A typing error", "--by", "AB", "--exceptions", decided)
    done = tcptutor("decide", *given)
    assert done.returncode == 0, done.stderr
    shown = ("grade", file, "--key", KEY.code, "--course", LESSONS, "--json")
    before, after = tcptutor(*shown), tcptutor(*shown, "--exceptions", decided)
    assert "no hand-in" not in after.stderr
    (found,) = json.loads(before.stdout)["hand_ins"]
    assert found["total"] == sum(PLAIN.values())
    (found,) = json.loads(after.stdout)["hand_ins"]
    assert (found["student"], found["total"]) == ("ada.l", 19)
    assert all(remark["level"] == "note" for remark in found["remarks"])


def test_work_under_a_corrected_id_counts(tmp_path: Path) -> None:
    def do(one: Student) -> None:
        one.answer(1, "how-much")
        one.journal.enrol("ada.l", KEY.code)

    found = _grade(handed_in("ada", tmp_path, do))
    assert (found.student, found.total, to_decide(found.remarks)) == ("ada.l", 2, ())


def test_the_best_of_a_sweep_before_and_after_enrolling_counts(tmp_path: Path) -> None:
    def do(one: Student) -> None:
        one.sweeps(SWEPT[0])
        _enrols(one, "ada")
        one.sweeps(SWEPT[1])

    found = _grade(handed_in("ada", tmp_path, do, enrolled=False), before_enrolling=0.5)
    assert _marks(found)["swept sweep"] == 2 * 0.75
