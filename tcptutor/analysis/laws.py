"""What each loss model gives one flow: Mathis with three constants, Padhye, CUBIC, H-TCP, HighSpeed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from tcptutor import theory, units
from tcptutor.analysis.case import Case

MATHIS_ERROR = 0.05
"""Seen against a real kernel at 0.1 and 1 %, 20 to 100 ms, where losses were many."""

PADHYE_ERROR = 0.1

CUBIC_ERROR = 0.12
"""CUBIC's window has no timeouts, which count from a loss of about 1 % on."""

STEEP_ERROR = 0.2
"""HighSpeed's window is a fit, and H-TCP's has no timeouts either."""

UNMODELLED_ERROR = 0.5
"""Reno's model for an algorithm that is not Reno and has none here."""

LOSS_BLIND = frozenset({"bbr"})
"""Algorithms that do not take a loss for congestion: no loss model binds them."""

MODELLED = frozenset({"reno", "cubic", "htcp", "highspeed"}) | LOSS_BLIND

RENO_SPREAD = 0.5
"""Relative standard deviation of Reno's throughput times the square root of its losses: the 1/2 of p^(-1/2)."""

CUBIC_SPREAD = 1.1
"""The same for CUBIC's curve, and for HighSpeed: it is steeper and remembers longer. From simulation."""

HTCP_SPREAD = 0.9
"""The same for H-TCP. From simulation."""

MATHIS_CONSTANTS = {
    "mathis": theory.MATHIS_RANDOM,
    "mathis-periodic": theory.MATHIS_PERIODIC,
    "mathis-manual": theory.MATHIS_MANUAL,
}
"""By model: the constant of independent random loss first, then those that others use."""

_GAPS = "cwnd over long and short gaps"

_MATHIS_LABELS = {
    "mathis": "Mathis",
    "mathis-periodic": "Mathis, periodic",
    "mathis-manual": "Mathis, manual C=1",
}


@dataclass(frozen=True)
class Law:
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


@dataclass(frozen=True)
class Lossy:
    """One flow on a path with loss."""

    algorithm: str
    mss: int
    rtt: float
    rto: float
    loss: float
    """Loss events per segment."""
    rtt_text: str
    window: int | None
    """The receiver's, bytes; None for no limit."""


def lossy(case: Case, algorithm: str, rtt: float, window: int | None) -> Lossy:
    """A flow of `case`, with its numbers as the laws take them."""
    # A timeout is never shorter than the round trip that it waits for, whatever a damaged run says.
    rto = max(rtt, case.rto + rtt - case.rtt)
    return Lossy(algorithm, case.mss, rtt, rto, case.loss_rate, case.rtt_text(rtt), window)


@lru_cache(maxsize=256)
def laws(flow: Lossy) -> tuple[Law, ...]:
    """Every model for `flow`, its own first; at most one is the best, and none is for BBR."""
    return (*_OWN.get(flow.algorithm, _no_laws)(flow), *_reno(flow))


def timeout_share(flow: Lossy) -> float:
    """Share of Mathis's throughput that Padhye's timeouts would take, 0 to below 1; 0 without loss."""
    if flow.loss <= 0:
        return 0.0
    without = theory.mathis(flow.mss, flow.rtt, flow.loss, theory.MATHIS_PERIODIC)
    return max(0.0, 1 - theory.padhye(flow.mss, flow.rtt, flow.loss, flow.rto) / without)


def _reno(flow: Lossy) -> Iterator[Law]:
    """Reno's models; for another algorithm they say what Reno would get."""
    best = flow.algorithm == "reno" or flow.algorithm not in MODELLED
    p, share = units.percent(flow.loss), timeout_share(flow)
    # Mathis leaves timeouts out; Linux, with RACK and tail loss probes, avoids half of Padhye's or more.
    error = max(MATHIS_ERROR, share / 2) + (0 if flow.algorithm in MODELLED else UNMODELLED_ERROR)
    for model, c in MATHIS_CONSTANTS.items():
        throughput = theory.mathis(flow.mss, flow.rtt, flow.loss, c)
        formula = f"× {c:.3g} / ({flow.rtt_text} × √{p})"
        # The other constants are for other patterns of loss: their bias is known.
        bias = theory.MATHIS_RANDOM / c - 1
        own = best and model == "mathis"
        yield Law(model, _MATHIS_LABELS[model], throughput, formula, error + bias, RENO_SPREAD, own)
    limit = max(1.0, flow.window / flow.mss) if flow.window else None
    throughput = theory.padhye(flow.mss, flow.rtt, flow.loss, flow.rto, max_window=limit)
    formula = f"/ ({flow.rtt_text} × √(2p/3) + {units.seconds(flow.rto)} × 3√(3p/8) p), p = {p}"
    error = max(PADHYE_ERROR, share / (1 - share))
    yield Law("padhye", "Padhye", throughput, formula, error, RENO_SPREAD, best=False)


def _cubic(flow: Lossy) -> Iterator[Law]:
    """CUBIC's mean window over all gaps between losses, and RFC 9438's, where all are as long."""
    random, periodic = (law(flow.loss, flow.rtt) for law in (theory.cubic_random_window, theory.cubic_window))
    on_curve = theory.cubic_region_window(flow.loss, flow.rtt) > theory.reno_window(flow.loss)
    spread = CUBIC_SPREAD if on_curve else RENO_SPREAD
    yield _mean(flow, "cubic", "CUBIC", random, CUBIC_ERROR, spread, _GAPS)
    p = units.percent(flow.loss)
    if on_curve:
        constant = periodic / math.pow(flow.rtt / flow.loss, 0.75)
        formula = f"× {constant:.3g} × ({flow.rtt:.3g} s / {p})^¾ / {flow.rtt_text}"
    else:
        formula = f"× {periodic * math.sqrt(flow.loss):.3g} / ({flow.rtt_text} × √{p})"
    throughput = theory.window_limited(periodic * flow.mss, flow.rtt)
    # For another pattern of loss: its bias is known.
    error = CUBIC_ERROR + abs(random / periodic - 1)
    yield Law("cubic-periodic", "CUBIC, periodic", throughput, formula, error, spread, best=False)


def _htcp(flow: Lossy) -> Iterator[Law]:
    """H-TCP's mean window over all gaps between losses: long ones, in which it comes to grow fast, and short ones."""
    window = theory.htcp_random_window(flow.loss, flow.rtt)
    yield _mean(flow, "htcp", "H-TCP", window, STEEP_ERROR, HTCP_SPREAD, _GAPS)


def _highspeed(flow: Lossy) -> Iterator[Law]:
    factor = theory.MATHIS_RANDOM / theory.MATHIS_PERIODIC
    window = factor * theory.highspeed_window(flow.loss)
    yield _mean(flow, "highspeed", "HighSpeed", window, STEEP_ERROR, CUBIC_SPREAD, "cwnd")


def _mean(flow: Lossy, model: str, label: str, window: float, error: float, spread: float, what: str) -> Law:
    """A mean window without a short formula; `what` says of what it is the mean."""
    throughput = theory.window_limited(window * flow.mss, flow.rtt)
    formula = f"× {window:.3g} (mean {what}) / {flow.rtt_text}"
    return Law(model, label, throughput, formula, error, spread, best=True)


def _no_laws(_flow: Lossy) -> Iterator[Law]:
    return iter(())


_OWN = {"cubic": _cubic, "htcp": _htcp, "highspeed": _highspeed}
