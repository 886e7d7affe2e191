"""A page begun anew neither takes marks nor gives any."""

from __future__ import annotations

from pathlib import Path

from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.marking import grade_hand_in
from tests.grading.evidence.student import Student, course, handed_in


def marks(file: Path) -> dict[str, float]:
    with open_hand_in(file) as hand_in:
        return {mark.activity: mark.marks for mark in grade_hand_in(hand_in, course()).marks}


def reset(student: Student, number: int) -> None:
    student.journal.reset(student.module.id, student.module.steps[number - 1].id)


def tries_again(student: Student, *, with_reset: bool) -> None:
    """Answer a question wrong four times, then right; the last time after a reset."""
    for number in range(4):
        student.answer(1, "how-much", f"{number + 1} GB")
    if with_reset:
        reset(student, 1)
    student.answer(1, "how-much")


def test_a_right_answer_after_a_reset_counts_as_the_next_attempt(tmp_path: Path) -> None:
    found = [
        marks(
            handed_in(
                "ada", tmp_path / f"{anew}", lambda student, anew=anew: tries_again(student, with_reset=anew)
            )
        )
        for anew in (True, False)
    ]
    assert found[0] == found[1]
    assert found[0]["how-much"] >= 0


def test_a_reset_takes_no_marks_away(tmp_path: Path) -> None:
    def does_all_and_resets(student: Student) -> None:
        student.does_all()
        for number in range(1, 6):
            reset(student, number)

    assert marks(handed_in("ada", tmp_path / "reset", does_all_and_resets)) == marks(
        handed_in("ada", tmp_path / "plain")
    )


def test_a_prediction_after_a_reset_gives_no_marks(tmp_path: Path) -> None:
    def predicts_late(student: Student) -> None:
        student.runs()
        reset(student, 2)
        student.answer(2, "predict", "2 Mbit/s")

    assert marks(handed_in("ada", tmp_path, predicts_late))["predict"] == 0
