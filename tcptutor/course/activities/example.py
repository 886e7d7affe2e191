"""Worked examples that fade: solved step by step, then with a gap, then a numeric question.

[[example]]
id = "one-window"
set = "window"                       # the numeric question that follows has `example = "window"`
prompt = "A window of 64 KiB, an RTT of 20 ms. How fast is it?"

[[example.step]]
text = "64 KiB are 65,536 bytes, or 524,288 bits."

[[example.step]]                     # at most one step has an answer: the gap
text = "They leave in each RTT of 20 ms. Per second that is"
answer = "26.2 Mbit/s"
unit = "rate"
feedback = "Divide by the RTT in seconds."
hints = ["How often does the window leave in a second?", "524,288 bits, divided by 0.02 s."]

A gap has the keys of a numeric question, `draw` on the example included. Examples carry no marks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import msgspec

from tcptutor.base.errors import UsageError
from tcptutor.course import draws
from tcptutor.course.activities.numeric import ExampleSet, KnownMistake, Numeric
from tcptutor.course.activity import (
    NO_RUN,
    Activity,
    Mark,
    MarkContext,
    Problem,
    Reference,
    Stage,
    text_id,
)
from tcptutor.course.draws import AnswerUnit, Draw, Drawn
from tcptutor.course.page_record import Given
from tcptutor.course.quantities import ParsedQuantity, expression
from tcptutor.spec import Experiment

MIN_STEPS = 2
"""Fewest steps of a chain."""


class ExampleStep(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Step of the calculation: `[[example.step]]`; with an answer, the gap."""

    text: str
    """The step; of a gap, the words before the answer."""
    id: str = ""
    """Name that stored answers keep when the text is corrected; by default a digest of the text."""
    answer: str = ""
    """Right value of a gap with its unit; with drawn numbers, an expression for it in the base unit."""
    unit: AnswerUnit = "number"
    """Kind of quantity of a gap."""
    tolerance: float = 0.05
    """Relative difference that still counts."""
    feedback: str = ""
    """Shown for a wrong value."""
    hints: tuple[str, ...] = ()
    """Hints of a gap."""
    mistakes: tuple[KnownMistake, ...] = msgspec.field(default=(), name="mistake")


class Example(Activity, frozen=True, kw_only=True):
    """Worked example. A response is the id of the last step shown, or the text of the gap."""

    table: ClassVar[str] = "example"
    many: ClassVar[bool] = True
    stage: ClassVar[Stage] = Stage.EXAMPLE

    entry_name: ClassVar[str] = "step"

    id: str
    """Name of the example on its page."""
    topic: ExampleSet = msgspec.field(name="set")
    """Key that links examples to a numeric question: the question's `example`."""
    prompt: str
    """The task."""
    steps: tuple[ExampleStep, ...] = msgspec.field(name="step")
    draw: dict[str, Drawn] = msgspec.field(default_factory=dict)
    """Numbers of a gap to draw anew for each attempt."""

    @property
    def listed(self) -> tuple[str, ...]:
        return tuple(step.text for step in self.steps)

    @property
    def entry_ids(self) -> tuple[str, ...]:
        return tuple(step.id or text_id(step.text) for step in self.steps)

    @property
    def gap_index(self) -> int | None:
        """Index of the step with the gap; None for a solved example."""
        return next((index for index, step in enumerate(self.steps) if step.answer), None)

    @property
    def gap(self) -> Numeric | None:
        """The gap as a question; None for a solved example."""
        if self.gap_index is None:
            return None
        step = self.steps[self.gap_index]
        return Numeric(
            id=self.id,
            prompt=" ".join((self.prompt, *(each.text for each in self.steps))),
            hints=step.hints,
            explanation=step.text,
            about_run=False,
            answer=step.answer,
            unit=step.unit,
            tolerance=step.tolerance,
            feedback=step.feedback,
            mistakes=step.mistakes,
            draw=self.draw,
        )

    @property
    def hints(self) -> tuple[str, ...]:
        return self.gap.hints if self.gap else ()

    @property
    def explanation(self) -> str:
        """Steps after the gap, which continue with its value."""
        if self.gap_index is None:
            return ""
        return "\n\n".join(step.text for step in self.steps[self.gap_index + 1 :])

    def draw_numbers(self, seed: str) -> dict[str, str]:
        return draws.drawn(self.draw, seed)

    def with_numbers(self, draw: Draw) -> Example:
        gap = self.gap
        if not self.draw or gap is None or self.gap_index is None:
            return self
        posed = gap.with_numbers(draw)
        answer = ParsedQuantity(expression(gap.answer).value(draws.in_base_units(draw)), gap.unit)

        def filled(text: str) -> str:
            return draws.filled(text, draw, answer)

        steps = [msgspec.structs.replace(step, text=filled(step.text)) for step in self.steps]
        steps[self.gap_index] = msgspec.structs.replace(
            steps[self.gap_index],
            answer=posed.answer,
            feedback=posed.feedback,
            hints=posed.hints,
            mistakes=posed.mistakes,
        )
        return msgspec.structs.replace(self, prompt=filled(self.prompt), steps=tuple(steps), draw={})

    def contradiction(self) -> Problem | None:
        gaps = [number for number, step in enumerate(self.steps, 1) if step.answer]
        if not self.steps:
            return "step", "is missing: an example has two steps or more"
        if len(gaps) > 1:
            return f"step[{gaps[1]}].answer", "is a second gap: an example has at most one"
        if self.draw and not gaps:
            return "draw", "has no effect without a gap: give a step an answer"
        if not gaps and len(set(self.entry_ids)) < len(self.steps):
            return "step", "two steps have the same text"
        wrong = self.gap.contradiction() if self.gap else None
        return (self._key(wrong[0]), wrong[1]) if wrong else None

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:
        if not self.prompt.strip():
            yield "prompt", "is empty"
        if len(self.steps) < MIN_STEPS:
            yield "step", f"{len(self.steps)} steps are too few: give {MIN_STEPS} or more"
        for number, step in enumerate(self.steps, start=1):
            if not step.text.strip():
                yield f"step[{number}].text", "is empty"
            if not step.answer and (step.hints or step.feedback or step.mistakes):
                yield f"step[{number}]", "has the keys of a gap but no answer: add it, or remove them"
        if self.gap is not None:
            yield from ((self._key(key), reason) for key, reason in self.gap.problems(experiment))

    def _key(self, key: str) -> str:
        """Return the key of this table for a key of the gap as a question."""
        if self.gap_index is None or key.partition(".")[0] in ("id", "prompt", "draw"):
            return key
        return f"step[{self.gap_index + 1}].{key}"

    def interpret(self, given: Given) -> str:
        return self.gap.interpret(given) if self.gap else ""

    def reference(self, context: MarkContext = NO_RUN) -> Reference:
        return self.gap.reference(context) if self.gap else Reference(right=self.entry_ids[-1:], empty=())

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:
        """Mark the gap; a solved example is right once all of its steps are shown."""
        if self.gap is not None:
            return self.gap.mark(given, context)
        shown = self.entry_indexes(given, "the next step")
        if len(shown) != 1:
            raise UsageError("an example shows one more step at a time")
        return Mark(correct=True if shown[0] + 1 == len(self.steps) else None)


TABLES = (Example,)
