"""Dates at which nobody can have worked, answers that nobody can have read, and doubts that were put into runs."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from tcptutor.course.marks import MarkScheme
from tcptutor.grading import pace
from tcptutor.grading.evidence.hand_in import open_hand_in, write_hand_in
from tcptutor.grading.grade import ActivityMark, GivenAnswer, Grade
from tcptutor.grading.marking import grade_hand_in
from tcptutor.grading.remarks import to_decide
from tcptutor.grading.reruns import Repetition, apply_repetitions, compare, marked_runs
from tcptutor.journal.events import JournalEvent, Responded, RunEnded, chain, decode
from tcptutor.run import Fidelity, Run, load, save
from tests.grading.evidence.student import KEY, RUNS, SWEPT, Student, course, handed_in


def _grade(file: Path, opens: str = "") -> Grade:
    graded = course()
    scheme: MarkScheme = msgspec.structs.replace(graded.marks, opens=opens)
    with open_hand_in(file) as hand_in:
        return grade_hand_in(hand_in, msgspec.structs.replace(graded, marks=scheme), KEY.code)


def _shifted(file: Path, by: timedelta, *, made: bool = True) -> Path:
    """The hand-in as a computer writes it whose clock was wrong by so much for the whole sitting."""

    def shift(event: JournalEvent) -> JournalEvent:
        at = (datetime.fromisoformat(event.at) + by).isoformat(timespec="milliseconds")
        return msgspec.structs.replace(event, at=at)

    with open_hand_in(file) as hand_in:
        events = [shift(event) for row in hand_in.events if (event := decode(row.data))]
        manifest = hand_in.manifest
    if made:
        at = (datetime.fromisoformat(manifest.made) + by).isoformat(timespec="seconds")
        manifest = msgspec.structs.replace(manifest, made=at)
    write_hand_in(file, manifest, list(chain(events)), [])
    return file


def _answers(one: Student) -> None:
    one.answer(1, "which")


def test_a_sitting_with_the_clock_set_back_years_is_told(tmp_path: Path) -> None:
    file = _shifted(handed_in("ada", tmp_path, _answers), timedelta(days=-5 * 365))
    (remark,) = to_decide(_grade(file).remarks)
    assert remark.startswith("3 events are dated before there was any tcptutor")


def test_a_sitting_before_the_course_opened_is_told(tmp_path: Path) -> None:
    file = handed_in("ada", tmp_path, _answers)
    assert to_decide(_grade(file, opens="2025-02-01T08:00+01:00").remarks) == ()
    (remark,) = to_decide(_grade(file, opens="2099-01-31T08:00+01:00").remarks)
    assert remark.startswith("3 events are dated before the course opened, the first on 20")


def test_work_that_is_later_than_its_hand_in_is_told(tmp_path: Path) -> None:
    file = _shifted(handed_in("ada", tmp_path, _answers), timedelta(days=1), made=False)
    (remark,) = to_decide(_grade(file).remarks)
    assert remark.startswith("3 events are dated after the hand-in")


def _answered(seconds: list[float]) -> list[ActivityMark]:
    """A question each, answered rightly that long after the one before."""
    at = datetime.fromisoformat("2026-12-01T12:00:00+00:00")
    marks = []
    for number, after in enumerate(seconds):
        at += timedelta(seconds=after)
        answer = GivenAnswer(at=at.isoformat(), text="", correct=True)
        marks.append(
            ActivityMark(
                module="m", page=f"p{number}", title="", activity="q", kind="question", marks=1, of=1,
                outcome="full", answers=(answer,),
            )
        )  # fmt: skip
    return marks


@pytest.mark.parametrize(
    ("seconds", "remarks"),
    [
        ([0.1] * 300, 2),  # a program
        ([0.9, 2.5] * 40, 2),
        ([1.7] * 60, 1),
        ([0.8, 8.0, 15.0] * 20, 0),  # two answers of a page at once, then the next page
        ([4.0] * 200, 0),  # quicker than anyone reads, and not proof
    ],
)
def test_answers_that_nobody_can_have_read_are_told(seconds: list[float], remarks: int) -> None:
    assert len([*pace.remarks(_answered(seconds))]) == remarks


def _doubted(
    file: Path,
    change: Callable[[Run], bool],
    forge: Callable[[JournalEvent], JournalEvent] = lambda event: event,
) -> Path:
    """The hand-in with doubts in the runs that `change` accepts, and a journal that says the same."""
    with open_hand_in(file) as hand_in:
        events = [event for row in hand_in.events if (event := decode(row.data))]
        manifest, runs = hand_in.manifest, [hand_in.run(id)[0] for id in hand_in.run_ids]
    written = []
    for run in runs:
        if change(run):
            run.fidelity = Fidelity(status="suspect", reasons=("the machine is too busy",))
        path = file.parent / f"forged-{run.id}.tcprun"
        save(run, path)
        written.append((run.id, path))
    events = [msgspec.structs.replace(e, digest="") if isinstance(e, RunEnded) else forge(e) for e in events]
    write_hand_in(file, manifest, list(chain(events)), written)
    return file


def test_doubts_put_into_runs_are_told_and_a_repetition_shows_them(tmp_path: Path) -> None:
    file = _doubted(handed_in("ada", tmp_path), lambda run: True)
    found = _grade(file)
    (remark,) = to_decide(found.remarks)
    assert remark.startswith("3 of 4 marks on runs do not count, because the lab doubts the runs")
    # They are repeated like all others.
    ids = marked_runs(found)
    assert load(RUNS / "ada.tcprun").id in ids and len(ids) > 1
    honest = load(RUNS / "ada.tcprun")
    forged = load(RUNS / "ada.tcprun")
    forged.fidelity = Fidelity(status="suspect", reasons=("the machine is too busy",))
    again = compare(forged, [honest], exactly=True)
    assert again == Repetition(honest.id, "different", "made again it is valid, not suspect")
    assert apply_repetitions(found, [again]).of > found.of


def test_a_doubt_excuses_no_wrong_answer_and_no_challenge_that_is_not_reached(tmp_path: Path) -> None:
    def do(one: Student) -> None:
        one.runs()
        one.answer(2, "largest", "3")
        one.turns(load(RUNS / "ada-turned-start.tcprun"))

    def claim(event: JournalEvent) -> JournalEvent:
        if isinstance(event, Responded):
            return msgspec.structs.replace(
                event, response=msgspec.structs.replace(event.response, correct=True)
            )
        return event

    file = _doubted(handed_in("ada", tmp_path, do), lambda run: True, claim)
    marks = {mark.activity: (mark.outcome, mark.reason) for mark in _grade(file).marks}
    assert marks["largest"] == ("none", "the answer is wrong")
    # The app accepts no such solution.
    assert marks["challenge"][0] == "refused"


def test_a_doubted_run_or_two_are_nothing_to_tell(tmp_path: Path) -> None:
    names = {f"small/{name}" for name in ("lossy",)}
    file = _doubted(handed_in("ada", tmp_path), lambda run: run.experiment.name in names)
    found = _grade(file)
    assert [mark.activity for mark in found.marks if mark.outcome == "inconclusive"] == [
        "experiment",
        "largest",
    ]
    assert found.remarks == ()


def test_a_cut_sweep_is_no_doubt(tmp_path: Path) -> None:
    found = _grade(handed_in("ada", tmp_path, lambda one: one.sweeps(SWEPT[0])))
    assert found.remarks == ()
