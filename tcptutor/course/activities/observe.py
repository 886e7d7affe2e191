"""Observe: what did the run show? The student's own samples decide which choice is right.

[[question]]
id = "the-start"
kind = "observe"
prompt = "What happened in the first second?"

[[question.choice]]                  # three or four
text = "The queue overflowed before the link was full"
feedback = "The losses come first in the chart, the full link later."
when = [{ quantity = "retransmissions", relation = "above", value = "0" }]

Each condition is written like a claim without `text` (`course.claim.RunCondition`); all of a choice must hold. On the
page of a sweep, `set` selects the value of the axis, and the quantity is the one that the sweep measures.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar

import msgspec

from tcptutor.base.errors import UsageError
from tcptutor.course.activities.choice import MIN_CHOICES, Alternative, ChoiceQuestion
from tcptutor.course.activity import (
    NO_RUN,
    Mark,
    MarkContext,
    Problem,
    Reference,
    Stage,
    chosen_indexes,
    entry_problems,
)
from tcptutor.course.claim import RunCondition
from tcptutor.course.page_record import Given, PageRecord
from tcptutor.spec import Experiment

if TYPE_CHECKING:
    from tcptutor.course.conditions import Figures

MAX_CHOICES = 4
_MOST_FIGURES = 4
"""Figures of the run that the feedback names."""


class Observation(Alternative, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Choice that is right if all its conditions hold on the run."""

    when: tuple[RunCondition, ...] = ()


class Observe(ChoiceQuestion, frozen=True, kw_only=True, tag_field="kind", tag="observe"):
    """Question between the run and its explanation, which stays hidden until the student has answered or skipped."""

    stage: ClassVar[Stage] = Stage.OBSERVE
    several: ClassVar[bool] = False
    against_run: ClassVar[bool] = True

    about_run: bool = True
    choices: tuple[Observation, ...] = msgspec.field(default=(), name="choice")

    def contradiction(self) -> Problem | None:
        if not self.about_run:
            return "about_run", "must be true: the run is what is observed"
        if len(self.choices) < 2:
            return "choice", "a question needs at least two choices"
        for number, choice in enumerate(self.choices, start=1):
            if choice.correct:
                return f"choice[{number}].correct", "is up to the run: remove it, and set `when`"
            if not choice.when:
                return f"choice[{number}].when", "is missing: give the conditions under which it is right"
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

    @property
    def conditions(self) -> tuple[RunCondition, ...]:
        """Conditions of all choices."""
        return tuple(condition for choice in self.choices for condition in choice.when)

    def holding(self, context: MarkContext) -> tuple[int, ...]:
        """Return the indexes of the choices that hold on the student's run or sweep.

        Raises:
            UsageError: There is no run yet.
        """
        figures = self._figures(context)
        return tuple(
            index for index, choice in enumerate(self.choices) if all(map(figures.holds, choice.when))
        )

    def _evidence(self, context: MarkContext) -> str:
        shown = self._figures(context).phrases(self.conditions)[:_MOST_FIGURES]
        return f"{'Your runs' if context.run is None else 'Your run'}: {', '.join(shown)}."

    def _figures(self, context: MarkContext) -> Figures:
        from tcptutor.course.conditions import Figures  # noqa: PLC0415  # the first frame needs no theory

        if not context.measured:
            raise UsageError("this question needs a complete run: press r to run it")
        return Figures(context.run, context.curve)

    def reference(self, context: MarkContext = NO_RUN) -> Reference:
        right = self.holding(context)[:1] if context.measured else ()
        return Reference(right=right or None, empty=())

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:
        """Mark a response; the empty one skips the question, and no response is wrong if no choice fits the run."""
        chosen = chosen_indexes(given, "a choice")
        if not chosen:
            return Mark(correct=None)
        if len(chosen) > 1 or not 0 <= chosen[0] < len(self.choices):
            raise UsageError(f"choose one of the {len(self.choices)} answers")
        holding, evidence = self.holding(context), self._evidence(context)
        if not holding:
            return Mark(correct=None, feedback="None of the answers fits this run.", evidence=evidence)
        choice, is_right = self.choices[chosen[0]], chosen[0] in holding
        detail = "" if is_right else choice.explanation
        return Mark(correct=is_right, feedback=choice.feedback, detail=detail, evidence=evidence)

    def is_done(self, page: PageRecord) -> bool:
        """Return True once the student has answered, right or wrong; a skipped question is not done."""
        latest = page.activity(self.id).latest
        return latest is not None and latest.answer != ()


TABLES = (Observe,)
