"""Marks of perfect students: `python -m tests.validation perfect` does the whole course with real runs and grades it.

Each student is enrolled, answers as the references have it, and makes every run with the own variant and seeds; the
hand-in is graded as a teacher grades it. Pages by hand are left out: tests/backends/test_by_hand.py types their lines.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

from msgspec.structs import replace

from tcptutor.backends.programs import run_until_signal
from tcptutor.base import places
from tcptutor.course import load as load_course
from tcptutor.course import personal
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.activity import Activity
from tcptutor.course.page_record import Given
from tcptutor.course.personal import SEEDS
from tcptutor.course.step import Step
from tcptutor.fleet.run_cache import RunCache
from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.evidence.keys import CourseKey
from tcptutor.grading.marking import grade_hand_in
from tcptutor.run import Run
from tcptutor.spec import Experiment
from tcptutor.study.study import Study
from tests.grading.evidence.doer import Doer, right
from tests.validation.honest import FOLDER, make

KEY = CourseKey(secret="5a" * 32)
STUDENTS = ("ada@example.edu", "bob@example.edu", "s1234567")


def answer(activity: Activity, study: Study) -> Given | None:
    """Answer as the reference has it, and predict 1 for what is counted: a Jain index cannot be more."""
    if isinstance(activity, Predict) and activity.unit == "number":
        return "1"
    return right(activity, study)


class Perfect(Doer):
    """A student whose runs have the seeds that the app gives them."""

    def _runs(self, study: Study, experiment: Experiment) -> bool:
        challenge, first = study.step.challenge, study.run is None
        seed = experiment.seed if study.step.sweep else study.run_seeds(experiment.seed).next
        done = super()._runs(study, replace(experiment, seed=seed))
        if done and challenge is not None and first:
            study.baseline = study.run
        return done


def needed(student: str) -> Iterator[Experiment]:
    """Yield the runs of a student, in the order of the course."""
    identity = personal.identity(KEY.code, student)
    for module in load_course().modules:
        for shared in module.steps:
            step = shared.for_student(module.id, identity)
            first = personal.run_seed(identity, module.id, step.id)
            for number, experiment in enumerate(_runs(step)):
                seed = experiment.seed if step.sweep else (first + number) % SEEDS
                yield replace(experiment, seed=seed)


def _runs(step: Step) -> list[Experiment]:
    if step.sweep is not None:
        return [experiment for _, experiment in step.sweep.cells()]
    if step.challenge is not None:
        return [step.challenge.experiment, step.challenge.solution_experiment]
    return [] if step.experiment is None else [step.experiment.experiment]


def run(count: int) -> int:
    """Do the course as `count` students, at most three; the exit code is 1 if a mark is missing."""
    students, cache = STUDENTS[:count], RunCache(folder=places.cache() / FOLDER)
    missing = [each for student in students for each in needed(student) if not cache.has(each)]
    stopped = run_until_signal(make(missing, cache)) if missing else None
    if stopped is not None:
        print(f"stopped: {stopped}")
        return stopped.exit_code
    return max([_mark(student, cache) for student in students])


def _mark(student: str, cache: RunCache) -> int:
    """Print what a student lacks; 1 if anything."""

    def find(experiment: Experiment) -> Run | None:
        return cache.get(experiment) if cache.has(experiment) else None

    with tempfile.TemporaryDirectory(prefix="tcptutor-") as folder:
        doer = Perfect(load_course(), Path(folder), answer, find, student, KEY.code)
        doer.does()
        file = doer.hands_in()
        doer.journal.close()
        with open_hand_in(file) as hand_in:
            grade = grade_hand_in(hand_in, load_course(), KEY.code)
    by_hand = [mark for mark in grade.marks if mark.kind == ShellActivity.table]
    lost = [mark for mark in grade.marks if mark not in by_hand and mark.marks < mark.of]
    of = sum(mark.of for mark in grade.marks if mark not in by_hand)
    print(
        f"{student}: {sum(mark.marks for mark in grade.marks if mark not in by_hand):g} of {of:g} marks with"
        f" {len(doer.runs)} runs, {sum(mark.of for mark in by_hand):g} more by hand"
    )
    for mark in lost:
        print(
            f"  {mark.module}/{mark.page} {mark.activity}: {mark.marks:g} of {mark.of:g}, {mark.outcome}: {mark.reason}"
        )
    for remark in grade.remarks:
        print(f"  {remark}")
    for page in doer.lacking:
        print(f"  {page}: its runs are missing")
    return int(bool(lost or doer.lacking))
