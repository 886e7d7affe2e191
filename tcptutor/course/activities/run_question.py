"""Base of questions about the run just made, asked before its explanation: the student's own samples decide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar, NamedTuple

from tcptutor.base.errors import UsageError
from tcptutor.course.activities.choice import MIN_CHOICES, Alternative, ChoiceQuestion
from tcptutor.course.activity import (
    NO_RUN,
    Mark,
    MarkContext,
    Problem,
    Reference,
    Stage,
    entry_problems,
)
from tcptutor.course.page_record import Given, PageRecord
from tcptutor.spec import Experiment

MAX_CHOICES = 4


class Outcome(NamedTuple):
    """Verdict of a run on the choices."""

    holding: tuple[int, ...]
    """Indexes of the choices that hold."""
    evidence: str
    """Result of the run that answers the question, as a sentence."""


class RunQuestion(ChoiceQuestion, frozen=True, kw_only=True):
    """Question between the run and its explanation, which stays hidden until the student has answered or skipped."""

    stage: ClassVar[Stage] = Stage.OBSERVE
    several: ClassVar[bool] = False
    against_run: ClassVar[bool] = True

    about_run: bool = True

    def outcome(self, context: MarkContext) -> Outcome:
        """Return which choices hold on the student's run or sweep, and why.

        Raises:
            UsageError: The student has no run yet.
        """
        raise NotImplementedError

    def choice_contradiction(self, choice: Alternative) -> Problem | None:  # noqa: ARG002
        """Return the missing key of a choice and the reason, or None."""
        return None

    def contradiction(self) -> Problem | None:
        if not self.about_run:
            return "about_run", "must be true: the run is what the question is about"
        if len(self.choices) < 2:
            return "choice", "a question needs at least two choices"
        for number, choice in enumerate(self.choices, start=1):
            if choice.correct:
                return f"choice[{number}].correct", "is up to the run: remove it"
            if (problem := self.choice_contradiction(choice)) is not None:
                return f"choice[{number}].{problem[0]}", problem[1]
        if len(set(self.entry_ids)) < len(self.choices):
            return "choice", "two choices have the same text or id: stored answers could not tell them apart"
        return None

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:
        for key in ("id", "prompt"):
            if not getattr(self, key).strip():
                yield key, "is empty"
        if experiment is None:
            yield "kind", "needs an experiment or a sweep on this page"
        if not MIN_CHOICES <= len(self.choices) <= MAX_CHOICES:
            yield "choice", f"{len(self.choices)} choices: give {MIN_CHOICES} or {MAX_CHOICES}"
        yield from entry_problems("choice", tuple((choice.text, choice.feedback) for choice in self.choices))

    def reference(self, context: MarkContext = NO_RUN) -> Reference:
        holding = self.outcome(context).holding[:1] if context.measured else ()
        return Reference(right=tuple(self.entry_ids[index] for index in holding) or None, empty=())

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:
        """Mark a response; an empty response skips, and if no choice fits the run, no response is wrong."""
        chosen = self.entry_indexes(given, "a choice")
        if not chosen:
            return Mark(correct=None)
        if len(chosen) > 1:
            raise UsageError(f"choose one of the {len(self.choices)} answers")
        holding, evidence = self.outcome(context)
        if not holding:
            return Mark(correct=None, feedback="None of the answers fits this run.", evidence=evidence)
        choice, is_right = self.choices[chosen[0]], chosen[0] in holding
        detail = "" if is_right else choice.explanation
        return Mark(correct=is_right, feedback=choice.feedback, detail=detail, evidence=evidence)

    def is_done(self, page: PageRecord) -> bool:
        """Return True once the student has answered, right or wrong; a skipped question is not done."""
        latest = page.activity(self.id).latest
        return latest is not None and latest.answer != ()


TABLES = ()
