"""Predictions under random loss: Mathis with three constants, Padhye, CUBIC, H-TCP, HighSpeed.

Each gives all flows together as so many times one (Hacker 2001, eq. 5). At most one is the best for an
algorithm.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tcptutor import theory, units
from tcptutor.analysis.case import Candidate, Case

MATHIS_ERROR = 0.05
"""Seen against a real kernel at 0.1 and 1 %, 20 to 100 ms, where losses were many."""

PADHYE_ERROR = 0.1

CUBIC_ERROR = 0.12
"""Where the Reno-friendly and the cubic region meet the window is above both."""

STEEP_ERROR = 0.2
"""H-TCP keeps more of the window when throughput is steady, which no closed form has; HighSpeed is a fit."""

UNMODELLED_ERROR = 0.5
"""Reno's model for an algorithm that is not Reno and has none here."""

TIMEOUTS_COUNT = 1 / 3
"""Share that Padhye's timeouts would take from Mathis from which on the student is told."""

LOSS_BLIND = frozenset({"bbr"})
"""Algorithms that do not take a loss for congestion: no loss model binds them."""

MODELLED = frozenset({"reno", "cubic", "htcp", "highspeed"}) | LOSS_BLIND

# Relative standard deviation of throughput times the square root of the losses, from simulation. For Reno it
# is the 1/2 of p^(-1/2); the steeper curve and longer memory of the others makes theirs larger.
_RENO_SPREAD, _CUBIC_SPREAD, _HTCP_SPREAD = 0.5, 1.1, 0.9


@dataclass(frozen=True)
class _Law:
    """One model for one flow."""

    model: str
    label: str
    throughput: float
    """Of one flow, bit/s."""
    formula: str
    """What follows "1448 B"."""
    error: float
    """The model's own, relative."""
    spread: float
    best: bool


def loss_candidates(case: Case) -> Iterator[Candidate]:
    """Every loss model of `case`; none without random loss."""
    if case.loss <= 0:
        return
    for law in (*_OWN.get(case.experiment.hosts.algorithm, _no_laws)(case), *_reno(case)):
        total = case.flows * law.throughput
        # Twice the standard error is what chance explains.
        chance = 2 * law.spread / math.sqrt(max(case.loss_events(total), 1e-9))
        yield Candidate(
            model=law.model,
            label=f"{case.times}{law.label}",
            throughput=total,
            formula=f"{case.times}{case.mss} B {law.formula}",
            tolerance=math.hypot(law.error, chance),
            limited_by="random-loss",
            best=law.best,
        )


def timeout_share(case: Case) -> float:
    """Share of Mathis's throughput that Padhye's timeouts would take, 0 to below 1; 0 without loss."""
    if case.loss <= 0:
        return 0.0
    without = theory.mathis(case.mss, case.rtt, case.loss, theory.MATHIS_PERIODIC)
    return max(0.0, 1 - theory.padhye(case.mss, case.rtt, case.loss, case.rto) / without)


def _reno(case: Case) -> Iterator[_Law]:
    """Reno's models; for another algorithm they say what Reno would get."""
    algorithm = case.experiment.hosts.algorithm
    best = algorithm == "reno" or algorithm not in MODELLED
    p, share = units.percent(case.loss), timeout_share(case)
    # Mathis leaves timeouts out; Linux, with RACK and tail loss probes, avoids half of Padhye's or more.
    error = max(MATHIS_ERROR, share / 2) + (0 if algorithm in MODELLED else UNMODELLED_ERROR)
    for model, label, c in (
        ("mathis", "Mathis", theory.MATHIS_RANDOM),
        ("mathis-periodic", "Mathis, periodic", theory.MATHIS_PERIODIC),
        ("mathis-manual", "Mathis, manual C=1", theory.MATHIS_MANUAL),
    ):
        throughput = theory.mathis(case.mss, case.rtt, case.loss, c)
        formula = f"× {c:.3g} / ({case.rtt_text} × √{p})"
        # The other constants are for other patterns of loss: their bias is known.
        bias = theory.MATHIS_RANDOM / c - 1
        own = best and model == "mathis"
        yield _Law(model, label, throughput, formula, error + bias, _RENO_SPREAD, own)
    window = case.experiment.hosts.window
    limit = max(1.0, window / case.mss) if window else None
    throughput = theory.padhye(case.mss, case.rtt, case.loss, case.rto, max_window=limit)
    formula = f"/ ({case.rtt_text} × √(2p/3) + {units.seconds(case.rto)} × 3√(3p/8) p), p = {p}"
    error = max(PADHYE_ERROR, share / (1 - share))
    yield _Law("padhye", "Padhye", throughput, formula, error, _RENO_SPREAD, best=False)


def _cubic(case: Case) -> Iterator[_Law]:
    """RFC 9438's mean window under periodic loss, and what independent losses make of it."""
    curve, friendly = theory.cubic_region_window(case.loss, case.rtt), theory.reno_window(case.loss)
    random = max(theory.CUBIC_RANDOM * curve, theory.CUBIC_RENO_RANDOM * friendly)
    periodic = theory.cubic_window(case.loss, case.rtt)
    p = units.percent(case.loss)
    for model, label, window in (("cubic", "CUBIC", random), ("cubic-periodic", "CUBIC, periodic", periodic)):
        on_curve = window > theory.CUBIC_RENO_RANDOM * friendly
        if on_curve:
            constant = window / math.pow(case.rtt / case.loss, 0.75)
            formula = f"× {constant:.3g} × ({case.rtt:.3g} s / {p})^¾ / {case.rtt_text}"
        else:
            formula = f"× {window * math.sqrt(case.loss):.3g} / ({case.rtt_text} × √{p})"
        throughput = theory.window_limited(window * case.mss, case.rtt)
        spread = _CUBIC_SPREAD if on_curve else _RENO_SPREAD
        error = CUBIC_ERROR + random / window - 1
        yield _Law(model, label, throughput, formula, error, spread, best=model == "cubic")


def _htcp(case: Case) -> Iterator[_Law]:
    """H-TCP: Reno while losses are less than a second apart."""
    periodic = theory.htcp_window(case.loss, case.rtt)
    seconds_apart = case.rtt / (case.loss * periodic)
    factor = theory.HTCP_RANDOM if seconds_apart > 1 else theory.MATHIS_RANDOM / theory.MATHIS_PERIODIC
    yield _steep(case, "htcp", "H-TCP", factor * periodic, _HTCP_SPREAD)


def _highspeed(case: Case) -> Iterator[_Law]:
    factor = theory.MATHIS_RANDOM / theory.MATHIS_PERIODIC
    yield _steep(case, "highspeed", "HighSpeed", factor * theory.highspeed_window(case.loss), _CUBIC_SPREAD)


def _steep(case: Case, model: str, label: str, window: float, spread: float) -> _Law:
    throughput = theory.window_limited(window * case.mss, case.rtt)
    formula = f"× {window:.3g} / {case.rtt_text}"
    return _Law(model, label, throughput, formula, STEEP_ERROR, spread, best=True)


def _no_laws(_case: Case) -> Iterator[_Law]:
    return iter(())


_OWN = {"cubic": _cubic, "htcp": _htcp, "highspeed": _highspeed}
