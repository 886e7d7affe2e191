"""A student's work on a page, as plain data that decides which activities are done."""

from __future__ import annotations

from datetime import UTC, datetime
from enum import IntEnum
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from tcptutor.course.personal import SEEDS

Given: TypeAlias = str | tuple[str, ...]
"""Response as stored: the typed text, or the ids of the chosen entries, independent of their place on the page."""


Sureness: TypeAlias = Literal["guessing", "fairly", "sure"]
"""Sureness of a response; never affects marks."""


def moment(text: str) -> datetime | None:
    """Parse an ISO 8601 time with a zone; return None for any other text."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else None


def day_of(at: str) -> int | None:
    """Return the UTC day of an ISO 8601 time, as a proleptic ordinal; None for any other text."""
    found = moment(at)
    try:
        return found.astimezone(UTC).toordinal() if found else None
    except OverflowError:  # the first or the last day of the calendar
        return None


PREDICT = "predict"
"""Id of the page's prediction."""


class Response(msgspec.Struct, frozen=True, omit_defaults=True):
    """Response to an activity."""

    answer: Given
    correct: bool | None
    """Mark at the time of the response; None if it cannot be right or wrong, as for a prediction."""
    at: str = ""
    """Wall-clock time, ISO 8601 with zone."""
    value: float | None = None
    """Prediction: the number in its base unit, None if it was skipped. Challenge: the number of changed
    knobs."""
    draw: dict[str, str] = {}
    """Numbers in the question as the student saw them, needed to mark it again."""
    sureness: Sureness | None = None
    """None if the student did not say."""


class Recall(IntEnum):
    """Quality of a recalled answer, worst first."""

    SURELY_WRONG = 0
    WRONG = 1
    HINTED = 2
    """Right with a hint, or a hint without an answer."""
    RIGHT = 3
    SURELY_RIGHT = 4

    @classmethod
    def of(cls, response: Response) -> Recall | None:
        """Return the recall that a response shows; None if it has no mark."""
        if response.correct is None:
            return None
        is_sure = response.sureness == "sure"
        if response.correct:
            return cls.SURELY_RIGHT if is_sure else cls.RIGHT
        return cls.SURELY_WRONG if is_sure else cls.WRONG


class RecallDay(NamedTuple):
    """The worst recall of a question on a day."""

    day: int
    """UTC day, as a proleptic ordinal."""
    recall: Recall


def with_recall(recalls: tuple[RecallDay, ...], at: str, recall: Recall | None) -> tuple[RecallDay, ...]:
    """Return the days with a recall at the ISO 8601 time `at`; None is no recall."""
    day = day_of(at) if recall is not None else None
    if day is None or recall is None:
        return recalls
    if recalls and recalls[-1].day == day:  # most often
        return recalls if recalls[-1].recall <= recall else (*recalls[:-1], RecallDay(day, recall))
    # In order of days, whatever the order of events: journals of two machines may be merged.
    days = dict(recalls)
    days[day] = min(days.get(day, recall), recall)
    return tuple(RecallDay(*each) for each in sorted(days.items()))


class ActivityRecord(msgspec.Struct, frozen=True):
    """A student's work on an activity."""

    attempts: int = 0
    hints: int = 0
    """Highest hint level shown."""
    first: Response | None = None
    """The response that counts for a prediction."""
    latest: Response | None = None
    right: Response | None = None
    """First response marked right."""
    best: float | None = None
    """Lowest value among right responses, for a challenge the fewest changed knobs; None without values."""
    measured: float | None = None
    """Prediction: the value measured by the first run after it, in the base unit."""
    sure_error: Response | None = None
    """The latest wrong response of which the student was sure."""
    recalls: tuple[RecallDay, ...] = ()
    """Days with an answer or a hint, on the page or in a review, in order."""

    def with_response(self, response: Response) -> ActivityRecord:
        """Return the record with a response added."""
        is_sure_error = response.sureness == "sure" and response.correct is False
        values = [self.best, response.value if response.correct else None]
        return msgspec.structs.replace(
            self,
            attempts=self.attempts + 1,
            first=self.first or response,
            latest=response,
            right=self.right or (response if response.correct else None),
            sure_error=response if is_sure_error else self.sure_error,
            best=min((value for value in values if value is not None), default=None),
            recalls=with_recall(self.recalls, response.at, Recall.of(response)),
        )

    def with_measurement(self, measured: float) -> ActivityRecord:
        """Return the record with the measured value of a prediction; a later value is ignored."""
        return self if self.measured is not None else msgspec.structs.replace(self, measured=measured)

    @property
    def ratio(self) -> float | None:
        """Prediction over measurement; None before the run."""
        value = self.first.value if self.first else None
        return value / self.measured if value and self.measured else None

    @property
    def factor(self) -> float | None:
        """Ratio between prediction and measurement, at least 1; None before the run."""
        return max(self.ratio, 1 / self.ratio) if self.ratio else None

    def with_hints(self, level: int, at: str = "") -> ActivityRecord:
        """Return the record with hints up to `level` shown at that time."""
        recalls = with_recall(self.recalls, at, Recall.HINTED)
        return msgspec.structs.replace(self, hints=max(self.hints, level), recalls=recalls)

    def with_review(self, response: Response, hints: int) -> ActivityRecord:
        """Return the record after a review, which leaves the work on the page as it is."""
        recall = Recall.of(response)
        if hints and recall is not None:
            recall = min(recall, Recall.HINTED)
        return msgspec.structs.replace(self, recalls=with_recall(self.recalls, response.at, recall))


class TeacherComment(msgspec.Struct, frozen=True):
    """A teacher's comment on a page."""

    text: str
    activity: str = ""
    """Id of the activity; empty for a comment on the page."""
    by: str = ""
    """Name of the teacher, if given."""
    is_new: bool = True
    """True until the page was opened again."""


class PageRecord(msgspec.Struct, frozen=True):
    """A student's work on a page; the default is a page never opened."""

    visited: bool = False
    runs: int = 0
    """Runs started."""
    whole_runs: int = 0
    """Runs completed."""
    last_seed: int | None = None
    """Furthest seed of a complete run since the last enrollment; the next run uses the seed after it. None
    before the first."""
    activities: dict[str, ActivityRecord] = {}
    """By activity id."""
    note: str = ""
    """The student's own text on the page."""
    comments: tuple[TeacherComment, ...] = ()
    """The teacher's comments on the page, in the order they were read in."""
    bookmarked: bool = False
    skipped: bool = False
    """True if the student marked the page to skip."""
    archived: PageRecord | None = None
    """Work before the latest reset."""
    earlier_runs: int = 0
    """Complete runs before the latest reset: seeds go on counting."""
    earlier_attempts: dict[str, int] = {}
    """Responses before the latest reset, by activity id: draws of numbers go on counting."""

    @property
    def has_work(self) -> bool:
        """True if the page has a response, a hint or a run."""
        return bool(self.activities or self.runs)

    @property
    def is_touched(self) -> bool:
        """True if a reset would change the page."""
        return self.visited or self.skipped or self.has_work

    def afresh(self) -> PageRecord:
        """Return the record after a reset: seeds and draws continue, so that grading finds this student's numbers."""
        if not self.has_work:
            return msgspec.structs.replace(self, visited=False, skipped=False)
        return PageRecord(
            last_seed=self.last_seed,
            note=self.note,
            comments=self.comments,
            bookmarked=self.bookmarked,
            archived=msgspec.structs.replace(self, archived=None),
            earlier_runs=self.earlier_runs + self.whole_runs,
            earlier_attempts={
                id: self.all_attempts(id) for id in {**self.earlier_attempts, **self.activities}
            },
        )

    def restored(self) -> PageRecord:
        """Return the record before the latest reset; unchanged without a reset, or after new work."""
        if self.archived is None or self.has_work:
            return self
        return msgspec.structs.replace(
            self.archived, note=self.note, comments=self.comments, bookmarked=self.bookmarked
        )

    def opened(self) -> PageRecord:
        """Return the record once the page was on the screen, with its comments."""
        read = tuple(msgspec.structs.replace(comment, is_new=False) for comment in self.comments)
        return msgspec.structs.replace(self, visited=True, comments=read)

    def with_comment(self, comment: TeacherComment) -> PageRecord:
        """Return the record with the comment added, once."""
        known = {(each.activity, each.text) for each in self.comments}
        if (comment.activity, comment.text) in known:
            return self
        return msgspec.structs.replace(self, comments=(*self.comments, comment))

    def all_attempts(self, id: str) -> int:
        """Return the number of responses to that activity, including responses before a reset."""
        return self.earlier_attempts.get(id, 0) + self.activity(id).attempts

    def with_run(self, whole: bool, seed: int) -> PageRecord:
        """Return the record after a run with that seed has ended, complete or interrupted."""
        if not whole:
            return self
        last = self.last_seed
        if last is None or 0 < (seed - last) % SEEDS < SEEDS // 2:  # seeds wrap around
            last = seed
        return msgspec.structs.replace(self, whole_runs=self.whole_runs + 1, last_seed=last)

    def activity(self, id: str) -> ActivityRecord:
        """Return the record of that activity; empty if the student has not started it."""
        return self.activities.get(id) or ActivityRecord()

    def with_response(self, id: str, response: Response) -> PageRecord:
        """Return the record with a response to that activity added."""
        return self.with_activity(id, self.activity(id).with_response(response))

    def without_responses(self, id: str) -> PageRecord:
        """Return the record without that activity's responses; unchanged once a run has started."""
        if self.runs:
            return self
        return self.with_activity(id, ActivityRecord(hints=self.activity(id).hints))

    def with_hints(self, id: str, level: int, at: str = "") -> PageRecord:
        """Return the record with that activity's hints up to `level` shown at that time."""
        return self.with_activity(id, self.activity(id).with_hints(level, at))

    def with_activity(self, id: str, activity: ActivityRecord) -> PageRecord:
        """Return the record with that activity's record replaced."""
        return msgspec.structs.replace(self, activities={**self.activities, id: activity})
