"""Calculate: a number with its unit, marked with a tolerance."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from tcptutor import units
from tcptutor.course import prose
from tcptutor.course.activity import NO_RUN, Mark, MarkContext, Problem, Question, Reference, typed_text
from tcptutor.course.marking import is_close, slip
from tcptutor.course.record import Given
from tcptutor.errors import UnitError
from tcptutor.spec import Experiment

MAX_TOLERANCE = 0.25
"""Relative; a question that takes more than a quarter off asks for nothing."""


class Numeric(Question, frozen=True, kw_only=True, tag_field="kind", tag="numeric"):
    """A response is the number as typed."""

    answer: str
    """The right value with its unit."""
    unit: Literal["rate", "time", "ratio", "size", "count"]
    tolerance: float = 0.05
    """Relative difference that still counts."""
    feedback: str = ""
    """What a wrong value is told."""

    @property
    def example(self) -> str:
        """How an answer is written."""
        return units.EXAMPLES[self.unit]

    @property
    def plain_unit(self) -> str:
        """The unit of a number without one; the same on every page, so that it tells nothing of the answer."""
        return units.FIELD_UNITS[self.unit]

    def contradiction(self) -> Problem | None:
        if not 0 <= self.tolerance < 1:
            reason = f"{self.tolerance:g} is out of bounds: a relative difference, 0 to 0.99"
            return "tolerance", reason
        try:
            units.parse(self.answer, self.unit)
        except UnitError as error:
            return "answer", str(error)
        return None

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:
        yield from super().problems(experiment)
        if not prose.is_sentence(self.feedback):
            yield "feedback", "a wrong value needs a sentence that says why"
        if self.tolerance > MAX_TOLERANCE:
            yield "tolerance", f"{self.tolerance:g} is more than {MAX_TOLERANCE:g}"

    def reference(self, context: MarkContext = NO_RUN) -> Reference:  # noqa: ARG002
        return Reference(right=self.answer, empty="")

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:  # noqa: ARG002
        value = units.parse(typed_text(given, self.example), self.unit, self.plain_unit)
        right = units.parse(self.answer, self.unit)
        if is_close(value, right, relative=self.tolerance):
            return Mark(correct=True, feedback=f"Right: {self.answer}.")
        return Mark(correct=False, feedback=f"{slip(value, right, self.unit)}{self.feedback}".strip())


TABLES = (Numeric,)
