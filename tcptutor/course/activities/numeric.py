"""Calculate: a number with its unit, marked with a tolerance; its inputs may be drawn at random."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import msgspec

from tcptutor.base import units
from tcptutor.base.errors import UnitError, UsageError
from tcptutor.course import draws
from tcptutor.course.activity import (
    NO_RUN,
    Mark,
    MarkContext,
    Problem,
    Question,
    Reference,
    interpret_number,
    is_sentence,
    typed_text,
)
from tcptutor.course.draws import AnswerUnit, Draw, Drawn
from tcptutor.course.page_record import Given
from tcptutor.course.quantities import ParsedQuantity, expression, is_close, slip
from tcptutor.spec import Experiment

MAX_TOLERANCE = 0.25
"""Largest useful relative tolerance."""
MIN_TOLERANCE_DRAWN = 0.01
"""Smallest relative tolerance for drawn answers, which are rarely round numbers."""
SAMPLE_DRAWS = 100
"""Draws the linter evaluates."""
_DRAWS_WITH_TEXTS = 10
"""Sampled draws for which the linter also fills in the texts, which takes longer."""


ExampleSet = Literal["window", "bdp", "mathis", "sawtooth", "slow-start", "fairness"]
"""Calculations that the course introduces with worked examples."""


class KnownMistake(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Common wrong value: `[[question.mistake]]`."""

    value: str
    """Number with its unit; with drawn numbers, an expression."""
    feedback: str
    """Replaces the question's feedback."""


class Numeric(Question, frozen=True, kw_only=True, tag_field="kind", tag="numeric"):
    """Question answered with a typed number."""

    answer: str
    """Right value with its unit; with drawn numbers, an expression for it in the base unit."""
    unit: AnswerUnit
    """Kind of quantity."""
    tolerance: float = 0.05
    """Relative difference that still counts."""
    feedback: str = ""
    """Shown for a wrong value."""
    mistakes: tuple[KnownMistake, ...] = msgspec.field(default=(), name="mistake")
    draw: dict[str, Drawn] = msgspec.field(default_factory=dict)
    """Numbers to draw anew for each attempt."""
    example: ExampleSet | None = None
    """Worked examples that prepare the question: a solved example and an example with a gap precede it."""

    @property
    def answer_format(self) -> str:
        """Format of an answer."""
        return units.EXAMPLES[self.unit]

    @property
    def plain_unit(self) -> str:
        """Unit of a plain number; the same on every page, so that it does not hint at the answer."""
        return units.FIELD_UNITS[self.unit]

    # Drawn numbers

    @property
    def example_draw(self) -> dict[str, str]:
        return self.draw_numbers("example")

    def draw_numbers(self, seed: str) -> dict[str, str]:
        return draws.drawn(self.draw, seed)

    def with_numbers(self, draw: Draw) -> Numeric:
        if not self.draw:
            return self
        if draw.keys() != self.draw.keys():
            raise UsageError("the question uses other numbers now: answer it again")
        quantities = draws.in_base_units(draw)
        answer = ParsedQuantity(expression(self.answer).value(quantities), self.unit)

        def filled(text: str) -> str:
            return draws.filled(text, draw, answer)

        mistakes = tuple(
            KnownMistake(
                value=draws.write(ParsedQuantity(expression(each.value).value(quantities), self.unit)),
                feedback=filled(each.feedback),
            )
            for each in self.mistakes
        )
        return msgspec.structs.replace(
            self,
            prompt=filled(self.prompt),
            hints=tuple(filled(hint) for hint in self.hints),
            explanation=filled(self.explanation),
            feedback=filled(self.feedback),
            answer=draws.write(answer),
            mistakes=mistakes,
            draw={},
        )

    def interpret(self, given: Given) -> str:
        return interpret_number(given, self.unit, self.plain_unit)

    # Mistakes

    def contradiction(self) -> Problem | None:
        if not 0 <= self.tolerance < 1:
            reason = f"{self.tolerance:g} is out of bounds: a relative difference, 0 to 0.99"
            return "tolerance", reason
        if self.draw:
            return self._wrong_draw()
        for key, text in self._values:
            try:
                units.parse(text, self.unit)
            except UnitError as error:
                return key, str(error)
        return None

    @property
    def _values(self) -> Iterator[tuple[str, str]]:
        """Keys and texts of the right value and of the mistakes."""
        yield "answer", self.answer
        for number, each in enumerate(self.mistakes, start=1):
            yield f"mistake[{number}].value", each.value

    def _wrong_draw(self) -> Problem | None:
        for name in draws.unfit_names(self.draw):
            return f"draw.{name}", "is not a valid name: use a short lower-case word"
        for name, values in self.draw.items():
            try:
                draws.values(values)
            except UsageError as error:
                return f"draw.{name}", str(error)
        for key, text in self._values:
            try:
                expression(text).check(self.draw)
            except UsageError as error:
                return key, str(error)
        try:
            self.with_numbers(self.example_draw)
        except UsageError as error:
            return "draw", str(error)
        return None

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:
        if self.draw:
            unusable = list(self._problems_of_draws())
            yield from unusable
            if any(key == "answer" for key, _ in unusable):
                return
            keys = {key for key, _ in unusable}
            posed = self.with_numbers(self.example_draw).problems(experiment)
            yield from (problem for problem in posed if problem[0] not in keys)
            return
        yield from super().problems(experiment)
        if not is_sentence(self.feedback):
            yield "feedback", "needs a sentence for a wrong value that says why"
        if self.tolerance > MAX_TOLERANCE:
            yield "tolerance", f"{self.tolerance:g} is more than {MAX_TOLERANCE:g}"
        right = units.parse(self.answer, self.unit)
        for number, each in enumerate(self.mistakes, start=1):
            if not is_sentence(each.feedback):
                yield f"mistake[{number}].feedback", "needs a sentence that says what went wrong"
            if is_close(units.parse(each.value, self.unit), right, relative=self.tolerance):
                yield (
                    f"mistake[{number}].value",
                    "is within the tolerance of the answer, so its feedback is never shown",
                )

    def _problems_of_draws(self) -> Iterator[Problem]:
        """Yield the distinct problems found in the sampled draws."""
        if self.unit != "count" and self.tolerance < MIN_TOLERANCE_DRAWN:
            yield "tolerance", f"{self.tolerance:g} needs more digits than a drawn answer has"
        texts = (
            self.prompt,
            *self.hints,
            self.explanation,
            self.feedback,
            *(each.feedback for each in self.mistakes),
        )
        used = frozenset[str]().union(
            *(expression(text).names for _, text in self._values), *map(draws.names_in, texts)
        )
        for name in self.draw:
            if name not in used:
                yield f"draw.{name}", "is drawn but never used: use it in `prompt` and `answer`"
            elif name not in draws.placeholders(self.prompt):
                yield "prompt", f"does not contain {{{name}}}, which is drawn"
        reported: set[Problem] = set()
        printed = {
            (level, each)
            for level, hint in enumerate(self.hints, start=1)
            for each in draws.placeholders(hint)
        }
        """Placeholders in hints that equaled the answer in every draw so far."""
        for number in range(SAMPLE_DRAWS):
            draw = self.draw_numbers(str(number))
            for problem in self._problems_of_draw(draw, with_texts=number < _DRAWS_WITH_TEXTS):
                if problem[0] not in {key for key, _ in reported}:
                    reported.add(problem)
                    yield problem
            if any(key == "answer" for key, _ in reported):
                return
            printed = {each for each in printed if self._is_answer(each[1], draw)}
        for level, placeholder in sorted(printed):
            yield (
                f"hints[{level}]",
                f"contains the answer, {{{placeholder}}}: leave the last step to the student",
            )

    def _problems_of_draw(self, draw: Draw, with_texts: bool) -> Iterator[Problem]:
        quantities = draws.in_base_units(draw)
        values = ", ".join(f"{name} = {written}" for name, written in draw.items())
        try:
            right = expression(self.answer).value(quantities)
        except UsageError as error:
            yield "answer", f"{error} with {values}"
            return
        if right <= 0:
            yield "answer", f"is {right:g} with {values}: an answer must be above 0"
            return
        if self.unit == "count" and right != round(right):
            yield "answer", f"is {right:g} with {values}: a count is an integer, use ceil() or floor()"
        for number, each in enumerate(self.mistakes, start=1):
            try:
                value = expression(each.value).value(quantities)
            except UsageError as error:
                yield f"mistake[{number}].value", f"{error} with {values}"
            else:
                if is_close(value, right, relative=self.tolerance):
                    yield f"mistake[{number}].value", f"is within the tolerance of the answer with {values}"
        if with_texts:
            try:
                self.with_numbers(draw)
            except UsageError as error:
                yield "draw", f"{error} with {values}"

    def _is_answer(self, placeholder: str, draw: Draw) -> bool:
        quantities: Mapping[str, float] = draws.in_base_units(draw)
        right = ParsedQuantity(expression(self.answer).value(quantities), self.unit)
        if placeholder in quantities:
            return is_close(quantities[placeholder], right.value, relative=self.tolerance)
        found = draws.worked_out(placeholder, quantities, right)
        return found.kind == right.kind and is_close(found.value, right.value, relative=self.tolerance)

    # Marking

    def reference(self, context: MarkContext = NO_RUN) -> Reference:  # noqa: ARG002
        return Reference(right=self.with_numbers(self.example_draw).answer, empty="")

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:  # noqa: ARG002
        """Mark a response; a question with draws that has no numbers yet uses its example draw."""
        if self.draw:
            return self.with_numbers(self.example_draw).mark(given)
        value = units.parse(typed_text(given, self.answer_format), self.unit, self.plain_unit)
        right = units.parse(self.answer, self.unit)
        if is_close(value, right, relative=self.tolerance):
            return Mark(correct=True, feedback=f"The answer is {self.answer}.")
        known = self._known_mistake(value)
        if known:
            return Mark(correct=False, feedback=known.feedback, detail=self.feedback)
        return Mark(correct=False, feedback=f"{slip(value, right, self.unit)}{self.feedback}".strip())

    def _known_mistake(self, value: float) -> KnownMistake | None:
        near = [
            (abs(value - wrong), number)
            for number, each in enumerate(self.mistakes)
            if is_close(
                value, wrong := units.parse(each.value, self.unit), max(self.tolerance, MIN_TOLERANCE_DRAWN)
            )
        ]
        return self.mistakes[min(near)[1]] if near else None


TABLES = (Numeric,)
