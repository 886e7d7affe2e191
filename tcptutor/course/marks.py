"""What a course gives for what is done in it: `[marks]` of course.toml.

[marks]
question = 1                         # of each question; as is of each of the others
prediction = 1                       # for having committed to one before the run, however far off
run = 1
sweep = 2
challenge = 3
by_hand = 3
retry = 0.5                          # what each wrong try leaves of a question's marks; 0: the first try counts alone
hint = 0.8                           # what each hint leaves
deadline = "2027-01-31T23:59+01:00"  # empty for none
grace_hours = 1                      # after the deadline, before anything is late
late = 0.5                           # what is left of marks for what is late
"""

from __future__ import annotations

from datetime import datetime, timedelta

import msgspec

from tcptutor.course.record import moment

_MOST = 1000
_NAMES = {
    "question": "question",
    "predict": "prediction",
    "experiment": "run",
    "sweep": "sweep",
    "explore": "challenge",
    "shell": "by_hand",
}
"""By the tables of lesson files."""


class MarkScheme(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[marks]`"""

    question: float = 1.0
    prediction: float = 1.0
    run: float = 1.0
    sweep: float = 2.0
    challenge: float = 3.0
    by_hand: float = 3.0
    retry: float = 0.5
    hint: float = 0.8
    deadline: str = ""
    grace_hours: float = 0.0
    late: float = 0.0

    def worth(self, table: str) -> float | None:
        """Marks of an activity of that table of a lesson file; None where none are given."""
        return getattr(self, _NAMES[table]) if table in _NAMES else None

    def contradiction(self) -> tuple[str, str] | None:
        """The key and the reason of what cannot be marked by; None when all can."""
        for key in _NAMES.values():
            if not 0 <= getattr(self, key) <= _MOST:
                return key, f"{getattr(self, key):g} is out of bounds: 0 to {_MOST}"
        for key in ("retry", "hint", "late"):
            if not 0 <= getattr(self, key) <= 1:
                return key, f"{getattr(self, key):g} is out of bounds: what is left of the marks, 0 to 1"
        if self.deadline and moment(self.deadline) is None:
            return "deadline", f"{self.deadline!r} is no time: write it like 2027-01-31T23:59+01:00"
        if not 0 <= self.grace_hours <= _MOST:
            return "grace_hours", f"{self.grace_hours:g} is out of bounds: 0 to {_MOST}"
        return None

    def left(self, wrong: int, hints: int, at: datetime | None) -> float:
        """What is left of an activity's marks after so many `wrong` tries and hints, at that time; 0 to 1."""
        found = self.retry**wrong * self.hint**hints
        return found * self.late if self.is_late(at) else found

    def is_late(self, at: datetime | None) -> bool:
        """Whether that is after the deadline and what is granted beyond it."""
        deadline = moment(self.deadline)
        return deadline is not None and at is not None and at > deadline + timedelta(hours=self.grace_hours)
