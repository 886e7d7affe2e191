"""Choice: pick the right alternative, or all right alternatives."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import msgspec

from tcptutor.base.errors import UsageError
from tcptutor.course.activity import (
    NO_RUN,
    Mark,
    MarkContext,
    Problem,
    Question,
    Reference,
    chosen_indexes,
    entry_problems,
)
from tcptutor.course.page_record import Given
from tcptutor.spec import Experiment

MIN_CHOICES = 3


class Alternative(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Alternative of a question: `[[question.choice]]`."""

    text: str
    correct: bool = False
    feedback: str
    """Reason it is right or wrong, shown after it was chosen."""


class ChoiceQuestion(Question, frozen=True, kw_only=True):
    """Base of single and multiple choice. A response is the chosen indexes, from 0."""

    several: ClassVar[bool]
    """True if several may be chosen."""

    choices: tuple[Alternative, ...] = msgspec.field(default=(), name="choice")

    @property
    def _right(self) -> frozenset[int]:
        return frozenset(index for index, choice in enumerate(self.choices) if choice.correct)

    def contradiction(self) -> Problem | None:
        right = len(self._right)
        if len(self.choices) < 2:
            return "choice", "a question needs at least two choices"
        if not right:
            return "choice", "no choice is correct: set `correct = true` on the right one"
        if right > 1 and not self.several:
            return "choice", f"{right} choices are correct: set kind = 'multiple', or keep one"
        return None

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:
        yield from super().problems(experiment)
        if len(self.choices) < MIN_CHOICES:
            yield "choice", f"{len(self.choices)} choices are too few: give {MIN_CHOICES} or more"
        yield from entry_problems("choice", tuple((choice.text, choice.feedback) for choice in self.choices))

    def reference(self, context: MarkContext = NO_RUN) -> Reference:  # noqa: ARG002
        return Reference(right=tuple(sorted(self._right)), empty=())

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:  # noqa: ARG002
        chosen = frozenset(chosen_indexes(given, "a choice"))
        if not chosen:
            raise UsageError("no answer is chosen yet: choose one first")
        if len(chosen) > 1 and not self.several:
            raise UsageError("this question has one answer: choose the best one")
        if not chosen <= set(range(len(self.choices))):
            raise UsageError(f"no such choice: choose from 1 to {len(self.choices)}")
        right = self._right
        # Feedback on a wrong choice helps more than praise for the right ones.
        shown = sorted(chosen - right or chosen)
        feedback = [self.choices[index].feedback for index in shown]
        if right - chosen and self.several:
            missed = len(right - chosen)
            feedback.append(f"{missed} right {'answer is' if missed == 1 else 'answers are'} still missing.")
        return Mark(correct=chosen == right, feedback="\n\n".join(feedback))


class SingleChoice(ChoiceQuestion, frozen=True, kw_only=True, tag_field="kind", tag="single"):
    """Question with a single right choice."""

    several: ClassVar[bool] = False


class MultipleChoice(ChoiceQuestion, frozen=True, kw_only=True, tag_field="kind", tag="multiple"):
    """Question answered by the set of all correct choices."""

    several: ClassVar[bool] = True


TABLES = (SingleChoice, MultipleChoice)
