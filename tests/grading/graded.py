"""Hand-ins graded as the commands do it, and without a progress bar."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tcptutor.grading import session
from tcptutor.grading.batch import GradingBasis
from tcptutor.grading.grade import GradedFile
from tcptutor.grading.selection import select


class Counter:
    """How many hand-ins were graded, of how many, and how many of them were timed."""

    def __init__(self) -> None:
        self.done = self.timed = self.more = 0

    def advance(self, latest: str, *, is_timed: bool) -> None:
        assert latest
        self.done += 1
        self.timed += is_timed

    def extend(self, number: int) -> None:
        self.more += number


def graded(
    paths: Sequence[Path], basis: GradingBasis, jobs: int = 1, counter: Counter | None = None
) -> list[GradedFile]:
    """Each hand-in, those of a student that count as one after them."""
    found = session.grade_all(paths, basis, jobs, None, counter or Counter())
    return select(found, basis.course.marks.hand_ins)
