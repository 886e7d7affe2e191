"""The sweep of a course page: results of each run, and model curves over the axis."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from tcptutor import theory
from tcptutor.analysis import Expectation, Prediction, ThroughputModel, expect, report
from tcptutor.base.confidence import Summary, summarize
from tcptutor.course import measures
from tcptutor.course.activities.run import SweepActivity
from tcptutor.course.experiments import same_but_for_seed
from tcptutor.course.measures import MEASURES, MeasuredCurve
from tcptutor.run import Run
from tcptutor.spec import Experiment

SAME = 0.1
"""Relative difference below which the curves of two models are drawn as a single curve."""


class PageCell(msgspec.Struct, frozen=True, kw_only=True):
    """Results of a run of the sweep in base units; None for quantities the run lacks."""

    at: int
    """Index of its value on the axis."""
    run: str
    """Id of the run."""
    seed: int
    figure: float | None
    """Value of the quantity that the sweep measures."""
    throughput_bps: float
    mean_rtt_s: float | None
    loss_rate: float | None
    limited_by: str
    fidelity: str
    reason: str = ""
    """Reason why its fidelity is not valid."""

    @property
    def is_sound(self) -> bool:
        """Whether the lab vouches for the run."""
        return self.fidelity == "valid"


class CurveLine(msgspec.Struct, frozen=True, kw_only=True):
    """A model's curve, with a value for each value of the axis."""

    name: str
    kind: Literal["formula", "models", "link"]
    values: tuple[float, ...]


def axis_index(sweep: SweepActivity, experiment: Experiment) -> int | None:
    """Return the index of the axis value of `experiment`, ignoring the seed; None if outside the sweep."""
    experiments = enumerate(sweep.experiments)
    return next((at for at, each in experiments if same_but_for_seed(each, experiment)), None)


def page_cell(sweep: SweepActivity, at: int, run: Run) -> PageCell:
    """Return the results of `run`, made at axis index `at`."""
    result = report(run)
    return PageCell(
        at=at,
        run=run.id,
        seed=run.experiment.seed,
        figure=None if result.is_empty else MEASURES[sweep.measure].compute(result),
        throughput_bps=result.throughput_bps,
        mean_rtt_s=MEASURES["rtt"].compute(result),
        loss_rate=result.loss_rate,
        limited_by=result.verdict.limited_by,
        fidelity=run.fidelity.status,
        reason=next(iter(run.fidelity.reasons), ""),
    )


def curve_of(sweep: SweepActivity, runs: Iterable[Run]) -> MeasuredCurve | None:
    """Return the curve that runs of the sweep measured, without values that lack a run; None without any."""
    measured: list[list[float]] = [[] for _ in sweep.values]
    for run in runs:
        at = axis_index(sweep, run.experiment)
        figure = measures.measured(sweep.measure, run) if at is not None else None
        if at is not None and figure is not None:
            measured[at].append(figure)
    kept = [at for at, figures in enumerate(measured) if figures]
    return sweep.curve(measured, sound=kept) if kept else None


def order_by_first_point(todo: Sequence[tuple[int, Experiment]]) -> list[tuple[int, Experiment]]:
    """Move the experiment with the least traffic to the front, so that a first point appears soon.

    An emulated guest takes time proportional to the number of segments; on other backends all runs take about as
    long.
    """
    if not todo:
        return []
    traffic = [expect(each).binding.throughput_bps * each.seconds for _, each in todo]
    least = traffic.index(min(traffic))
    return [todo[least], *todo[:least], *todo[least + 1 :]]


def counted_cells(cells: Sequence[PageCell], at: int) -> list[PageCell]:
    """Return the runs that count at axis index `at`: the sound runs, or all if none is sound."""
    here = [cell for cell in cells if cell.at == at]
    return [cell for cell in here if cell.is_sound] or here


def summaries(sweep: SweepActivity, cells: Sequence[PageCell]) -> tuple[Summary | None, ...]:
    """Return statistics of the runs that count at each axis value; None for values without runs."""
    figures = [
        [cell.figure for cell in counted_cells(cells, at) if cell.figure is not None]
        for at in range(len(sweep.values))
    ]
    return tuple(summarize(each) if each else None for each in figures)


def models(sweep: SweepActivity) -> tuple[CurveLine, ...]:
    """Return the model curves for the measured quantity, the leading curve first; empty without a model."""
    return tuple(_curves(sweep, [expect(each) for each in sweep.experiments]))


def _curves(sweep: SweepActivity, expected: Sequence[Expectation]) -> Iterator[CurveLine]:
    match sweep.measure:
        case "throughput":
            yield from _throughput_curves(sweep, expected)
        case "jain" | "share1" if all(each.flows for each in expected):
            measure = theory.jain_index if sweep.measure == "jain" else _first_share
            yield CurveLine(
                name="models", kind="formula", values=tuple(measure(each.flows) for each in expected)
            )
        case "loss-rate":
            yield from _queues(sweep)
            if any(each.path.loss for each in sweep.experiments):
                losses = tuple(each.path.loss for each in sweep.experiments)
                yield CurveLine(name="random loss", kind="link", values=losses)
        case "rtt":
            yield from _queues(sweep)
            yield CurveLine(
                name="no queue", kind="link", values=tuple(_least_rtt(each) for each in sweep.experiments)
            )
        case _:
            pass


def _queues(sweep: SweepActivity) -> Iterator[CurveLine]:
    """Yield the curve of the queue model, unless it lacks a value somewhere."""
    predicted = [measures.expected(sweep.measure, each) for each in sweep.experiments]
    values = tuple(value for value in predicted if value is not None)
    if len(values) == len(predicted):
        yield CurveLine(name="models", kind="formula", values=values)


def _throughput_curves(sweep: SweepActivity, expected: Sequence[Expectation]) -> Iterator[CurveLine]:
    binding = tuple(each.binding.throughput_bps for each in expected)
    labels = {each.binding.label.rpartition("× ")[2] for each in expected}
    name = labels.pop() if len(labels) == 1 else "models"
    lead = CurveLine(name=name, kind="formula", values=binding)
    if sweep.model:
        model = next(each for each in ThroughputModel if each.value == sweep.model)
        values = tuple(_limited_throughput(each, model) for each in expected)
        lead = CurveLine(name=model.label or name, kind="formula", values=values)
    yield lead
    difference = max(abs(value / leading - 1) for value, leading in zip(binding, lead.values, strict=True))
    if difference > SAME:
        yield CurveLine(name=name if name != lead.name else "models", kind="models", values=binding)
    links = [_prediction(each, ThroughputModel.LINK) for each in expected]
    if all(links) and lead.name != "link":
        yield CurveLine(name="link", kind="link", values=tuple(each.throughput_bps for each in links if each))


def _limited_throughput(expected: Expectation, model: ThroughputModel) -> float:
    """Return the throughput by the page's formula, or by the limit that binds before it."""
    prediction, binding = _prediction(expected, model), expected.binding
    if prediction is None:
        return binding.throughput_bps
    if binding.limited_by == model.limited_by:
        return prediction.throughput_bps
    return min(prediction.throughput_bps, binding.throughput_bps)


def _prediction(expected: Expectation, model: ThroughputModel) -> Prediction | None:
    return next((each for each in expected.predictions if each.model is model), None)


def _first_share(rates: Sequence[float]) -> float:
    return rates[0] / math.fsum(rates)


def _least_rtt(experiment: Experiment) -> float:
    flows = range(max(1, experiment.total_streams))
    return math.fsum(experiment.delay(flow) for flow in flows) / len(flows)
