"""Comparison runs, and the original run of a what-if: curves in the chart, lines of text under it."""

from __future__ import annotations

import math
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import isnan

from tcptutor.base import units
from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.base.errors import TutorError
from tcptutor.course.experiments import differing, short_name
from tcptutor.figures.lines import MUTED, STRONG, TEXT, Line
from tcptutor.run import Run
from tcptutor.spec import Experiment
from tcptutor.study.live import ComparisonRun, Live
from tcptutor.ui.widgets.chart.chart import FLOW_PATTERNS, flow_style, sample
from tcptutor.ui.widgets.chart.history import STEPS, History, interpolate
from tcptutor.ui.widgets.chart.scene import FlowCurve

LETTERS = "ABCDE"
"""Labels of comparison runs, in order."""

_MAX_ORIGINAL_CURVES = 2
"""Maximum flows drawn individually; more are drawn as their mean."""
_ORIGINAL = "before"


def comparison_run(run: Run) -> ComparisonRun:
    """Return the comparison data of a run; reads every sample, so call it in a thread."""
    from tcptutor.analysis import Throughput, report  # noqa: PLC0415  # the first frame needs none of it

    throughput = Throughput()
    throughput.add(run.samples)
    measured, cause = None, ""
    if run.sampled_until > run.experiment.flows.warmup:
        try:
            found = report(run)
        except TutorError:
            pass  # too short for a report; its curves are still drawn
        else:
            if not found.is_empty:
                measured, cause = found.throughput_bps, CAUSE_NAMES[found.verdict.limited_by]
    return ComparisonRun(
        id=run.id,
        started=run.started,
        experiment=run.experiment,
        window=tuple(_mean_cwnd(run)),
        points=tuple(throughput.points),
        throughput_bps=measured,
        limited_by=cause,
    )


def _mean_cwnd(run: Run) -> Iterator[tuple[float, float]]:
    history = History(run.experiment.seconds)
    history.follow(run)
    flows = [interpolate(flow.last) for flow in history.flows.values()]
    for at, values in enumerate(zip(*flows, strict=True)):
        known = [value for value in values if not isnan(value)]
        if known:
            yield (at + 0.5) * history.step, sum(known) / len(known)


def comparison_curves(
    runs: Sequence[ComparisonRun], start: float, seconds: float, flows: int
) -> list[FlowCurve]:
    """Return the runs' mean cwnd over `seconds` from `start`, drawn next to `flows` other curves."""
    faint = flows + len(runs) > len(FLOW_PATTERNS)
    curves = []
    for letter, run in zip(LETTERS, runs, strict=False):
        if run.window:
            values = resample(run.window, start, seconds)
            curves.append(FlowCurve(letter, values, values, values, faint=faint))
    return curves


def resample(points: Sequence[tuple[float, float]], start: float, seconds: float) -> array[float]:
    """Resample points to the chart's steps; NaN before the first and after the last."""
    times = [t for t, _ in points]
    width = (times[-1] - times[0]) / max(1, len(times) - 1)
    values = array("d", [math.nan]) * STEPS
    for step in range(STEPS):
        t = start + (step + 0.5) * seconds / STEPS
        if times[0] - width <= t <= times[-1] + width:
            values[step] = points[max(0, bisect_right(times, t) - 1)][1]
    return values


def comparison_lines(
    runs: Sequence[ComparisonRun], this: Experiment, curve_count: int, width: int
) -> list[Line]:
    """Return a line per run: letter, throughput, cause, and settings that differ from `this`.

    `curve_count` is the number of curves in the chart; the last curves belong to `runs`.
    """
    drawn = [run for run in runs if run.window]
    number = curve_count - len(drawn)
    lines = []
    for letter, run in zip(LETTERS, runs, strict=False):
        pattern, style = "   ", TEXT
        if run.window:
            pattern, style, number = sample(number), flow_style(number), number + 1
        measured = "nothing measured" if run.throughput_bps is None else units.rate(run.throughput_bps)
        cause = f", {run.limited_by}" if run.limited_by else ""
        differences = setting_differences(run.experiment, this)
        line = Line.of(
            (f"{letter} ", STRONG), (pattern, style), (f" {measured}{cause}: ", TEXT), (differences, MUTED)
        )
        if line.width > width:
            line = line.part(0, width - 1).append_at(width - 1, Line.of(("…", MUTED)))
        lines.append(line)
    return lines


def setting_differences(other: Experiment, this: Experiment) -> str:
    """Return the settings of `other` that differ from `this`, e.g. "loss 1 %, streams 4"; the seed if none differ."""
    line = [f"{name} {text}" for name, text in differing(other, this).items()]
    if other.name != this.name:
        line.insert(0, short_name(other.name))
    if other.seed != this.seed or not line:
        line.append(f"seed {other.seed}")
    return ", ".join(line)


def original_curves(live: Live, history: History) -> tuple[FlowCurve, ...]:
    """Return cwnd curves of a what-if's original run over the time of `history`; called in a thread."""
    if live.changed_from is None:
        return ()
    return _original_curves(
        _RunById(live.changed_from), history.seconds, None if history.is_whole else history.start
    )


class _RunById:
    """Finished run, compared by its id so that caching works."""

    def __init__(self, run: Run) -> None:
        self.run = run

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _RunById) and other.run.id == self.run.id

    def __hash__(self) -> int:
        return hash(self.run.id)


@lru_cache(maxsize=8)
def _original_curves(by_id: _RunById, seconds: float, start: float | None) -> tuple[FlowCurve, ...]:
    history = History(seconds, start)
    history.follow(by_id.run)
    flows = [history.flows[number] for number in sorted(history.flows)]
    if len(flows) <= _MAX_ORIGINAL_CURVES:
        return tuple(FlowCurve(_ORIGINAL, each.low, each.high, each.last, faint=True) for each in flows)
    mean = array("d", [math.nan]) * STEPS
    for at, values in enumerate(zip(*(interpolate(each.last) for each in flows), strict=True)):
        known = [value for value in values if not isnan(value)]
        if known:
            mean[at] = sum(known) / len(known)
    return (FlowCurve(f"{_ORIGINAL}, mean", mean, mean, mean, faint=True),)
