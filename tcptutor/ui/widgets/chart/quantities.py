"""Scenes of throughput and of the RTT over time, for pages that ask about them."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import isnan

from tcptutor.course.measures import MEASURES
from tcptutor.figures.axes import rounded_up
from tcptutor.figures.lines import RTT
from tcptutor.study.live import Live
from tcptutor.ui.widgets.chart.axes import rate_unit
from tcptutor.ui.widgets.chart.comparison import LETTERS, resample
from tcptutor.ui.widgets.chart.flows import MAX_CURVES, band_of, flow_names, share_texts
from tcptutor.ui.widgets.chart.history import CHART_SPACINGS, History, interpolate
from tcptutor.ui.widgets.chart.scene import FlowCurve, GuideLine, Kind, OwnPrediction, Points, Scene
from tcptutor.ui.widgets.chart.series import series, warmup_events

_REACH = 1.6
"""Multiple of the data up to which a limit, an expectation or a prediction extends the axis."""

_ROOM = 1.08
"""Axis end as a multiple of the highest value."""

_PEAK_REACH = 1.5
"""Multiple of the measured maximum from which a maximum of the warm-up is cut off."""

_SMOOTH_STEPS = 8
"""Steps on each side over which a rate is averaged once more: a column of the chart has several."""

_UDP_MEAN_S = 0.5
"""Seconds over which the rate of arriving datagrams is averaged, against the noise of reports."""


def throughput_scene(live: Live, history: History, own: OwnPrediction | None, flow: int = 0) -> Scene:
    """Return the scene of each flow's throughput, averaged over full round trips."""
    names = flow_names(live.run.experiment, history.flows)
    numbers = sorted(history.flows)
    named = {
        name: history.throughput(number, CHART_SPACINGS) for name, number in zip(names, numbers, strict=True)
    }
    named |= {
        f"UDP {number + 1}": history.arrival_rate(number, _UDP_MEAN_S) for number in sorted(history.udp)
    }
    unit_of = max((value for each in named.values() for value in each if not isnan(value)), default=0.0)
    if live.expectation is not None:
        unit_of = max(unit_of, live.expectation.binding.throughput_bps / max(1, len(named)))
    scale, unit = rate_unit(unit_of or 1.0)
    shares = dict(zip(names, share_texts(live, history), strict=True))
    curves = []
    for name, values in named.items():
        scaled = _smooth(values, scale)
        curves.append(FlowCurve(name, scaled, scaled, scaled, shares.get(name, "")))
    others = _other_runs(live, history, scale) if len(named) == 1 else ([], [])
    guides = list(_rate_guides(live, own, scale)) if len(named) == 1 else []
    drawn = numbers.index(flow) if flow in numbers else 0
    return _scene(live, history, f"throughput, {unit}", curves, guides, others, drawn, without="throughput")


def rtt_scene(live: Live, history: History, flow: int = 0) -> Scene:
    """Return the scene of each flow's RTT, with the empty path's and that of the full queue."""
    path = live.run.experiment.path
    numbers = sorted(history.flows)
    highest = max(
        (rtt for number in numbers for rtt in history.flows[number].rtt if not isnan(rtt)), default=0.0
    )
    scale, unit = (1e-3, "ms") if max(highest, path.delay) < 2 else (1.0, "s")
    names, curves = flow_names(live.run.experiment, history.flows), []
    for name, number in zip(names, numbers, strict=True):
        scaled = array("d", [value / scale for value in interpolate(history.flows[number].rtt)])
        curves.append(FlowCurve(name, scaled, scaled, scaled))
    guides = list(_rtt_guides(live, scale))
    drawn = numbers.index(flow) if flow in numbers else 0
    return _scene(live, history, f"RTT, {unit}", curves, guides, ([], []), drawn, without="rtt", hue=RTT)


def _smooth(values: Sequence[float], scale: float) -> array[float]:
    """Return the mean around each value, in units of `scale`; NaN stays NaN."""
    sums = [0.0, *accumulate(0.0 if isnan(value) else value / scale for value in values)]
    counts = [0, *accumulate(not isnan(value) for value in values)]
    result = array("d", values)
    for at, value in enumerate(values):
        if not isnan(value):
            start, end = max(0, at - _SMOOTH_STEPS), min(len(values), at + _SMOOTH_STEPS + 1)
            result[at] = (sums[end] - sums[start]) / (counts[end] - counts[start])
    return result


def _scene(
    live: Live,
    history: History,
    quantity: str,
    curves: Sequence[FlowCurve],
    guides: Sequence[GuideLine],
    others: tuple[Sequence[FlowCurve], Sequence[FlowCurve]],
    drawn: int,
    without: str,
    hue: str = "",
) -> Scene:
    """Build a scene of `quantity`; the strip `without` would show the same."""
    experiment = live.run.experiment
    comparison, original = others
    top, peak = axis_top(
        [*curves, *comparison, *original], history.warm_steps(experiment.flows.warmup), guides
    )
    has_band = len(curves) > MAX_CURVES
    if comparison and len(curves) == 1:
        curves = [FlowCurve("this", curves[0].low, curves[0].high, curves[0].last)]
    shown = curves[drawn : drawn + 1] if has_band else curves
    return Scene(
        seconds=history.seconds,
        start=history.start,
        warmup=experiment.flows.warmup,
        until=history.until,
        quantity=quantity,
        top=top,
        curves=(*shown, *comparison),
        band=band_of(curves) if has_band else None,
        references=tuple(guides),
        series={name: each for name, each in series(live, history) if name != without or not curves},
        peak=peak,
        flows=len(curves) + len(comparison),
        ended=not live.in_progress,
        original=tuple(original),
        warmup_events=warmup_events(live, history),
        hue=hue if len(curves) == 1 else "",
    )


def _rate_guides(live: Live, own: OwnPrediction | None, scale: float) -> Iterator[GuideLine]:
    """Yield the link's rate, the expected and the measured mean, and the prediction, for a single flow."""
    experiment = live.run.experiment
    warmup, seconds = experiment.flows.warmup, experiment.seconds
    if rate_steps := list(_rate_steps(live, scale)):
        yield GuideLine("link", "limit", rate_steps)
    values: list[tuple[Kind, str, float]] = []
    if live.expectation is not None and live.expectation.binding.throughput_bps:
        values.append(("expected", "expected mean", live.expectation.binding.throughput_bps))
    if live.report is not None and live.report.throughput_bps:
        values.append(("mean", "measured mean", live.report.throughput_bps))
    if own is not None and own.bps:
        values.append(("you", "you", own.bps))
    for kind, name, bps in values:
        yield GuideLine(name, kind, ((warmup, bps / scale), (seconds, bps / scale)))


def _rate_steps(live: Live, scale: float) -> Iterator[tuple[float, float]]:
    """Yield the link's rate over time, a step per change of the path; empty for an unlimited link."""
    path, rate = live.run.experiment.path, None
    steps = [(0.0, path)]
    for change in path.all_changes:
        path = path.after(change)
        steps.append((change.at, path))
    for at, now in steps:
        if not now.rate:
            return
        if rate is not None:
            yield at, rate
        rate = now.rate / scale
        yield at, rate
    if rate is not None:
        yield live.run.experiment.seconds, rate


def _rtt_guides(live: Live, scale: float) -> Iterator[GuideLine]:
    experiment = live.run.experiment
    path, warmup, seconds = experiment.path, experiment.flows.warmup, experiment.seconds
    if path.delay and not path.all_changes and live.expectation is not None:
        yield GuideLine("path", "limit", ((0.0, path.delay / scale), (seconds, path.delay / scale)))
        if path.rate and path.queue:
            full = (path.delay + path.queue * 8 / path.rate) / scale
            yield GuideLine("full queue", "limit", ((0.0, full), (seconds, full)))
    mean = MEASURES["rtt"].compute(live.report) if live.report is not None else None
    if mean:
        yield GuideLine("measured mean", "mean", ((warmup, mean / scale), (seconds, mean / scale)))
    if live.said is not None and live.said[0] == "rtt":
        said = live.said[1] / scale
        yield GuideLine("you", "you", ((warmup, said), (seconds, said)))


def _other_runs(live: Live, history: History, scale: float) -> tuple[list[FlowCurve], list[FlowCurve]]:
    """Return the curves of comparison runs, and of the page's earlier runs or a what-if's base run."""

    def curve(name: str, points: Points) -> FlowCurve:
        values = resample([(t, bps / scale) for t, bps in points], history.start, history.seconds)
        return FlowCurve(name, values, values, values, faint=True)

    comparison = [
        FlowCurve(letter, made.low, made.high, made.last)
        for letter, run in zip(LETTERS, live.comparisons, strict=False)
        if run.window and (made := curve(letter, run.points))
    ]
    return comparison, [curve("before", run.points) for run in live.earlier if run.points]


def axis_top(curves: Sequence[FlowCurve], start: int, guides: Sequence[GuideLine]) -> tuple[float, float]:
    """Return the upper end of the axis, and the highest value if the axis cuts it off, otherwise 0."""
    measured = max((v for each in curves for v in each.high[start:] if not isnan(v)), default=0.0)
    warmup_max = max((v for each in curves for v in each.high[:start] if not isnan(v)), default=0.0)
    expected = max((each.value for each in guides if each.kind == "expected"), default=0.0)
    needed = max(measured, expected) or warmup_max or max((each.value for each in guides), default=1.0)
    if warmup_max <= _PEAK_REACH * needed:
        needed = max(needed, warmup_max)
    top = rounded_up(_ROOM * max([needed, *(each.value for each in guides if each.value <= _REACH * needed)]))
    highest = max(measured, warmup_max)
    return top, highest if highest > top else 0.0
