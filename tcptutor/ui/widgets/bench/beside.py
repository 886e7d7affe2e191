"""Earlier runs of other settings beside what is in front: their curves in the chart, and a line for each under it."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from math import isnan

from tcptutor.base import units
from tcptutor.base.errors import TutorError
from tcptutor.course.experiments import short_name
from tcptutor.course.overrides import differing
from tcptutor.run import Run
from tcptutor.spec import Experiment
from tcptutor.theory.models import CAUSE_NAMES
from tcptutor.ui.live import ComparisonRun
from tcptutor.ui.widgets.bench.chart import FLOW_PATTERNS, flow_style, sample
from tcptutor.ui.widgets.bench.history import STEPS, History, filled
from tcptutor.ui.widgets.bench.lines import MUTED, STRONG, TEXT, Line
from tcptutor.ui.widgets.bench.scene import FlowCurve

LETTERS = "ABCDE"
"""What they are called, in their order."""


def run_beside(run: Run) -> ComparisonRun:
    """Of a run, in a thread that has the analysis: it looks at every sample."""
    from tcptutor.analysis import Throughput, report  # noqa: PLC0415  # the first frame needs none of it

    throughput = Throughput()
    throughput.add(run.samples)
    measured, cause = None, ""
    if run.sampled_until > run.experiment.flows.warmup:
        try:
            found = report(run)
        except TutorError:
            pass  # too little to compare: its curves are still there
        else:
            if not found.is_empty:
                measured, cause = found.throughput_bps, CAUSE_NAMES[found.verdict.limited_by]
    return ComparisonRun(
        id=run.id,
        started=run.started,
        experiment=run.experiment,
        window=tuple(_mean_window(run)),
        points=tuple(throughput.points),
        throughput_bps=measured,
        limited_by=cause,
    )


def _mean_window(run: Run) -> Iterator[tuple[float, float]]:
    history = History(run.experiment.seconds)
    history.follow(run)
    flows = [filled(flow.last) for flow in history.flows.values()]
    for at, values in enumerate(zip(*flows, strict=True)):
        known = [value for value in values if not isnan(value)]
        if known:
            yield (at + 0.5) * history.step, sum(known) / len(known)


def curves_beside(runs: Sequence[ComparisonRun], start: float, seconds: float, flows: int) -> list[FlowCurve]:
    """Their windows over the `seconds` that are shown from `start` on, beside so many flows of another run."""
    faint = flows + len(runs) > len(FLOW_PATTERNS)
    curves = []
    for letter, run in zip(LETTERS, runs, strict=False):
        if run.window:
            values = _by_step(run.window, start, seconds)
            curves.append(FlowCurve(letter, values, values, values, faint=faint))
    return curves


def _by_step(points: Sequence[tuple[float, float]], start: float, seconds: float) -> array[float]:
    """The value at the middle of each step; NaN before the first point and after the last."""
    times = [t for t, _ in points]
    width = (times[-1] - times[0]) / max(1, len(times) - 1)
    values = array("d", [math.nan]) * STEPS
    for step in range(STEPS):
        t = start + (step + 0.5) * seconds / STEPS
        if times[0] - width <= t <= times[-1] + width:
            values[step] = points[max(0, bisect_right(times, t) - 1)][1]
    return values


def told_beside(runs: Sequence[ComparisonRun], this: Experiment, before: int, width: int) -> list[Line]:
    """A line for each: its letter, what came out, and what is set otherwise than in `this`.

    `before` is the number of curves that the chart has in all, theirs the last of them.
    """
    drawn = [run for run in runs if run.window]
    number = before - len(drawn)
    lines = []
    for letter, run in zip(LETTERS, runs, strict=False):
        piece, style = "   ", TEXT
        if run.window:
            piece, style, number = sample(number), flow_style(number), number + 1
        came = "nothing measured" if run.throughput_bps is None else units.rate(run.throughput_bps)
        cause = f", {run.limited_by}" if run.limited_by else ""
        apart = set_apart(run.experiment, this)
        told = Line.of((f"{letter} ", STRONG), (piece, style), (f" {came}{cause}: ", TEXT), (apart, MUTED))
        if told.width > width:
            told = told.part(0, width - 1).and_at(width - 1, Line.of(("…", MUTED)))
        lines.append(told)
    return lines


def set_apart(other: Experiment, this: Experiment) -> str:
    """What it has otherwise than `this`: "loss 1 %, streams 4"; its seed where that is all."""
    told = [f"{name} {text}" for name, text in differing(other, this).items()]
    if other.name != this.name:
        told.insert(0, short_name(other.name))
    if other.seed != this.seed or not told:
        told.append(f"seed {other.seed}")
    return ", ".join(told)
