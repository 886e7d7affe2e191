"""Bytes that a path can carry in an interval, by its rate and its changes, compared with the bytes carried."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from tcptutor.base import units
from tcptutor.run import FlowResult, QueueSample, UdpResult
from tcptutor.spec import Experiment, default_burst
from tcptutor.spec.frame_sizes import ETHERNET_HEADER, trace_burst
from tcptutor.spec.parts import Path
from tcptutor.spec.rate_trace import mean_rate

SLACK = 0.03
"""Largest relative deviation of a bottleneck's throughput from its rate."""
_LATE = 0.02
"""Largest delay of a change, s: it happens between two samples."""


class FlowSpan(NamedTuple):
    """A flow's figures, and the interval of samples behind them."""

    result: FlowResult
    begin: float
    end: float
    """s since the traffic began."""
    samples: int

    @property
    def arrived(self) -> float:
        """Return the payload that arrived, bytes."""
        return self.result.throughput_bps / 8 * (self.end - self.begin)


def allowed_bytes(experiment: Experiment, start: float, end: float, reverse: bool = False) -> float | None:
    """Return the bytes of frames that a direction can carry from `start` to `end`; None without a rate.

    Follows each change of rate. Every planned change refills the lab's own bucket; a burst set by the user is
    not added.

    Args:
        experiment: The experiment with its path and changes.
        start: Begin of the interval, s since the traffic began.
        end: End of the interval, s since the traffic began.
        reverse: Look at the reverse path.
    """
    path, frame = experiment.path, experiment.hosts.mtu + ETHERNET_HEADER
    rate = path.reverse_rate if reverse else path.rate
    if rate is None:
        return None
    changes = [] if reverse else [one for one in path.all_changes if one.name != "link" and one.at < end]
    # The initial bucket is empty once traffic flows; a path with little traffic keeps it in reserve.
    allowed, at = 0.0, start
    for change in changes:
        before = rate
        if change.name == "rate":
            allowed += rate / 8 * max(0.0, change.at - at)
            rate, at = change.value, max(at, change.at)
        if change.at >= start - _LATE:
            bucket = trace_burst if path.rate_trace else default_burst
            allowed += bucket(max(rate, before), frame) + max(0.0, before - rate) / 8 * _LATE
    # One frame can straddle each end of the interval.
    return allowed + rate / 8 * max(0.0, end - at) + 2 * frame


def queue_excess(experiment: Experiment, queue: Sequence[QueueSample], link: int = 0) -> str:
    """Explain why bottleneck number `link` carried too much when measured, by its own counter; empty if it did not."""
    experiment = experiment.at_link(link)
    warmup = experiment.flows.warmup
    start = bisect_left(queue, warmup, key=attrgetter("t"))
    if len(queue) - start < 2:
        # Judge a very short run by all of its samples.
        start = 0
    if len(queue) < 2:
        return ""
    first, last = queue[start], queue[-1]
    seconds, sent = last.t - first.t, last.sent - first.sent
    most = allowed_bytes(experiment, first.t, last.t)
    if most is None or seconds <= 0 or sent <= most * (1 + SLACK):
        return ""
    return _too_much(8 * sent / seconds, 8 * most / seconds)


def flow_excess(
    experiment: Experiment, flows: Sequence[FlowSpan], udp: Sequence[UdpResult], link: int = 0
) -> str:
    """Explain why more arrived over bottleneck number `link` than it can carry when measured; empty if it did not.

    This also sees packets that bypass the bottleneck's queue and its counter.
    """
    frame = experiment.segment + experiment.headers + ETHERNET_HEADER
    # Without SACK the bytes that arrived behind a gap before the measured time are unknown.
    has_sack = experiment.hosts.sysctls.get("tcp_sack") != "0"
    known = [flow for flow in flows if has_sack and experiment.crosses(flow.result.flow, link)]
    for reverse in (False, True):
        ours = [flow for flow in known if experiment.reversed(flow.result.flow) == reverse]
        payload = sum(flow.arrived for flow in ours) * frame / experiment.segment
        begin = min((flow.begin for flow in ours), default=math.inf)
        end = max((flow.end for flow in ours), default=-math.inf)
        if udp and not reverse:
            begin, end = min(begin, experiment.flows.warmup), max(end, experiment.seconds)
            payload += sum(flow.received_bps or 0.0 for flow in udp) / 8 * experiment.flows.duration
        most = allowed_bytes(experiment.at_link(link), begin, end, reverse) if begin < end else None
        if most is not None and payload > most * (1 + SLACK):
            return _too_much(8 * payload / (end - begin), 8 * most / (end - begin))
    return ""


def netem_drop_rate(loss: float, duplicate: float) -> float:
    """Return the fraction of packets and copies that netem drops, from the probabilities of loss and duplication.

    netem draws for both at once: a packet chosen for both is sent once. Each copy can be lost as well
    (netem_enqueue in net/sched/sch_netem.c).
    """
    doubled = duplicate * (1 - loss)
    lost = loss * (1 - duplicate) + doubled * loss
    return lost / (1 + doubled)


def _too_much(carried: float, most: float) -> str:
    return f"{units.rate(carried)} were carried, more than the {units.rate(most)} that the path lets through"


class BusyPeriods(NamedTuple):
    """Times in which the bottleneck's queue was never empty, added up."""

    seconds: float
    sent: int
    """Bytes of frames."""
    number: int
    allowed: float | None
    """Bytes that the path's rate trace lets through meanwhile; None without a trace."""


def busy_periods(queue: Sequence[QueueSample], path: Path) -> BusyPeriods:
    """Return the times in which the queue was never empty."""
    seconds, sent, stretches, bits = 0.0, 0, 0, 0.0
    last: QueueSample | None = None
    for before, now in pairwise(queue):
        # A single frame can be in the queue while the link is idle; two mean a busy link.
        if min(before.packets, now.packets) > 2:
            stretches += last is not before
            last = now
            seconds += now.t - before.t
            sent += now.sent - before.sent
            if path.rate_trace and now.t > before.t:
                bits += mean_rate(path.rate_trace, before.t, now.t) * (now.t - before.t)
    return BusyPeriods(seconds, sent, stretches, bits / 8 if path.rate_trace else None)
