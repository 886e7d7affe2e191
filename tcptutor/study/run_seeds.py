"""Seeds of a page's runs, which count up from the first."""

from __future__ import annotations

from typing import NamedTuple

from tcptutor.course import personal
from tcptutor.course.page_record import PageRecord


class RunSeeds(NamedTuple):
    """Sequence of the seeds of a page's runs."""

    first: int
    record: PageRecord
    """The student's work on the page."""

    @property
    def next(self) -> int:
        """Seed of the page's next run.

        If the last seed is not in the sequence, it belongs to an earlier enrollment, and the sequence starts over:
        grading would refuse any other seed (`grading.evidence.honesty.seed_problem`).
        """
        last = self.record.last_seed
        if last is None or self.number(last) is None:
            return self.first
        return (last + 1) % personal.SEEDS

    def number(self, seed: int) -> int | None:
        """Return the position of the seed in the sequence, from 1; None if it is not in the sequence."""
        number = (seed - self.first) % personal.SEEDS + 1
        return number if number <= self.record.whole_runs + self.record.earlier_runs else None
