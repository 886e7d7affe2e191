"""Reviews in the app: the cards of now, and a question as a review asks it."""

from __future__ import annotations

import asyncio
import contextlib
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from tcptutor.base.errors import JournalError, UsageError
from tcptutor.course import personal
from tcptutor.course.activities.choice import Order
from tcptutor.course.activity import NO_RUN, Activity, MarkContext
from tcptutor.course.page_record import Given, Response, Sureness
from tcptutor.journal import Journal
from tcptutor.study import background
from tcptutor.study.live_sweep import LiveSweep, recall_sweep
from tcptutor.study.marking import MarkedResponse

if TYPE_CHECKING:
    from tcptutor.course.outline import Course
    from tcptutor.review import ReviewCard, Reviews


async def find_now(course: Course, journal: Journal) -> Reviews:
    """Find the cards of now. Reads lessons and imports `fsrs` in a thread.

    Raises:
        JournalError: The journal cannot be read.
    """
    record, folder = journal.record, journal.run_folder
    ended = {(run.module, run.step): run.file for run in record.runs.values() if run.ended and run.file}

    def has_run(card: ReviewCard) -> bool:
        file = ended.get((card.module.id, card.step.id))
        return bool(folder and file and (folder / file).exists())

    def find() -> Reviews:
        from tcptutor.review import find_reviews  # noqa: PLC0415  # not for the first frame

        found = find_reviews(course, record, datetime.now(UTC))
        cards = (card for card in found.cards if not card.question.against_run or has_run(card))
        return found._replace(cards=tuple(cards))

    return await asyncio.to_thread(find)


async def recall_run(journal: Journal, card: ReviewCard) -> MarkContext:
    """Load the run or sweep of a question; return `NO_RUN` for other questions, or if files are missing."""
    if not card.question.against_run:
        return NO_RUN
    with contextlib.suppress(JournalError):  # the app reports the failure
        files = journal.run_files(card.module.id, card.step.id)
        if card.step.sweep is not None:
            live = LiveSweep(card.module.id, card.step.id, card.step.sweep)
            async for _ in recall_sweep(live, files):
                pass
            return MarkContext(curve=live.curve)
        while (run := await background.first_readable(files)) is not None:
            if run.complete:
                return MarkContext(run=run)
    return NO_RUN


class ReviewQuestion:
    """A question as a review asks it: with numbers of its own, and answered once."""

    def __init__(
        self, card: ReviewCard, identity: str, context: MarkContext = NO_RUN, times: int = 0
    ) -> None:
        """Pose the question.

        Args:
            card: The question and the student's work on it.
            identity: The student's.
            context: Its run or sweep.
            times: How often it was practiced without being recorded, for other numbers.
        """
        self.card, self.context = card, context
        self._draw = _new_draw(card, identity, times)
        self.activity: Activity = card.question.with_numbers(self._draw)
        self.order = self.activity.shown_order(personal.order_seed(identity, *card.id))
        """Indexes of its choices in the student's order."""
        self.hints = 0
        """Hints shown."""
        self.response: Response | None = None
        """The answer; None until the student answers."""

    @property
    def can_be_asked(self) -> bool:
        """Return whether a right answer is known; not without its run, or if no choice fits the run."""
        try:
            return self.activity.reference(self.context).right is not None
        except UsageError:
            return False

    def answer(self, given: Given, sureness: Sureness | None) -> MarkedResponse:
        """Mark the answer, which is final.

        Raises:
            UsageError: It cannot be marked, and does not count.
        """
        mark = self.activity.mark(given, self.context)
        self.response = Response(given, mark.correct, draw=self._draw, sureness=sureness)
        explanation = self.activity.explanation
        if not mark.correct:
            sure = mark.detail if sureness == "sure" else ""
            explanation = "\n\n".join(filter(None, (sure, self._right_answer, explanation)))
        return MarkedResponse(given, mark, explanation, final=True, sureness=sureness)

    @property
    def _right_answer(self) -> str:
        right = self.activity.reference(self.context).right
        if right is None or (isinstance(right, str) and right in self.activity.explanation):
            return ""
        name = "order" if isinstance(self.activity, Order) else "answer"
        return f"The right {name}: {self.activity.in_words(right).rstrip('.')}."


def _new_draw(card: ReviewCard, identity: str, times: int) -> dict[str, str]:
    """Draw numbers that differ from the latest numbers on the page and from the previous draw."""
    on_page = card.record.latest.draw if card.record.latest else {}

    def draw(asked: int, again: int) -> dict[str, str]:
        return card.question.draw_numbers(personal.review_seed(identity, *card.id, asked, again))

    drawn: dict[str, str] = {}
    for asked in range(len(card.record.recalls) + times + 1):
        drawn = personal.draw_again(partial(draw, asked), drawn, on_page)
    return drawn
