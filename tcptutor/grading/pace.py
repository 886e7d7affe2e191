"""Remarks on unusual marks: answers faster than reading permits, and runs that the lab doubts."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import pairwise

from tcptutor.course.page_record import moment
from tcptutor.grading.grade import ActivityMark
from tcptutor.grading.remarks import Remark, decide

_QUICK = timedelta(seconds=1)
_MOST_QUICK = 20
"""Questions that may be answered right at first, each within _QUICK of its predecessor: pages have two or three."""
_WINDOW = timedelta(seconds=60)
_MOST_IN_WINDOW = 30
"""Questions that may be answered right at first within _WINDOW: reading a question takes seconds."""
_MOST_DOUBTED = 2
"""Marks that may be inconclusive by chance."""
_SHARE_DOUBTED = 0.05
"""Share of the marks on runs that may be inconclusive."""


def remarks(marks: Sequence[ActivityMark]) -> Iterator[Remark]:
    """Yield the remarks on the marks of a hand-in."""
    times = sorted(
        at
        for mark in marks
        if mark.kind == "question" and mark.answers and mark.answers[0].correct
        if (at := moment(mark.answers[0].at))
    )
    quick = sum(later - earlier < _QUICK for earlier, later in pairwise(times))
    in_window = max((bisect_right(times, at + _WINDOW) - first for first, at in enumerate(times)), default=0)
    if quick > _MOST_QUICK:
        yield decide(f"{quick} questions were answered rightly less than a second after the one before")
    if in_window > _MOST_IN_WINDOW:
        yield decide(f"{in_window} questions were answered rightly within a minute")
    on_runs = [mark for mark in marks if mark.runs]
    doubted = sum(mark.outcome == "inconclusive" for mark in on_runs)
    if doubted > max(_MOST_DOUBTED, _SHARE_DOUBTED * len(on_runs)):
        yield decide(
            f"{doubted} of {len(on_runs)} marks on runs do not count, because the lab doubts the runs: repeat them with"
            " --rerun"
        )
