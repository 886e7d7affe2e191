"""Observation of the run: the student's own samples decide which choice is right.

[[question]]
id = "the-start"
kind = "observe"
prompt = "What happened in the first second?"

[[question.choice]]                  # three or four
text = "The queue overflowed before the link was full"
feedback = "The losses come first in the chart, the full link later."
when = [{ quantity = "retransmissions", relation = "above", value = "0" }]

Each condition is written like a claim without `text`; all of a choice must hold. On the
page of a sweep, `set` selects the value of the axis, and the quantity is the sweep's measure.
"""

from __future__ import annotations

import msgspec

from tcptutor.base.errors import UsageError
from tcptutor.base.key_names import key_name
from tcptutor.course.activities.choice import Alternative
from tcptutor.course.activities.run_question import Outcome, RunQuestion
from tcptutor.course.activity import MarkContext, Problem
from tcptutor.course.claim import RunCondition

_MOST_FIGURES = 4
"""Figures of the run that the feedback names."""


class Observation(Alternative, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Choice that is right if all its conditions hold on the run."""

    when: tuple[RunCondition, ...] = ()
    """Conditions of the run; all of them hold if the choice is right."""


class Observe(RunQuestion, frozen=True, kw_only=True, tag_field="kind", tag="observe"):
    """Question about the result of the run."""

    choices: tuple[Observation, ...] = msgspec.field(default=(), name="choice")

    def choice_contradiction(self, choice: Alternative) -> Problem | None:
        if isinstance(choice, Observation) and not choice.when:
            return "when", "is missing: give the conditions under which it is right"
        return None

    @property
    def conditions(self) -> tuple[RunCondition, ...]:
        """Conditions of all choices."""
        return tuple(condition for choice in self.choices for condition in choice.when)

    def outcome(self, context: MarkContext) -> Outcome:
        from tcptutor.course.conditions import Figures  # noqa: PLC0415  # the first frame needs no theory

        if not context.measured:
            raise UsageError(f"this question needs a complete run: press {key_name('lesson.run')} to run it")
        figures = Figures(context.run, context.curve)
        holding = (at for at, choice in enumerate(self.choices) if all(map(figures.holds, choice.when)))
        shown = ", ".join(figures.phrases(self.conditions)[:_MOST_FIGURES])
        return Outcome(tuple(holding), f"{'Your runs' if context.run is None else 'Your run'}: {shown}.")


TABLES = (Observe,)
