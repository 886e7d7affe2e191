"""Runs of a hand-in made again, on the virtual clock of the guest that is here, and what that says of them.

Where the lab is of the same parts, an honest run comes out equal to the byte. Where it is not, or the run was made in
real time, it is one draw of many: it has to lie where runs with other seeds say that nearly all lie.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import msgspec

from tcptutor.analysis import total_throughput
from tcptutor.analysis.compared.what_if import shared_history
from tcptutor.base import units
from tcptutor.base.errors import UsageError
from tcptutor.course import personal
from tcptutor.course.model import Course
from tcptutor.course.personal import SEEDS
from tcptutor.fleet.place import Place, expected_seconds
from tcptutor.grading.grade import ActivityMark, Grade
from tcptutor.grading.settings import settings_problem
from tcptutor.run import Run, lab_parts
from tcptutor.spec import Experiment, check
from tcptutor.sweep.confidence import t_quantile

DRAWS = 4
"""Runs with other seeds that a run of another lab is compared with."""
_LEVEL = 0.9999
"""The share of honest runs that lie within chance."""
_LEAST = 0.02
"""Relative: what two labs may differ by where chance has no part."""

_LONGEST = 600.0
"""Seconds that a run may be expected to take; the longest of the shipped course takes 90."""


class Repetition(NamedTuple):
    """What came of a run that was made again."""

    run: str
    verdict: Literal["equal", "chance", "different", "failed"]
    """equal: to the byte. chance: within what other seeds give."""
    reason: str = ""


def is_of_lab(run: Run, here: Mapping[str, str]) -> bool:
    """Whether it can come out equal to the byte in the lab made of these parts: it is of the same, and repeats."""
    where = run.environment
    mark = lab_parts.fingerprint(where.lab)
    return bool(mark) and mark == where.snapshot == lab_parts.fingerprint(here)


def experiments(run: Run, exactly: bool) -> list[Experiment]:
    """What has to be run again for it: the same, or with other seeds where it cannot be `exactly` the same."""
    if exactly:
        return [run.experiment]
    seed = run.experiment.seed
    return [msgspec.structs.replace(run.experiment, seed=(seed + by) % SEEDS) for by in range(1, DRAWS + 1)]


def refusal(run: Run, grade: Grade, course: Course) -> str:
    """Return why the hand-in's run is not made again; empty where it may be.

    Whoever wrote the hand-in chose the experiment in it. Only a page's own experiment is made again, with the seed of
    the run, and only one that takes no longer than a course's experiments do.
    """
    pages = {(mark.module, mark.page) for mark in grade.marks if run.id in mark.runs}
    steps = [
        (module.id, step)
        for module in course.modules
        for step in module.steps
        if (module.id, step.id) in pages
    ]
    own = personal.identity(grade.course, grade.student) if grade.course else ""
    # Before enrolling a student has the page as everybody has it.
    problems = [
        settings_problem(step.for_student(module, whose), run.experiment)
        for module, step in steps
        for whose in dict.fromkeys(("", own))
    ]
    if all(problems):
        return next(iter(problems), "no page of the course has it")
    try:
        check(run.experiment)
    except UsageError as error:
        return str(error)
    seconds = expected_seconds([run.experiment], Place("guest", "virtual", 1, ""))
    return f"it would take {units.seconds(seconds)}" if seconds > _LONGEST else ""


def compared(run: Run, again: Sequence[Run], exactly: bool) -> Repetition:
    """The run beside those that were made again for it."""
    return _equal(run, again[0]) if exactly else _within_chance(run, again)


def _equal(run: Run, again: Run) -> Repetition:
    shared = shared_history(run, again)
    if shared.differs_at is not None:
        reason = f"made again it is another one from {shared.differs_at:.4g} s on ({shared.first_difference})"
        return Repetition(run.id, "different", reason)
    if run.flows != again.flows:
        return Repetition(run.id, "different", "made again its flows have other figures")
    if run.fidelity.status != again.fidelity.status:
        reason = f"made again it is {again.fidelity.status}, and not {run.fidelity.status}"
        return Repetition(run.id, "different", reason)
    return Repetition(run.id, "equal")


def _within_chance(run: Run, again: Sequence[Run]) -> Repetition:
    values = [total_throughput(each) for each in again]
    mean = statistics.fmean(values)
    spread = statistics.stdev(values) * (1 + 1 / len(values)) ** 0.5
    allowed = max(_LEAST * mean, t_quantile(len(values) - 1, _LEVEL) * spread)
    measured = total_throughput(run)
    if abs(measured - mean) <= allowed:
        return Repetition(run.id, "chance", "made in another lab: it agrees with this one's within chance")
    reason = (
        f"it measured {units.rate(measured)}, where {len(values)} runs of other seeds measured {units.rate(mean)}"
        f" ± {units.rate(allowed)}"
    )
    return Repetition(run.id, "different", reason)


def wanted(grade: Grade) -> list[str]:
    """Ids of the runs that marks were given by."""
    return list(dict.fromkeys(id for mark in grade.marks if mark.marks for id in mark.runs))


def applied(grade: Grade, found: Sequence[Repetition]) -> Grade:
    """The grade with what was found of its runs: marks by one that is another when it is made again are refused."""
    wrong = {each.run: each.reason for each in found if each.verdict == "different"}
    remarks = [*grade.remarks, *_told(found)]
    marks = tuple(_refused(mark, wrong) for mark in grade.marks)
    return msgspec.structs.replace(grade, marks=marks, remarks=tuple(remarks))


def _refused(mark: ActivityMark, wrong: Mapping[str, str]) -> ActivityMark:
    reason = next((wrong[id] for id in mark.runs if id in wrong), "")
    if not reason:
        return mark
    return msgspec.structs.replace(
        mark, marks=0.0, outcome="refused", reason=f"the run was made again: {reason}"
    )


def _told(found: Sequence[Repetition]) -> list[str]:
    if not found:
        return []
    counted = [
        f"{number} {what}"
        for verdict, what in (
            ("equal", "equal to the byte"),
            ("chance", "within chance"),
            ("different", "another one"),
            ("failed", "could not be made"),
        )
        if (number := sum(each.verdict == verdict for each in found))
    ]
    runs = "run was" if len(found) == 1 else "runs were"
    failed = [
        f"{each.run} could not be made again: {each.reason}" for each in found if each.verdict == "failed"
    ]
    return [f"{len(found)} {runs} made again: {', '.join(counted)}", *failed]
