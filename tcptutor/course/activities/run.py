"""Runs on a page: an experiment, from start to end, or a sweep over several values of a parameter.

A sweep plots a measured quantity against the parameter:

[sweep]
name = "random-loss"
axis = "streams"                 # a single parameter
values = ["1", "2", "4", "8"]    # at most 8, rising; names in any order
seeds = 1                        # runs at each value
measure = "throughput"           # or rtt loss-rate jain cov share1 udp-loss
model = "mathis-periodic"        # the leading model
set = { duration = "6 s" }
with = { queue = ["1 BDP", …] }  # parameters that change with the axis, by index
knee = "10 %"                    # the gain that makes a larger value worth it
[sweep.published]                # points of a document
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, pairwise
from typing import ClassVar, Literal

import msgspec

from tcptutor import spec
from tcptutor.base import units
from tcptutor.base.errors import UnitError
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activity import (
    NO_RUN,
    Activity,
    ActivityTable,
    Mark,
    MarkContext,
    NamedExperiment,
    Problem,
    Reference,
    Setting,
    Stage,
)
from tcptutor.course.measures import MEASURES, MeasuredCurve, MeasureName
from tcptutor.course.page_record import Given, PageRecord
from tcptutor.course.personal import SEEDS
from tcptutor.course.published import PublishedCurve
from tcptutor.spec import Experiment

ChartName = Literal["cwnd", "throughput", "rtt"]
"""Quantity of a run's chart."""


class RunActivity(Activity, frozen=True, kw_only=True):
    """Experiment to run on this page."""

    table: ClassVar[str] = "experiment"
    stage: ClassVar[Stage] = Stage.RUN

    name: str
    """Full name, `module/experiment`."""
    experiment: Experiment
    """Includes the step's overrides."""
    compare_with: str = ""
    """Step of the module with the comparison run; empty for none."""
    model: str = ""
    """Model the page is about, by its name in `analysis.ThroughputModel`; it leads the others."""
    chart: ChartName = "cwnd"
    """Quantity in the chart over time, which the page asks about."""

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:
        yield from super().problems(experiment)
        yield from _model_problems(self.model)

    def reference(self, context: MarkContext = NO_RUN) -> Reference:
        return Reference(right=() if context.run else None, empty=())

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:  # noqa: ARG002
        """Mark the activity right once a complete run exists; the response itself is empty."""
        return Mark(correct=context.run is not None)

    def is_done(self, page: PageRecord) -> bool:
        return page.whole_runs > 0


class ExperimentTable(ActivityTable, frozen=True, kw_only=True):
    """Front matter of a run: `[experiment]`."""

    table: ClassVar[str] = RunActivity.table
    stage: ClassVar[Stage] = RunActivity.stage

    name: str
    """Experiment of this module, or MODULE/NAME."""
    set: dict[str, Setting] = msgspec.field(default_factory=dict)
    """Settings of this page only."""
    compare_with: str = ""
    """Earlier page of this module whose run is drawn next to this page's run."""
    model: str = ""
    """Model to show first: `mathis`, `window`, `link` and others that the linter names."""
    chart: ChartName = "cwnd"
    """Quantity that the chart shows first."""

    def activity(self, experiment: NamedExperiment) -> Activity:
        name, built = experiment(self.name, self.set)
        return RunActivity(
            name=name, experiment=built, compare_with=self.compare_with, model=self.model, chart=self.chart
        )


MAX_VALUES = 8
MAX_SEEDS = 5
MAX_RUNS = 24
"""Most runs of a sweep; more take longer than a student waits."""
_LINEAR_UP_TO = 20
"""Largest ratio between positive end values for a linear axis."""


def _model_problems(model: str) -> Iterator[Problem]:
    if model:
        from tcptutor.theory.models import ThroughputModel  # noqa: PLC0415  # the first frame needs no theory

        names = [each.value for each in ThroughputModel]
        if model not in names:
            yield "model", f"no model {model!r}: choose from {', '.join(names)}"


class SweepActivity(Activity, frozen=True, kw_only=True):
    """Sweep to run on this page. A response is the complete sweep and has no content of its own."""

    table: ClassVar[str] = "sweep"
    stage: ClassVar[Stage] = Stage.RUN

    name: str
    """Full name, `module/experiment`."""
    axis: str
    values: tuple[str, ...]
    """As written on the page."""
    experiments: tuple[Experiment, ...]
    """An experiment per value, with the first seed."""
    seeds: int = 1
    measure: MeasureName = "throughput"
    model: str = ""
    """Model the page is about, by its name in `analysis.ThroughputModel`; it leads the others."""
    settings: dict[str, str] = msgspec.field(default_factory=dict)
    """Overrides of all runs."""
    along: dict[str, tuple[str, ...]] = msgspec.field(default_factory=dict)
    """Values of the parameters that change with the axis."""
    knee: str = "10 %"
    """Relative gain below which a larger axis value is not worth it."""
    spacing: Literal["linear", "log", "names"] = "linear"
    published: PublishedCurve | None = None

    @property
    def kind(self) -> units.Kind:
        """Kind of the axis' values; "number" if all are multiples of the BDP."""
        return _kind(self.axis, self.values)

    def values_in_words(self, places: Iterable[int] | None = None) -> str:
        """Return values of the axis, by default all; semicolons part lists such as "0 ms, 40 ms"."""
        between = "; " if any("," in value for value in self.values) else ", "
        return between.join(self.values if places is None else (self.values[at] for at in places))

    @property
    def share(self) -> float:
        """Parsed `knee`. Raises UnitError."""
        return units.parse(self.knee, "ratio")

    @property
    def xs(self) -> tuple[float, ...]:
        """Axis values in base units; 0, 1 ... for names."""
        return _positions(self.axis, self.values, self.experiments)

    @property
    def title(self) -> str:
        """Title of the chart: "throughput against streams"."""
        return f"{MEASURES[self.measure].label} against {self.axis.replace('_', ' ')}"

    def with_seed(self, seed: int) -> SweepActivity:
        """Return the sweep with `seed` as the first seed at each value."""
        experiments = tuple(msgspec.structs.replace(each, seed=seed) for each in self.experiments)
        return msgspec.structs.replace(self, experiments=experiments)

    def cells(self, rounds: int = 1) -> tuple[tuple[int, Experiment], ...]:
        """Return each run with the index of its value, in passes over all values.

        Each of the `rounds` repeats the sweep with new random numbers.
        """
        return tuple(
            (at, msgspec.structs.replace(experiment, seed=(experiment.seed + number) % SEEDS))
            for number in range(self.seeds * rounds)
            for at, experiment in enumerate(self.experiments)
        )

    def curve(
        self,
        measured: Sequence[Sequence[float]],
        expected: Sequence[float] = (),
        sound: Sequence[int] | None = None,
        **more: object,
    ) -> MeasuredCurve:
        """Build the measured curve, for marking predictions.

        Args:
            measured: Measured numbers by axis value, a number per run.
            expected: Leading model's value at each axis value; empty without a model.
            sound: Indexes of the values with valid runs, the others are left out; None for all.
            more: Other members of `MeasuredCurve`.
        """
        kept = range(len(self.values)) if sound is None else sound
        return MeasuredCurve(
            kind=self.kind,
            values=tuple(self.values[at] for at in kept),
            xs=tuple(self.xs[at] for at in kept),
            measure=self.measure,
            share=self.share,
            measured=tuple(tuple(measured[at]) for at in kept),
            expected=tuple(expected[at] for at in kept) if expected else (),
            **more,  # type: ignore[arg-type]
        )

    def contradiction(self) -> Problem | None:
        return next(self._contradictions(), None)

    def _contradictions(self) -> Iterator[Problem]:
        if not 2 <= len(self.values) <= MAX_VALUES:
            yield "values", f"{len(self.values)} values: a curve has 2 to {MAX_VALUES}"
        for key, along in self.along.items():
            if len(along) != len(self.values):
                reason = f"{len(along)} values for the {len(self.values)} values of the axis: give as many"
                yield f"with.{key}", reason
        if any(one == other for one, other in combinations(self.experiments, 2)):
            yield "values", "two values give the same experiment: remove one"
        if math.inf in self.xs:
            yield "values", "none has no position on the axis: remove it"
        if self.spacing != "names" and any(after <= before for before, after in pairwise(self.xs)):
            yield "values", "must rise from the first to the last"
        if self.spacing == "log" and self.xs[0] <= 0:
            yield "spacing", "a logarithmic axis has no 0: use linear, or remove the 0"
        if not 1 <= self.seeds <= MAX_SEEDS or self.seeds * len(self.values) > MAX_RUNS:
            runs = f"{self.seeds} at each of {len(self.values)} values"
            yield "seeds", f"{runs}: 1 to {MAX_SEEDS}, {MAX_RUNS} runs in all"
        try:
            if not 0 < self.share < 1:
                yield "knee", f"{self.knee} is out of bounds: a share, above 0 to below 100 %"
        except UnitError as error:
            yield "knee", str(error)

    def problems(self, experiment: Experiment | None = None) -> Iterator[Problem]:
        yield from super().problems(experiment)
        yield from _model_problems(self.model)
        if self.published is not None:
            yield from ((f"published.{key}", reason) for key, reason in self.published.problems())

    def prediction_problems(self, predict: Predict) -> Iterator[Problem]:
        """Yield the mistakes of a prediction on this sweep's page."""
        measure = MEASURES[self.measure]
        if predict.knee:
            if self.spacing == "names":
                yield "knee", f"{self.axis} has no order, so no knee: use at"
            elif predict.unit != self.kind:
                yield "unit", f"the knee is a value of {self.axis}: use {self.kind}"
        elif predict.at:
            if predict.at not in self.values:
                yield "at", f"{predict.at!r} is not one of the sweep's values: {', '.join(self.values)}"
            if predict.unit != measure.kind:
                yield "unit", f"{measure.label} is a {measure.kind}: use that unit"
        else:
            yield "at", "is missing: on a sweep page set at to a value of the axis, or knee = true"

    def reference(self, context: MarkContext = NO_RUN) -> Reference:
        return Reference(right=() if context.curve else None, empty=())

    def mark(self, given: Given, context: MarkContext = NO_RUN) -> Mark:  # noqa: ARG002
        return Mark(correct=context.curve is not None)


class SweepFrontMatter(ActivityTable, frozen=True, kw_only=True):
    """Front matter of a sweep: `[sweep]`."""

    table: ClassVar[str] = SweepActivity.table
    stage: ClassVar[Stage] = SweepActivity.stage

    name: str
    """Experiment of this module, or MODULE/NAME."""
    axis: str
    """The parameter that changes."""
    values: tuple[Setting, ...]
    """Its values, at most eight."""
    seeds: int = 1
    """Runs at each value."""
    measure: MeasureName = "throughput"
    """Measured quantity on the vertical axis."""
    model: str = ""
    """Model to show first."""
    set: dict[str, Setting] = msgspec.field(default_factory=dict)
    """Settings of all runs."""
    along: dict[str, tuple[Setting, ...]] = msgspec.field(default_factory=dict, name="with")
    """Parameters that change with the axis: as many values."""
    knee: str = "10 %"
    """Gain below which a larger value is not worth it."""
    spacing: Literal["", "linear", "log"] = ""
    """By default logarithmic if the values span more than a factor of 20."""
    published: PublishedCurve | None = None

    def activity(self, experiment: NamedExperiment) -> Activity:
        name, _ = experiment(self.name, {})
        fits = all(len(along) == len(self.values) for along in self.along.values())
        built = []
        for number, value in enumerate(self.values):
            along = {key: each[number] for key, each in self.along.items()} if fits else {}
            built.append(experiment(self.name, {**self.set, **along, self.axis: value})[1])
        values = tuple(map(str, self.values))
        return SweepActivity(
            name=name,
            axis=self.axis,
            values=values,
            experiments=tuple(built),
            seeds=self.seeds,
            measure=self.measure,
            model=self.model,
            settings={key: str(value) for key, value in self.set.items()},
            along={key: tuple(map(str, each)) for key, each in self.along.items()},
            knee=self.knee,
            spacing=_spacing(self.spacing, _kind(self.axis, values), _positions(self.axis, values, built)),
            published=self.published,
        )


def _kind(axis: str, values: Sequence[str]) -> units.Kind:
    """Return the kind of an axis; "name" for values without an order."""
    known = spec.PARAMETERS.get(axis)
    if known is None:  # a sysctl
        return "count" if all(value.isdigit() for value in values) else "name"
    if known.is_list or known.kind in ("name", "changes"):
        return "name"
    if known.kind == "window":
        return "number" if all(value.lower().endswith("bdp") for value in values) else "size"
    return known.kind


def _positions(axis: str, values: Sequence[str], experiments: Sequence[Experiment]) -> tuple[float, ...]:
    """Return the values in base units; infinity for "none", and 0, 1 ... for names."""
    match _kind(axis, values):
        case "name":
            return tuple(map(float, range(len(values))))
        case "number" if spec.PARAMETERS[axis].kind == "window":
            return tuple(units.split(value)[0] for value in values)
    if axis not in spec.PARAMETERS:
        return tuple(map(float, values))
    found = (spec.PARAMETERS[axis].of(experiment) for experiment in experiments)
    return tuple(math.inf if value is None else float(value) for value in found)


def _spacing(wanted: str, kind: units.Kind, xs: Sequence[float]) -> Literal["linear", "log", "names"]:
    if kind == "name":
        return "names"
    if wanted:
        return "log" if wanted == "log" else "linear"
    return "log" if xs and 0 < xs[0] * _LINEAR_UP_TO < xs[-1] else "linear"


TABLES = (ExperimentTable, SweepFrontMatter)
