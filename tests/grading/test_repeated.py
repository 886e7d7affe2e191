"""Pages that are done again: the best repetition counts, and no other takes marks away."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from tcptutor.course.marks import MarkScheme
from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.grade import ActivityMark
from tcptutor.grading.marking import grade_hand_in
from tcptutor.grading.reruns import parse_choice, refusal
from tcptutor.run import Fidelity, Run, load
from tests.command import here
from tests.grading.evidence.student import KEY, LESSONS, RUNS, SWEPT, TURNED, Student, course, student

Change = Callable[[Run], None]


def _suspect(run: Run) -> None:
    run.fidelity = Fidelity(status="suspect", reasons=("the machine is too busy",))


def _of_another_seed(run: Run) -> None:
    run.experiment = msgspec.structs.replace(run.experiment, seed=run.experiment.seed + 1000)


def _late(_: Run) -> None:
    """It is made after the deadline, as every repetition here."""


WORSE = pytest.mark.parametrize(
    "change", [_suspect, _of_another_seed, _late], ids=["suspect", "seed", "late"]
)


def _made(name: str, change: Change | None = None, again: str = "") -> Run:
    run = load(RUNS / f"{name}.tcprun")
    run.id += again
    if change is not None:
        change(run)
    return run


def _mark(
    tmp_path: Path, activity: str, first: Callable[[Student], object], then: Callable[[Student], object]
) -> ActivityMark:
    """The mark of who did `first` on time and `then` late, in a course that halves late work."""
    with student("ada", tmp_path) as one:
        first(one)
        deadline = datetime.now(UTC).isoformat()
        time.sleep(0.005)
        then(one)
        file = one.hands_in()
    scheme = MarkScheme(deadline=deadline, late=0.5)
    with open_hand_in(file) as hand_in:
        found = grade_hand_in(hand_in, msgspec.structs.replace(course(), marks=scheme), KEY.code)
    return next(mark for mark in found.marks if mark.activity == activity)


@WORSE
def test_a_worse_run_after_a_good_one_takes_nothing_away(change: Change, tmp_path: Path) -> None:
    mark = _mark(
        tmp_path,
        "experiment",
        lambda one: one.runs(_made("ada")),
        lambda one: one.runs(_made("ada", change, "-again")),
    )
    assert (mark.outcome, mark.runs) == ("full", (_made("ada").id,))


def test_a_good_run_after_doubted_ones_counts_however_many(tmp_path: Path) -> None:
    def tries(one: Student) -> None:
        for number in range(25):
            one.runs(_made("ada", _suspect, f"-{number}"))

    late = _mark(tmp_path, "experiment", tries, lambda one: one.runs(_made("ada", None, "-good")))
    assert (late.outcome, late.marks, late.reason) == ("part", 0.5, "late")


def _sweeps(*runs: Run) -> Callable[[Student], None]:
    def do(one: Student) -> None:
        for run in runs:
            one.runs(run, 3)

    return do


@WORSE
def test_each_point_of_a_sweep_counts_by_its_best_run(change: Change, tmp_path: Path) -> None:
    first = [_made(f"ada-{name}") for name in SWEPT]
    again = [_made(f"ada-{name}", change, "-again") for name in SWEPT]
    mark = _mark(tmp_path, "sweep", _sweeps(*first), _sweeps(*again))
    assert (mark.outcome, set(mark.runs)) == ("full", {run.id for run in first})


def test_a_sweep_earns_the_share_of_its_good_points(tmp_path: Path) -> None:
    one, other = (f"ada-{name}" for name in SWEPT)
    doubted = _mark(tmp_path / "a", "sweep", _sweeps(_made(one), _made(other, _suspect)), _sweeps())
    assert (doubted.marks, doubted.outcome, "too busy" in doubted.reason) == (1.0, "part", True)
    half_late = _mark(tmp_path / "b", "sweep", _sweeps(_made(one)), _sweeps(_made(other)))
    assert (half_late.marks, half_late.reason) == (1.5, "late")
    none_good = _mark(tmp_path / "c", "sweep", _sweeps(_made(one, _suspect)), _sweeps())
    assert none_good.outcome == "inconclusive"


def test_a_doubted_point_of_a_sweep_is_listed_and_made_again_with_the_failed(tmp_path: Path) -> None:
    one, other = (f"ada-{name}" for name in SWEPT)
    doubted = _made(other, _suspect)
    with student("ada", tmp_path) as who:
        _sweeps(_made(one), doubted)(who)
        file = who.hands_in()
    with open_hand_in(file) as hand_in:
        found = grade_hand_in(hand_in, course(), KEY.code)
    failed = parse_choice("failed", None, None)
    assert failed is not None
    assert failed(found) == [doubted.id]
    assert refusal(doubted, found, course()) == ""
    assert "too busy" in here("grade", file, "--course", LESSONS).stdout


@pytest.mark.parametrize("change", [_of_another_seed, _late])
def test_a_challenge_counts_by_its_best_solution(change: Change, tmp_path: Path) -> None:
    def first(one: Student) -> None:
        for name in TURNED:
            one.turns(_made(f"ada-{name}"))

    solved = f"ada-{TURNED[1]}"
    mark = _mark(tmp_path, "challenge", first, lambda one: one.turns(_made(solved, change, "-again")))
    assert (mark.outcome, mark.runs) == ("full", (_made(solved).id,))


def test_work_by_hand_counts_by_the_session_that_shows_its_goals(tmp_path: Path) -> None:
    mark = _mark(tmp_path, "shell", lambda one: (one.works(0.01), one.works()), lambda one: one.works(0.01))
    assert mark.outcome == "full"
