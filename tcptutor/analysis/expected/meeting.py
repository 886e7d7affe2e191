"""Prediction for two limits close to each other: flows get less than either limit allows.

The rate comes from a simulation of all limits at once (`theory.limited_rates`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from tcptutor import theory
from tcptutor.analysis.case import MIN_RTO, Case
from tcptutor.analysis.expected.loss import law_error, spread_of
from tcptutor.analysis.expected.lossless import bursts_error
from tcptutor.analysis.expected.prediction import Candidate
from tcptutor.base import units
from tcptutor.base.causes import LimitedBy
from tcptutor.theory.models import ThroughputModel

LEAST_REDUCTION = 0.02
"""Least relative reduction below the least limit for a prediction of its own."""

MEETING_ERROR = 0.05
"""Error in addition to the senders' laws, from generated experiments (tests/validation/meeting.py)."""

_NAMES = {"reno": "Reno", "cubic": "CUBIC", "htcp": "H-TCP", "highspeed": "HighSpeed", "bbr": "BBR"}

_LABEL = 24

_PARTS: dict[LimitedBy, str] = {
    "receive-window": "window",
    "send-buffer": "buffer",
    "pacing": "pacing",
    "bottleneck": "link",
}


def meeting_candidate(case: Case, believed: Sequence[Candidate]) -> Candidate | None:
    """Return the rate under all limits of `case`; None if unknown or not below the least of them."""
    bounds = [one for one in believed if math.isfinite(one.throughput)]
    if not bounds or not case.can_simulate:
        return None
    lowest = min(bounds, key=lambda one: one.throughput)
    lossy = [one for one in bounds if one.is_lossy]
    others = [one for one in bounds if not one.is_lossy]
    if not others or (case.loss_rate <= 0 and (case.algorithm == "bbr" or lowest.limited_by != "bottleneck")):
        return None
    if case.loss_rate <= 0 and _never_runs_dry(case):
        return None
    each = _bbr(case) if case.algorithm == "bbr" else _rates(case)
    total = math.fsum(each)
    if not 0 < total < (1 - LEAST_REDUCTION) * lowest.throughput:
        return None
    return Candidate(
        model=ThroughputModel.MEETING,
        label=_label(case, lossy, others),
        throughput=total,
        formula=_formula(lossy, others),
        errors=_sure(case, total, lowest, others),
        limited_by=lowest.limited_by,
        per_flow=each,
    )


def _never_runs_dry(case: Case) -> bool:
    """Return whether the queue holds a BDP of the longest RTT, so that a halved window still fills the link."""
    return case.rate is not None and 8 * case.buffer >= case.rate * max(flow.rtt for flow in case.flows)


def _phase(case: Case, total: float) -> float:
    """Return the error from the sawtooth's phase at the start: the unused share, averaged over the teeth."""
    if case.tcp_capacity is None or total >= case.tcp_capacity:
        return 0.0
    window = case.tcp_capacity * case.rtt / 8 / case.mss / case.flow_count
    teeth = case.seconds / (case.rtt * window / 2)
    return (1 - total / case.tcp_capacity) / math.sqrt(max(1.0, teeth))


def _rates(case: Case) -> tuple[float, ...]:
    """Return each flow's rate, bit/s of payload."""
    bits = 8 * case.mss
    if case.tcp_capacity is None:
        return tuple(bits * one for one in theory.limited_rates(limited_flows(case)))
    return tuple(
        bits * one
        for one in theory.limited_rates(limited_flows(case), case.tcp_capacity / bits, queue_capacity(case))
    )


def limited_flows(case: Case) -> list[theory.LimitedFlow]:
    """Return the flows of `case` with their own limits."""
    return [
        theory.LimitedFlow(
            algorithm=flow.algorithm,
            rtt=flow.rtt,
            loss=case.loss_rate,
            rto=flow.rtt + MIN_RTO,
            window=math.inf if case.max_in_flight is None else max(1.0, case.max_in_flight / case.mss),
            pace=math.inf if case.paced_rate is None else case.paced_rate / (8 * case.mss),
        )
        for flow in case.flows
    ]


def queue_capacity(case: Case) -> int:
    """Return the number of full segments that fit into the queue."""
    return math.floor(case.buffer * case.payload_ratio / case.mss)


def _bbr(case: Case) -> tuple[float, ...]:
    """Return BBR's rates; its window ignores losses, but the receiver's waits for retransmissions."""
    share = math.inf if case.tcp_capacity is None else case.tcp_capacity / case.flow_count
    pace = min(share, case.paced_rate or math.inf)
    if case.max_in_flight is None:
        return (pace,) * case.flow_count
    window = case.max_in_flight / case.mss
    stalled = 1 + case.loss_rate * window
    return tuple(min(pace, 8 * case.max_in_flight / flow.rtt / stalled) for flow in case.flows)


def _label(case: Case, lossy: Sequence[Candidate], others: Sequence[Candidate]) -> str:
    """Return a label of at most 24 characters."""
    sender = _NAMES.get(case.algorithm, "flows")
    nearest = min(others, key=lambda one: one.throughput)
    part = _PARTS.get(nearest.limited_by, "limit")
    text = f"{sender} and {part}"
    if not lossy:
        part = "short queue" if part == "link" else part
        text = f"{sender}, {part}"
    label = f"{case.count_prefix}{text}"
    return label if len(label) <= _LABEL else f"{case.count_prefix}{part}"


def _formula(lossy: Sequence[Candidate], others: Sequence[Candidate]) -> str:
    terms = [f"loss alone {units.rate(one.throughput)}" for one in lossy[:1]]
    found = dict.fromkeys(one.limited_by for one in sorted(others, key=lambda one: one.throughput))
    for limit in found:
        least = min(one.throughput for one in others if one.limited_by == limit)
        terms.append(f"{_PARTS.get(limit, limit)} {units.rate(least)}")
    if len(terms) == 1:
        return f"{terms[0]}, whose queue is too short to keep it full"
    return f"{', '.join(terms)}: together less than each"


def _sure(case: Case, total: float, least: Candidate, others: Sequence[Candidate]) -> dict[str, float]:
    """Return the errors by source: the laws, chance, and the limits involved."""
    lossy = case.loss_rate > 0
    law_errors = [
        law_error(one, case.loss_rate) if lossy else 0.0 for one in case.algorithms if one in theory.LIMITED
    ]
    errors = {"model": math.hypot(MEETING_ERROR, max(law_errors, default=0.0))}
    if not least.is_lossy and least.limited_by != "bottleneck":
        errors["limit"] = least.errors.get("model", 0.0)
    if case.bursts_overflow:
        errors["bursts"] = bursts_error(case)
    if not lossy:
        errors["sawtooth"] = _phase(case, total)
    if lossy:
        spread = max(spread_of(flow.algorithm, case.loss_rate, flow.rtt) for flow, _ in case.kinds)
        flat = min((one.throughput for one in others), default=math.inf)
        # Below a flat limit the deficit grows with the losses, so chance moves the rate by its share.
        felt = min(1.0, 2 * max(0.0, flat - total) / total)
        errors["losses"] = 2 * spread * felt / math.sqrt(max(case.loss_events(total), 1e-9))
    return errors
