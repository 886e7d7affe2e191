"""Comparison of a hand-in's run with repetitions on the virtual clock of this machine's guest.

In a lab of the same parts an honest run comes out equal to the byte. In a different lab, or in real time, a run is a
random draw: it has to lie within the range of runs with other seeds.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from tcptutor.analysis import expected_throughput, total_throughput
from tcptutor.analysis.compared.what_if import shared_history
from tcptutor.base import units
from tcptutor.base.confidence import t_quantile
from tcptutor.base.errors import UsageError
from tcptutor.course import personal
from tcptutor.course.model import Course
from tcptutor.course.personal import SEEDS
from tcptutor.fleet.place import Place, expected_seconds
from tcptutor.grading.evidence.honesty import settings_problem
from tcptutor.grading.grade import ActivityMark, Grade
from tcptutor.run import Run, lab_parts
from tcptutor.spec import Experiment, check

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
    pages = {(mark.module, mark.page) for mark in grade.marks if run.id in mark.runs}
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
    """Return the ids of the runs that marks are based on."""
    return list(dict.fromkeys(id for mark in grade.marks if mark.marks for id in mark.runs))


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


def _remarks(found: Sequence[Repetition]) -> list[str]:
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
        f"{each.run} could not be made again: {each.reason}" for each in found if each.verdict == "failed"
    ]
    return [f"{len(found)} {runs} made again: {', '.join(counted)}", *failed]
