"""How evenly the flows of a run share what they get, second by second."""

from __future__ import annotations

from collections.abc import Sequence

from tcptutor.analysis.model import FairnessSecond, FlowVerdict
from tcptutor.theory import jain_index

FAIR = 0.9
"""Jain's index from which shares count as even."""

_AROUND = 1
"""Seconds to either side that are taken together: sawteeth that are out of step are not unfair."""


def fairness(flows: Sequence[FlowVerdict]) -> tuple[FairnessSecond, ...]:
    """For each second in which two flows or more were there, of those that were. Empty for one flow."""
    by_second: dict[float, dict[int, float]] = {}
    ends: dict[float, float] = {}
    for flow in flows:
        for second in flow.seconds:
            key = float(int(second.start))
            mine = by_second.setdefault(key, {})
            mine[flow.flow] = mine.get(flow.flow, 0.0) + second.throughput_bps * (second.end - second.start)
            ends[key] = max(ends.get(key, 0.0), second.end)
    found = []
    for key, got in sorted(by_second.items()):
        total = sum(got.values())
        if len(got) < 2 or total <= 0:
            continue
        found.append(
            FairnessSecond(
                t=ends[key],
                jain_index=jain_index(got.values()),
                shares={flow: bits / total for flow, bits in sorted(got.items())},
            )
        )
    return tuple(found)


def converged(seconds: Sequence[FairnessSecond]) -> float | None:
    """The end of the first second from which on the shares are even; None when they are not at the end.

    Even means equal: flows whose RTTs or bounds differ may rightly never come there. Shares are means over three
    seconds, and a flow that joins makes them uneven again.
    """
    since: float | None = None
    for at, second in enumerate(seconds):
        near = [
            other
            for other in seconds[max(0, at - _AROUND) : at + _AROUND + 1]
            if other.shares.keys() == second.shares.keys()
        ]
        shares = [sum(other.shares[flow] for other in near) for flow in second.shares]
        if jain_index(shares) < FAIR:
            since = None
        elif since is None:
            since = second.t
    return since
