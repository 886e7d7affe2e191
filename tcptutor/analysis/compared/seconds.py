"""Limiting cause of each flow per second, and fairness per second.

The rules for an entire run also judge a second, using the losses that hold its window down. To prevent flicker, a
single second of a network cause (loss, bottleneck, reordering, growth) between two seconds of the same cause takes
that cause.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from tcptutor.analysis.compared.clauses import cause
from tcptutor.analysis.compared.findings import Findings, conclude
from tcptutor.analysis.observed.evidence import Evidence
from tcptutor.analysis.observed.facts import Observed
from tcptutor.base.causes import LimitedBy
from tcptutor.theory import jain_index

FAIR = 0.9
"""Jain's index from which shares count as equal."""

_AROUND = 1
"""Seconds averaged on each side, so that sawteeth out of phase do not look unfair."""

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


class JudgedSecond(NamedTuple):
    """Second of a flow with the findings behind its verdict."""

    second: Second
    findings: Findings


def judge_seconds(observed: Observed) -> dict[int, tuple[JudgedSecond, ...]]:
    """Return the limiting cause of each flow per second, warm-up included; empty for too few samples."""
    judged = {}
    for flow, facts in observed.seconds.items():
        findings = [conclude(each) for each in facts]
        found = [
            Second(
                start=each.start,
                end=each.end,
                limited_by=cause(conclusions),
                evidence=each.evidence,
                cwnd_segments=each.cwnd_segments,
            )
            for each, conclusions in zip(facts, findings, strict=True)
        ]
        judged[flow] = tuple(map(JudgedSecond, _steady(found), findings))
    return judged


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
