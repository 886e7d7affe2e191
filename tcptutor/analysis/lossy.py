"""Predictions under random loss: Mathis with three constants, Padhye, CUBIC, H-TCP, HighSpeed.

Each gives all flows together as so many times one (Hacker 2001, eq. 5). Exactly one is the best for an algorithm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from tcptutor import theory, units
from tcptutor.analysis.case import Candidate, Case

MATHIS_ERROR = 0.05
"""Seen against a real kernel at 0.1 and 1 %, 20 to 100 ms, where losses were many."""

TIMEOUTS_COUNT = 0.02
"""Loss rate above which timeouts, which Mathis leaves out, take a share that is seen."""

CUBIC_ERROR = 0.12
"""Where the Reno-friendly and the cubic region meet the window is above both."""

HTCP_ERROR = 0.2
"""H-TCP keeps more of the window when throughput is steady, which no closed form has."""

# Relative standard deviation of throughput times the square root of the losses, from simulation. For Reno it is the
# 1/2 of p^(-1/2); the steeper and longer memory of the others makes theirs larger.
_SPREAD_RENO, _SPREAD_CUBIC, _SPREAD_HTCP = 0.5, 1.1, 0.9

_ONLY_RENO = frozenset({"reno"})
# BBR does not take a loss for congestion: no loss model binds it.
LOSS_BLIND = frozenset({"bbr"})
MODELLED = frozenset({"reno", "cubic", "htcp", "highspeed"}) | LOSS_BLIND


def loss_candidates(case: Case) -> Iterator[Candidate]:
    """Every loss model of `case`; none without random loss."""
    if case.loss <= 0:
        return
    algorithm = case.experiment.hosts.algorithm
    if algorithm == "cubic":
        yield from _cubic(case)
    elif algorithm == "htcp":
        yield _htcp(case)
    elif algorithm == "highspeed":
        factor = theory.MATHIS_RANDOM / theory.MATHIS_PERIODIC
        window = factor * theory.highspeed_window(case.loss)
        formula = f"{case.times}{case.mss} B × {window:.3g} / {case.rtt_text}"
        yield _of_window(case, "highspeed", "HighSpeed", window, formula, (0.2, _SPREAD_CUBIC))
    yield from _reno(case)


def _reno(case: Case) -> Iterator[Candidate]:
    """Reno's models; for another algorithm they say what Reno would get."""
    algorithm = case.experiment.hosts.algorithm
    own = algorithm == "reno"
    # Algorithms without a model of their own are compared with Reno, and the expectation's note says so.
    best = own or algorithm not in MODELLED
    mss, rtt, loss = case.mss, case.rtt, case.loss
    window = case.experiment.hosts.window
    limit = max(1.0, window / mss) if window else None
    random = theory.mathis(mss, rtt, loss, theory.MATHIS_RANDOM)
    padhye = theory.padhye(mss, rtt, loss, case.rto, max_window=limit)
    unlimited = theory.padhye(mss, rtt, loss, case.rto)
    error = MATHIS_ERROR if loss <= TIMEOUTS_COUNT else 1 - unlimited / random
    for model, label, c in (
        ("mathis", "Mathis", theory.MATHIS_RANDOM),
        ("mathis-periodic", "Mathis, periodic", theory.MATHIS_PERIODIC),
        ("mathis-manual", "Mathis, manual C=1", theory.MATHIS_MANUAL),
    ):
        one = theory.mathis(mss, rtt, loss, c)
        formula = f"{case.times}{mss} B × {c:.3g} / ({case.rtt_text} × √{units.percent(loss)})"
        # The other constants are for other patterns of loss: their bias is known.
        bias = error + theory.MATHIS_RANDOM / c - 1 + (0 if own else 0.5 if best else 0)
        yield _candidate(case, model, label, one, formula, (bias, _SPREAD_RENO), best and model == "mathis")
    formula = (
        f"{case.times}{mss} B / ({case.rtt_text} × √(2p/3) + {units.seconds(case.rto)} × 3√(3p/8) p), "
        f"p = {units.percent(loss)}"
    )
    bias = max(0.1, random / unlimited - 1)
    yield _candidate(case, "padhye", "Padhye", padhye, formula, (bias, _SPREAD_RENO), best=False)


def _cubic(case: Case) -> Iterator[Candidate]:
    """RFC 9438's mean window under periodic loss, and what independent losses make of it."""
    mss, rtt, loss = case.mss, case.rtt, case.loss
    curve, friendly = theory.cubic_region_window(loss, rtt), theory.reno_window(loss)
    window = max(theory.CUBIC_RANDOM * curve, theory.CUBIC_RENO_RANDOM * friendly)
    for model, label, mean, bias in (
        ("cubic", "CUBIC", window, 0.0),
        ("cubic-periodic", "CUBIC, periodic", theory.cubic_window(loss, rtt), theory.CUBIC_RANDOM - 1),
    ):
        on_curve = mean > 1.05 * friendly
        if on_curve:
            constant = mean / math.pow(rtt / loss, 0.75)
            law = f"{constant:.3g} × ({rtt:.3g} s / {units.percent(loss)})^¾ / {case.rtt_text}"
        else:
            law = f"{mean * math.sqrt(loss):.3g} / ({case.rtt_text} × √{units.percent(loss)})"
        known = (CUBIC_ERROR + bias, _SPREAD_CUBIC if on_curve else _SPREAD_RENO)
        formula = f"{case.times}{mss} B × {law}"
        yield _of_window(case, model, label, mean, formula, known, best=model == "cubic")


def _htcp(case: Case) -> Candidate:
    """H-TCP: Reno while losses are less than a second apart."""
    periodic = theory.htcp_window(case.loss, case.rtt)
    apart = case.rtt / (case.loss * periodic)
    factor = theory.HTCP_RANDOM if apart > 1 else theory.MATHIS_RANDOM / theory.MATHIS_PERIODIC
    window = factor * periodic
    formula = f"{case.times}{case.mss} B × {window:.3g} / {case.rtt_text}"
    return _of_window(case, "htcp", "H-TCP", window, formula, (HTCP_ERROR, _SPREAD_HTCP))


def _of_window(
    case: Case,
    model: str,
    label: str,
    window: float,
    formula: str,
    known: tuple[float, float],
    best: bool = True,
) -> Candidate:
    one = theory.window_limited(window * case.mss, case.rtt)
    return _candidate(case, model, label, one, formula, known, best)


def _candidate(
    case: Case, model: str, label: str, one: float, formula: str, known: tuple[float, float], best: bool
) -> Candidate:
    """`known` is the model's own error and its spread; twice the standard error is what chance explains."""
    error, spread = known
    total = case.flows * one
    chance = 2 * spread / math.sqrt(max(case.loss_events(total), 1e-9))
    tolerance = math.hypot(error, chance)
    return Candidate(model, f"{case.times}{label}", total, formula, tolerance, "random-loss", best)
