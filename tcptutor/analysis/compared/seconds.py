"""Second by second: what limited each flow, and how evenly the flows shared what they got.

A second is judged by the same rules as a whole run, with the losses that hold its window down (see `holding_loss`).
So that a verdict does not flicker, a single second of what the network does (loss, bottleneck, reordering, growth)
between two of another such cause counts with these.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tcptutor.analysis.compared.findings import Findings
from tcptutor.analysis.compared.rules import cause
from tcptutor.analysis.compared.run_findings import RunFindings
from tcptutor.analysis.observed.evidence import Evidence, evidence_of
from tcptutor.analysis.observed.flow import ARRIVED, Interval, Trace
from tcptutor.analysis.observed.measured import Measured, path_known
from tcptutor.theory import jain_index
from tcptutor.theory.models import LimitedBy

FAIR = 0.9
"""Jain's index from which shares count as even."""

_AROUND = 1
"""Seconds to either side that are taken together: sawteeth that are out of step are not unfair."""

_LEAST = 0.2
"""Seconds; a shorter rest at an end counts with its neighbour."""

_LEAST_TRANSFER = 0.03
"""Seconds that a flow with a fixed amount to send must last to be judged."""

_SLACK = 1e-3
"""Seconds by which a sample may come beside its time."""

_SOFT: frozenset[LimitedBy] = frozenset({"random-loss", "bottleneck", "reordering", "growing", "unexplained"})


class Second(msgspec.Struct, frozen=True, kw_only=True):
    """What limited one flow in one second, with the evidence that says so."""

    start: float
    end: float
    """A second later, or less where a flow or the measured time begins or ends."""
    limited_by: LimitedBy
    evidence: Evidence
    """Of this flow; the link's use is by all flows."""
    cwnd_segments: float
    """Mean."""


class FairnessSecond(msgspec.Struct, frozen=True, kw_only=True):
    """How evenly the flows shared what they got in one second."""

    t: float
    """Its end, s."""
    jain_index: float
    """1 when all get the same, 1/n when one of n gets all."""
    shares: dict[int, float]
    """By flow number, of the throughput of all that were there."""


def seconds(measured: Measured, gathered: RunFindings) -> dict[int, tuple[Second, ...]]:
    """By flow number, of the whole run, warm-up included; nothing for a flow that was hardly seen."""
    return {
        flow: tuple(each.second for each in mine) for flow, mine in judged_seconds(measured, gathered).items()
    }


class JudgedSecond(NamedTuple):
    """A second of one flow, and what was known when it was judged."""

    second: Second
    findings: Findings


def judged_seconds(measured: Measured, gathered: RunFindings) -> dict[int, tuple[JudgedSecond, ...]]:
    """As `seconds`, each with what it was judged by: what is said of a second is said of that."""
    experiment = measured.run.experiment
    fixed = experiment.flows.bytes is not None
    ends, least = measured.spans if fixed else {}, _LEAST_TRANSFER if fixed else _LEAST
    moments = [experiment.flows.warmup, *(change.at for change in experiment.path.changes)]
    parts = {
        trace.flow: _cut(trace, moments, ends.get(trace.flow, (0.0, math.inf))[1], least)
        for trace in measured.traces
    }
    beside: dict[tuple[bool, int], list[Interval]] = defaultdict(list)
    for each in chain.from_iterable(parts.values()):
        beside[experiment.reversed(each.flow), _number(each)].append(each)
    loads = {key: _load(intervals) for key, intervals in beside.items()}
    found = {}
    for flow, intervals in parts.items():
        known = path_known(measured.run)
        events = gathered.events[flow]
        mine, known_then = [], []
        for each in intervals:
            case = gathered.case_of(flow, each.start + _SLACK)
            flows, throughput = loads[case.backward, _number(each)]
            _, opposite = loads.get((not case.backward, _number(each)), (0, 0.0))
            evidence = evidence_of(measured.run, each, gathered.links, throughput, opposite)
            kind, cwnd = gathered.holding_loss(each), each.mean("cwnd")
            kinds = Counter(loss.kind for loss in events if each.start < loss.t <= each.until)
            findings = Findings(case, evidence, kind, flows, events=kinds, known=known)
            known_then.append(findings)
            limited_by = cause(findings)
            mine.append(
                Second(
                    start=each.start,
                    end=each.until,
                    limited_by=limited_by,
                    evidence=evidence,
                    cwnd_segments=cwnd,
                )
            )
        found[flow] = tuple(map(JudgedSecond, _steady(mine), known_then))
    return found


def _cut(trace: Trace, moments: Sequence[float], until: float, least: float) -> list[Interval]:
    """Cut at whole seconds and at `moments`: the end of the warm-up, and changes of the path.

    Up to `until`, when a flow has sent all that it had; a flow that is there for less than `least` is not cut.
    """
    times = trace.column("t")
    times = times[: bisect_right(times, until + _SLACK)]
    if len(times) < 2 or times[-1] - times[0] < least:
        return []
    # Of the whole seconds between two samples any one will do: a file may leave out a day.
    whole = {float(math.floor(t + slack) + 1) for t in times for slack in (0.0, _SLACK)}
    edges = sorted({*whole, *moments})
    edges = [edge for edge in edges if times[0] + _LEAST <= edge <= times[-1] - _LEAST]
    kept: list[float] = []
    for edge in edges:
        if not kept or edge - kept[-1] >= _LEAST:
            kept.append(edge)
        elif edge in moments and kept[-1] not in moments:
            kept[-1] = edge
    cuts = [0, *(bisect_left(times, edge - _SLACK) for edge in kept), len(times) - 1]
    intervals = [Interval(trace, first, last + 1) for first, last in pairwise(cuts) if last > first]
    return [each for each in intervals if each.seconds > 0]


def _number(interval: Interval) -> int:
    """Of the second in which it begins, with a hair of slack."""
    return int(interval.start + _SLACK)


def _load(intervals: Sequence[Interval]) -> tuple[int, float]:
    """How many flows there were in one second of one direction, and the payload of all of them, bit/s."""
    bits = sum(8 * each.grown(ARRIVED) for each in intervals)
    span = max(each.until for each in intervals) - min(each.start for each in intervals)
    return len({each.flow for each in intervals}), bits / span


def _steady(found: Sequence[Second]) -> list[Second]:
    """Without single seconds of one soft cause between two of another."""
    steady = list(found)
    for at in range(1, len(steady) - 1):
        before, now, after = (each.limited_by for each in steady[at - 1 : at + 2])
        if before == after != now and {before, now} <= _SOFT:
            steady[at] = replace(steady[at], limited_by=before)
    return steady


def fairness(flows: Mapping[int, Sequence[Second]]) -> tuple[FairnessSecond, ...]:
    """For each second in which two flows or more were there, of those that were. Empty for one flow."""
    by_second: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    ends: dict[int, float] = defaultdict(float)
    for flow, mine in flows.items():
        for second in mine:
            key = int(second.start)
            by_second[key][flow] += second.evidence.throughput_bps * (second.end - second.start)
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
