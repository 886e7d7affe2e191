"""Marks a graded course awards: `[marks]` of course.toml.

[marks]
question = 1                         # per question; likewise below
prediction = 1                       # for a prediction made before the run, right or wrong
run = 1
sweep = 2
challenge = 3
by_hand = 3
retry = 0.5                          # factor per wrong attempt at a question; 0: only the first counts
hint = 0.8                           # factor per hint
opens = "2026-10-12T08:00+02:00"     # work dated earlier is reported; empty for none
deadline = "2027-01-31T23:59+01:00"  # empty for none
grace_hours = 1                      # after the deadline, before work is late
late = 0.5                           # factor for late work
before_enrolling = 0                 # factor for runs, work by hand and drawn numbers before enrolling
hand_ins = "union"                   # of a student's files: joined, or only the "best" or the "newest"
path = "everything"                  # or "essential": only essential pages count
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Literal

import msgspec

from tcptutor.course.page_record import moment
from tcptutor.course.paths import CoursePath

HandInRule = Literal["best", "union", "newest"]
_MOST = 1000
_NAMES = {
    "question": "question",
    "predict": "prediction",
    "experiment": "run",
    "sweep": "sweep",
    "challenge": "challenge",
    "shell": "by_hand",
}
"""By table of the lesson file."""


class MarkScheme(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Weights and penalties of `[marks]`."""

    question: float = 1.0
    """Marks of a question."""
    prediction: float = 1.0
    """Marks of a prediction made before the run, however far off."""
    run: float = 1.0
    """Marks of a complete run of the page's experiment."""
    sweep: float = 2.0
    """Marks of a complete sweep."""
    challenge: float = 3.0
    """Marks of a challenge."""
    by_hand: float = 3.0
    """Marks of a network by hand on which all goals held."""
    retry: float = 0.5
    """Factor for each wrong attempt; resubmitting the same answer is no attempt."""
    hint: float = 0.8
    """Factor for each hint."""
    opens: str = ""
    """Time with a zone from which on work counts without a remark."""
    deadline: str = ""
    """Time with a zone, such as 2027-01-31T23:59+01:00."""
    grace_hours: float = 0.0
    """Hours after the deadline in which work is not late."""
    late: float = 0.0
    """Factor for later work."""
    before_enrolling: float = 0.0
    """Factor for personal work before enrolling or under a different id, if grading uses the key of the course."""
    hand_ins: HandInRule = "union"
    """Rule for a student's several hand-ins; "union" joins them, or takes the best if they cannot be joined."""
    path: CoursePath = "everything"
    """Pages that count for marks."""

    def worth(self, table: str) -> float | None:
        """Return the marks of an activity of that lesson-file table, or None if it has none."""
        return getattr(self, _NAMES[table]) if table in _NAMES else None

    def contradiction(self) -> tuple[str, str] | None:
        """Return key and reason of a value that cannot be used, or None."""
        for key in _NAMES.values():
            if not 0 <= getattr(self, key) <= _MOST:
                return key, f"{getattr(self, key):g} is out of bounds: 0 to {_MOST}"
        for key in ("retry", "hint", "late", "before_enrolling"):
            if not 0 <= getattr(self, key) <= 1:
                return key, f"{getattr(self, key):g} is out of bounds: a factor, 0 to 1"
        for key in ("opens", "deadline"):
            if (text := getattr(self, key)) and moment(text) is None:
                return key, f"{text!r} is not a time with a zone: write it like 2027-01-31T23:59+01:00"
        if not 0 <= self.grace_hours <= _MOST:
            return "grace_hours", f"{self.grace_hours:g} is out of bounds: 0 to {_MOST}"
        return None

    def remaining_share(self, wrong: int, hints: int, at: datetime | None) -> float:
        """Return the factor, 0 to 1, after `wrong` attempts and `hints`, for work done at `at`."""
        found = self.retry**wrong * self.hint**hints
        return found * self.late if self.is_late(at) else found

    def is_late(self, at: datetime | None) -> bool:
        """Return True if `at` is after the deadline plus the grace period."""
        deadline = moment(self.deadline)
        return deadline is not None and at is not None and at > deadline + timedelta(hours=self.grace_hours)
