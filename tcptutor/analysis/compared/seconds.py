"""Second by second: what limited each flow, and how evenly the flows shared what they got.

A second is judged by the same rules as a whole run, with the losses that hold its window down (see `holding_loss`).
So that a verdict does not flicker, a single second of what the network does (loss, bottleneck, reordering, growth)
between two of another such cause counts with these.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import msgspec

from tcptutor.analysis.case import Case
from tcptutor.analysis.compared.rules import Findings, cause
from tcptutor.analysis.models import LimitedBy
from tcptutor.analysis.observed.evidence import Evidence, Measured, evidence_of
from tcptutor.analysis.observed.flow import Interval, Trace
from tcptutor.analysis.observed.path import Direction, Directions, Events, holding_loss
from tcptutor.theory import jain_index

FAIR = 0.9
"""Jain's index from which shares count as even."""

_AROUND = 1
"""Seconds to either side that are taken together: sawteeth that are out of step are not unfair."""

_LEAST = 0.2
"""Seconds; a shorter rest at an end counts with its neighbour."""

_SLACK = 1e-3
"""Seconds by which a sample may come beside its time."""

_SOFT: frozenset[LimitedBy] = frozenset({"random-loss", "bottleneck", "reordering", "growing"})


class Second(msgspec.Struct, frozen=True, kw_only=True):
    """What limited one flow in one second, with the numbers that say so. Shares are 0 to 1."""

    start: float
    end: float
    """A second later, or less where a flow or the measured time begins or ends."""
    limited_by: LimitedBy
    throughput_bps: float
    """Payload acknowledged."""
    busy: float
    """Share of the time with data to send."""
    rwnd_limited: float
    """Share of the busy time that the receiver's window was full."""
    sndbuf_limited: float
    """Share of the busy time that the send buffer was full."""
    app_limited: float
    """Share of the time in which the sender ran out of data."""
    stalled: float
    """Share of the time spent waiting for a timeout or recovering from one."""
    loss_events: int
    retransmits: int
    timeouts: int
    """0 where the kernel does not tell."""
    marks: int
    """Segments that arrived with an ECN mark."""
    reordered: int
    queue_drops: int
    """Packets of all flows that the bottleneck's queue dropped; 0 where it was not measured."""
    rtt_s: float
    """Mean."""
    min_rtt_s: float
    """The least that was ever measured."""
    cwnd_segments: float
    link_share: float | None
    """Of the link's goodput, by this flow; None when the link is not shaped."""
    link_used: float | None
    """Of the link's goodput, by all flows; None when the link is not shaped."""


class FairnessSecond(msgspec.Struct, frozen=True, kw_only=True):
    """How evenly the flows shared what they got in one second."""

    t: float
    """Its end, s."""
    jain_index: float
    """1 when all get the same, 1/n when one of n gets all."""
    shares: dict[int, float]
    """By flow number, of the throughput of all that were there."""


def seconds(
    measured: Measured, case: Case, links: Directions, events: Events
) -> dict[int, tuple[Second, ...]]:
    """By flow number, of the whole run, warm-up included; nothing for a flow that was hardly seen."""
    experiment = case.experiment
    parts = {trace.flow: _cut(trace, experiment.flows.warmup) for trace in measured.traces}
    loads = {
        reverse: _loads(each for flow, each in parts.items() if experiment.reversed(flow) == reverse)
        for reverse in links
    }
    found = {}
    for flow, intervals in parts.items():
        link, together = links[experiment.reversed(flow)], loads[experiment.reversed(flow)]
        judged = []
        for each in intervals:
            load = together[_number(each)]
            used = _used(case, each, link, load)
            evidence = evidence_of(measured.run, each, link, used)
            last = each.trace.column("t")[-1]
            kind = holding_loss(events[flow], each.start, each.until, each.mean("cwnd"), last)
            judged.append((each, evidence, cause(Findings(case, evidence, kind, len(load.flows)))))
        steady = _steady([limited_by for _, _, limited_by in judged])
        found[flow] = tuple(
            _second(each, evidence, limited_by)
            for (each, evidence, _), limited_by in zip(judged, steady, strict=True)
        )
    return found


def _cut(trace: Trace, warmup: float) -> list[Interval]:
    """At whole seconds and at the end of the warm-up."""
    times = trace.column("t")
    if len(times) < 2 or times[-1] - times[0] < _LEAST:
        return []
    whole = range(math.floor(times[0]) + 1, math.ceil(times[-1]))
    edges = sorted({*map(float, whole), warmup})
    edges = [edge for edge in edges if times[0] + _LEAST <= edge <= times[-1] - _LEAST]
    kept: list[float] = []
    for edge in edges:
        if not kept or edge - kept[-1] >= _LEAST:
            kept.append(edge)
        elif edge == warmup:
            kept[-1] = edge
    cuts = [0, *(bisect_left(times, edge - _SLACK) for edge in kept), len(times) - 1]
    intervals = [Interval(trace, first, last + 1) for first, last in pairwise(cuts) if last > first]
    return [each for each in intervals if each.seconds > 0]


def _number(interval: Interval) -> int:
    """Of the second in which it begins, with a hair of slack."""
    return int(interval.start + _SLACK)


class _Load:
    """What the flows of one direction carried in one second."""

    def __init__(self) -> None:
        self.flows: set[int] = set()
        self.bits = 0.0
        self.start, self.end = math.inf, 0.0

    def add(self, interval: Interval) -> None:
        self.flows.add(interval.flow)
        self.bits += 8 * interval.grown("bytes_acked")
        self.start, self.end = min(self.start, interval.start), max(self.end, interval.until)


def _loads(parts: Iterable[list[Interval]]) -> dict[int, _Load]:
    """By second."""
    loads: dict[int, _Load] = defaultdict(_Load)
    for intervals in parts:
        for each in intervals:
            loads[_number(each)].add(each)
    return loads


def _used(case: Case, interval: Interval, link: Direction, load: _Load) -> float | None:
    """The share of the link that all flows had; UDP takes its part as well."""
    goodput = link.goodput(interval.start, interval.until)
    if not goodput:
        return None
    used = load.bits / (load.end - load.start) / goodput
    by_udp = link.used(interval.start, interval.until) if case.experiment.flows.udp_streams else None
    return max(used, by_udp or 0.0)


def _steady(names: Sequence[LimitedBy]) -> list[LimitedBy]:
    """Without single seconds of one soft cause between two of another."""
    steady = list(names)
    for at in range(1, len(steady) - 1):
        before, now, after = steady[at - 1 : at + 2]
        if before == after != now and {before, now} <= _SOFT:
            steady[at] = before
    return steady


def _second(interval: Interval, evidence: Evidence, limited_by: LimitedBy) -> Second:
    return Second(
        start=interval.start,
        end=interval.until,
        limited_by=limited_by,
        throughput_bps=evidence.throughput_bps,
        busy=evidence.busy,
        rwnd_limited=evidence.rwnd_limited,
        sndbuf_limited=evidence.sndbuf_limited,
        app_limited=evidence.app_limited,
        stalled=evidence.stalled,
        loss_events=evidence.loss_events,
        retransmits=evidence.retransmits,
        timeouts=evidence.timeouts,
        marks=evidence.marks,
        reordered=evidence.reordered,
        queue_drops=evidence.queue_drops,
        rtt_s=evidence.mean_rtt_s,
        min_rtt_s=evidence.min_rtt_s,
        cwnd_segments=interval.mean("cwnd"),
        link_share=evidence.link_share,
        link_used=evidence.link_used,
    )


def fairness(flows: Mapping[int, Sequence[Second]]) -> tuple[FairnessSecond, ...]:
    """For each second in which two flows or more were there, of those that were. Empty for one flow."""
    by_second: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    ends: dict[int, float] = defaultdict(float)
    for flow, mine in flows.items():
        for second in mine:
            key = int(second.start)
            by_second[key][flow] += second.throughput_bps * (second.end - second.start)
            ends[key] = max(ends[key], second.end)
    found = []
    for key, got in sorted(by_second.items()):
        total = sum(got.values())
        if len(got) >= 2 and total > 0:
            shares = {flow: bits / total for flow, bits in sorted(got.items())}
            found.append(FairnessSecond(t=ends[key], jain_index=jain_index(got.values()), shares=shares))
    return tuple(found)


def converged(found: Sequence[FairnessSecond]) -> float | None:
    """The end of the first second from which on the shares are even; None when they are not at the end.

    Even means equal: flows whose RTTs or bounds differ may rightly never come there. Shares are means over three
    seconds, and a flow that joins makes them uneven again.
    """
    since: float | None = None
    for at, second in enumerate(found):
        near = [
            other
            for other in found[max(0, at - _AROUND) : at + _AROUND + 1]
            if other.shares.keys() == second.shares.keys()
        ]
        shares = [sum(other.shares[flow] for other in near) for flow in second.shares]
        if jain_index(shares) < FAIR:
            since = None
        elif since is None:
            since = second.t
    return since
