"""Mean RTT and loss rate of flows at a shared queue."""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec

from tcptutor import theory
from tcptutor.analysis.expected.meeting import held, is_known, limited_flows
from tcptutor.analysis.expected.stretches import cases
from tcptutor.spec import Experiment


class SharedQueue(msgspec.Struct, frozen=True, kw_only=True):
    """Means over the time and all flows of the experiment."""

    rtt_s: float
    """RTT including queueing."""
    loss_rate: float
    """Loss events per segment, random and from the full queue."""


def expect_queue(experiment: Experiment) -> SharedQueue | None:
    """Return the expectation of `theory.limited_link`; None without a law for a flow, path or queue.

    Slow start is left out; its losses matter only in a short run, or in a run without warm-up.
    """
    whole = cases(experiment)
    if len(whole) != 1:
        return None
    case = whole[0]
    if (
        case.room is None
        or case.bursts_overflow
        or not is_known(case)
        or not case.algorithms <= theory.LIMITED
    ):
        return None
    flows = limited_flows(case)
    rate = case.room / (8 * case.mss)
    if math.fsum(flow.pace for flow in flows) > rate:
        # A pacing rate above the link's share does not limit the flows.
        flows = [replace(flow, pace=math.inf) for flow in flows]
    found = theory.limited_link(flows, rate, held(case))
    base = math.fsum(flow.rtt for flow in case.flows) / case.number
    return SharedQueue(rtt_s=base + found.delay, loss_rate=found.loss)
