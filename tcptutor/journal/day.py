"""Work of the latest day with events: minutes, pages, predictions. Pure."""

from __future__ import annotations

from datetime import date, datetime

import msgspec

from tcptutor.course.page_record import moment

LONGEST_PAUSE_S = 10 * 60.0
"""Time between two events up to which the student is taken to be working, s."""
CLOSE = 0.1
"""Relative distance from the measurement up to which a prediction counts as close."""


class DayRecord(msgspec.Struct, frozen=True):
    """Work of a day in local time; the default is a day without events."""

    day: date | None = None
    last: datetime | None = None
    """Time of the latest event."""
    seconds: float = 0.0
    """Time between events, without long pauses."""
    pages: frozenset[tuple[str, str]] = frozenset()
    """Module and step of each page worked on."""
    predictions: int = 0
    """Predictions that a run has answered."""
    close: int = 0
    """Predictions within 10 % of the measurement."""

    @property
    def minutes(self) -> int:
        return round(self.seconds / 60)

    def with_event(self, at: str, page: tuple[str, str] | None) -> DayRecord:
        """Return the record after an event at the ISO 8601 time `at`; a later day starts from zero."""
        now = _local(at)
        if now is None or (self.day is not None and now.date() < self.day):
            return self
        before = self if self.day == now.date() else DayRecord(now.date())
        pause = (now - before.last).total_seconds() if before.last else 0.0
        return msgspec.structs.replace(
            before,
            last=now,
            seconds=before.seconds + (pause if 0 < pause <= LONGEST_PAUSE_S else 0.0),
            pages=before.pages if page is None or page in before.pages else before.pages | {page},
        )

    def with_prediction(self, ratio: float) -> DayRecord:
        """Return the record after a run has answered a prediction of `ratio` times the measured value."""
        is_close = abs(ratio - 1) <= CLOSE + 1e-9
        return msgspec.structs.replace(self, predictions=self.predictions + 1, close=self.close + is_close)


def _local(at: str) -> datetime | None:
    found = moment(at)
    try:
        return found.astimezone() if found else None
    except (OverflowError, ValueError, OSError):  # years that this machine's clock cannot have
        return None
