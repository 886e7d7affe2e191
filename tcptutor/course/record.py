"""What one student did on one page, as plain data: what an activity is marked done by, whoever keeps it."""

from __future__ import annotations

from datetime import datetime
from typing import TypeAlias

import msgspec

from tcptutor.course.personal import SEEDS

Given: TypeAlias = str | tuple[int, ...]
"""A response as it is kept: a text as typed, or the numbers of choices, from 0."""


def moment(text: str) -> datetime | None:
    """A time with its zone, ISO 8601; None for a text that is none."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


PREDICT = "predict"
"""The id of the page's prediction, beside those of its questions."""


class Response(msgspec.Struct, frozen=True, omit_defaults=True):
    """One response to one activity."""

    given: Given
    correct: bool | None
    """As it was marked at the time; None where nothing is right or wrong, as for a prediction."""
    at: str = ""
    """Wall-clock time, ISO 8601 with zone."""
    value: float | None = None
    """For a prediction: the number in its base unit; None for one that was knowingly left out. For a challenge: the
    knobs that were changed."""
    draw: dict[str, str] = {}
    """The numbers that the question was asked with, as written: it can be marked again by them."""


class ActivityRecord(msgspec.Struct, frozen=True):
    """All that was done of one activity of a page."""

    attempts: int = 0
    hints: int = 0
    """The highest level that was shown."""
    first: Response | None = None
    """What is locked, for a prediction."""
    latest: Response | None = None
    right: Response | None = None
    """The first one that was marked as right."""
    best: float | None = None
    """The lowest value of a right one: for a challenge the fewest knobs that were changed. None where none has any."""
    measured: float | None = None
    """For a prediction: what the first run after it measured, in the base unit."""

    def responded(self, response: Response) -> ActivityRecord:
        """With one response more."""
        values = [self.best, response.value if response.correct else None]
        return msgspec.structs.replace(
            self,
            attempts=self.attempts + 1,
            first=self.first or response,
            latest=response,
            right=self.right or (response if response.correct else None),
            best=min((value for value in values if value is not None), default=None),
        )

    def answered(self, measured: float) -> ActivityRecord:
        """With what was measured after a prediction; the first time counts."""
        return self if self.measured is not None else msgspec.structs.replace(self, measured=measured)

    @property
    def factor(self) -> float | None:
        """How many times too high or too low the prediction was, 1 or above; None before it was answered."""
        value = self.first.value if self.first else None
        if not value or not self.measured:
            return None
        return max(value / self.measured, self.measured / value)

    def hinted(self, level: int) -> ActivityRecord:
        """With the hints up to `level` shown."""
        return msgspec.structs.replace(self, hints=max(self.hints, level))


class PageRecord(msgspec.Struct, frozen=True):
    """All that was done on one page. Without arguments: nothing, it was never on the screen."""

    visited: bool = False
    runs: int = 0
    """Runs that were begun."""
    whole_runs: int = 0
    """Of these, runs that went to their end."""
    last_seed: int | None = None
    """The furthest seed of a whole run since the student's last enrolment; the next draw has the seed after it. None
    before the first."""
    activities: dict[str, ActivityRecord] = {}
    """By the activity's id."""

    def ran(self, whole: bool, seed: int) -> PageRecord:
        """After a run with that seed has ended, whole or cut short."""
        if not whole:
            return self
        last = self.last_seed
        if last is None or 0 < (seed - last) % SEEDS < SEEDS // 2:  # seeds go round
            last = seed
        return msgspec.structs.replace(self, whole_runs=self.whole_runs + 1, last_seed=last)

    def activity(self, id: str) -> ActivityRecord:
        """What was done of that activity; an empty record where nothing was."""
        return self.activities.get(id) or ActivityRecord()

    def responded(self, id: str, response: Response) -> PageRecord:
        """With one response more to that activity."""
        return self.put(id, self.activity(id).responded(response))

    def withdrew(self, id: str) -> PageRecord:
        """With the responses to that activity taken back; as it was once a run had begun."""
        if self.runs:
            return self
        return self.put(id, ActivityRecord(hints=self.activity(id).hints))

    def hinted(self, id: str, level: int) -> PageRecord:
        """With that activity's hints up to `level` shown."""
        return self.put(id, self.activity(id).hinted(level))

    def put(self, id: str, activity: ActivityRecord) -> PageRecord:
        """With that record of the activity."""
        return msgspec.structs.replace(self, activities={**self.activities, id: activity})
