"""What flows do to the queue that they share: the RTT and the losses that follow from how many there are."""

from __future__ import annotations

import math
from dataclasses import replace

import msgspec

from tcptutor import theory
from tcptutor.analysis.expected.meeting import held, is_known, limited_flows
from tcptutor.analysis.expected.stretches import cases
from tcptutor.spec import Experiment


class SharedQueue(msgspec.Struct, frozen=True, kw_only=True):
    """Means over the time, and over all flows of the experiment."""

    rtt_s: float
    """With the wait in the queue."""
    loss_rate: float
    """Loss events per segment: those by chance, and those of a full queue."""


def expect_queue(experiment: Experiment) -> SharedQueue | None:
    """What `theory.limited_link` expects; None where no law is known of a flow, the path or the queue.

    Slow start is left out: what it loses is a part of the losses only of a short run, or of one without a warm-up.
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
        # Pacing that lets more in than the link carries does not limit the flows: their windows grow as without it.
        flows = [replace(flow, pace=math.inf) for flow in flows]
    found = theory.limited_link(flows, rate, held(case))
    base = math.fsum(flow.rtt for flow in case.flows) / case.number
    return SharedQueue(rtt_s=base + found.delay, loss_rate=found.loss)
