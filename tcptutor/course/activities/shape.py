"""Predict a shape: choose the small drawing that the result will resemble."""

from __future__ import annotations

from collections.abc import Iterator
from typing import ClassVar

import msgspec

from tcptutor.base.errors import UsageError
from tcptutor.course import readability
from tcptutor.course.activity import (
    NO_RUN,
    Activity,
    ActivityTable,
    Mark,
    MarkContext,
    Problem,
    Reference,
    Stage,
    chosen_indexes,
    hint_problems,
)
from tcptutor.course.page_record import Given, PageRecord
from tcptutor.spec import Experiment

MIN_SHAPES, MAX_SHAPES = 3, 4
MAX_ROWS, MAX_COLUMNS = 5, 24


class Shape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Drawing to choose: `[[predict.shape]]`."""

    drawing: str
    """Plain characters, at most MAX_ROWS of MAX_COLUMNS."""
    text: str
    """Description of the drawing for screen readers."""
    correct: bool = False
    feedback: str
    """Shown after the run if it was chosen."""

    @property
    def rows(self) -> tuple[str, ...]:
        """Rows of the drawing, without empty rows around it and trailing blanks."""
        rows = [row.rstrip() for row in self.drawing.strip("\n").split("\n")]
        while rows and not rows[-1]:
            rows.pop()
        return tuple(rows)


class ShapePrediction(Activity, frozen=True, kw_only=True):
    """Prediction among drawings: `[predict]` with shapes.

    A response is the index of the chosen drawing; the empty response is a run started without a prediction.
    """

    table: ClassVar[str] = "predict"
    stage: ClassVar[Stage] = Stage.BEFORE_RUN
    locked: ClassVar[bool] = True
    against_run: ClassVar[bool] = True

    prompt: str
    shapes: tuple[Shape, ...]
    hints: tuple[str, ...] = ()

    @property
    def right(self) -> int:
        """Index of the correct drawing."""
        return next(number for number, shape in enumerate(self.shapes) if shape.correct)

    def contradiction(self) -> Problem | None:
        if not MIN_SHAPES <= len(self.shapes) <= MAX_SHAPES:
            return "shape", f"{len(self.shapes)} shapes: give {MIN_SHAPES} or {MAX_SHAPES}"
        right = sum(shape.correct for shape in self.shapes)
        if right != 1:
            return "shape", f"{right} shapes are correct: set `correct = true` on exactly one"
        return None

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:  # noqa: ARG002  # or a sweep's
        yield from hint_problems(self.hints)
        if len({shape.rows for shape in self.shapes}) < len(self.shapes):
            yield "shape.drawing", "two shapes are drawn alike"
        if len({shape.text.strip().lower() for shape in self.shapes}) < len(self.shapes):
            yield "shape.text", "two shapes are described alike"
        for number, shape in enumerate(self.shapes, start=1):
            rows, columns = len(shape.rows), max(map(len, shape.rows), default=0)
            if not rows or rows > MAX_ROWS or columns > MAX_COLUMNS:
                reason = (
                    f"{rows} rows of {columns} columns: use 1 to {MAX_ROWS} rows of at most {MAX_COLUMNS}"
                )
                yield f"shape[{number}].drawing", reason
            if any(not character.isprintable() for row in shape.rows for character in row):
                yield (
                    f"shape[{number}].drawing",
                    "has an unprintable character, such as a tab: use spaces",
                )
            for key, text in (("text", shape.text), ("feedback", shape.feedback)):
                if not readability.is_sentence(text):
                    yield f"shape[{number}].{key}", "needs a sentence"

    def reference(self, context: MarkContext = NO_RUN) -> Reference:  # noqa: ARG002
        return Reference(right=(self.right,), empty=())

    def chosen(self, given: Given) -> Shape | None:
        """Return the chosen drawing, or None for a skipped prediction.

        Raises:
            UsageError: The response is not a drawing of this page.
        """
        indexes = chosen_indexes(given, "one of the drawings")
        if not indexes:
            return None
        if len(indexes) > 1 or not 0 <= indexes[0] < len(self.shapes):
            raise UsageError(f"choose one of the drawings, 1 to {len(self.shapes)}")
        return self.shapes[indexes[0]]

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:
        shape = self.chosen(given)
        if shape is None or not context.measured:
            return Mark(correct=None)
        if shape.correct:
            return Mark(correct=None, feedback=f"That is the shape. {shape.feedback}")
        answer = f"It is {self.right + 1}: {self.shapes[self.right].text}"
        return Mark(correct=None, feedback=f"{shape.feedback} {answer}")

    def is_done(self, page: PageRecord) -> bool:
        return page.activity(self.id).first is not None


TABLES: tuple[type[ActivityTable], ...] = ()
"""Empty: `[predict]` is declared in `predict`."""
