"""Repeated runs of many hand-ins: the choice (`--rerun`, `--audit`), their experiments, and the comparison."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import NamedTuple

from tcptutor.backends.ending import run_until_signal
from tcptutor.base import units
from tcptutor.base.errors import LabError, TutorError, UnitError, UsageError, quoted
from tcptutor.course.model import Course
from tcptutor.fleet import place
from tcptutor.fleet.place import Place
from tcptutor.fleet.run_cache import RunCache, run_into_cache
from tcptutor.grading import rerun
from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.evidence.keys import CourseKey
from tcptutor.grading.grade import Grade, GradedFile
from tcptutor.grading.rerun import Repetition
from tcptutor.run import Run
from tcptutor.spec import Experiment

Choice = Callable[[Grade], list[str]]
"""Returns the ids of the runs of a hand-in to repeat."""


def parse_choice(rerun_option: str | None, audit: str | None, key: CourseKey | None) -> Choice | None:
    """Parse `--rerun` or `--audit`; None where neither is given. Raises UsageError."""
    if rerun_option is not None and audit is not None:
        raise UsageError("--rerun and --audit each choose the runs to repeat: give one of them")
    if audit is not None:
        return _audit(audit, key)
    if rerun_option is None:
        return None
    if rerun_option.lower() == "all":
        return rerun.marked_runs
    if rerun_option.lower() == "failed":
        return _failed
    if not rerun_option.isdecimal() or not 0 < int(rerun_option) < 10**6:
        raise UsageError(
            f"--rerun {quoted(rerun_option)}: give all, failed, or how many runs of each hand-in"
        )
    number = int(rerun_option)
    lot = key.lot if key else lambda _: secrets.randbelow(1 << 30)
    return lambda grade: sorted(rerun.marked_runs(grade), key=lot)[:number]


def _audit(audit: str, key: CourseKey | None) -> Choice:
    if key is None:
        raise UsageError("--audit draws by the course's key: give its file with --key")
    try:
        share = units.parse(audit, "ratio")
    except UnitError as error:
        raise UsageError(f"--audit: {error}") from error
    if not 0 < share <= 1:
        raise UsageError(f"--audit {quoted(audit)} is out of bounds: above 0 to 100 %")
    return lambda grade: [id for id in rerun.marked_runs(grade) if key.lot(id) < share]


def _failed(grade: Grade) -> list[str]:
    return list(dict.fromkeys(id for mark in grade.marks if not mark.marks for id in mark.runs))


class _Plan(NamedTuple):
    """Plan for repeating a run of a hand-in."""

    exactly: bool
    """True where the repetition has to come out equal to the byte."""
    experiments: tuple[Experiment, ...] = ()
    problem: str = ""
    """Why it cannot be repeated; empty where it can."""


class Reruns:
    """Repeats the parse_choice runs of all hand-ins: `plan`, `run`, `compare`. No experiment runs twice."""

    def __init__(self, choice: Choice, course: Course, jobs: int | None, cluster: str | None = None) -> None:
        """Choose the course's experiments and the place to run them.

        Args:
            choice: Selects the runs of a hand-in.
            course: The course with the experiments.
            jobs: Runs at a time; None for the default.
            cluster: Address of the Dask scheduler whose workers run them; None for this machine.

        Raises:
            LabUnavailable: This machine has no guest.
        """
        self._choice, self._course, self._jobs, self._cluster = choice, course, jobs, cluster
        self._cache = RunCache()
        self._failed: dict[str, str] = {}
        """Why a run failed, by its key."""
        self._plans: list[dict[str, _Plan]] = []
        """Plans of each hand-in, by the ids of its runs."""

    def plan(self, paths: Sequence[Path], graded: Sequence[GradedFile]) -> list[Experiment]:
        """Choose the runs to repeat and return the experiments that no cache holds, each once."""
        self._plans = [
            {} if each.grade is None else self._plans_of(path, each.grade)
            for path, each in zip(paths, graded, strict=True)
        ]
        missing = {
            self._cache.key(experiment): experiment
            for plans in self._plans
            for plan in plans.values()
            for experiment in plan.experiments
            if not self._cache.has(experiment)
        }
        return list(missing.values())

    def run(self, experiments: Sequence[Experiment], on_ended: Callable[[str], None]) -> None:
        """Run the planned experiments; `on_ended` gets the name of each. Raises LabError when it is stopped."""

        async def run_all() -> TutorError | None:
            if self._cluster is None:
                where = await place.find(experiments, "guest", "virtual", self._jobs)
            else:
                where = Place("guest", "virtual", 1, "on the cluster")
            made = run_into_cache(experiments, where, self._cache, self._cluster)
            try:
                async with aclosing(made) as ended:
                    async for number, problem in ended:
                        if problem:
                            self._failed[self._cache.key(experiments[number])] = problem
                        on_ended(experiments[number].name)
            except asyncio.CancelledError:
                return LabError("stopped: the same command goes on with what was made")
            return None

        stopped = run_until_signal(run_all())
        if stopped is not None:
            raise stopped

    def compare(self, paths: Sequence[Path], graded: Sequence[GradedFile]) -> list[GradedFile]:
        """Return the grades, changed by the results of the repetitions."""
        found = [
            each if each.grade is None else each._replace(grade=self._apply(path, each.grade, plans))
            for path, each, plans in zip(paths, graded, self._plans, strict=True)
        ]
        self._cache.prune()
        return found

    def _plans_of(self, path: Path, grade: Grade) -> dict[str, _Plan]:
        return {id: self._plan_for(run, grade) for id, run in _runs(path, self._choice(grade))}

    def _plan_for(self, run: Run, grade: Grade) -> _Plan:
        if problem := rerun.refusal(run, grade, self._course):
            return _Plan(exactly=False, problem=problem)
        try:
            exactly = rerun.is_repeatable(run, self._cache.lab_of(run.experiment))
        except TutorError as error:
            return _Plan(exactly=False, problem=str(error))
        return _Plan(exactly, tuple(rerun.experiments(run, exactly)))

    def _apply(self, path: Path, grade: Grade, plans: Mapping[str, _Plan]) -> Grade:
        return rerun.apply_repetitions(
            grade, [self._compare(run, plans[id]) for id, run in _runs(path, plans)]
        )

    def _compare(self, run: Run, plan: _Plan) -> Repetition:
        if plan.problem:
            return Repetition(run.id, "failed", plan.problem)
        again = []
        for experiment in plan.experiments:
            made = self._cache.get(experiment)
            if made is None:
                reason = self._failed.get(self._cache.key(experiment), "the repeated run is missing")
                return Repetition(run.id, "failed", reason)
            again.append(made)
        return rerun.compare(run, again, plan.exactly)


def _runs(path: Path, ids: Collection[str]) -> Iterator[tuple[str, Run]]:
    """Yield the readable runs among `ids`; marking reports the others."""
    if not ids:
        return
    with open_hand_in(path) as hand_in:
        for id in ids:
            try:
                run, _ = hand_in.run(id)
            except TutorError:
                continue
            yield id, run
