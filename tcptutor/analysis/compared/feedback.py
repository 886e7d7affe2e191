"""Feedback on a student's predicted throughput: correct, a known mistake, or how far off."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from tcptutor.analysis.compared.report import Report, report
from tcptutor.analysis.expected.expect import expect
from tcptutor.analysis.expected.mistakes import Mistake, known_mistakes, log_distance
from tcptutor.analysis.observed.measured import is_path_known
from tcptutor.base import units
from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.run import Run

NEAR = 0.05
"""Absolute log ratio up to which a prediction counts as a known mistake."""

EXACT = 0.005
"""Absolute log ratio up to which a prediction within tolerance still gets the mistake's name."""

AS_NEAR = 0.01
"""Difference in log distance below which two mistakes cannot be distinguished."""

_TIMES = 1.95
"""Ratio from which a difference is written as a factor instead of a percentage."""


class PredictionFeedback(NamedTuple):
    """Feedback on a prediction, and the values it was compared with."""

    text: str
    """Empty for a run without measurements."""
    measured_bps: float = 0.0
    expected_bps: float = 0.0
    """Prediction of the models."""


def feedback_text(value: float, run: Run, tolerance: float) -> str:
    """Return the text of `prediction_feedback`."""
    return prediction_feedback(value, run, tolerance).text


def prediction_feedback(value: float, run: Run, tolerance: float) -> PredictionFeedback:
    """Return the feedback on a predicted throughput, with its distance from the run and from the models.

    A mistake is named only if the run shows the expected limit.

    Args:
        value: Predicted throughput of all flows, bit/s.
        run: The run that tests it.
        tolerance: Relative error that counts as correct.
    """
    result, expectation = report(run), expect(run.experiment)
    expected, measured = expectation.binding.throughput_bps, result.throughput_bps
    if measured <= 0 or not is_path_known(run):
        return PredictionFeedback("")
    as_expected = result.verdict.limited_by == expectation.binding.limited_by
    mistakes = known_mistakes(run.experiment) if as_expected else ()
    nearest = _nearest(mistakes, value, min(log_distance(value, expected), log_distance(value, measured)))
    by_model, by_run = (_within(value, right, tolerance) for right in (expected, measured))
    if by_model or by_run:
        text = _right(value, nearest, expected, measured, by_model, by_run, tolerance)
    else:
        text = _wrong(value, nearest, result)
    from_run, from_models = (_distance(value, truth) for truth in (measured, expected))
    distance = f"Beside the run: {from_run}, beside the models: {from_models}."
    return PredictionFeedback(f"{text} {distance}", measured, expected)


def _right(
    value: float,
    nearest: Sequence[Mistake],
    expected: float,
    measured: float,
    by_model: bool,
    by_run: bool,
    tolerance: float,
) -> str:
    written = units.rate(value)
    near = f"the models say {units.rate(expected)}, the run had {units.rate(measured)}"
    exact = len(nearest) == 1 and log_distance(nearest[0].value, value) <= EXACT
    correction = f" But {written} is {nearest[0].description}{_clause(nearest[0].hint)}." if exact else ""
    source = "as the models say" if by_model else "near what the run had"
    if by_model and by_run:
        source = "right"
    return f"{written} is {source} within ±{units.percent(tolerance)}: {near}.{correction}"


def _wrong(value: float, nearest: Sequence[Mistake], result: Report) -> str:
    written, error, binds = units.rate(value), _off(value, result.throughput_bps), _binds(result)
    if len(nearest) == 1:
        return f"{written}: {nearest[0].sentence}, {error}{_clause(nearest[0].hint)}; {binds}."
    if nearest:
        return f"{written}: perhaps {nearest[0].description}, or {nearest[1].description}, {error}; {binds}."
    return f"{written} is {error}; {binds}."


def _distance(value: float, truth: float) -> str:
    """Return the relative error such as "+6 %" or "−78 %", or "× 31" for large ones."""
    ratio = value / truth if truth > 0 else 0.0
    return units.signed_percent(ratio - 1) if ratio < _TIMES else f"× {_short(ratio)}"


def _within(value: float, right: float, tolerance: float) -> bool:
    return abs(value - right) <= tolerance * right


def _nearest(known: Sequence[Mistake], value: float, to_truth: float) -> list[Mistake]:
    """Return the mistakes near `value`, at most one per kind, in the table's order; empty if none is near."""
    by_distance = sorted((log_distance(one.value, value), number) for number, one in enumerate(known))
    if not by_distance or by_distance[0][0] > min(NEAR, to_truth):
        return []
    near = sorted(number for distance, number in by_distance if distance - by_distance[0][0] < AS_NEAR)
    found: dict[str, Mistake] = {}
    for number in near:
        found.setdefault(known[number].kind, known[number])
    return list(found.values())


def _clause(hint: str) -> str:
    return f"; {hint}" if hint else ""


def _off(value: float, measured: float) -> str:
    """Return the error as text: "11 times too much", "27 % too little"."""
    ratio = value / measured
    if ratio <= 0:
        return "too little"
    if ratio >= _TIMES:
        return f"{_short(ratio)} times too much"
    if ratio <= 1 / _TIMES:
        return f"{_short(1 / ratio)} times too little"
    return f"{abs(ratio - 1) * 100:.0f} % too {'much' if ratio > 1 else 'little'}"


def _short(factor: float) -> str:
    """Return two significant digits: "5", "8.5", "31", "1 000"."""
    return f"{factor:.2g}" if factor < 9.95 else f"{float(f'{factor:.2g}'):,.0f}".replace(",", " ")


def _binds(result: Report) -> str:
    limited_by, rate = result.verdict.limited_by, units.rate(result.throughput_bps)
    if limited_by not in CAUSE_NAMES or limited_by == "growing":
        return f"the run had {rate}"
    name = "the link" if limited_by == "bottleneck" else CAUSE_NAMES[limited_by]
    return f"{name} {'bind' if limited_by == 'timeout' else 'binds'}, at {rate}"
