"""Expectation of an experiment with two bottlenecks in a row: how its flows may share them.

The models of a single link do not apply. Two kinds of fairness and the square-root law give references, without a
claim to an accuracy.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tcptutor.analysis.case import PATH_RTT, payload_ratio
from tcptutor.analysis.expected.lossless import UNKNOWN
from tcptutor.analysis.expected.prediction import Expectation, Prediction
from tcptutor.base import units
from tcptutor.spec import Experiment
from tcptutor.spec.topology import link_name
from tcptutor.theory.links_in_row import max_min_shares, proportional_shares, square_root_shares
from tcptutor.theory.models import ThroughputModel

NOTE = "two bottlenecks: the models of one link do not apply, and these shares are references"


def expect_shares(experiment: Experiment) -> Expectation:
    """Return the shares of the flows by each reference, of which the square-root law comes first for Reno.

    If the number of flows changes, they are the shares of those that are open at the end of the warm-up.
    """
    ratio = payload_ratio(experiment)
    paths = [experiment.at_link(link).path for link in range(experiment.link_count)]
    capacities = [(path.rate or 0.0) * ratio for path in paths]
    flows = [
        flow
        for flow in range(experiment.total_streams)
        if not experiment.lives or experiment.is_open(flow, experiment.flows.warmup)
    ]
    routes = [experiment.links_of(experiment.pair_of(flow)) for flow in flows]
    # Flows lose segments when a queue is full.
    waits = [8 * path.queue / path.rate if path.rate else 0.0 for path in paths]
    rtts = [
        experiment.delay(flow) + PATH_RTT + math.fsum(waits[link] for link in route)
        for flow, route in zip(flows, routes, strict=True)
    ]
    shares = {
        ThroughputModel.SQUARE_ROOT: square_root_shares(capacities, routes, rtts),
        ThroughputModel.PROPORTIONAL: proportional_shares(capacities, routes),
        ThroughputModel.MAX_MIN: max_min_shares(capacities, routes),
    }
    are_reno = {*experiment.congestion_controls} == {"reno"}
    first = ThroughputModel.SQUARE_ROOT if are_reno else ThroughputModel.PROPORTIONAL
    order = sorted(shares, key=lambda model: (model is not first, math.fsum(shares[model])))
    return Expectation(
        predictions=tuple(_prediction(model, shares[model], routes) for model in order),
        cwnd_segments=None,
        loss_events=0.0,
        note=NOTE,
        flows=() if experiment.lives else shares[first],
    )


def _prediction(
    model: ThroughputModel, shares: Sequence[float], routes: Sequence[tuple[int, ...]]
) -> Prediction:
    return Prediction(
        model=model,
        label=model.label,
        throughput_bps=math.fsum(shares),
        formula=_by_route(shares, routes),
        tolerance=min(1.0, UNKNOWN),
        tolerance_from={"model": min(1.0, UNKNOWN)},
        limited_by="bottleneck",
    )


def _by_route(shares: Sequence[float], routes: Sequence[tuple[int, ...]]) -> str:
    """Return the rate of a flow over each route: "2.49 Mbit/s over both, 7.07 Mbit/s over s1 to s2, ..."."""
    found: dict[str, float] = {}
    for rate, route in zip(shares, routes, strict=True):
        found.setdefault("both" if len(route) > 1 else link_name(*route), rate)
    return ", ".join(f"{units.rate(rate)} over {name}" for name, rate in found.items())
