"""What each flow gets: its own limit, or its share of a link that all fill; and how long a fixed amount takes it."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tcptutor import theory
from tcptutor.analysis.case import MIN_RTO, Case, FlowCase
from tcptutor.analysis.expected.prediction import Candidate
from tcptutor.base import units
from tcptutor.theory.models import ThroughputModel
from tcptutor.theory.transfers import Transfer, transfer_time

COMPLETION_ERROR = 0.15
"""Handshake, the last acknowledgement's delay, and how slow start meets the queue."""

LOSSY_ERROR = 0.3
"""Reno's mean; one transfer has a few losses or none."""

_LOSSY_SPREAD = 0.57
"""Relative standard deviation of Reno's throughput times the square root of its losses."""

OVERFLOW_ERROR = 0.3
"""Slow start overshoots what path and queue hold by as much again, and repairs it for some round trips."""

_OFTEN = 0.04
"""Chance of a lost last segment from which on it counts: less is left to the runs outside of a tolerance."""

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
    """Return the seconds that each flow takes from its start; empty without a fixed amount.

    Without losses these are slow start and then the least of the flow's limits. With losses sample transfers are
    played where the sender's law is known. A link is shared as if all flows went on to the end, which the last flow
    to begin does not feel.
    """
    size = case.experiment.flows.bytes
    if size is None:
        return ()
    limits = _lossless_limits(case, believed)
    link = math.inf if case.room is None else case.room / case.number
    found: dict[tuple[str, float, float, float], float] = {}
    times = []
    for flow, limit in zip(case.flows, limits, strict=True):
        loss = 0.0 if flow.algorithm == "bbr" else case.loss_rate
        key = (flow.algorithm, flow.rtt, min(limit, link), loss)
        if key not in found:
            _, rtt, rate, _ = key
            known = rate if math.isfinite(rate) else None
            timeout = case.given_rto or None
            if (transfer := _transfer(case, flow, size, limit)) is not None:
                played = transfer_time(transfer).seconds
                found[key] = max(played, theory.completion_time(size, case.mss, rtt, known))
            else:
                found[key] = theory.completion_time(size, case.mss, rtt, known, loss=loss, rto=timeout)
        times.append(found[key])
    return tuple(times)


def _lossless_limits(case: Case, believed: Sequence[Candidate]) -> tuple[float, ...]:
    """Return each flow's own limits without losses, bit/s: a transfer's losses are in its duration already."""
    met = ThroughputModel.MEETING if case.loss_rate > 0 else None
    return own_limits(case, [one for one in believed if not one.is_lossy and one.model is not met])


def _transfer(case: Case, flow: FlowCase, size: int, limit: float) -> Transfer | None:
    """Return the transfer of `size` bytes by `flow`, which its own limits keep to `limit` bit/s.

    None where no sample transfers are played: without losses, by a sender whose law is not known, or of a long one.
    """
    if not 0 < case.loss_rate < 1 or flow.algorithm not in theory.LIMITED:
        return None
    bits = 8 * case.mss
    share = 1 / case.number
    made = Transfer(
        algorithm=flow.algorithm,
        segments=max(1, math.ceil(size / case.mss)),
        rtt=flow.rtt,
        loss=case.loss_rate,
        rto=flow.rtt + MIN_RTO,
        rate=math.inf if case.room is None else share * case.room / bits,
        queue=math.inf if case.room is None else share * case.buffer / case.frame,
        window=max(1.0, limit * flow.rtt / bits),
    )
    return made if made.is_short else None


def _overflow(case: Case, size: int) -> float:
    """What the overflow at the end of slow start adds to the error of a transfer of `size` bytes by each flow."""
    if case.room is None or case.algorithm == "bbr":
        return 0.0
    held = (case.room * case.rtt / 8 + case.buffer * case.ratio) / case.number
    return OVERFLOW_ERROR * min(1.0, 4 * held / size) if size > held else 0.0


def _may_lose_last(case: Case, size: int) -> bool:
    """Return whether the queue drops so often that it may well drop a transfer's last segment.

    Nothing follows that segment to reveal its loss, so the sender waits for a probe or a timeout. A sawtooth with the
    peak w has a drop in 3/8 w² segments (Mathis et al. 1997).
    """
    if case.room is None or case.algorithm == "bbr" or case.qdisc != "fifo":
        return False
    peak = (case.room * case.rtt / 8 + case.buffer * case.ratio) / case.mss / case.number
    return size / case.mss > peak and 3 / 8 * peak * peak * _OFTEN < 1


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
    limits = _lossless_limits(case, believed)
    transfers = [_transfer(case, flow, size, limit) for flow, limit in zip(case.flows, limits, strict=True)]
    played = [transfer_time(one) for one in transfers if one is not None]
    error = COMPLETION_ERROR
    if len(played) < case.number:
        if case.loss_rate > 0:
            error = math.hypot(error, LOSSY_ERROR)
        error = math.hypot(error, _overflow(case, size))
    if case.experiment.flows.warmup > 0:
        error += 0.2  # the part of it that the warm-up takes away is the slow one
    sure = {"model": error}
    if not played and _may_lose_last(case, size):
        sure["last segment"] = MIN_RTO / span
    if len(played) == case.number:
        sure["losses"] = max(one.spread for one in played)
    elif case.loss_rate > 0:
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
