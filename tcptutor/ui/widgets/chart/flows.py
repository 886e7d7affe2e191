"""Flows of a chart: their names, shares, and the band in place of too many."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from math import isnan

from tcptutor.spec import Experiment
from tcptutor.study.live import Live
from tcptutor.ui.widgets.chart.history import STEPS, History
from tcptutor.ui.widgets.chart.scene import FlowCurve

MAX_CURVES = 8
"""Maximum flows drawn individually; more are drawn as a band with a single flow."""


def flow_names(experiment: Experiment, flows: Iterable[int]) -> list[str]:
    """Return short names: flow number, or sending host if pairs have a single flow; algorithm if mixed."""
    ordered = sorted(flows)
    algorithms = {flow: experiment.algorithm(flow) for flow in ordered}
    mixed = len(set(algorithms.values())) > 1
    names = []
    for flow in ordered:
        by_host = experiment.pairs > 1 and experiment.total_streams == experiment.pairs
        name = f"h{2 * flow + 1}" if by_host else f"{flow + 1}"
        names.append(f"{name} {algorithms[flow]}" if mixed else name)
    return names


def share_texts(live: Live, history: History) -> list[str]:
    figures = {flow.flow: flow.share for flow in live.report.flows} if live.report else {}
    if len(figures) < 2:
        return [""] * len(history.flows)
    return [f"{100 * figures[flow]:.0f} %" if flow in figures else "" for flow in sorted(history.flows)]


def band_of(curves: Sequence[FlowCurve]) -> FlowCurve:
    low, high = array("d", [math.nan]) * STEPS, array("d", [math.nan]) * STEPS
    for each in curves:
        for at, (lowest, highest) in enumerate(zip(each.low, each.high, strict=True)):
            if not isnan(lowest):
                low[at] = lowest if isnan(low[at]) else min(low[at], lowest)
                high[at] = highest if isnan(high[at]) else max(high[at], highest)
    return FlowCurve(f"all {len(curves)}", low, high, high)
