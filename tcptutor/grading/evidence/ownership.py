"""Attribution of work to the counting enrollment, to the time before it, or to a different id."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from difflib import SequenceMatcher
from functools import cached_property
from typing import NamedTuple

from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.activities.run import SweepActivity
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.page_record import PREDICT
from tcptutor.course.paths import PRETEST
from tcptutor.grading.evidence.timeline import Timeline
from tcptutor.journal.fold import Enrolment

LITTLE_WORK = 10
"""Most answers, runs and the like that a student has before noticing a typing error in the id."""
_ALIKE = 0.6
"""Least similarity of an id and its correction."""
_MOST_CORRECTIONS = 10
"""Latest other ids that may be typing errors."""
_FEATS = frozenset({SweepActivity.table, ChallengeActivity.table, ShellActivity.table})
"""Ids of activities that are answered by runs or by hand."""


class WorkCount(NamedTuple):
    """An amount of work."""

    answers: int = 0
    predictions: int = 0
    runs: int = 0
    by_hand: int = 0

    @property
    def total(self) -> int:
        """Return the number of all items."""
        return sum(self)

    def __str__(self) -> str:
        """Return a phrase such as "12 answers and 5 runs were"; empty for no work."""
        names = ("answer", "prediction", "run", "network by hand")
        found = [
            f"{number} {_plural(name) if number > 1 else name}"
            for number, name in zip(self, names, strict=True)
            if number
        ]
        listed = " and ".join(filter(None, [", ".join(found[:-1]), *found[-1:]]))
        return f"{listed} {'was' if self.total == 1 else 'were'}" if found else ""


def _plural(name: str) -> str:
    return "networks by hand" if name == "network by hand" else f"{name}s"


class Ownership:
    """Attribution of a timeline's work to enrollments."""

    def __init__(self, line: Timeline, same_ids: Collection[str] = ()) -> None:
        """Take a timeline.

        Args:
            line: All actions of a student.
            same_ids: Other ids that are the same student, as the teacher decided.
        """
        self._line, self._same_ids = line, same_ids

    def is_own(self, serial: int) -> bool:
        """Return whether an event belongs to the counting enrollment or to an enrollment it corrects.

        True for all events without an enrollment.
        """
        enrolled = self._line.enrolled_at(serial)
        return enrolled == self._line.enrolment or enrolled in self.corrected

    @cached_property
    def work(self) -> dict[Enrolment | None, WorkCount]:
        """Return the work under each enrollment; the key None is work before the first enrollment."""
        found: dict[Enrolment | None, WorkCount] = {
            enrolment: WorkCount() for _, enrolment in self._line.enrolments
        }
        for serial, work in self._work():
            enrolled = self._line.enrolled_at(serial)
            before = found.get(enrolled, WorkCount())
            found[enrolled] = WorkCount(*(one + other for one, other in zip(before, work, strict=True)))
        return found

    def _work(self) -> Iterator[tuple[int, WorkCount]]:
        for (_, step), page in self._line.pages.items():
            if step == PRETEST:
                continue
            for given in page.responses:
                if given.activity == PREDICT:
                    yield given.serial, WorkCount(predictions=1)
                elif given.activity not in _FEATS:
                    yield given.serial, WorkCount(answers=1)
            yield from ((run.begun, WorkCount(runs=1)) for run in page.runs if run.complete)
            yield from ((session.serial, WorkCount(by_hand=1)) for session in page.sessions)

    @cached_property
    def corrected(self) -> tuple[Enrolment, ...]:
        """Return the earlier enrollments that the counting enrollment corrects."""
        return tuple(each for each in self._others if self._is_corrected(each))

    def _is_corrected(self, other: Enrolment) -> bool:
        last, work = self._line.enrolment, self.work[other].total
        if last is None or not work or other.student in self._same_ids:
            return True
        return work <= LITTLE_WORK and other in self._others[-_MOST_CORRECTIONS:] and _are_alike(other, last)

    @property
    def taken_over(self) -> dict[Enrolment, WorkCount]:
        """Return work under other ids, except enrollments that the counting enrollment corrects."""
        return {each: self.work[each] for each in self._others if each not in self.corrected}

    @property
    def before_enrolling(self) -> WorkCount:
        """Return the work before the first enrollment; an empty count if the student never enrolled."""
        return self.work.get(None, WorkCount()) if self._line.enrolment else WorkCount()

    @cached_property
    def _others(self) -> list[Enrolment]:
        last = self._line.enrolment
        return [each for each in dict.fromkeys(each for _, each in self._line.enrolments) if each != last]


def _are_alike(one: Enrolment, other: Enrolment) -> bool:
    """Return whether two ids may differ by a typing error; only the first 100 characters are compared."""
    if one.student == other.student:
        return True
    ids = (one.student[:100].casefold(), other.student[:100].casefold())
    return SequenceMatcher(None, *ids, autojunk=False).ratio() >= _ALIKE
