"""Sittings: the policy for revealing marks, hints and explanations."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from tcptutor.course.page_record import ActivityRecord, Response

if TYPE_CHECKING:
    from tcptutor.course.activity import Activity


class Sitting(Enum):
    """Mode of working through pages.

    Learning shows marks immediately and allows retries, a review allows a single attempt, and an exam shows
    no marks until it ends. `ended` is True once the sitting is over; only an exam needs an end.
    """

    LEARN = "learn"
    REVIEW = "review"
    EXAM = "exam"

    @property
    def allows_hints(self) -> bool:
        """True if hints are available."""
        return self is not Sitting.EXAM

    @property
    def marks_immediately(self) -> bool:
        """True if marks are shown immediately; otherwise responses may be changed until the end."""
        return self is not Sitting.EXAM

    @property
    def allows_retries(self) -> bool:
        """True if a wrong response may be tried again."""
        return self is Sitting.LEARN

    @property
    def starts_fresh(self) -> bool:
        """True if earlier responses are set aside. Runs remain, because questions may ask about them."""
        return self is not Sitting.LEARN

    def reveals(self, activity: Activity, ran: bool) -> bool:
        """Return True if the activity is visible: questions about the run follow the run."""
        return ran or not activity.about_run

    def accepts(self, activity: Activity, record: ActivityRecord, ended: bool) -> bool:
        """Return True if a response may be given now."""
        if ended or (activity.locked and record.attempts):
            return False
        return self.allows_retries or not self.marks_immediately or not record.attempts

    def is_due(self, activity: Activity, record: ActivityRecord, ended: bool) -> bool:
        """Return True if a response is still expected."""
        return self.accepts(activity, record, ended) and not (
            record.right if self.allows_retries else record.attempts
        )

    def counted_response(self, activity: Activity, record: ActivityRecord) -> Response | None:
        """Return the response that counts: the first if locked, a right one when learning, or the latest."""
        if activity.locked:
            return record.first
        return record.right or record.latest if self.allows_retries else record.latest

    def shows_mark(self, ended: bool) -> bool:
        """Return True if correctness and feedback are shown."""
        return self.marks_immediately or ended

    def shows_explanation(self, correct: bool | None, ended: bool) -> bool:
        """Return True if the explanation is shown, which would reveal the answer while retries remain."""
        return self.shows_mark(ended) and (bool(correct) or not self.allows_retries or ended)
