"""Builds the scene of a run from its history: cwnd over time, or throughput where cwnd is unknown."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import isnan

from tcptutor.spec import Experiment
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench.axes import rate_unit, rounded_up
from tcptutor.ui.widgets.bench.comparison import comparison_curves, original_curves
from tcptutor.ui.widgets.bench.history import STEPS, History
from tcptutor.ui.widgets.bench.references import axis_top, references
from tcptutor.ui.widgets.bench.scene import WINDOW, FlowCurve, GuideLine, OwnPrediction, Scene
from tcptutor.ui.widgets.bench.series import series, warmup_events

MAX_CURVES = 8
"""Maximum flows drawn individually; more are drawn as a band with a single flow."""

_AXIS_REACH = 1.5
"""Reference lines up to this multiple of the measured maximum extend the axis of a what-if."""
_UDP_MEAN_S = 0.5
"""Seconds over which the rate of arriving datagrams is averaged, against the noise of reports."""


def scene_of(live: Live, history: History, own: OwnPrediction | None, flow: int = 0) -> Scene:
    """Return the scene to draw; called in a thread, after `history` has followed the run.

    Args:
        live: The run.
        history: Its samples, or those of a part of its time.
        own: The student's prediction.
        flow: Flow to draw where the others form a band.
    """
    experiment = live.run.experiment
    tcp = [history.flows[number] for number in sorted(history.flows)]
    has_cwnd = any(not isnan(high) and high > 0 for each in tcp for high in each.high)
    if (tcp and not has_cwnd) or (not tcp and history.udp):
        return _throughput_scene(live, history)
    curves = [
        FlowCurve(name, each.low, each.high, each.last, figure)
        for each, name, figure in zip(
            tcp, flow_names(experiment, history.flows), _share_texts(live, history), strict=True
        )
    ]
    drawn_flow = sorted(history.flows).index(flow) if flow in history.flows else 0
    guides = tuple(references(live, own))
    original, warm = original_curves(live, history), history.warm_steps(experiment.flows.warmup)
    comparison = comparison_curves(live.comparisons, history.start, history.seconds, len(curves))
    if comparison and len(curves) == 1:
        curves = [replace(curves[0], name="this")]
    near = _near_references(guides, original, warm) if original else guides
    upper, peak = axis_top([*curves, *original, *comparison], warm, near)
    shown = curves[drawn_flow : drawn_flow + 1] if len(curves) > MAX_CURVES else curves
    return Scene(
        seconds=history.seconds,
        start=history.start,
        warmup=experiment.flows.warmup,
        until=history.until,
        quantity=WINDOW,
        top=upper,
        curves=(*shown, *comparison),
        band=_band(curves) if len(curves) > MAX_CURVES else None,
        references=guides,
        series=dict(series(live, history)),
        peak=peak,
        flows=max(experiment.total_streams, len(curves) + len(comparison)),
        ended=not live.in_progress,
        original=original,
        warmup_events=warmup_events(live, history),
    )


def _near_references(
    references: Sequence[GuideLine], original: Sequence[FlowCurve], warm: int
) -> list[GuideLine]:
    """Return the reference lines near enough to the data to widen the axis of a what-if."""
    measured = max(
        (value for each in original for value in each.high[warm:] if not isnan(value)), default=0.0
    )
    return [each for each in references if each.value <= _AXIS_REACH * measured]


def flow_names(experiment: Experiment, flows: Iterable[int]) -> list[str]:
    """Return short names: flow number, or sending host if pairs have a single flow; algorithm if mixed."""
    ordered = sorted(flows)
    algorithms = {flow: experiment.algorithm(flow) for flow in ordered}
    mixed = len(set(algorithms.values())) > 1
    names = []
    for flow in ordered:
        by_host = experiment.pairs > 1 and experiment.flows.streams == 1
        name = f"h{2 * flow + 1}" if by_host else f"{flow + 1}"
        names.append(f"{name} {algorithms[flow]}" if mixed else name)
    return names


def _share_texts(live: Live, history: History) -> list[str]:
    figures = {flow.flow: flow.share for flow in live.report.flows} if live.report else {}
    if len(figures) < 2:
        return [""] * len(history.flows)
    return [f"{100 * figures[flow]:.0f} %" if flow in figures else "" for flow in sorted(history.flows)]


def _band(curves: Sequence[FlowCurve]) -> FlowCurve:
    low, high = array("d", [math.nan]) * STEPS, array("d", [math.nan]) * STEPS
    for each in curves:
        for at, (lowest, highest) in enumerate(zip(each.low, each.high, strict=True)):
            if not isnan(lowest):
                low[at] = lowest if isnan(low[at]) else min(low[at], lowest)
                high[at] = highest if isnan(high[at]) else max(high[at], highest)
    return FlowCurve(f"all {len(curves)}", low, high, high)


def _throughput_scene(live: Live, history: History) -> Scene:
    """Build the scene of throughput over time, for UDP and for imported runs without cwnd."""
    experiment = live.run.experiment
    names = flow_names(experiment, history.flows)
    named = {name: history.throughput(f) for name, f in zip(names, sorted(history.flows), strict=True)}
    named |= {f"UDP {flow + 1}": history.arrival_rate(flow, _UDP_MEAN_S) for flow in sorted(history.udp)}
    highest = max((value for each in named.values() for value in each if not isnan(value)), default=1.0)
    scale, unit = rate_unit(highest)
    curves = []
    for name, values in named.items():
        scaled = array("d", [value / scale for value in values])
        curves.append(FlowCurve(name, scaled, scaled, scaled))
    many = len(curves) > MAX_CURVES
    return Scene(
        seconds=history.seconds,
        start=history.start,
        warmup=experiment.flows.warmup,
        until=history.until,
        quantity=f"throughput, {unit}",
        top=rounded_up(max(1.15 * highest / scale, 1e-3)),
        curves=tuple(curves[:1] if many else curves),
        band=_band(curves) if many else None,
        references=(),
        series=dict(series(live, history)),
        flows=len(curves),
        ended=not live.in_progress,
        warmup_events=warmup_events(live, history),
    )
