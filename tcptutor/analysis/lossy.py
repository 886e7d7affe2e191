"""Predictions under random loss, for all flows together: so many times one, or each by its own model.

K like flows get K times one (Hacker 2001, eq. 5), unlike ones the sum (eq. 3). At most one model is the best.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tcptutor import theory, units
from tcptutor.analysis.candidate import Candidate
from tcptutor.analysis.case import Case
from tcptutor.analysis.laws import LOSS_BLIND, MODELLED, Law, laws, lossy, timeout_share
from tcptutor.analysis.limits import receive_window

__all__ = ["LOSS_BLIND", "MODELLED", "TIMEOUTS_COUNT", "loss_candidates", "timeouts"]

TIMEOUTS_COUNT = 1 / 3
"""Share that Padhye's timeouts would take from Mathis from which on the student is told."""

CORRELATED_ERROR = 1.0
"""netem's correlated losses are much rarer than their rate says, and no formula has them."""

ACKS_MATTER = 0.01
"""Chance that all acknowledgements of a window are lost from which on it counts."""


def loss_candidates(case: Case) -> Iterator[Candidate]:
    """Every loss model of `case`; none without random loss."""
    if case.loss_rate <= 0 or not case.flows:
        return
    kinds = [(_laws(case, flow.algorithm, flow.rtt), number) for flow, number in case.kinds]
    if len(kinds) == 1:
        yield from (_alike(case, law) for law in kinds[0][0])
        return
    for law in kinds[0][0]:
        same = [next((one for one in found if one.model == law.model), None) for found, _ in kinds]
        if all(same):
            yield _unlike(case, law.model, law.label, [one for one in same if one])
    best = [next((one for one in found if one.best), None) for found, _ in kinds]
    if len({one.model if one else "" for one in best}) > 1:
        yield _unlike(case, "own", "own models", best)


def timeouts(case: Case) -> float:
    """The largest share of Mathis's throughput that Padhye's timeouts would take from a flow; 0 without loss."""
    each = [timeout_share(lossy(case, flow.algorithm, flow.rtt, None)) for flow, _ in case.kinds]
    return max(each, default=0.0)


def all_acks_lost(case: Case, window: float) -> float:
    """Chance that every acknowledgement of a window of so many segments is lost: then only a timeout goes on."""
    return math.pow(case.ack_loss, max(1.0, window / theory.ACK_EVERY))


def _laws(case: Case, algorithm: str, rtt: float) -> tuple[Law, ...]:
    return laws(lossy(case, algorithm, rtt, receive_window(case)))


def _alike(case: Case, law: Law) -> Candidate:
    total = case.number * law.throughput
    return Candidate(
        model=law.model,
        label=f"{case.times}{law.label}",
        throughput=total,
        formula=f"{case.times}{case.mss} B {law.formula}",
        sure=_sure(case, law.error, law.spread, total),
        limited_by="random-loss",
        best=law.best,
        each=(law.throughput,) * case.number,
    )


def _unlike(case: Case, model: str, label: str, by_kind: list[Law | None]) -> Candidate:
    """The sum over flows of several kinds; None is a kind that goes on whatever is lost."""
    by = {(flow.algorithm, flow.rtt): law for (flow, _), law in zip(case.kinds, by_kind, strict=True)}
    found = [by[flow.algorithm, flow.rtt] for flow in case.flows]
    each = tuple(law.throughput if law else math.inf for law in found)
    known = [law for law in by_kind if law]
    texts = [
        f"{number} × {units.rate(law.throughput)} ({flow.algorithm}, {case.rtt_text(flow.rtt)})"
        for (flow, number), law in zip(case.kinds, by_kind, strict=True)
        if law
    ]
    total = math.fsum(each)
    error, spread = max(law.error for law in known), max(law.spread for law in known)
    return Candidate(
        model=model,
        label=f"{case.times}{label}",
        throughput=total,
        formula=" + ".join(texts[:3]) + (" + …" if len(texts) > 3 else ""),
        sure=_sure(case, error, spread, total if math.isfinite(total) else 0.0),
        limited_by="random-loss",
        best=model == "own" or all(law is not None and law.best for law in by_kind),
        each=each,
    )


def _sure(case: Case, error: float, spread: float, total: float) -> dict[str, float]:
    # Twice the standard error is what chance explains.
    chance = 2 * spread / math.sqrt(max(case.loss_events(total), 1e-9))
    sure = {"model": error, "losses": chance}
    if not case.backward and case.path.loss_correlation:
        sure["correlation"] = CORRELATED_ERROR
    if case.ack_loss:
        window = total / max(1, case.number) * case.rtt / 8 / case.mss
        stalls = all_acks_lost(case, window)
        if stalls >= ACKS_MATTER:
            sure["lost ACKs"] = stalls * case.rto / case.rtt
    return sure
