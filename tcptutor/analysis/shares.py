"""What each flow gets: its own limit, or its share of a link that all fill."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tcptutor.analysis.candidate import Candidate
from tcptutor.analysis.case import Case, FlowCase
from tcptutor.analysis.queues import buffer
from tcptutor.theory import rtt_shares

_SYNCHRONY = 1.5
"""Between 1, flows that lose by chance, and 2, flows that lose together (Lakshman, Madhow 1997)."""


def own_limits(case: Case, believed: Sequence[Candidate]) -> tuple[float, ...]:
    """The least of each flow's own limits, bit/s; infinite for a flow that only the link stops."""
    each = [one.each for one in believed if one.each]
    return tuple(min((limits[place] for limits in each), default=math.inf) for place in range(case.number))


def shares(case: Case, believed: Sequence[Candidate], total: float) -> tuple[float, ...]:
    """Of `total` bit/s what each flow gets; empty where no closed form says how flows share a link.

    Flows that stay below their part of the link keep their own limit; the others divide the rest equally if they
    are alike or the queue serves them in turn, and Reno flows of several round trips as 1/rtt^1.5.
    """
    limits = own_limits(case, believed)
    if math.fsum(limits) <= total * (1 + 1e-9):
        return limits
    weights = _weights(case)
    got, left, open_ = [0.0] * case.number, total, set(range(case.number))
    while open_:
        whole = math.fsum(weights[place] for place in open_)
        small = {place for place in open_ if limits[place] <= left * weights[place] / whole}
        if not small and _fights({case.flows[place] for place in open_}, case):
            return ()
        for place in small or open_:
            got[place] = limits[place] if small else left * weights[place] / whole
        if not small:
            break
        left -= math.fsum(limits[place] for place in small)
        open_ -= small
    return tuple(got)


def _weights(case: Case) -> tuple[float, ...]:
    if len(case.kinds) == 1 or case.fair or case.algorithm != "reno":
        return (1.0,) * case.number
    queued = 8 * buffer(case) / case.rate / 2 if case.rate else 0.0
    return rtt_shares((flow.rtt + queued for flow in case.flows), power=_SYNCHRONY)


def _fights(flows: set[FlowCase], case: Case) -> bool:
    """Whether it is for the algorithms to fight out what each of `flows` gets."""
    kinds = {(flow.algorithm, flow.rtt) for flow in flows}
    return len(kinds) > 1 and not case.fair and {flow.algorithm for flow in flows} != {"reno"}
