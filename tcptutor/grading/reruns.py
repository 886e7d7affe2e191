"""Repeated runs of hand-ins: the choice (`--rerun`, `--audit`), their experiments, and the comparison.

Runs are repeated on the virtual clock of this machine's guest. In a lab of the same parts an honest run comes out equal
to the byte. In a different lab, or in real time, a run is a random draw: it has to lie within the range of runs with
other seeds.
"""

from __future__ import annotations

import asyncio
import secrets
import statistics
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from tcptutor.analysis import expected_throughput, total_throughput
from tcptutor.analysis.compared.what_if import shared_history
from tcptutor.backends.programs import run_until_signal
from tcptutor.base import units
from tcptutor.base.confidence import t_quantile
from tcptutor.base.errors import LabError, TutorError, UnitError, UsageError, quoted
from tcptutor.course import personal
from tcptutor.course.outline import Course
from tcptutor.course.personal import SEEDS
from tcptutor.fleet import pool
from tcptutor.fleet.pool import Place, expected_seconds
from tcptutor.fleet.run_cache import RunCache, run_into_cache
from tcptutor.grading.evidence.hand_in import open_hand_in
from tcptutor.grading.evidence.honesty import settings_problem
from tcptutor.grading.evidence.keys import CourseKey
from tcptutor.grading.grade import ActivityMark, Grade, GradedFile
from tcptutor.grading.remarks import Remark, decide, note
from tcptutor.run import Run, lab_parts
from tcptutor.spec import Experiment, check

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
        return marked_runs
    if rerun_option.lower() == "failed":
        return _failed
    if not rerun_option.isdecimal() or not 0 < int(rerun_option) < 10**6:
        raise UsageError(
            f"--rerun {quoted(rerun_option)}: give all, failed, or how many runs of each hand-in"
        )
    number = int(rerun_option)
    lot = key.lot if key else lambda _: secrets.randbelow(1 << 30)
    return lambda grade: sorted(marked_runs(grade), key=lot)[:number]


def _audit(audit: str, key: CourseKey | None) -> Choice:
    if key is None:
        raise UsageError("--audit draws by the course's key: give its file with --key")
    try:
        share = units.parse(audit, "ratio")
    except UnitError as error:
        raise UsageError(f"--audit: {error}") from error
    if not 0 < share <= 1:
        raise UsageError(f"--audit {quoted(audit)} is out of bounds: above 0 to 100 %")
    return lambda grade: [id for id in marked_runs(grade) if key.lot(id) < share]


def _failed(grade: Grade) -> list[str]:
    ids = (id for mark in grade.marks for id in (mark.distrusted if mark.marks else mark.runs))
    return list(dict.fromkeys(ids))


class _Plan(NamedTuple):
    """Plan for repeating a run of a hand-in."""

    exactly: bool
    """True where the repetition has to come out equal to the byte."""
    experiments: tuple[Experiment, ...] = ()
    problem: str = ""
    """Why it cannot be repeated; empty where it can."""


class Reruns:
    """Repeats the chosen runs of all hand-ins: `plan`, `run`, `compare`. No experiment runs twice."""

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

    def plan(self, graded: Sequence[GradedFile]) -> list[Experiment]:
        """Choose the runs to repeat and return the experiments that no cache holds, each once."""
        self._plans = [
            {} if each.grade is None else self._plans_of(each.sources, each.grade) for each in graded
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
                where = await pool.find_place(experiments, "guest", "virtual", self._jobs)
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

    def compare(self, graded: Sequence[GradedFile]) -> list[GradedFile]:
        """Return the grades, changed by the results of the repetitions."""
        found = [
            each if each.grade is None else each._replace(grade=self._apply(each.sources, each.grade, plans))
            for each, plans in zip(graded, self._plans, strict=True)
        ]
        self._cache.prune()
        return found

    def _plans_of(self, sources: Sequence[Path], grade: Grade) -> dict[str, _Plan]:
        return {id: self._plan_for(run, grade) for id, run in _runs(sources, self._choice(grade))}

    def _plan_for(self, run: Run, grade: Grade) -> _Plan:
        if problem := refusal(run, grade, self._course):
            return _Plan(exactly=False, problem=problem)
        try:
            exactly = is_repeatable(run, self._cache.lab_of(run.experiment))
        except TutorError as error:
            return _Plan(exactly=False, problem=str(error))
        return _Plan(exactly, tuple(experiments(run, exactly)))

    def _apply(self, sources: Sequence[Path], grade: Grade, plans: Mapping[str, _Plan]) -> Grade:
        return apply_repetitions(grade, [self._compare(run, plans[id]) for id, run in _runs(sources, plans)])

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
        return compare(run, again, plan.exactly)


def _runs(sources: Sequence[Path], ids: Collection[str]) -> Iterator[tuple[str, Run]]:
    """Yield the readable runs among `ids`, each once; marking reports the others."""
    left = list(ids)
    for path in sources if left else ():
        with open_hand_in(path) as hand_in:
            for id in [id for id in left if id in hand_in.run_ids]:
                try:
                    run, _ = hand_in.run(id)
                except TutorError:
                    continue
                left.remove(id)
                yield id, run


DRAWS = 4
"""Runs with other seeds to compare a run of a different lab with."""
_LEVEL = 0.9999
"""Share of honest runs that lie within chance."""
_MIN_DIFFERENCE = 0.02
"""Relative difference that two labs may show without any chance."""

_MOST_SECONDS = 600.0
"""Seconds that a run may be expected to take; the longest of the shipped course takes 90."""


class Repetition(NamedTuple):
    """Result of repeating a run."""

    run: str
    verdict: Literal["equal", "chance", "different", "failed"]
    """equal: to the byte. chance: within the range of other seeds."""
    reason: str = ""


def is_repeatable(run: Run, here: Mapping[str, str]) -> bool:
    """Return whether the run can come out equal to the byte in a lab of the parts `here`."""
    where = run.environment
    mark = lab_parts.fingerprint(where.lab)
    return bool(mark) and mark == where.snapshot == lab_parts.fingerprint(here)


def experiments(run: Run, exactly: bool) -> list[Experiment]:
    """Return the experiments that repeat the run: the same, or DRAWS with other seeds if not `exactly`."""
    if exactly:
        return [run.experiment]
    seed = run.experiment.seed
    return [msgspec.structs.replace(run.experiment, seed=(seed + by) % SEEDS) for by in range(1, DRAWS + 1)]


def refusal(run: Run, grade: Grade, course: Course) -> str:
    """Return why the hand-in's run is not repeated; empty if it may be.

    The author of the hand-in chose the experiment in it. Only a page's own experiment is repeated, with the seed of the
    run, and only if it takes no longer than a course's experiments do.
    """
    pages = {(mark.module, mark.page) for mark in grade.marks if run.id in (*mark.runs, *mark.distrusted)}
    steps = [
        (module.id, step)
        for module in course.modules
        for step in module.steps
        if (module.id, step.id) in pages
    ]
    own = personal.identity(grade.course, grade.student) if grade.course else ""
    # Before enrolling, a student has the shared page.
    problems = [
        settings_problem(step.for_student(module, identity), run.experiment)
        for module, step in steps
        for identity in dict.fromkeys(("", own))
    ]
    if all(problems):
        return next(iter(problems), "no page of the course has this experiment")
    try:
        check(run.experiment)
    except UsageError as error:
        return str(error)
    seconds = expected_seconds([run.experiment], Place("guest", "virtual", 1, ""), expected_throughput)
    return f"it would take {units.seconds(seconds)}" if seconds > _MOST_SECONDS else ""


def compare(run: Run, again: Sequence[Run], exactly: bool) -> Repetition:
    """Compare the run with its repetitions."""
    return _equal(run, again[0]) if exactly else _within_chance(run, again)


def _equal(run: Run, again: Run) -> Repetition:
    shared = shared_history(run, again)
    if shared.differs_at is not None:
        reason = f"made again it differs from {shared.differs_at:.4g} s on ({shared.first_difference})"
        return Repetition(run.id, "different", reason)
    if run.flows != again.flows:
        return Repetition(run.id, "different", "made again its flows have other figures")
    if run.fidelity.status != again.fidelity.status:
        reason = f"made again it is {again.fidelity.status}, not {run.fidelity.status}"
        return Repetition(run.id, "different", reason)
    return Repetition(run.id, "equal")


def _within_chance(run: Run, again: Sequence[Run]) -> Repetition:
    values = [total_throughput(each) for each in again]
    mean = statistics.fmean(values)
    spread = statistics.stdev(values) * (1 + 1 / len(values)) ** 0.5
    allowed = max(_MIN_DIFFERENCE * mean, t_quantile(len(values) - 1, _LEVEL) * spread)
    measured = total_throughput(run)
    if abs(measured - mean) <= allowed:
        return Repetition(run.id, "chance", "made in another lab: it agrees with this one's within chance")
    reason = (
        f"it measured {units.rate(measured)}, where {len(values)} runs of other seeds measured {units.rate(mean)}"
        f" ± {units.rate(allowed)}"
    )
    return Repetition(run.id, "different", reason)


def marked_runs(grade: Grade) -> list[str]:
    """Return the ids of the runs that marks are based on, or that make marks inconclusive."""
    marks = [mark for mark in grade.marks if mark.marks or mark.outcome == "inconclusive"]
    return list(dict.fromkeys(id for mark in marks for id in mark.runs))


def apply_repetitions(grade: Grade, found: Sequence[Repetition]) -> Grade:
    """Return the grade with remarks on the repetitions; marks based on a different run are refused."""
    wrong = {each.run: each.reason for each in found if each.verdict == "different"}
    remarks = [*grade.remarks, *_remarks(found)]
    marks = tuple(_refused(mark, wrong) for mark in grade.marks)
    return msgspec.structs.replace(grade, marks=marks, remarks=tuple(remarks))


def _refused(mark: ActivityMark, wrong: Mapping[str, str]) -> ActivityMark:
    reason = next((wrong[id] for id in mark.runs if id in wrong), "")
    if not reason:
        return mark
    return msgspec.structs.replace(
        mark, marks=0.0, outcome="refused", reason=f"the run was made again: {reason}"
    )


def _remarks(found: Sequence[Repetition]) -> list[Remark]:
    if not found:
        return []
    counted = [
        f"{number} {what}"
        for verdict, what in (
            ("equal", "equal to the byte"),
            ("chance", "within chance"),
            ("different", "different"),
            ("failed", "failed"),
        )
        if (number := sum(each.verdict == verdict for each in found))
    ]
    runs = "run was" if len(found) == 1 else "runs were"
    failed = [
        decide(f"{each.run} could not be made again: {each.reason}")
        for each in found
        if each.verdict == "failed"
    ]
    summary = f"{len(found)} {runs} made again: {', '.join(counted)}"
    differs = any(each.verdict == "different" for each in found)
    return [decide(summary, shown=True) if differs else note(summary, shown=True), *failed]
