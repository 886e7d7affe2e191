"""What the student has done in one step: kept in the journal, and in memory should the journal fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tcptutor import units
from tcptutor.course.model import Mark, Module, Question, Step
from tcptutor.course.record import PREDICT, Given, PageRecord, Response
from tcptutor.errors import JournalError, UsageError
from tcptutor.journal import Journal

_T = TypeVar("_T")


class Study:
    """One step, as this student did it. Owns the state that the page's widgets only draw."""

    def __init__(self, module: Module, step: Step, journal: Journal) -> None:
        self.module, self.step, self._journal = module, step, journal
        self.trouble = ""
        """Why the last thing could not be stored; empty when all is saved."""
        self._unsaved = False
        key = module.id, step.id
        self.page: PageRecord = self._store(lambda: journal.page(*key)) or PageRecord()
        self._store(lambda: journal.visit(*key))

    @property
    def prediction(self) -> Response | None:
        """The one that is locked."""
        return self.page.activity(PREDICT).first

    def predict(self, text: str) -> Response:
        """Lock a prediction. Raises UnitError, and then nothing is locked."""
        assert self.step.predict is not None
        value = units.parse(text, self.step.predict.unit)
        return self._lock(text.strip(), value)

    def skip_prediction(self) -> Response:
        """Lock that there is none."""
        return self._lock("", None)

    @property
    def must_predict(self) -> bool:
        """Whether the page asks for a prediction and has none."""
        return self.step.predict is not None and self.prediction is None

    def answer(self, question: Question, answer: Given) -> Mark:
        """Mark an answer and record the attempt. Raises UnitError, which is not an attempt."""
        from tcptutor.course import mark  # noqa: PLC0415  # with its marking rules, not needed for the first frame

        result = mark(question, answer)
        self._respond(question.id, Response(answer, result.correct))
        return result

    def mark_again(self, question: Question, attempt: Response) -> Mark:
        """What an earlier attempt is told now: the lesson may have been edited since."""
        from tcptutor.course import mark  # noqa: PLC0415

        try:
            return mark(question, attempt.given)
        except UsageError:
            return Mark(correct=bool(attempt.correct), feedback="")

    def last_attempt(self, question: Question) -> Response | None:
        """The right answer once there is one, else the latest."""
        record = self.page.activity(question.id)
        return record.right or record.latest

    def is_right(self, question: Question) -> bool:
        return self.page.activity(question.id).right is not None

    def hint(self, target: str, hints: tuple[str, ...]) -> bool:
        """Show one level more of the target's hints; False when there is none left."""
        level = self.page.activity(target).hints + 1
        if level > len(hints):
            return False
        self.page = self.page.hinted(target, level)
        self._store(lambda: self._journal.hint(self.module.id, self.step.id, target, level))
        return True

    def _lock(self, text: str, value: float | None) -> Response:
        if self.prediction is None:
            self._respond(PREDICT, Response(text, None, value=value))
        assert self.prediction is not None
        return self.prediction

    def _respond(self, activity: str, response: Response) -> None:
        key = self.module.id, self.step.id
        stored = self._store(lambda: self._journal.respond(*key, activity, response))
        # What another program locked before counts; but what could not be stored is here alone.
        self._unsaved |= stored is None
        self.page = stored if stored and not self._unsaved else self.page.responded(activity, response)

    def _store(self, use: Callable[[], _T]) -> _T | None:
        try:
            result = use()
        except JournalError as error:
            self.trouble = str(error)
            return None
        self.trouble = ""
        return result
