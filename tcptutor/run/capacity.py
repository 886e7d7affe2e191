"""What a path may carry in a time, by its rate and the changes of it, beside what was carried. Pure: asks nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from tcptutor.base import units
from tcptutor.run import FlowResult, QueueSample, UdpResult
from tcptutor.spec import ETHERNET_HEADER, Experiment, default_burst

SLACK = 0.03
"""How far what a bottleneck carries may be from its rate, relative."""
_LATE = 0.02
"""How late a change may come, s: it is made between two samples."""


class FlowSpan(NamedTuple):
    """A flow's figures, and the samples that they are from."""

    result: FlowResult
    begin: float
    end: float
    """s since the traffic began."""
    samples: int

    @property
    def arrived(self) -> float:
        """Payload, bytes."""
        return self.result.throughput_bps / 8 * (self.end - self.begin)


def allowed_bytes(experiment: Experiment, start: float, end: float, reverse: bool = False) -> float | None:
    """Bytes of frames that one direction lets through from `start` to `end`, s since the traffic began; None without a
    rate.

    By the rate as it is at each time; each change of the path fills the lab's own bucket again, one that somebody
    asked for comes not on top.
    """
    path, frame = experiment.path, experiment.hosts.mtu + ETHERNET_HEADER
    rate = path.reverse_rate if reverse else path.rate
    if rate is None:
        return None
    changes = [] if reverse else [one for one in path.changes if one.name != "link" and one.at < end]
    # The bucket of the start is empty once traffic flows, and a path that carries little has it on top for ever.
    found, at = 0.0, start
    for change in changes:
        before = rate
        if change.name == "rate":
            found += rate / 8 * max(0.0, change.at - at)
            rate, at = change.value, max(at, change.at)
        if change.at >= start - _LATE:
            found += default_burst(max(rate, before), frame) + max(0.0, before - rate) / 8 * _LATE
    # Frames leave whole: one may leave at each end.
    return found + rate / 8 * max(0.0, end - at) + 2 * frame


def queue_excess(experiment: Experiment, queue: Sequence[QueueSample]) -> str:
    """Why the bottleneck carried too much in the measured time, as its own counter has it; empty when it did not."""
    warmup = experiment.flows.warmup
    rows = [row for row in queue if row.t >= warmup]
    if len(rows) < 2:
        # So short a run is judged by all of it.
        rows = list(queue)
    if len(rows) < 2:
        return ""
    seconds, sent = rows[-1].t - rows[0].t, rows[-1].sent - rows[0].sent
    most = allowed_bytes(experiment, rows[0].t, rows[-1].t)
    if most is None or seconds <= 0 or sent <= most * (1 + SLACK):
        return ""
    return _too_much(8 * sent / seconds, 8 * most / seconds)


def flow_excess(experiment: Experiment, flows: Sequence[FlowSpan], udp: Sequence[UdpResult]) -> str:
    """Why more arrived in the measured time than the path lets through; empty when it did not.

    What passes by the bottleneck's queue is in no counter of the queue.
    """
    frame = experiment.segment + experiment.headers + ETHERNET_HEADER
    # Without SACK nothing tells of what had arrived behind a gap before the measured time.
    known = [flow for flow in flows if experiment.hosts.sysctls.get("tcp_sack") != "0"]
    for reverse in (False, True):
        ours = [flow for flow in known if experiment.reversed(flow.result.flow) == reverse]
        payload = sum(flow.arrived for flow in ours) * frame / experiment.segment
        begin = min((flow.begin for flow in ours), default=math.inf)
        end = max((flow.end for flow in ours), default=-math.inf)
        if udp and not reverse:
            begin, end = min(begin, experiment.flows.warmup), max(end, experiment.seconds)
            payload += sum(flow.received_bps or 0.0 for flow in udp) / 8 * experiment.flows.duration
        most = allowed_bytes(experiment, begin, end, reverse) if begin < end else None
        if most is not None and payload > most * (1 + SLACK):
            return _too_much(8 * payload / (end - begin), 8 * most / (end - begin))
    return ""


def netem_drop_rate(loss: float, duplicate: float) -> float:
    """The share that netem drops of all packets and copies that it keeps or drops, from the probabilities of both.

    It draws for both at once: one that is to be lost and to be doubled goes on alone. Each copy may be lost as well
    (netem_enqueue in net/sched/sch_netem.c).
    """
    doubled = duplicate * (1 - loss)
    lost = loss * (1 - duplicate) + doubled * loss
    return lost / (1 + doubled)


def _too_much(carried: float, most: float) -> str:
    return f"{units.rate(carried)} were carried, more than the {units.rate(most)} that the path lets through"


def busy_periods(queue: Sequence[QueueSample]) -> tuple[float, int, int]:
    """Where the queue was never empty: for how many seconds, the bytes that left meanwhile, and in how many pieces."""
    seconds, sent, stretches = 0.0, 0, 0
    last: QueueSample | None = None
    for before, now in pairwise(queue):
        # Two full frames wait: one alone may be waiting for the next.
        if min(before.packets, now.packets) > 2:
            stretches += last is not before
            last = now
            seconds += now.t - before.t
            sent += now.sent - before.sent
    return seconds, sent, stretches
