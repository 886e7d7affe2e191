"""Charts of the distributions of delays: the share of time, segments or transfers up to each delay."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from tcptutor.analysis import is_imported, measure
from tcptutor.analysis.case import case_of
from tcptutor.analysis.expected.queue_limit import queue_limit
from tcptutor.analysis.observed.delays import (
    Source,
    queueing_delays,
    segment_rtts,
    smoothed_rtts,
    transfer_times,
)
from tcptutor.analysis.observed.measured import Measured
from tcptutor.analysis.observed.path_doubt import is_path_known
from tcptutor.base import units
from tcptutor.base.chart import COLORS, LEVEL, MARKERS, RED, Chart, ChartAxis, ChartPanel, ChartSeries, Point
from tcptutor.base.errors import TutorError, UsageError, unknown
from tcptutor.base.percentiles import Distribution
from tcptutor.exchange.captured import captured_rtts
from tcptutor.exchange.run_chart import MOST_RUNS, run_names, title
from tcptutor.run import Run

DELAYS = ("rtt", "queueing", "completion")
"""Names of delays, for `--what`."""
_USUAL = ("rtt", "queueing")
"""Delays with similar values, which share an axis."""
_MARKED = (0.5, 0.95, 0.99)
_STEPS = 500
"""Largest number of different values that are drawn as steps, and number of points of other curves."""
_HEADINGS: dict[Source, str] = {
    "queue": "queueing delay, % of the time",
    "samples": "smoothed RTT, % of the time",
    "segments": "RTT, % of the segments",
    "transfers": "completion, % of the transfers",
}
_SAMPLES: dict[Source, str] = {
    "queue": "samples of the queue",
    "samples": "samples of the smoothed RTT",
    "segments": "captured segments",
    "transfers": "transfers",
}


class _Delays(NamedTuple):
    found: Distribution
    source: Source
    unfinished: int = 0
    """Transfers without an end in the run."""


def delay_chart(runs: Sequence[Run], paths: Sequence[Path | None], what: Sequence[str] = ()) -> Chart:
    """Return the cumulative distributions of delays of one run, or of several runs overlaid.

    Args:
        runs: The runs.
        paths: Their files, next to which captured packets are.
        what: Names of `DELAYS`; by default RTT and queueing delay, or the completion times of a run without these.

    Raises:
        UsageError: A name or the number of runs is wrong.
        TutorError: No such delay was measured.
    """
    if wrong := [name for name in what if name not in DELAYS]:
        raise UsageError(unknown("delay", wrong[0], DELAYS))
    if "completion" in what and len(set(what)) > 1:
        raise UsageError("completion times have an axis of their own: plot --what completion alone")
    if len(runs) > MOST_RUNS:
        raise UsageError(f"{len(runs)} runs in one plot cannot be distinguished: give {MOST_RUNS} at most")
    for names in (what,) if what else (_USUAL, ("completion",)):
        drawn = {name: [_delays(name, *each) for each in zip(runs, paths, strict=True)] for name in names}
        drawn = {name: each for name, each in drawn.items() if any(each)}
        if drawn:
            return _chart(runs, drawn)
    names = f" of {', '.join(what)}" if what else ""
    where = "this file" if any(map(is_imported, runs)) else "this run"
    raise TutorError(f"{where} has no samples{names}: plot --what {', '.join(DELAYS[:2])} of another run")


def _delays(name: str, run: Run, path: Path | None) -> _Delays | None:
    measured = measure(run)
    unfinished = 0
    found: tuple[Distribution | None, Source]
    if name == "queueing":
        found = queueing_delays(measured), "queue"
    elif name == "completion":
        times = transfer_times(measured)
        unfinished = sum(not each.is_finished for each in times)
        found = Distribution.of_censored(times), "transfers"
    else:
        found = _rtts(measured, path)
    return None if found[0] is None else _Delays(found[0], found[1], unfinished)


def _rtts(measured: Measured, path: Path | None) -> tuple[Distribution | None, Source]:
    rtts = captured_rtts(measured.run, path)
    segments = segment_rtts(measured, rtts) if rtts else None
    return (segments, "segments") if segments else (smoothed_rtts(measured), "samples")


def _chart(runs: Sequence[Run], drawn: dict[str, list[_Delays | None]]) -> Chart:
    known = [each.found for delays in drawn.values() for each in delays if each]
    limits = {name: _limit(runs, name) for name in drawn}
    ends = [value for found in known for value in found.values[-2:] if math.isfinite(value)]
    ends += [limit for limit, _ in limits.values() if limit]
    highest = max(ends, default=1.0) or 1.0
    scale, unit = units.axis_unit(highest, "time")
    panels = [_panel(runs, delays, scale, *limits[name]) for name, delays in drawn.items()]
    return Chart(
        title=title(runs).split("\n"),
        panels=panels,
        x=ChartAxis(high=1.04 * highest / scale, label=f"delay, {unit}", unit=unit),
    )


def _limit(runs: Sequence[Run], name: str) -> tuple[float | None, str]:
    """Return the expected queueing delay under load and its name, if it is the same for all runs."""
    limits = [
        queue_limit(case_of(run.experiment)) if is_path_known(run) else None
        for run in runs
        if name == "queueing"
    ]
    first = limits[0] if limits else None
    if first is None or any(each != first for each in limits):
        return None, ""
    return first.delay_s, f"{first.label}: {units.seconds(first.delay_s)}"


def _panel(
    runs: Sequence[Run], delays: Sequence[_Delays | None], scale: float, limit: float | None, limit_label: str
) -> ChartPanel:
    names = [_samples(delays[0])]
    if len(runs) > 1:
        names = [name + _unfinished(each) for name, each in zip(run_names(runs), delays, strict=True)]
    series = []
    if limit is not None:
        at = limit / scale
        series.append(ChartSeries(points=[(at, 0), (at, 100)], label=limit_label, color=RED, marker=LEVEL))
    for number, (name, each) in enumerate(zip(names, delays, strict=True)):
        if each is not None:
            series += _curves(each.found, scale, name, COLORS[number % len(COLORS)], MARKERS[number])
    sources = list(dict.fromkeys(each.source for each in delays if each))
    heading = _HEADINGS[sources[0]] if len(sources) == 1 else "RTT of segments or smoothed, %"
    return ChartPanel(heading=heading, series=series, y=ChartAxis(high=104, unit="%", ticks=_TICKS))


def _samples(delays: _Delays | None) -> str:
    if delays is None:
        return ""
    number = delays.found.samples + delays.unfinished
    return f"{number} {_SAMPLES[delays.source]}" + _unfinished(delays)


def _unfinished(delays: _Delays | None) -> str:
    return f", {delays.unfinished} unfinished (Kaplan-Meier)" if delays and delays.unfinished else ""


_TICKS = tuple((share, f"{share}") for share in (0, 25, 50, 75, 95))


def _curves(found: Distribution, scale: float, name: str, color: int, marker: str) -> list[ChartSeries]:
    """Return the curve, and points at the percentiles that the samples support."""
    curve = ChartSeries(
        points=[(value / scale, share) for value, share in _points(found)], label=name, color=color
    )
    known = [(share, value) for share in _MARKED if (value := found.supported_quantile(share)) is not None]
    marks = ChartSeries(
        points=[(value / scale, 100 * share) for share, value in known],
        label=", ".join(f"p{100 * share:.0f} {units.seconds(value)}" for share, value in known),
        color=color,
        marker=marker,
        is_connected=False,
    )
    return [curve, marks] if known else [curve]


def _points(found: Distribution) -> list[Point]:
    """Return delays, s, with their shares in percent: each step of a few values, otherwise a smooth curve."""
    finite = [pair for pair in zip(found.values, found.shares, strict=True) if math.isfinite(pair[0])]
    if len(finite) > _STEPS:
        shares = [at / _STEPS for at in range(_STEPS + 1)]
        return [(value, 100 * share) for share in shares if math.isfinite(value := found.quantile(share))]
    points, before = [], 0.0
    for value, share in finite:
        points += [(value, 100 * before), (value, 100 * share)]
        before = share
    return points
