"""What the student has done in one step: kept in the journal, and in memory should the journal fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tcptutor import units
from tcptutor.course.model import Mark, Module, Question, Step
from tcptutor.errors import JournalError, UsageError
from tcptutor.journal import Answer, Journal, Kept

_T = TypeVar("_T")

PREDICT = "predict"
"""The target of a prediction's hints, beside the questions' ids."""


class Study:
    """One step, as this student did it. Owns the state that the page's widgets only draw."""

    def __init__(self, module: Module, step: Step, journal: Journal) -> None:
        self.module, self.step, self._journal = module, step, journal
        self.trouble = ""
        """Why the last thing could not be stored; empty when all is saved."""
        key = module.id, step.id
        self.prediction: Kept | None = self._store(lambda: journal.prediction(*key))
        self.hints: dict[str, int] = self._store(lambda: journal.hints(*key)) or {}
        self.attempts: list[Answer] = self._store(lambda: journal.answers(*key)) or []
        self._store(lambda: journal.set_position(*key))

    def predict(self, text: str) -> Kept:
        """Lock a prediction. Raises UnitError, and then nothing is locked."""
        assert self.step.predict is not None
        value = units.parse(text, self.step.predict.unit)
        return self._lock(text.strip(), value)

    def skip_prediction(self) -> Kept:
        """Lock that there is none."""
        return self._lock("", None)

    @property
    def must_predict(self) -> bool:
        """Whether the page asks for a prediction and has none."""
        return self.step.predict is not None and self.prediction is None

    def answer(self, question: Question, answer: tuple[int, ...] | str) -> Mark:
        """Mark an answer and record the attempt. Raises UnitError, which is not an attempt."""
        from tcptutor.course import mark  # noqa: PLC0415  # with its marking rules, not needed for the first frame

        result = mark(question, answer)
        self.attempts.append(Answer(question.id, answer, result.correct, ""))
        key = self.module.id, self.step.id
        self._store(lambda: self._journal.record_answer(*key, question.id, answer, result.correct))
        return result

    def mark_again(self, question: Question, attempt: Answer) -> Mark:
        """What an earlier attempt is told now: the lesson may have been edited since."""
        from tcptutor.course import mark  # noqa: PLC0415

        try:
            return mark(question, attempt.answer)
        except UsageError:
            return Mark(correct=attempt.correct, feedback="")

    def last_attempt(self, question: Question) -> Answer | None:
        """The right answer once there is one, else the latest."""
        attempts = [attempt for attempt in self.attempts if attempt.question == question.id]
        return next((attempt for attempt in attempts if attempt.correct), attempts[-1] if attempts else None)

    def is_right(self, question: Question) -> bool:
        attempt = self.last_attempt(question)
        return attempt is not None and attempt.correct

    def hint(self, target: str, hints: tuple[str, ...]) -> bool:
        """Show one level more of the target's hints; False when there is none left."""
        level = self.hints.get(target, 0) + 1
        if level > len(hints):
            return False
        self.hints[target] = level
        self._store(lambda: self._journal.record_hint(self.module.id, self.step.id, target, level))
        return True

    def _lock(self, text: str, value: float | None) -> Kept:
        if self.prediction is None:
            kept = self._store(
                lambda: self._journal.record_prediction(self.module.id, self.step.id, text, value)
            )
            self.prediction = kept or Kept(text, value, "")
        return self.prediction

    def _store(self, use: Callable[[], _T]) -> _T | None:
        try:
            result = use()
        except JournalError as error:
            self.trouble = str(error)
            return None
        self.trouble = ""
        return result
