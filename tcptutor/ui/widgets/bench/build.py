"""Makes the scene of a run from its history: windows over time, or rates where no windows are known."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from dataclasses import replace
from math import isnan

from tcptutor.spec import Experiment
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench.beside import curves_beside
from tcptutor.ui.widgets.bench.earlier import windows
from tcptutor.ui.widgets.bench.history import STEPS, History
from tcptutor.ui.widgets.bench.references import references, top
from tcptutor.ui.widgets.bench.scales import rate_unit, rounded_up
from tcptutor.ui.widgets.bench.scene import WINDOW, FlowCurve, GuideLine, OwnPrediction, Scene
from tcptutor.ui.widgets.bench.series import early, series

MOST_CURVES = 8
"""Flows that are drawn one by one; of more a band and the first."""

_FAR = 1.5
"""How many times what was measured a line may be that the axis still makes room for."""
_SMOOTH = 0.5
"""Seconds over which the rate of arriving datagrams is a curve and not the noise of each report."""


def scene_of(live: Live, history: History, own: OwnPrediction | None, flow: int = 0) -> Scene:
    """Called in a thread, with a history that has followed the run.

    `flow` is the number of the one that is drawn where all are a band.
    """
    experiment = live.run.experiment
    tcp = [history.flows[number] for number in sorted(history.flows)]
    by_window = any(not isnan(high) and high > 0 for each in tcp for high in each.high)
    if (tcp and not by_window) or (not tcp and history.udp):
        return _by_rate(live, history)
    curves = [
        FlowCurve(name, each.low, each.high, each.last, figure)
        for each, name, figure in zip(
            tcp, flow_names(experiment, history.flows), _shares(live, history), strict=True
        )
    ]
    one = sorted(history.flows).index(flow) if flow in history.flows else 0
    beside = tuple(references(live, own))
    earlier, warm = windows(live, history), history.warm_steps(experiment.flows.warmup)
    others = curves_beside(live.comparisons, history.start, history.seconds, len(curves))
    if others and len(curves) == 1:
        curves = [replace(curves[0], name="this")]
    near = _near(beside, earlier, warm) if earlier else beside
    upper, peak = top([*curves, *earlier, *others], warm, near)
    shown = curves[one : one + 1] if len(curves) > MOST_CURVES else curves
    return Scene(
        seconds=history.seconds,
        start=history.start,
        warmup=experiment.flows.warmup,
        until=history.until,
        quantity=WINDOW,
        top=upper,
        curves=(*shown, *others),
        band=_band(curves) if len(curves) > MOST_CURVES else None,
        references=beside,
        series=dict(series(live, history)),
        peak=peak,
        flows=max(experiment.total_streams, len(curves) + len(others)),
        ended=not live.in_progress,
        earlier=earlier,
        early=early(live, history),
    )


def _near(references: Sequence[GuideLine], earlier: Sequence[FlowCurve], warm: int) -> list[GuideLine]:
    """Those that the axis has to make room for where two runs are to be told apart."""
    measured = max((value for each in earlier for value in each.high[warm:] if not isnan(value)), default=0.0)
    return [each for each in references if each.value <= _FAR * measured]


def flow_names(experiment: Experiment, flows: Iterable[int]) -> list[str]:
    """Short names: the number, or the sending host where each pair has one flow; the algorithm where it differs."""
    ordered = sorted(flows)
    algorithms = {flow: experiment.algorithm(flow) for flow in ordered}
    several = len(set(algorithms.values())) > 1
    names = []
    for flow in ordered:
        host = experiment.pairs > 1 and experiment.flows.streams == 1
        name = f"h{2 * flow + 1}" if host else f"{flow + 1}"
        names.append(f"{name} {algorithms[flow]}" if several else name)
    return names


def _shares(live: Live, history: History) -> list[str]:
    """Of each flow, once the run has ended."""
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


def _by_rate(live: Live, history: History) -> Scene:
    """Where no windows are known: of UDP, and of other programs' files."""
    experiment = live.run.experiment
    names = flow_names(experiment, history.flows)
    named = {name: history.throughput(f) for name, f in zip(names, sorted(history.flows), strict=True)}
    named |= {f"UDP {flow + 1}": history.arriving(flow, _SMOOTH) for flow in sorted(history.udp)}
    highest = max((value for each in named.values() for value in each if not isnan(value)), default=1.0)
    scale, unit = rate_unit(highest)
    curves = []
    for name, values in named.items():
        scaled = array("d", [value / scale for value in values])
        curves.append(FlowCurve(name, scaled, scaled, scaled))
    many = len(curves) > MOST_CURVES
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
        early=early(live, history),
    )
