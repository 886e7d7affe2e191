"""Predictions under random loss: the laws of Reno, CUBIC, H-TCP and HighSpeed, Mathis, Padhye, RFC 9438.

Each model covers one flow and aggregates. K like flows get K times the rate of one (Hacker 2001, eq. 5), unlike flows
the sum (eq. 3). At most one model is the best.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from tcptutor import theory
from tcptutor.analysis.case import ENOUGH_LOSSES, MIN_RTO, Case, FlowCase
from tcptutor.analysis.expected.prediction import Candidate
from tcptutor.base import units
from tcptutor.spec import PARAMETERS
from tcptutor.theory.models import MODELLED, ThroughputModel
from tcptutor.theory.senders import RELATED, related_rate

MATHIS_ERROR = 0.05
"""Error measured with a real kernel at 0.1 and 1 % loss, 20 to 100 ms, and many losses."""

PADHYE_ERROR = 0.1

LAW_ERRORS = {"reno": 0.05, "cubic": 0.06, "htcp": 0.18, "highspeed": 0.2}
"""Errors of the laws derived from Linux's code.

HighSpeed grows per ACK, and H-TCP drops the ACK's remainder at each step. A host sends one ACK for 2 to 5 segments,
not always for ACK_STRETCHED: √(3/2) is 1.22, √(3/5) is 0.77.
"""

RELATED_ERROR = 0.3
"""Error of rough laws from growth and cut alone, without delay signals; measured ratios were 0.84 to 1.2."""

UNMODELLED_ERROR = 1.0
"""Error of Reno's model for an algorithm without a model, shown for comparison only."""

CORRELATED_ERROR = 1.0
"""Error under netem's correlated losses, which are rarer than their rate and not covered by any formula."""

RENO_SPREAD = 0.57
"""Relative standard deviation of Reno's throughput times the square root of its losses, from simulation."""

CUBIC_SPREAD = 1.1
"""Spread of CUBIC in its cubic region; Reno's applies in the Reno-friendly region."""

_CURVE_BEGINS, _CURVE_RULES = 0.35, 0.65
"""Share of the cubic window in both windows' sum at which its spread begins to count, and dominates."""

HTCP_SPREAD = 0.9
"""Spread of H-TCP."""

HIGHSPEED_SPREAD = 0.84
"""Spread of HighSpeed above its Reno region: the exponent of RFC 3649's response function."""

MOST_LOSS = 0.25
"""Loss probability above which repeated timeouts dominate and no model holds."""

ACKS_MATTER = 0.01
"""Probability of losing all ACKs of a window from which it counts."""


@dataclass(frozen=True)
class LossEstimate:
    """Prediction of a model for a single flow."""

    model: ThroughputModel
    throughput: float
    """bit/s"""
    formula: str
    """Rest of the formula after "1448 B"."""
    error: float
    """Relative error of the model."""
    spread: float
    """Relative standard deviation times the square root of the losses."""
    is_expected: bool


@dataclass(frozen=True)
class LossyFlow:
    """Flow on a path with random loss."""

    algorithm: str
    mss: int
    rtt: float
    rto: float
    loss: float
    """Loss events per segment."""
    rtt_text: str
    window: int | None
    """Receiver's window, bytes; None without a limit."""
    is_paced: bool = False
    """True if segments are paced, even at a rate above the flow's."""

    @property
    def segments_per_rtt(self) -> float:
        """Segments that arrive per RTT of the empty path, by the sender's own law."""
        # The law models backoff itself, so a measured timeout, which includes it, does not fit.
        flow = theory.LimitedFlow(
            algorithm=self.algorithm,
            rtt=self.rtt,
            loss=self.loss,
            rto=self.rtt + MIN_RTO,
            spread=self.is_paced,
        )
        return theory.limited_rates([flow])[0] * self.rtt

    @property
    def timeout_share(self) -> float:
        """Share of Mathis's throughput that Padhye's timeouts cost, 0 to below 1; 0 without loss."""
        if self.loss <= 0:
            return 0.0
        without = theory.mathis(self.mss, self.rtt, self.loss, theory.MATHIS_PERIODIC)
        return max(0.0, 1 - theory.padhye(self.mss, self.rtt, self.loss, self.rto) / without)


def loss_candidates(case: Case) -> Iterator[Candidate]:
    """Yield all loss models of `case`; none without random loss."""
    if case.loss_rate <= 0 or not case.flows:
        return
    kinds = [estimates(_lossy(case, flow)) for flow, _ in case.kinds]
    if len(kinds) == 1:
        for one in kinds[0]:
            formula = f"{case.count_prefix}{case.mss} B {one.formula}"
            yield _candidate(case, one.model, formula, [one], [one], one.is_expected)
        return
    for first in kinds[0]:
        same = [next((one for one in found if one.model is first.model), None) for found in kinds]
        if all(same):
            yield _summed(case, first.model, same, all(one is not None and one.is_expected for one in same))
    best = [next((one for one in found if one.is_expected), None) for found in kinds]
    if len({one.model if one else "" for one in best}) > 1:
        yield _summed(case, ThroughputModel.OWN_LAWS, best, True)


def _lossy(case: Case, flow: FlowCase) -> LossyFlow:
    # The timeout is at least the RTT, even in a damaged run.
    rto = max(flow.rtt, case.rto + flow.rtt - case.rtt)
    return LossyFlow(
        flow.algorithm,
        case.mss,
        flow.rtt,
        rto,
        case.loss_rate,
        case.rtt_text(flow.rtt),
        case.receive_window,
        is_paced=case.paced_rate is not None,
    )


@lru_cache(maxsize=256)
def estimates(flow: LossyFlow) -> tuple[LossEstimate, ...]:
    """Return all models for `flow`, its own first; at most one is the best, none for BBR."""
    own = _OWN.get(flow.algorithm)
    return (*(own(flow) if own else ()), *_renos(flow))


def losses_advice(duration: float, losses: float) -> str:
    """Return how to get enough losses for a comparison, after a run of `duration` s with `losses` events."""
    needed = 5 * math.ceil(duration * ENOUGH_LOSSES / losses / 5)
    if needed > PARAMETERS["duration"].high:
        return ", and no run is long enough for more: take more streams or a shorter delay"
    return f": run for {needed} s"


def timeout_share(case: Case) -> float:
    """Return the largest share of Mathis's throughput that Padhye's timeouts cost a flow; 0 without loss."""
    return max((_lossy(case, flow).timeout_share for flow, _ in case.kinds), default=0.0)


def all_acks_lost(case: Case, window: float) -> float:
    """Return the probability of losing every ACK of a window of `window` segments, which causes a timeout."""
    return math.pow(case.ack_loss, max(1.0, window / theory.ACK_EVERY))


def _summed(
    case: Case, model: ThroughputModel, by_kind: Sequence[LossEstimate | None], best: bool
) -> Candidate:
    """Return the sum over kinds of flows; None is a kind without a loss limit."""
    texts = [
        f"{number} × {units.rate(one.throughput)} ({flow.algorithm}, {case.rtt_text(flow.rtt)})"
        for (flow, number), one in zip(case.kinds, by_kind, strict=True)
        if one
    ]
    formula = " + ".join(texts[:3]) + (" + …" if len(texts) > 3 else "")
    return _candidate(case, model, formula, by_kind, [one for one in by_kind if one], best)


def _candidate(
    case: Case,
    model: ThroughputModel,
    formula: str,
    by_kind: Sequence[LossEstimate | None],
    known_estimates: Sequence[LossEstimate],
    best: bool,
) -> Candidate:
    rates = {
        (flow.algorithm, flow.rtt): one.throughput if one else math.inf
        for (flow, _), one in zip(case.kinds, by_kind, strict=True)
    }
    each = tuple(rates[flow.algorithm, flow.rtt] for flow in case.flows)
    total = case.flow_count * each[0] if len(rates) == 1 else math.fsum(each)
    error, spread = max(one.error for one in known_estimates), max(one.spread for one in known_estimates)
    errors = _sure(case, error, spread, total if math.isfinite(total) else 0.0)
    candidate = Candidate.of(case, model, total, formula, errors, best, each)
    if model is ThroughputModel.RELATED:
        return replace(candidate, label=f"{case.count_prefix}{case.algorithm or 'own models'}")
    return candidate


def _sure(case: Case, error: float, spread: float, total: float) -> dict[str, float]:
    # Chance explains up to two standard errors.
    chance = 2 * spread / math.sqrt(max(case.loss_events(total), 1e-9))
    errors = {"model": error, "losses": chance}
    if not case.is_reverse and case.path.loss_correlation:
        errors["correlation"] = CORRELATED_ERROR
    if case.ack_loss:
        stalls = all_acks_lost(case, case.window_at(total))
        if stalls >= ACKS_MATTER:
            errors["lost ACKs"] = stalls * case.rto / case.rtt
    return errors


def law_error(algorithm: str, loss: float) -> float:
    """Return the relative error of the sender's law at `loss`, larger for small windows."""
    return 1.0 if loss > MOST_LOSS else LAW_ERRORS[algorithm] + 1.5 * loss


def _renos(flow: LossyFlow) -> Iterator[LossEstimate]:
    """Yield Reno's models, also for algorithms that are not Reno.

    The tolerance leaves out known biases: a different constant, missing timeouts, or too many of them.
    """
    unmodelled = 0.0 if flow.algorithm in MODELLED else UNMODELLED_ERROR
    if flow.algorithm != "reno":
        reno = replace(flow, algorithm="reno")
        estimate = _law(reno, ThroughputModel.RENO, RENO_SPREAD)
        best = ThroughputModel.RENO.is_expected(flow.algorithm)
        yield replace(estimate, error=estimate.error + unmodelled, is_expected=best)
    for model in ThroughputModel:
        if (c := model.constant) is not None:
            throughput = theory.mathis(flow.mss, flow.rtt, flow.loss, c)
            formula = f"× {c:.3g} / ({flow.rtt_text} × √{units.percent(flow.loss)})"
            yield LossEstimate(
                model, throughput, formula, MATHIS_ERROR + unmodelled, RENO_SPREAD, is_expected=False
            )
    limit = max(1.0, flow.window / flow.mss) if flow.window else None
    throughput = theory.padhye(flow.mss, flow.rtt, flow.loss, flow.rto, max_window=limit)
    p = units.percent(flow.loss)
    formula = f"/ ({flow.rtt_text} × √(2p/3) + {units.seconds(flow.rto)} × 3√(3p/8) p), p = {p}"
    error = PADHYE_ERROR + unmodelled
    yield LossEstimate(ThroughputModel.PADHYE, throughput, formula, error, RENO_SPREAD, is_expected=False)


def _reno(flow: LossyFlow) -> Iterator[LossEstimate]:
    yield _law(flow, ThroughputModel.RENO, RENO_SPREAD)


def _cubic(flow: LossyFlow) -> Iterator[LossEstimate]:
    """Yield CUBIC's mean window over random gaps between losses, and RFC 9438's over even gaps."""
    periodic = theory.cubic_window(flow.loss, flow.rtt)
    spread = spread_of(flow.algorithm, flow.loss, flow.rtt)
    yield _law(flow, ThroughputModel.CUBIC, spread)
    p = units.percent(flow.loss)
    if theory.cubic_region_window(flow.loss, flow.rtt) > theory.reno_window(flow.loss):
        constant = periodic / math.pow(flow.rtt / flow.loss, 0.75)
        formula = f"× {units.number(constant)} × ({flow.rtt:.3g} s / {p})^¾ / {flow.rtt_text}"
    else:
        formula = f"× {periodic * math.sqrt(flow.loss):.3g} / ({flow.rtt_text} × √{p})"
    throughput = theory.window_limited(periodic * flow.mss, flow.rtt)
    error = LAW_ERRORS["cubic"]
    yield LossEstimate(ThroughputModel.CUBIC_PERIODIC, throughput, formula, error, spread, is_expected=False)


def _htcp(flow: LossyFlow) -> Iterator[LossEstimate]:
    yield _law(flow, ThroughputModel.HTCP, HTCP_SPREAD)


def _highspeed(flow: LossyFlow) -> Iterator[LossEstimate]:
    yield _law(flow, ThroughputModel.HIGHSPEED, spread_of(flow.algorithm, flow.loss, flow.rtt))


def spread_of(algorithm: str, loss: float, rtt: float) -> float:
    """Return the relative standard deviation of a flow's throughput times the square root of its losses."""
    if algorithm == "cubic":
        curve, friendly = theory.cubic_region_window(loss, rtt), theory.reno_window(loss)
        along = (curve / (curve + friendly) - _CURVE_BEGINS) / (_CURVE_RULES - _CURVE_BEGINS)
        return RENO_SPREAD + (CUBIC_SPREAD - RENO_SPREAD) * min(1.0, max(0.0, along))
    if algorithm == "htcp":
        return HTCP_SPREAD
    if algorithm == "highspeed" and theory.highspeed_window(loss) > theory.reno_window(loss):
        return HIGHSPEED_SPREAD
    return RENO_SPREAD


def _law(flow: LossyFlow, model: ThroughputModel, spread: float) -> LossEstimate:
    """Return the prediction of the sender's own law, which has no short formula."""
    arriving = flow.segments_per_rtt
    throughput = theory.window_limited(arriving * flow.mss, flow.rtt)
    formula = f"× {units.number(arriving)} (mean of a round trip) / {flow.rtt_text}"
    error = law_error(flow.algorithm, flow.loss)
    return LossEstimate(model, throughput, formula, error, spread, model.is_expected(flow.algorithm))


def _related(flow: LossyFlow) -> Iterator[LossEstimate]:
    """Yield the rough law of a sender without an exact law."""
    rate = related_rate(flow.algorithm, flow.rtt, flow.loss, flow.rtt + MIN_RTO)
    throughput = 8 * rate * flow.mss
    formula = f"× {units.number(rate * flow.rtt)} (mean of a round trip, roughly) / {flow.rtt_text}"
    error = 1.0 if flow.loss > MOST_LOSS else RELATED_ERROR + 1.5 * flow.loss
    yield LossEstimate(ThroughputModel.RELATED, throughput, formula, error, RENO_SPREAD, is_expected=True)


_OWN = {"reno": _reno, "cubic": _cubic, "htcp": _htcp, "highspeed": _highspeed} | dict.fromkeys(
    RELATED, _related
)
