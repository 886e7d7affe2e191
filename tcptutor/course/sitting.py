"""A sitting: the policy that says what a page reveals when."""

from __future__ import annotations

from enum import Enum

from tcptutor.course.activity import Activity
from tcptutor.course.record import ActivityRecord, Response


class Sitting(Enum):
    """Learning tells at once and lets try again; a review asks once; an exam is silent until its end.

    `ended` is whether the sitting is over. Only an exam needs an end; the others may have one.
    """

    LEARN = "learn"
    REVIEW = "review"
    EXAM = "exam"

    @property
    def hints(self) -> bool:
        """Whether there are hints."""
        return self is not Sitting.EXAM

    @property
    def marks_at_once(self) -> bool:
        """Whether a response is told its mark at once; else at the end, and it may be changed until then."""
        return self is not Sitting.EXAM

    @property
    def retries(self) -> bool:
        """Whether a response that was told to be wrong may be tried again."""
        return self is Sitting.LEARN

    @property
    def afresh(self) -> bool:
        """Whether earlier responses are put aside. Runs are not: they may be asked about."""
        return self is not Sitting.LEARN

    def reveals(self, activity: Activity, ran: bool) -> bool:
        """Whether it is asked yet: what is about the page's run comes once that `ran`, in every sitting."""
        return ran or not activity.about_run

    def accepts(self, activity: Activity, record: ActivityRecord, ended: bool) -> bool:
        """Whether a response may be given now."""
        if ended or (activity.locked and record.attempts):
            return False
        return self.retries or not self.marks_at_once or not record.attempts

    def is_due(self, activity: Activity, record: ActivityRecord, ended: bool) -> bool:
        """Whether a response is still wanted."""
        return self.accepts(activity, record, ended) and not (
            record.right if self.retries else record.attempts
        )

    def counting(self, activity: Activity, record: ActivityRecord) -> Response | None:
        """The response that counts: a locked one is the first, learning takes a right one, else it is the latest."""
        if activity.locked:
            return record.first
        return record.right or record.latest if self.retries else record.latest

    def tells_mark(self, ended: bool) -> bool:
        """Whether it is said if a response is right, and why."""
        return self.marks_at_once or ended

    def explains(self, correct: bool | None, ended: bool) -> bool:
        """Whether the explanation is shown: it would give the answer away while there are tries left."""
        return self.tells_mark(ended) and (bool(correct) or not self.retries or ended)
