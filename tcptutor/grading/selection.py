"""Selection of the counting hand-in of a student who handed in several, by `[marks] hand_ins`.

A student controls the dates in a hand-in, so the selection ignores them. Anyone can enroll under a foreign id, so a
file that adds no work must not replace work.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from msgspec.structs import replace

from tcptutor.course.marks import HandInRule
from tcptutor.grading.grade import Grade, GradedFile
from tcptutor.grading.remarks import Remark, note

MOST_JOINED = 16
"""Hand-ins of a student that are joined."""


def to_join(graded: Sequence[GradedFile], rule: HandInRule) -> list[tuple[Path, ...]]:
    """Return the files of each student's hand-ins that are graded jointly."""
    if rule != "union":
        return []
    groups = ([each for each in group if not _is_damaged(each)] for group in _by_student(graded))
    return [
        tuple(path for each in group for path in each.sources)
        for group in groups
        if 1 < len(group) <= MOST_JOINED
    ]


def select(graded: Sequence[GradedFile], rule: HandInRule) -> list[GradedFile]:
    """Set `superseded_by` on hand-ins that do not count, and add a remark to each chosen hand-in.

    Args:
        graded: All hand-ins, in the order in which they were given, and then the joined ones.
        rule: Which hand-in of a student counts.
    """
    graded = [_afresh(each) for each in graded]
    changed: dict[int, GradedFile | None] = {}
    """By identity; None for joined hand-ins that add no work."""
    for group in _by_student(graded):
        single = [each for each in group if not _is_joined(each)]
        joined = [each for each in group if _is_joined(each)]
        best = _newest(single) if rule == "newest" else min(group, key=_rank)
        changed |= dict.fromkeys(map(id, joined))
        changed |= {id(each): each._replace(superseded_by=best.file) for each in single}
        changed[id(best)] = _with_remark(best, _reason(best, single, rule)) if len(single) > 1 else best
    found = (changed.get(id(each), each) for each in graded)
    return [each for each in found if each is not None]


def superseded_lines(graded: Iterable[GradedFile]) -> Iterator[str]:
    """Yield a line for each hand-in that does not count, or counts as a part."""
    for each in graded:
        if each.superseded_by and each.grade is not None:
            yield f"{each.file} of {each.grade.student} {instead(each)}"


def instead(superseded: GradedFile) -> str:
    """Return how a hand-in counts that does not count by itself."""
    if superseded.file in superseded.superseded_by.split(JOINT):
        return f"counts as part of {superseded.superseded_by}"
    return f"does not count: {superseded.superseded_by} does"


JOINT = " + "
"""Between the names of joined files."""


def _by_student(graded: Sequence[GradedFile]) -> list[list[GradedFile]]:
    """Group hand-ins by student, leaving out refused hand-ins and hand-ins without an enrollment."""
    groups: dict[tuple[str, str], list[GradedFile]] = {}
    for each in graded:
        grade = each.grade
        if grade is not None and grade.student and not grade.refused:
            groups.setdefault((grade.course, grade.student), []).append(each)
    return list(groups.values())


def _rank(graded: GradedFile) -> tuple[bool, float, float, bool, int, str]:
    """Return a key that is smallest for the best hand-in; ties prefer a single file, then the latest state."""
    grade = _grade(graded)
    worth = -grade.total, -grade.share
    return grade.is_damaged, *worth, _is_joined(graded), -len(grade.trail.digests), graded.file


def _newest(graded: Sequence[GradedFile]) -> GradedFile:
    """Return the hand-in that the course's system received last; ties prefer the last argument."""
    return max(enumerate(graded), key=lambda each: (not _is_damaged(each[1]), _received(each[1]), each[0]))[1]


def _received(graded: GradedFile) -> float:
    times = []
    for path in graded.sources:
        with suppress(OSError):
            times.append(path.stat().st_mtime)
    return max(times, default=0.0)


def _is_joined(graded: GradedFile) -> bool:
    return len(graded.sources) > 1


def _is_damaged(graded: GradedFile) -> bool:
    return _grade(graded).is_damaged


def _grade(graded: GradedFile) -> Grade:
    assert graded.grade is not None  # as `_by_student` returns only graded ones
    return graded.grade


def _reason(best: GradedFile, single: Sequence[GradedFile], rule: HandInRule) -> Remark:
    if _is_joined(best):
        why = f"{len(best.sources)} hand-ins count together"
    elif rule == "newest":
        why = f"the newest of {len(single)} hand-ins counts"
    else:
        why = f"the best of {len(single)} hand-ins counts"
    first = sorted(single, key=lambda each: (each is not best, _rank(each)))
    return note(f"{why}: {', '.join(_described(each, rule) for each in first)}")


def _described(graded: GradedFile, rule: HandInRule) -> str:
    facts = [f"{_grade(graded).total:.4g} marks"]
    if rule == "newest":
        facts.append(f"received {datetime.fromtimestamp(_received(graded), UTC):%Y-%m-%d %H:%M} UTC")
    if _is_damaged(graded):
        facts.append("damaged")
    return f"{graded.file} ({', '.join(facts)})"


_REASON = re.compile(r"(\d+ hand-ins count together|the (best|newest) of \d+ hand-ins counts): ")


def _afresh(graded: GradedFile) -> GradedFile:
    """Forget an earlier selection: a teacher's decision may have changed marks and ids."""
    grade = graded.grade
    if grade is not None:
        grade = replace(grade, remarks=tuple(each for each in grade.remarks if not _REASON.match(each.text)))
    return graded._replace(grade=grade, superseded_by="")


def _with_remark(graded: GradedFile, remark: Remark) -> GradedFile:
    grade = _grade(graded)
    return graded._replace(grade=replace(grade, remarks=(*grade.remarks, remark)))
