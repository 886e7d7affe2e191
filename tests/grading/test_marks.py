"""Marks of students who did what they say: all of it, nothing, and everything between."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tcptutor.course.marks import MarkScheme
from tcptutor.course.outline import Course
from tcptutor.course.page_record import Response
from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.evidence.keys import new_key
from tcptutor.grading.grade import ActivityMark, Grade
from tcptutor.grading.marking import grade_hand_in
from tcptutor.journal.events import Hinted, Responded, decode
from tcptutor.run import Fidelity, load
from tests.chosen import chosen
from tests.grading.evidence.student import KEY, RUNS, Student, course, handed_in


def _grade(file: Path, code: str = KEY.code, scheme: MarkScheme | None = None) -> Grade:
    graded: Course = course()
    if scheme is not None:
        graded = msgspec.structs.replace(graded, marks=scheme)
    with open_hand_in(file) as hand_in:
        return grade_hand_in(hand_in, graded, code)


def _mark(found: Grade, activity: str) -> ActivityMark:
    return next(mark for mark in found.marks if mark.activity == activity)


@pytest.mark.parametrize("name", ["ada", "bob"])
def test_who_does_all_gets_all(name: str, tmp_path: Path) -> None:
    found = _grade(handed_in(name, tmp_path))
    assert [mark.outcome for mark in found.marks] == ["full"] * 10
    assert (found.total, found.of, found.student) == (19, 19, name)
    assert found.remarks == ()
    assert _mark(found, "experiment").runs == (load(RUNS / f"{name}.tcprun").id,)
    assert len(found.samples) == 4


def test_where_the_essentials_count_a_deeper_page_gives_no_marks(tmp_path: Path) -> None:
    whole = course()
    (module,) = whole.modules
    first, *others = module.steps
    deeper = msgspec.structs.replace(first, path="deeper", teaser="more")
    module = msgspec.structs.replace(module, steps=(deeper, *others))
    whole = msgspec.structs.replace(
        whole, modules=(module,), marks=msgspec.structs.replace(whole.marks, path="essential")
    )
    with open_hand_in(handed_in("ada", tmp_path)) as hand_in:
        found = grade_hand_in(hand_in, whole, KEY.code)
    assert found.marks and first.id not in {mark.page for mark in found.marks}
    assert found.total == found.of < 19


def test_who_does_nothing_gets_nothing(tmp_path: Path) -> None:
    found = _grade(handed_in("ada", tmp_path, lambda one: one.page(1)))
    assert {mark.outcome for mark in found.marks} == {"missing"}
    assert (found.total, found.of) == (0, 19)


@pytest.mark.parametrize(("wrong", "marks"), [(0, 2), (1, 1), (2, 0.5)])
def test_each_wrong_try_costs(wrong: int, marks: float, tmp_path: Path) -> None:
    def do(one: Student) -> None:
        for choice in range(1, 1 + wrong):
            one.answer(1, "which", (choice,))
        one.answer(1, "which")

    mark = _mark(_grade(handed_in("ada", tmp_path, do)), "which")
    assert (mark.marks, mark.of) == (marks, 2)
    assert mark.reason == (f"right after {wrong} wrong" if wrong else "")
    assert len(mark.events) == 1 + wrong


def test_where_the_first_try_counts_alone_a_second_gives_nothing(tmp_path: Path) -> None:
    def do(one: Student) -> None:
        one.answer(1, "which", (1,))
        one.answer(1, "which")

    assert _mark(_grade(handed_in("ada", tmp_path, do), scheme=MarkScheme(retry=0)), "which").marks == 0


def test_hints_cost_what_the_course_says(tmp_path: Path) -> None:
    def do(one: Student) -> None:
        study = one.page(1)
        for _ in range(2):
            study.hint(study.step.activities[0])
        one.answer(1, "which")

    mark = _mark(_grade(handed_in("ada", tmp_path, do)), "which")
    assert (mark.marks, mark.outcome, mark.reason) == (
        pytest.approx(2 * 0.8**2),
        "part",
        "with 2 hints",
    )


def test_all_that_marks_were_lost_by_is_told_with_its_events(tmp_path: Path) -> None:
    def do(one: Student) -> None:
        one.answer(1, "which", (1,))
        study = one.page(1)
        study.hint(study.step.activities[0])
        one.answer(1, "which")

    late = MarkScheme(question=2, late=0.5, deadline="2020-01-01T00:00+00:00")
    file = handed_in("ada", tmp_path, do)
    mark = _mark(_grade(file, scheme=late), "which")
    assert mark.marks == pytest.approx(2 * 0.5 * 0.8 * 0.5)
    assert mark.reason == "right after 1 wrong, with a hint, late"
    with open_hand_in(file) as hand_in:
        shown = [decode(each.data) for each in hand_in.events if each.serial in mark.events]
    assert [type(each) for each in shown] == [Responded, Hinted, Responded]
    # What costs nothing is no reason.
    free = MarkScheme(question=2, retry=1, hint=1, late=1, deadline="2020-01-01T00:00+00:00")
    mark = _mark(_grade(file, scheme=free), "which")
    assert (mark.reason, mark.marks) == ("", 2)


@pytest.mark.parametrize(
    ("deadline", "grace", "marks"),
    [("2020-01-01T00:00+00:00", 0.0, 1.0), ("2999-01-01T00:00+00:00", 0.0, 2.0), ("", 0.0, 2.0)],
)
def test_what_is_late_gives_what_the_course_says(
    deadline: str, grace: float, marks: float, tmp_path: Path
) -> None:
    scheme = MarkScheme(question=2, deadline=deadline, grace_hours=grace, late=0.5)
    found = _grade(handed_in("ada", tmp_path, lambda one: one.answer(1, "which")), scheme=scheme)
    assert _mark(found, "which").marks == marks


def test_a_prediction_counts_however_far_off_and_one_left_out_does_not(tmp_path: Path) -> None:
    far = _grade(handed_in("ada", tmp_path / "far", lambda one: one.answer(2, "predict", "9 Gbit/s")))
    assert _mark(far, "predict").outcome == "full"
    out = _grade(handed_in("ada", tmp_path / "out", lambda one: one.answer(2, "predict", "")))
    assert (_mark(out, "predict").outcome, _mark(out, "predict").reason) == ("none", "it was left out")


def test_a_run_that_the_lab_doubts_costs_nothing(tmp_path: Path) -> None:
    def do(one: Student) -> None:
        doubtful = load(RUNS / "ada.tcprun")
        doubtful.fidelity = Fidelity(status="suspect", reasons=("the machine is too busy",))
        one.answer(2, "predict", "2 Mbit/s")
        one.runs(doubtful)
        one.answer(2, "largest")

    found = _grade(handed_in("ada", tmp_path, do))
    assert _mark(found, "experiment").outcome == "inconclusive"
    assert _mark(found, "experiment").reason == "the run is suspect: the machine is too busy: run it again"
    assert _mark(found, "largest").outcome == "inconclusive"
    assert found.of == 19 - 1 - 2


def test_a_hand_in_of_another_course_counts_for_nothing(tmp_path: Path) -> None:
    file = handed_in("ada", tmp_path)
    other = new_key().code
    found = _grade(file, other)
    assert (found.total, found.refused) == (
        0,
        f"the student is enrolled in the course {KEY.code}, not in {other}",
    )
    assert _grade(file, "").total == 19


def test_who_is_enrolled_nowhere_is_graded_where_that_is_not_asked(tmp_path: Path) -> None:
    file = handed_in("ada", tmp_path, enrolled=False)
    assert _grade(file, "").total == 19
    assert _grade(file).refused == f"the student is enrolled in no course, not in {KEY.code}"


def test_marks_are_the_same_whenever_they_are_worked_out(tmp_path: Path) -> None:
    file = handed_in("ada", tmp_path)
    assert _grade(file) == _grade(file)


def test_the_numbers_that_a_student_saw_are_reconstructed(tmp_path: Path) -> None:
    orders = []

    def do(one: Student) -> None:
        one.answer(1, "which", (1,))
        one.answer(1, "which", (2,))
        study = one.page(1)
        orders.append(study.shown_order(study.step.activities[0]))

    found = _mark(_grade(handed_in("ada", tmp_path, do)), "which")
    (order,) = orders
    assert [answer.numbers for answer in found.answers] == [(order.index(1) + 1,), (order.index(2) + 1,)]


def test_how_sure_a_student_was_is_handed_in_and_costs_nothing(tmp_path: Path) -> None:
    def do(one: Student) -> None:
        study = one.page(1)
        asked = study.step.activities[0]
        study.respond(asked, chosen(asked, 1), "sure")
        study.respond(asked, asked.reference().right or (), "guessing")

    mark = _mark(_grade(handed_in("ada", tmp_path, do)), "which")
    assert [answer.sureness for answer in mark.answers] == ["sure", "guessing"]
    assert (mark.marks, mark.reason) == (1, "right after 1 wrong")


def test_reviews_cost_no_marks(tmp_path: Path) -> None:
    def do(one: Student) -> None:
        one.answer(1, "which")
        asked = one.page(1).step
        for at in range(3):
            response = Response(chosen(asked.activities[0], 1), correct=False, sureness="sure")
            one.journal.review(one.module.id, asked.id, "which", response, hints=at)

    found = _grade(handed_in("ada", tmp_path, do))
    mark = _mark(found, "which")
    assert (mark.marks, mark.reason, len(mark.answers)) == (2, "", 1)
    assert (found.remarks, found.refused) == ((), "")
