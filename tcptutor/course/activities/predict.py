"""Predictions before the run: a number, or the drawing the result will resemble."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import ClassVar, Literal

import msgspec

from tcptutor.base import units
from tcptutor.base.errors import UnitError, UsageError
from tcptutor.course import personal
from tcptutor.course.activity import (
    NO_RUN,
    Activity,
    Mark,
    MarkContext,
    NamedExperiment,
    Problem,
    Reference,
    Stage,
    hint_problems,
    interpret_number,
    is_sentence,
    text_id,
    typed_text,
)
from tcptutor.course.measures import MEASURES, MeasureName, answer_near, expected, measured
from tcptutor.course.page_record import Given
from tcptutor.figures import sketch
from tcptutor.figures.lines import Line
from tcptutor.run import Run
from tcptutor.spec import Experiment

MIN_SHAPES, MAX_SHAPES = 3, 4
MIN_COLUMNS, MAX_COLUMNS = 12, 20
"""Columns of a drawing."""


class Shape(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Drawing to choose: `[[predict.shape]]`."""

    curve: tuple[tuple[float, float], ...] = ()
    """Corners of a line from left to right; both coordinates from 0 to 1."""
    reference: tuple[tuple[float, float], ...] = ()
    """Corners of a dotted line to compare the curve with."""
    bars: dict[str, float] = msgspec.field(default_factory=dict)
    """Shares by name, from 0 to 1, in place of a curve."""
    id: str = ""
    """Name that stored predictions keep when the text is corrected; by default a digest of the text."""
    text: str
    """Description of the drawing for screen readers."""
    correct: bool = False
    """True for the right drawing."""
    feedback: str
    """Shown after the run if it was chosen."""
    fixed: bool = False
    """True if it keeps its place when the others are shuffled."""

    def draw(self, width: int) -> list[Line]:
        """Return the drawing in `width` columns."""
        if self.bars:
            return sketch.bars(self.bars, width)
        return sketch.curve(self.curve, self.reference, width)

    def wrong(self) -> Problem | None:
        """Return the key that cannot be drawn, and the reason; None if it can be."""
        if bool(self.curve) == bool(self.bars):
            return "curve", "a drawing is either a curve or bars"
        for key, points in (("curve", self.curve), ("reference", self.reference)):
            if len(points) == 1 or any(right[0] < left[0] for left, right in pairwise(points)):
                return key, "needs at least two points, from left to right"
            if not all(0 <= each <= 1 for point in points for each in point):
                return key, "has a coordinate outside of 0 to 1"
        return ("bars", "has a share outside of 0 to 1") if not _are_shares(self.bars.values()) else None


class ShapePrediction(Activity, frozen=True, kw_only=True):
    """Prediction among drawings: `[predict]` with shapes.

    A response is the id of the chosen drawing. The empty response is a run started without a
    prediction.
    """

    table: ClassVar[str] = "predict"
    stage: ClassVar[Stage] = Stage.BEFORE_RUN
    locked: ClassVar[bool] = True
    entry_name: ClassVar[str] = "drawing"
    against_run: ClassVar[bool] = True

    prompt: str
    shapes: tuple[Shape, ...]
    hints: tuple[str, ...] = ()

    @property
    def right(self) -> int:
        """Index of the correct drawing."""
        return next(number for number, shape in enumerate(self.shapes) if shape.correct)

    @property
    def listed(self) -> tuple[str, ...]:
        return tuple(shape.text for shape in self.shapes)

    @property
    def entry_ids(self) -> tuple[str, ...]:
        return tuple(shape.id or text_id(shape.text) for shape in self.shapes)

    def shown_order(self, seed: str) -> tuple[int, ...]:
        fixed = [index for index, shape in enumerate(self.shapes) if shape.fixed]
        return personal.shuffled(seed, len(self.shapes), fixed)

    def contradiction(self) -> Problem | None:
        if not MIN_SHAPES <= len(self.shapes) <= MAX_SHAPES:
            return "shape", f"{len(self.shapes)} shapes: give {MIN_SHAPES} or {MAX_SHAPES}"
        for number, shape in enumerate(self.shapes, start=1):
            if wrong := shape.wrong():
                return f"shape[{number}].{wrong[0]}", wrong[1]
        if len({tuple(shape.bars) for shape in self.shapes}) > 1:
            return "shape", "draw all of them as curves, or all as bars with the same names"
        right = sum(shape.correct for shape in self.shapes)
        if right != 1:
            return "shape", f"{right} shapes are correct: set `correct = true` on exactly one"
        if len(set(self.entry_ids)) < len(self.shapes):
            return (
                "shape",
                "two shapes have the same text or id: stored predictions could not tell them apart",
            )
        return None

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:  # noqa: ARG002  # or a sweep's
        yield from hint_problems(self.hints)
        if len({tuple(shape.draw(MIN_COLUMNS)) for shape in self.shapes}) < len(self.shapes):
            yield "shape", "two shapes are drawn alike"
        if len({shape.text.strip().lower() for shape in self.shapes}) < len(self.shapes):
            yield "shape.text", "two shapes are described alike"
        for number, shape in enumerate(self.shapes, start=1):
            for key, text in (("text", shape.text), ("feedback", shape.feedback)):
                if not is_sentence(text):
                    yield f"shape[{number}].{key}", "needs a sentence"

    def reference(self, context: MarkContext = NO_RUN) -> Reference:  # noqa: ARG002
        return Reference(right=(self.entry_ids[self.right],), empty=())

    def chosen(self, given: Given) -> Shape | None:
        """Return the chosen drawing, or None for a skipped prediction.

        Raises:
            UsageError: The response is not a drawing of this page.
        """
        indexes = self.entry_indexes(given, "one of the drawings")
        if not indexes:
            return None
        if len(indexes) > 1:
            raise UsageError(f"choose one of the drawings, 1 to {len(self.shapes)}")
        return self.shapes[indexes[0]]

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:
        shape = self.chosen(given)
        if shape is None or not context.measured:
            return Mark(correct=None)
        if shape.correct:
            return Mark(correct=None, feedback=f"That is the shape. {shape.feedback}")
        return Mark(
            correct=None,
            feedback=f"{shape.feedback} The right drawing is this: {self.shapes[self.right].text}",
        )


def _are_shares(values: Iterable[float]) -> bool:
    return all(0 <= each <= 1 for each in values)


_PLAIN_RANGE = (1, 1000)
"""Range of numbers in a well-chosen unit; a typed number outside it suggests a slip in the unit."""

_MOST_OF_LINK = 10
"""Multiple of the link's rate above which a prediction needs confirmation."""

_ROUND_TRIPS = 100
"""A prediction below a segment in this many round trips needs confirmation."""

_BITS = 8


class Predict(Activity, frozen=True, kw_only=True):
    """Prediction of a number: `[predict]`. The empty response is a run started without a prediction."""

    table: ClassVar[str] = "predict"
    stage: ClassVar[Stage] = Stage.BEFORE_RUN
    locked: ClassVar[bool] = True
    against_run: ClassVar[bool] = True

    prompt: str
    """The question."""
    unit: Literal["rate", "time", "ratio", "size", "count", "number"] = "rate"
    """Kind of quantity."""
    default_unit: str = ""
    """Unit of a plain number, shown in the input; defaults to Mbit/s, ms, % or kB."""
    measure: MeasureName = "throughput"
    """Predicted quantity of a single run."""
    tolerance: float = 0.1
    """Relative difference from model or run that counts as right."""
    hints: tuple[str, ...] = ()
    """A nudge, then the method."""
    knee: bool = False
    """On a sweep page: True if the knee is predicted."""
    at: str = ""
    """On a sweep page: the value of the axis at which the measured value is predicted."""
    shapes: tuple[Shape, ...] = msgspec.field(default=(), name="shape")
    """Drawings to choose from instead of typing a number."""

    def activity(self, experiment: NamedExperiment) -> Activity:
        if self.shapes:
            return ShapePrediction(prompt=self.prompt, shapes=self.shapes, hints=self.hints)
        return super().activity(experiment)

    @property
    def plain_unit(self) -> str:
        """Unit of a plain number."""
        return self.default_unit or units.FIELD_UNITS[self.unit]

    @property
    def about_curve(self) -> bool:
        """True if it asks about a sweep's curve, not about a single run."""
        return self.knee or bool(self.at)

    def contradiction(self) -> Problem | None:
        if self.shapes and (self.unit != "rate" or self.default_unit):
            return "shape", "is chosen, not typed: remove `unit` and `default_unit`"
        if not 0 < self.tolerance <= 0.25:
            return "tolerance", f"{self.tolerance:g} is out of bounds: a relative difference, above 0 to 0.25"
        try:
            units.parse(f"1 {self.plain_unit}", self.unit)
        except UnitError as error:
            return "default_unit", str(error)
        if self.about_curve and self.measure != "throughput":
            return "measure", "is set by the sweep: remove it"
        if self.knee and self.at:
            return "at", "cannot be combined with knee = true: remove one of them"
        return None

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:
        if experiment is None:
            yield "", "has no effect without an experiment on this page"
        elif not self.about_curve and (kind := MEASURES[self.measure].kind) != self.unit:
            reason = f"a prediction in {self.unit} does not fit {self.measure}, which is a {kind}"
            yield "unit", f"{reason}: set `measure` to the predicted quantity"
        yield from hint_problems(self.hints)

    def reference(self, context: MarkContext = NO_RUN) -> Reference:  # noqa: ARG002
        return Reference(right=units.EXAMPLES[self.unit], empty="")

    def written(self, given: str) -> str:
        """Return `given` with its unit: "9" in a field of Mbit/s is "9 Mbit/s"."""
        with contextlib.suppress(UnitError):  # an edited lesson may ask for another unit now
            return f"{given} {self.plain_unit}" if units.is_plain(given) else given
        return given

    def interpret(self, given: Given) -> str:
        return interpret_number(given, self.unit, self.plain_unit)

    def value(self, given: str) -> float:
        """Parse a prediction into the base unit.

        Raises:
            UnitError: The text is not a quantity of this kind, or negative.
        """
        value = units.parse(given, self.unit, self.plain_unit)
        if value < 0:
            raise UnitError(f"{given!r} is below 0: write it like {units.EXAMPLES[self.unit]!r}")
        return value

    def impossible(self, given: Given, measure: MeasureName | None, experiment: Experiment | None) -> str:
        """Return the reason why no measurement can have that value, or an empty string.

        Args:
            given: The response.
            measure: Predicted quantity of `experiment`; None for a value of a sweep's axis.
            experiment: Experiment of the page, if it has one.

        Raises:
            UsageError: The response is not a number of the right kind.
        """
        text = typed_text(given, units.EXAMPLES[self.unit])
        if not text:
            return ""
        value = self.value(text)
        if self.unit in ("rate", "time") and not value:
            return f"{text} is zero: predict more than 0"
        flows = experiment.total_streams if experiment else 0
        if measure is None or (limits := MEASURES[measure].limits(flows)) is None:
            return ""
        low, high = limits
        if low <= value <= high:
            return ""
        known, of = MEASURES[measure], f" of {flows} flows" if measure == "jain" and flows > 1 else ""
        name = known.label[:1].upper() + known.label[1:]
        return f"{name}{of} lies between {known.written(low)} and {known.written(high)}: {text} cannot be"

    def doubt(self, given: Given, experiment: Experiment | None) -> str:
        """Return why it looks like a slip, judged by its unit and the path but never by the answer."""
        text = typed_text(given, units.EXAMPLES[self.unit])
        if not text or not (value := self.value(text)):
            return ""
        number, unit = units.split(text)
        in_field = units.parse(f"1 {self.plain_unit}", self.unit)
        low, high = _PLAIN_RANGE
        if unit and (factor := value / number / in_field) != 1:
            meant = f"did you mean {number:.6g} {self.plain_unit}?"
            if _is_by_eight(factor):
                return f"{text} is {units.write(value, self.unit)}: {meant}"
            if low <= number < high and not low <= value / in_field < high:
                return f"{units.write(value, self.unit)}: {meant}"
        return self._beyond_path(value, experiment) if self.unit == "rate" and experiment else ""

    def _beyond_path(self, value: float, experiment: Experiment) -> str:
        written = units.rate(value)
        link, round_trip = (
            experiment.path.rate,
            min(map(experiment.delay, range(experiment.total_streams)), default=0),
        )
        if link and value >= _MOST_OF_LINK * link:
            return f"{written} is {float(f'{value / link:.3g}'):.0f} times the link's rate: is that the unit you meant?"
        if round_trip and value < _BITS * experiment.segment / round_trip / _ROUND_TRIPS:
            return (
                f"{written} is less than a segment in {_ROUND_TRIPS} round trips: is that the unit you meant?"
            )
        return ""

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:
        text = typed_text(given, units.EXAMPLES[self.unit])
        if not text:
            return Mark(correct=None)
        value = self.value(text)
        if self.about_curve:
            if context.curve is None:
                return Mark(correct=None, value=value)
            feedback = context.curve.feedback_on(value, self.at, self.tolerance)
            return Mark(
                correct=None, value=value, feedback=feedback, measured=context.curve.mean_at(self.at) or None
            )
        if context.run is None:
            return Mark(correct=None, value=value)
        if self.measure != "throughput":
            return self._mark_measure(value, context.run)
        from tcptutor.analysis import prediction_feedback  # noqa: PLC0415  # the course loads without the analysis

        answer = prediction_feedback(value, context.run, self.tolerance)
        return Mark(correct=None, value=value, feedback=answer.text, measured=answer.measured_bps or None)

    def _mark_measure(self, value: float, run: Run) -> Mark:
        actual = measured(self.measure, run)
        if actual is None:
            return Mark(correct=None, value=value)
        by_models = expected(self.measure, run.experiment)
        feedback = answer_near(self.measure, value, actual, by_models, self.tolerance, "the run")
        return Mark(correct=None, value=value, feedback=feedback, measured=actual or None)


def _is_by_eight(factor: float) -> bool:
    """Return True if units that differ by `factor` are bits and bytes, with any prefixes."""
    for eight in (factor / _BITS, factor * _BITS):
        power = math.log10(eight) / 3
        if abs(power - round(power)) < 1e-9:
            return True
    return False


TABLES = (Predict,)
