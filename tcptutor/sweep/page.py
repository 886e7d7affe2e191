"""The sweep of a page of the course: each run in numbers, and what the models have at each value of its axis."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec

from tcptutor import theory
from tcptutor.analysis import Expectation, Prediction, ThroughputModel, expect, report
from tcptutor.course import measures
from tcptutor.course.activities.sweep import SweepActivity
from tcptutor.course.measures import MEASURES
from tcptutor.course.overrides import same_but_for_seed
from tcptutor.run import Run
from tcptutor.spec import Experiment
from tcptutor.sweep.confidence import Summary, summarise
from tcptutor.sweep.grid import Axis, Cell

SAME = 0.1
"""Relative difference below which two models' curves are one line."""


class PageCell(msgspec.Struct, frozen=True, kw_only=True):
    """One run of it in numbers; in base units, None for what the run does not have."""

    at: int
    """The index of its value on the axis."""
    run: str
    """The run's id."""
    seed: int
    figure: float | None
    """What the sweep measures."""
    throughput_bps: float
    mean_rtt_s: float | None
    loss_rate: float | None
    limited_by: str
    fidelity: str
    reason: str = ""
    """Why its fidelity is not valid."""

    @property
    def is_sound(self) -> bool:
        """Whether the lab believes the run."""
        return self.fidelity == "valid"


class CurveLine(msgspec.Struct, frozen=True, kw_only=True):
    """A model's line: a value for each of the axis."""

    name: str
    kind: Literal["formula", "models", "link"]
    values: tuple[float, ...]


def which(sweep: SweepActivity, experiment: Experiment) -> int | None:
    """The index of the value that `experiment` has, whatever its seed; None for none of this sweep."""
    there = enumerate(sweep.experiments)
    return next((at for at, each in there if same_but_for_seed(each, experiment)), None)


def page_cell(sweep: SweepActivity, at: int, run: Run) -> PageCell:
    """`run`, which is one at the value of that index, in numbers."""
    told = report(run)
    return PageCell(
        at=at,
        run=run.id,
        seed=run.experiment.seed,
        figure=None if told.is_empty else MEASURES[sweep.measure].compute(told),
        throughput_bps=told.throughput_bps,
        mean_rtt_s=MEASURES["rtt"].compute(told),
        loss_rate=told.loss_rate,
        limited_by=told.verdict.limited_by,
        fidelity=run.fidelity.status,
        reason=next(iter(run.fidelity.reasons), ""),
    )


def soonest_first(todo: Sequence[tuple[int, Experiment]]) -> list[tuple[int, Experiment]]:
    """`todo`, indexes of values with experiments, with the one in front that carries the least: the first point.

    An emulated guest takes as long for a run as it has segments; elsewhere all take about their own time.
    """
    if not todo:
        return []
    carried = [expect(each).binding.throughput_bps * each.seconds for _, each in todo]
    least = carried.index(min(carried))
    return [todo[least], *todo[:least], *todo[least + 1 :]]


def counting(cells: Sequence[PageCell], at: int) -> list[PageCell]:
    """Return the runs that count at the value of that index: the sound ones, or all where every one is suspect."""
    here = [cell for cell in cells if cell.at == at]
    return [cell for cell in here if cell.is_sound] or here


def summaries(sweep: SweepActivity, cells: Sequence[PageCell]) -> tuple[Summary | None, ...]:
    """What the runs that count at each value say together; None where there is none."""
    found = [
        [cell.figure for cell in counting(cells, at) if cell.figure is not None]
        for at in range(len(sweep.values))
    ]
    return tuple(summarise(each) if each else None for each in found)


def models(sweep: SweepActivity) -> tuple[CurveLine, ...]:
    """The models' lines for what is measured, the one that leads first; empty where no model speaks of it."""
    return tuple(_lines(sweep, [expect(each) for each in sweep.experiments]))


def _lines(sweep: SweepActivity, expected: Sequence[Expectation]) -> Iterator[CurveLine]:
    match sweep.measure:
        case "throughput":
            yield from _throughputs(sweep, expected)
        case "jain" | "share1" if all(each.flows for each in expected):
            of = theory.jain_index if sweep.measure == "jain" else _first_share
            yield CurveLine(name="models", kind="formula", values=tuple(of(each.flows) for each in expected))
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
    """What the flows and their queue come to; nothing where a law is missing at some value."""
    found = [measures.expected(sweep.measure, each) for each in sweep.experiments]
    values = tuple(value for value in found if value is not None)
    if len(values) == len(found):
        yield CurveLine(name="models", kind="formula", values=values)


def _throughputs(sweep: SweepActivity, expected: Sequence[Expectation]) -> Iterator[CurveLine]:
    binding = tuple(each.binding.throughput_bps for each in expected)
    labels = {each.binding.label.rpartition("× ")[2] for each in expected}
    name = labels.pop() if len(labels) == 1 else "models"
    lead = CurveLine(name=name, kind="formula", values=binding)
    if sweep.formula:
        model = next(each for each in ThroughputModel if each.value == sweep.formula)
        led = tuple(_led(each, model) for each in expected)
        lead = CurveLine(name=model.label or name, kind="formula", values=led)
    yield lead
    apart = max(abs(one / other - 1) for one, other in zip(binding, lead.values, strict=True))
    if apart > SAME:
        yield CurveLine(name=name if name != lead.name else "models", kind="models", values=binding)
    links = [_of(each, ThroughputModel.LINK) for each in expected]
    if all(links) and lead.name != "link":
        yield CurveLine(name="link", kind="link", values=tuple(each.throughput_bps for each in links if each))


def _led(expected: Expectation, model: ThroughputModel) -> float:
    """By the page's formula; where something else binds before it, by that."""
    found, binding = _of(expected, model), expected.binding
    if found is None:
        return binding.throughput_bps
    if binding.limited_by == model.limited_by:
        return found.throughput_bps
    return min(found.throughput_bps, binding.throughput_bps)


def _of(expected: Expectation, model: ThroughputModel) -> Prediction | None:
    return next((each for each in expected.predictions if each.model is model), None)


def _first_share(rates: Sequence[float]) -> float:
    return rates[0] / math.fsum(rates)


def _least_rtt(experiment: Experiment) -> float:
    flows = range(max(1, experiment.total_streams))
    return math.fsum(experiment.delay(flow) for flow in flows) / len(flows)


def axes(sweep: SweepActivity) -> tuple[Axis, ...]:
    """As a grid of the command line has it."""
    seeds = [experiment.seed for at, experiment in sweep.cells() if at == 0]
    return (Axis(sweep.axis, sweep.values), Axis("seed", tuple(map(str, seeds))))


def cells(sweep: SweepActivity) -> list[Cell]:
    """Every run of it as a cell of a grid."""
    return [
        Cell(number, {sweep.axis: sweep.values[at]}, experiment)
        for number, (at, experiment) in enumerate(sweep.cells())
    ]
