"""Questions to ask again: answered wrong, right only with hints, or about a run's result."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import NamedTuple

from tcptutor.base.errors import UsageError
from tcptutor.course import duration
from tcptutor.course.activities.observe import Observe
from tcptutor.course.activities.read_off import ReadOff
from tcptutor.course.activity import Question
from tcptutor.course.outline import Course, Module
from tcptutor.course.page_record import ActivityRecord, PageRecord, Recall, day_of
from tcptutor.course.step import Step
from tcptutor.journal.fold import JournalRecord
from tcptutor.review.schedule import due_day

SESSION_S = 120.0
"""Time after which a session begins no further question, s."""


class CardId(NamedTuple):
    """A question of the course. It stays the same when the question's text is edited."""

    module: str
    step: str
    activity: str


class ReviewCard(NamedTuple):
    """An answered question that can be asked again."""

    module: Module
    step: Step
    question: Question
    record: ActivityRecord
    due: int | None
    """UTC day on which it is due, as a proleptic ordinal; None if it was right at once and is not asked again."""

    @property
    def id(self) -> CardId:
        return CardId(self.module.id, self.step.id, self.question.id)

    @property
    def was_sure_error(self) -> bool:
        """Return whether the latest answer was wrong and the student was sure of it."""
        return self.record.recalls[-1].recall == Recall.SURELY_WRONG

    @property
    def place(self) -> str:
        """Return "1.4 How much is enough"."""
        return f"{self.module.number}.{self.module.steps.index(self.step) + 1} {self.step.title}"


class Reviews(NamedTuple):
    """Cards of a student on a day."""

    today: int
    """UTC day, as a proleptic ordinal."""
    cards: tuple[ReviewCard, ...]
    """In the order of the course."""

    @property
    def due(self) -> tuple[ReviewCard, ...]:
        """Return the due cards, sure errors first, then by the day on which they were due."""
        due = [each for each in self.cards if each.due is not None and each.due <= self.today]
        return tuple(sorted(due, key=lambda each: (not each.was_sure_error, each.due)))

    @property
    def session(self) -> tuple[ReviewCard, ...]:
        """Return the due cards to ask in about two minutes."""
        return _for_a_session(self.due)

    @property
    def session_minutes(self) -> int:
        """Return the time that the session takes, min."""
        seconds = sum(duration.question_seconds(each.question) for each in self.session)
        return max(1, round(seconds / 60))

    def practice(self, asked: frozenset[CardId]) -> tuple[ReviewCard, ...]:
        """Return cards to ask in about two minutes though none is due: the weakest, without `asked` cards."""
        left = [each for each in self.cards if each.id not in asked] or [*self.cards]
        left.sort(key=lambda each: (each.due is None, each.record.recalls[-1].recall, each.due or 0))
        return _for_a_session(tuple(left))

    @property
    def next_due(self) -> tuple[int, int] | None:
        """Return the next day after today with due cards, and their number; None without due cards."""
        days = [each.due for each in self.cards if each.due is not None and each.due > self.today]
        return (min(days), days.count(min(days))) if days else None


def find_reviews(course: Course, record: JournalRecord, now: datetime) -> Reviews:
    """Find the cards of a student. Reads the pages of visited modules.

    Args:
        course: The course, with the student's own pages.
        record: The student's record.
        now: The time, with a zone.
    """
    last_day = day_of(course.marks.deadline)
    cards = [card for module in course.modules for card in _cards(module, record, last_day)]
    return Reviews(now.astimezone(UTC).toordinal(), tuple(cards))


def _cards(module: Module, record: JournalRecord, last_day: int | None) -> Iterator[ReviewCard]:
    pages = record.pages.get(module.id)
    for step in module.steps if pages else ():
        page = record.page(module.id, step.id)
        for question in step.activities_of(Question):
            found = page.activity(question.id)
            if found.recalls and _can_be_asked(question, step, page):
                try:
                    due = _due(question, found, last_day)
                except OverflowError:  # an event with a time at the end of the calendar
                    continue
                yield ReviewCard(module, step, question, found, due)


def _due(question: Question, record: ActivityRecord, last_day: int | None) -> int | None:
    is_observed = isinstance(question, Observe)
    if not is_observed and all(each.recall > Recall.HINTED for each in record.recalls):
        return None
    return due_day(record.recalls, last_day, is_observed=is_observed)


def _can_be_asked(question: Question, step: Step, page: PageRecord) -> bool:
    """Return whether the question can be asked without its page, and has not changed since the answer."""
    first = page.activity(question.id).first
    if first is None or first.correct is None or isinstance(question, ReadOff):
        return False
    if question.against_run:
        return step.has_run(page) and not isinstance(first.answer, str)
    try:
        question.with_numbers(first.draw).mark(first.answer)
    except UsageError:  # the lesson was edited since
        return False
    return True


def _for_a_session(cards: tuple[ReviewCard, ...]) -> tuple[ReviewCard, ...]:
    """Return the first cards that a session begins."""
    left = SESSION_S
    for number, card in enumerate(cards):
        if left <= 0:
            return cards[:number]
        left -= duration.question_seconds(card.question)
    return cards
