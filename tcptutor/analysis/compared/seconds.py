"""Limiting cause of each flow per second, and fairness per second.

The rules for an entire run also judge a second, using the losses that hold its window down (`holding_loss`). To
prevent flicker, a single second of a network cause (loss, bottleneck, reordering, growth) between two seconds of
the same cause takes that cause.
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

from tcptutor.analysis.compared.clauses import cause
from tcptutor.analysis.compared.findings import Findings
from tcptutor.analysis.compared.run_findings import RunFindings
from tcptutor.analysis.observed.evidence import Evidence, flow_evidence
from tcptutor.analysis.observed.flow import ARRIVED, Interval, Trace
from tcptutor.analysis.observed.measured import Measured, is_path_known
from tcptutor.base.causes import LimitedBy
from tcptutor.theory import jain_index

FAIR = 0.9
"""Jain's index from which shares count as equal."""

_AROUND = 1
"""Seconds averaged on each side, so that sawteeth out of phase do not look unfair."""

_LEAST = 0.2
"""Least length, s; a shorter remainder joins its neighbor."""

_LEAST_TRANSFER = 0.03
"""Least length of a fixed-size transfer, s."""

_SLACK = 1e-3
"""Tolerance for the time of a sample, s."""

_SOFT: frozenset[LimitedBy] = frozenset({"random-loss", "bottleneck", "reordering", "growing", "unexplained"})


class Second(msgspec.Struct, frozen=True, kw_only=True):
    """Limiting cause of a flow in a second, with the evidence."""

    start: float
    end: float
    """End, a second later, or less at the edges of a flow or of the measured time."""
    limited_by: LimitedBy
    evidence: Evidence
    """Evidence of this flow; the utilization covers all flows."""
    cwnd_segments: float
    """Mean cwnd."""


class FairnessSecond(msgspec.Struct, frozen=True, kw_only=True):
    """Fairness of the flows in a second."""

    t: float
    """End of the second, s."""
    jain_index: float
    """1 for equal shares, 1/n if one of n flows gets everything."""
    shares: dict[int, float]
    """Share of the aggregate throughput, by flow number."""


def seconds(measured: Measured, gathered: RunFindings) -> dict[int, tuple[Second, ...]]:
    """Return the seconds of each flow, warm-up included; empty for a flow with too few samples."""
    return {
        flow: tuple(each.second for each in judged)
        for flow, judged in judge_seconds(measured, gathered).items()
    }


class JudgedSecond(NamedTuple):
    """Second of a flow with the findings behind its verdict."""

    second: Second
    findings: Findings


def judge_seconds(measured: Measured, gathered: RunFindings) -> dict[int, tuple[JudgedSecond, ...]]:
    """Return the seconds of each flow with their findings."""
    experiment = measured.run.experiment
    fixed = experiment.flows.bytes is not None
    ends, least = measured.spans if fixed else {}, _LEAST_TRANSFER if fixed else _LEAST
    moments = [experiment.flows.warmup, *(change.at for change in experiment.path.changes)]
    parts = {
        trace.flow: _cut(trace, moments, ends.get(trace.flow, (0.0, math.inf))[1], least)
        for trace in measured.traces
    }
    by_second: dict[tuple[bool, int], list[Interval]] = defaultdict(list)
    for each in chain.from_iterable(parts.values()):
        by_second[experiment.reversed(each.flow), _second_number(each)].append(each)
    loads = {key: _load(intervals) for key, intervals in by_second.items()}
    found = {}
    for flow, intervals in parts.items():
        known = is_path_known(measured.run)
        events = gathered.events[flow]
        flow_seconds, all_findings = [], []
        for each in intervals:
            case = gathered.case_of(flow, each.start + _SLACK)
            flows, throughput = loads[case.is_reverse, _second_number(each)]
            _, opposite = loads.get((not case.is_reverse, _second_number(each)), (0, 0.0))
            evidence = flow_evidence(measured.run, each, gathered.links, throughput, opposite)
            kind, cwnd = gathered.holding_loss(each), each.mean("cwnd")
            kinds = Counter(loss.kind for loss in events if each.start < loss.t <= each.until)
            findings = Findings(case, evidence, kind, flows, events=kinds, path_is_known=known)
            all_findings.append(findings)
            limited_by = cause(findings)
            flow_seconds.append(
                Second(
                    start=each.start,
                    end=each.until,
                    limited_by=limited_by,
                    evidence=evidence,
                    cwnd_segments=cwnd,
                )
            )
        found[flow] = tuple(map(JudgedSecond, _steady(flow_seconds), all_findings))
    return found


def _cut(trace: Trace, moments: Sequence[float], until: float, least: float) -> list[Interval]:
    """Cut at full seconds and at `moments`: the end of the warm-up, and changes of the path.

    A flow shorter than `least` gives no intervals. Samples after `until`, the end of a fixed-size transfer, are
    ignored.
    """
    times = trace.column("t")
    times = times[: bisect_right(times, until + _SLACK)]
    if len(times) < 2 or times[-1] - times[0] < least:
        return []
    # Between two samples any full second will do; files may skip a day.
    full_seconds = {float(math.floor(t + slack) + 1) for t in times for slack in (0.0, _SLACK)}
    edges = sorted({*full_seconds, *moments})
    edges = [edge for edge in edges if times[0] + _LEAST <= edge <= times[-1] - _LEAST]
    used: list[float] = []
    for edge in edges:
        if not used or edge - used[-1] >= _LEAST:
            used.append(edge)
        elif edge in moments and used[-1] not in moments:
            used[-1] = edge
    cuts = [0, *(bisect_left(times, edge - _SLACK) for edge in used), len(times) - 1]
    intervals = [Interval(trace, first, last + 1) for first, last in pairwise(cuts) if last > first]
    return [each for each in intervals if each.seconds > 0]


def _second_number(interval: Interval) -> int:
    return int(interval.start + _SLACK)


def _load(intervals: Sequence[Interval]) -> tuple[int, float]:
    """Return the number of flows in a direction during a second, and their aggregate payload, bit/s."""
    bits = sum(8 * each.growth(ARRIVED) for each in intervals)
    span = max(each.until for each in intervals) - min(each.start for each in intervals)
    return len({each.flow for each in intervals}), bits / span


def _steady(found: Sequence[Second]) -> list[Second]:
    """Return the seconds with single outliers among network causes smoothed."""
    steady = list(found)
    for at in range(1, len(steady) - 1):
        before, now, after = (each.limited_by for each in steady[at - 1 : at + 2])
        if before == after != now and {before, now} <= _SOFT:
            steady[at] = replace(steady[at], limited_by=before)
    return steady


def fairness(flows: Mapping[int, Sequence[Second]]) -> tuple[FairnessSecond, ...]:
    """Return the fairness of each second with at least two flows."""
    by_second: dict[int, dict[int, float]] = defaultdict(lambda: defaultdict(float))
    ends: dict[int, float] = defaultdict(float)
    for flow, flow_seconds in flows.items():
        for second in flow_seconds:
            key = int(second.start)
            by_second[key][flow] += second.evidence.throughput_bps * (second.end - second.start)
            ends[key] = max(ends[key], second.end)
    found = []
    for key, bits_by_flow in sorted(by_second.items()):
        total = sum(bits_by_flow.values())
        if len(bits_by_flow) >= 2 and total > 0:
            shares = {flow: bits / total for flow, bits in sorted(bits_by_flow.items())}
            found.append(
                FairnessSecond(t=ends[key], jain_index=jain_index(bits_by_flow.values()), shares=shares)
            )
    return tuple(found)


def convergence_time(found: Sequence[FairnessSecond]) -> float | None:
    """Return the end of the first second from which shares stay equal; None if they never do.

    Shares are means over three seconds. Flows with different RTTs or limits may never converge, and a joining flow
    makes the shares unequal again.
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
