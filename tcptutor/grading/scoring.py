"""Results of checking an activity, and their marks by the course's scheme."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from tcptutor.base.errors import UsageError
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.activity import Activity, EntryRemoved
from tcptutor.course.marks import MarkScheme
from tcptutor.course.page_record import moment
from tcptutor.grading.evidence.ownership import Ownership
from tcptutor.grading.evidence.timeline import PageTimeline, TimedResponse
from tcptutor.grading.grade import Outcome


class Score(NamedTuple):
    """Result of checking the work on an activity."""

    outcome: Outcome
    share: float = 0.0
    """Share of its marks, 0 to 1."""
    reason: str = ""
    events: tuple[int, ...] = ()
    runs: tuple[str, ...] = ()
    distrusted: tuple[str, ...] = ()
    """Runs that other runs make up for in part: a sweep's."""
    at: str = ""
    """Time of the work; empty if no work counts."""


def unmarkable(found: Score, error: UsageError) -> Score:
    """Return the score of an answer that cannot be marked; a choice that the page has lost costs no marks."""
    if isinstance(error, EntryRemoved):
        return found._replace(outcome="inconclusive", reason=str(error))
    return found._replace(outcome="none", reason=f"it cannot be marked: {error}")


MISSING = Score("missing", reason="nothing was done")
NOT_TRUSTED = ("refused", "inconclusive")
"""Outcomes of runs that are not trusted."""


def best_of(found: Iterable[Score], without: Score = MISSING) -> Score:
    """Return the best score, the last of equal scores, or `without`. Full marks end the search."""
    best: Score | None = None
    for each in found:
        if best is None or _rank(each) >= _rank(best):
            best = each
        if best.outcome == "full":
            break
    return without if best is None else best


def _rank(found: Score) -> tuple[float, bool]:
    return found.share, found.outcome == "inconclusive"


class Scorer:
    """Deducts from the marks of a page's work for wrong attempts, hints, lateness and foreign work.

    Args:
        scheme: The course's marks.
        page: The actions on the page.
        ownership: Attributes work to enrollments.
        foreign_share: Factor for all other personal work.
    """

    def __init__(
        self, scheme: MarkScheme, page: PageTimeline, ownership: Ownership, foreign_share: float
    ) -> None:
        self._scheme, self._page = scheme, page
        self._ownership, self._foreign_share = ownership, foreign_share
        self._begun = {run.id: run.begun for run in page.runs}
        """Serial of each run's start."""

    def score_response(
        self, activity: Activity, given: TimedResponse, found: Score, wrong: Sequence[int] = ()
    ) -> Score:
        """Score a right response after the `wrong` responses (event serials) and after hints."""
        hints = self._page.hints_before(activity.id, given.serial)
        taken = max((hint.level for hint in hints), default=0)
        is_personal = bool(given.response.draw) or isinstance(activity, ShellActivity)
        return self.score(
            found,
            moment(given.at),
            tuple(wrong),
            taken,
            tuple(hint.serial for hint in hints),
            personal=(given.serial,) if is_personal else (),
        )

    def score(
        self,
        found: Score,
        at: datetime | None,
        wrong: tuple[int, ...] = (),
        hints: int = 0,
        shown: tuple[int, ...] = (),
        share: float = 1.0,
        personal: tuple[int, ...] = (),
    ) -> Score:
        """Apply the scheme's deductions, and add their reasons and events.

        Args:
            found: Score of the work before deductions, with its runs.
            at: Time of the work.
            wrong: Events of wrong attempts.
            hints: Number of hints.
            shown: Events of the hints.
            share: Share of the marks before all deductions.
            personal: Events that are personal to the student, excluding runs.
        """
        scheme = self._scheme
        found = found._replace(at=at.isoformat() if at else "")
        own = self._own_share([*(self._begun[id] for id in found.runs if id in self._begun), *personal])
        share *= own * scheme.remaining_share(len(wrong), hints, at)
        if share >= 1:
            return found._replace(outcome="full", share=1.0)
        reasons = [found.reason] if found.reason else []
        events = found.events
        if wrong and scheme.retry < 1:
            reasons.append(f"right after {len(wrong)} wrong")
            events += wrong
        if hints and scheme.hint < 1:
            reasons.append("with a hint" if hints == 1 else f"with {hints} hints")
            events += shown
        if scheme.late < 1 and scheme.is_late(at):
            reasons.append("late")
        if own < 1:
            reasons.append("made before enrolling")
        return found._replace(
            outcome="part" if share > 0 else "none",
            share=share,
            reason=", ".join(reasons),
            events=tuple(sorted(set(events))),
        )

    def _own_share(self, events: Sequence[int]) -> float:
        """Return the mean factor of personal events: 1 under the counting enrollment."""
        shares = [1.0 if self._ownership.is_own(serial) else self._foreign_share for serial in events]
        return sum(shares) / len(shares) if shares else 1.0
