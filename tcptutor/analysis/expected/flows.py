"""What each flow gets: its own limit, or its share of a link that all fill; and how long a fixed amount takes it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tcptutor import theory
from tcptutor.analysis.case import Case, FlowCase
from tcptutor.analysis.expected.prediction import Candidate
from tcptutor.base import units
from tcptutor.theory.models import ThroughputModel

COMPLETION_ERROR = 0.15
"""Handshake, the last acknowledgement's delay, and how slow start meets the queue."""

LOSSY_ERROR = 0.3
"""Reno's mean; one transfer has a few losses or none."""

_LOSSY_SPREAD = 0.57
"""Relative standard deviation of Reno's throughput times the square root of its losses."""

OVERFLOW_ERROR = 0.3
"""Slow start overshoots what path and queue hold by as much again, and repairs it for some round trips."""

_SYNCHRONY = 1.5
"""Between 1, flows that lose by chance, and 2, flows that lose together (Lakshman, Madhow 1997)."""

_LOSS_BASED = frozenset({"reno", "cubic"})
"""Algorithms that Ware et al. compared with BBR."""

_BY_CHANCE = 1.0
"""RED drops by chance, so all flows lose the same share."""


def own_limits(case: Case, believed: Sequence[Candidate]) -> tuple[float, ...]:
    """The least of each flow's own limits, bit/s; infinite for a flow that only the link stops."""
    each = [one.each for one in believed if one.each]
    return tuple(min((limits[place] for limits in each), default=math.inf) for place in range(case.number))


def shares(case: Case, believed: Sequence[Candidate], total: float) -> tuple[float, ...]:
    """Of `total` bit/s what each flow gets; empty where no closed form says how flows share a link.

    Flows that stay below their part of the link keep their own limit; the others divide the rest equally if they
    are alike or the queue serves them in turn, and Reno flows of several round trips as 1/rtt^1.5, at RED as 1/rtt.
    Reno or CUBIC flows beside BBR get what Ware's model leaves them.
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
            return _beside_bbr(case, total) if len(open_) == case.number else ()
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
    queued = 8 * case.buffer / case.rate / 2 if case.rate else 0.0
    power = _BY_CHANCE if case.qdisc == "red" else _SYNCHRONY
    return theory.rtt_shares((flow.rtt + queued for flow in case.flows), power=power)


def bbr_fraction(case: Case) -> float | None:
    """Share of the link that BBR flows take together (Ware et al. 2019); None where the model says nothing.

    It is for BBR beside Reno or CUBIC at a queue that drops at its tail, on one round trip, where nothing else limits.
    """
    bbr = sum(flow.algorithm == "bbr" for flow in case.flows)
    others = case.algorithms - {"bbr"}
    alike = len({flow.rtt for flow in case.flows}) == 1
    if not bbr or not others or not others <= _LOSS_BASED or not alike or case.rate is None:
        return None
    if case.qdisc != "fifo" or case.loss > 0 or case.udp or case.down or not case.queue:
        return None
    return theory.bbr_fraction(case.rate, case.rtt, case.queue, case.frame, bbr)


def _beside_bbr(case: Case, total: float) -> tuple[float, ...]:
    """Each flow's part of `total` bit/s by `bbr_fraction`; empty where it says nothing."""
    fraction = bbr_fraction(case)
    if fraction is None:
        return ()
    bbr = sum(flow.algorithm == "bbr" for flow in case.flows)
    each = {True: total * fraction / bbr, False: total * (1 - fraction) / (case.number - bbr)}
    return tuple(each[flow.algorithm == "bbr"] for flow in case.flows)


def _fights(flows: set[FlowCase], case: Case) -> bool:
    """Whether it is for the algorithms to fight out what each of `flows` gets."""
    kinds = {(flow.algorithm, flow.rtt) for flow in flows}
    return len(kinds) > 1 and not case.fair and {flow.algorithm for flow in flows} != {"reno"}


def completions(case: Case, believed: Sequence[Candidate]) -> tuple[float, ...]:
    """Seconds that each flow takes from its start, by slow start and then the least of its limits; empty for none.

    A link is shared as if all flows went on to the end, which the last of them to begin does not feel.
    """
    size = case.experiment.flows.bytes
    if size is None:
        return ()
    # What a loss model says comes after the first loss: completion_time has it, by Reno's.
    limits = own_limits(case, [one for one in believed if not one.is_lossy])
    link = math.inf if case.room is None else case.room / case.number
    found: dict[tuple[float, float, float], float] = {}
    times = []
    for flow, limit in zip(case.flows, limits, strict=True):
        key = (flow.rtt, min(limit, link), 0.0 if flow.algorithm == "bbr" else case.loss_rate)
        if key not in found:
            rtt, rate, loss = key
            known = rate if math.isfinite(rate) else None
            found[key] = theory.completion_time(
                size, case.mss, rtt, known, loss=loss, rto=case.given_rto or None
            )
        times.append(found[key])
    return tuple(times)


def _overflow(case: Case, size: int) -> float:
    """What the overflow at the end of slow start adds to the error of a transfer of `size` bytes by each flow."""
    if case.room is None or case.algorithm == "bbr":
        return 0.0
    held = (case.room * case.rtt / 8 + case.buffer * case.ratio) / case.number
    return OVERFLOW_ERROR * min(1.0, 4 * held / size) if size > held else 0.0


def amount_candidate(case: Case, believed: Sequence[Candidate]) -> tuple[Candidate | None, float | None]:
    """The mean over the time until the last flow has sent all, and how long the slowest one takes, s.

    The candidate is the best only if all flows finish before the run ends.
    """
    times = completions(case, believed)
    size = case.experiment.flows.bytes
    if not times or size is None:
        return None, None
    starts = [flow.start for flow in case.flows]
    end = max(start + took for start, took in zip(starts, times, strict=True))
    span = end - min(starts)
    total = 8 * size * case.number / span
    error = COMPLETION_ERROR if case.loss_rate == 0 else math.hypot(COMPLETION_ERROR, LOSSY_ERROR)
    error = math.hypot(error, _overflow(case, size))
    if case.experiment.flows.warmup > 0:
        error += 0.2  # the part of it that the warm-up takes away is the slow one
    sure = {"model": error}
    if case.loss_rate > 0:
        lost = size / case.mss * case.loss_rate * case.number
        sure["losses"] = 2 * _LOSSY_SPREAD / math.sqrt(max(lost, 1e-9))
    steady = min(believed, key=lambda one: one.throughput)
    candidate = Candidate(
        model=ThroughputModel.COMPLETION,
        label=f"{case.times}{units.size(size)}",
        throughput=total,
        formula=f"{case.times}{units.size(size)} / {units.seconds(span)}",
        sure=sure,
        # Most of a short transfer is slow start.
        limited_by=steady.limited_by if total > steady.throughput / 2 else "growing",
        best=end <= case.experiment.seconds and case.experiment.flows.warmup < end,
        each=tuple(8 * size / took for took in times),
    )
    return candidate, max(times)
