"""Work on two machines earns what it earns on one, from whichever of them it is handed in."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tcptutor.course.page_record import PREDICT, Response
from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.evidence.timeline import timeline
from tcptutor.grading.grade import Grade
from tcptutor.grading.marking import grade_hand_in
from tcptutor.journal import merging, store
from tcptutor.journal.events import Responded, RunEnded, RunStarted, chain
from tcptutor.journal.fold import fold_events
from tcptutor.run import load
from tests.grading.evidence.student import KEY, RUNS, SWEPT, TURNED, Student, course, student


def take(one: Student, other: Student) -> None:
    """Import the other machine's journal and runs."""
    one.journal.merge(list(other.journal.events()))
    shutil.copytree(other.folder / "runs", one.folder / "runs", dirs_exist_ok=True)


def graded(one: Student) -> Grade:
    with open_hand_in(one.hands_in()) as hand_in:
        assert hand_in.broken == ""
        return grade_hand_in(hand_in, course(), KEY.code)


def outcomes(grade: Grade) -> dict[str, tuple[str, float]]:
    return {mark.activity: (mark.outcome, mark.marks) for mark in grade.marks}


@pytest.fixture
def two(tmp_path: Path) -> Iterator[tuple[Student, Student]]:
    with student("ada", tmp_path / "a") as one, student("ada", tmp_path / "b") as other:
        for each in (one, other):
            (each.folder / "runs").mkdir(exist_ok=True)
        yield one, other


def test_a_course_done_on_two_machines_has_all_its_marks_from_either(two: tuple[Student, Student]) -> None:
    one, other = two
    one.does_asked_and_ran()
    other.answer(3, "predict", "9 Mbit/s")
    other.sweeps(*SWEPT)
    take(one, other)
    for name in TURNED:
        one.turns(load(RUNS / f"ada-{name}.tcprun"))
    other.works()
    take(other, one)
    take(one, other)
    here, there = graded(one), graded(other)
    assert (here.total, here.of) == (there.total, 19.0)
    assert here.total == 19
    assert here.marks == there.marks
    assert here.remarks == there.remarks == ()


def test_the_better_of_two_answers_counts_with_its_own_mistakes_and_hints(
    two: tuple[Student, Student],
) -> None:
    one, other = two
    one.answer(1, "which", (1,))
    one.answer(1, "which", (0,))
    alone = graded(one)
    other.answer(1, "which")
    one.journal.hint("small", "asked", "how-much", 1)
    other.answer(1, "how-much")
    take(one, other)
    take(other, one)
    found = outcomes(graded(one))
    assert found == outcomes(graded(other))
    assert found["which"] == ("full", 2.0)
    assert alone.marks[0].marks < 2
    assert found["how-much"] == ("full", 2.0)


def test_mistakes_that_were_known_count_on_the_other_machine_as_well(two: tuple[Student, Student]) -> None:
    one, other = two
    for size in ("1 GB", "2 GB"):
        one.answer(1, "how-much", size)
    take(other, one)
    other.answer(1, "how-much")
    take(one, other)
    assert outcomes(graded(one))["how-much"] == ("part", 0.5)
    assert graded(one).marks == graded(other).marks


def test_numbers_drawn_on_both_machines_are_this_student_s(two: tuple[Student, Student]) -> None:
    one, other = two
    for size in ("1 GB", "2 GB", "3 GB", "4 GB"):
        one.answer(1, "how-much", size)
    other.answer(1, "how-much", "5 GB")
    take(one, other)
    take(other, one)
    other.answer(1, "how-much")
    take(one, other)
    for each in (one, other):
        mark = next(mark for mark in graded(each).marks if mark.activity == "how-much")
        assert (mark.outcome, "drawn" in mark.reason) == ("part", False)


def test_a_value_is_read_off_the_run_of_the_machine_it_was_answered_on() -> None:
    def at(second: int) -> str:
        return f"2026-01-01T00:00:{second:02}.000+00:00"

    def ran(run: str, begun: int, ended: int) -> list[RunStarted | RunEnded]:
        begin = RunStarted(at(begun), "m", "s", run, "m/e", f"{run}.tcprun")
        return [begin, RunEnded(at(ended), run, True, "", f"{run}.tcprun")]

    def answered(second: int, id: str) -> Responded:
        return Responded(at(second), "m", "s", id, Response("1", None, value=1.0))

    a = list(chain([answered(1, PREDICT), *ran("one", 2, 5), answered(9, "q")]))
    b = list(chain([answered(2, PREDICT), *ran("other", 3, 6), answered(7, "q")]))
    known = fold_events(a)
    a += merging.rows_to_add(a, b, known, at(10))
    page = timeline([*a, *chain([answered(11, "q")], a[-1].serial, a[-1].hash)]).page("m", "s")
    runs = [(run := page.run_before(each.serial)) and run.id for each in page.responses_to("q")]
    assert runs == ["other", "one", "other"]
    predicted = [(run := page.run_after(each.serial)) and run.id for each in page.responses_to(PREDICT)]
    assert predicted == ["one", "other"]
    assert [run.id for run in page.tried_runs] == ["one", "other"]


def test_work_of_another_student_never_counts(two: tuple[Student, Student], tmp_path: Path) -> None:
    one, _ = two
    one.answer(1, "which", (1,))
    before = outcomes(graded(one))
    with student("bob", tmp_path / "bob") as bob:
        bob.does_asked_and_ran()
        rows = list(one.journal.events())
        others = list(bob.journal.events())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(merging, "check_same_student", lambda *_: None)
            added = merging.rows_to_add(rows, others, fold_events(rows), "2026-01-01T00:00:00+00:00")
        store.add_events(one.journal._connection, added)
        shutil.copytree(bob.folder / "runs", one.folder / "runs", dirs_exist_ok=True)
    found = graded(one)
    assert (found.student, outcomes(found)) == ("ada", before)
    assert any(f"{len(others)} events of another machine" in remark.text for remark in found.remarks)


def test_a_carried_event_that_was_changed_ends_the_reading(two: tuple[Student, Student]) -> None:
    one, other = two
    other.answer(1, "which", (1,))
    one.journal.merge(list(other.journal.events()))
    rows = list(one.journal.events())
    carried = next(row for row in rows if b'"activity":"which"' in row.data)
    data = carried.data.replace(b'"correct":false', b'"correct":true')
    assert data != carried.data
    with store.transaction(one.journal._connection):
        one.journal._connection.execute("UPDATE events SET data = ? WHERE serial = ?", (data, carried.serial))
    with open_hand_in(one.hands_in()) as hand_in:
        assert hand_in.broken.startswith(f"event {carried.serial} is not as it was written")
        assert outcomes(grade_hand_in(hand_in, course()))["which"] == ("missing", 0.0)
