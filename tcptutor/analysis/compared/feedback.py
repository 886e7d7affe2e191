"""Feedback on a student's predicted throughput: correct, a known mistake, or how far off.

A mistake's description states the value, not the student's reasoning: "the link's rate" is true of 100 Mbit/s on
such a link in any case.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from tcptutor import theory
from tcptutor.analysis.case import PATH_RTT, Case, case_of
from tcptutor.analysis.compared.report import Report, report
from tcptutor.analysis.expected.expect import expect
from tcptutor.analysis.observed.path_doubt import is_path_known
from tcptutor.base import units
from tcptutor.base.causes import CAUSE_NAMES, LimitedBy
from tcptutor.run import Run
from tcptutor.spec import Experiment

NEAR = 0.05
"""Absolute log ratio up to which a prediction counts as a known mistake."""

EXACT = 0.005
"""Absolute log ratio up to which a prediction within tolerance still gets the mistake's name."""

AS_NEAR = 0.01
"""Difference in log distance below which two mistakes cannot be distinguished."""

_TIMES = 1.95
"""Ratio from which a difference is written as a factor instead of a percentage."""

_SAME = 0.01
"""Absolute log ratio below which two values are equal."""

_SLOW_QUEUE = 0.1
"""Share of the RTT from which a full queue's delay counts."""

_PEAK = 4 / 3
"""Reno's peak window over its mean."""

_SAWTOOTH_UTILIZATION = 0.75
"""Link utilization of a Reno flow without a queue."""

_ONE_CUT = "losses in a row cut the window once"


class PredictionFeedback(NamedTuple):
    """Feedback on a prediction, and the measured value it was compared with."""

    text: str
    """Empty for a run without measurements."""
    measured_bps: float = 0.0


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
    return PredictionFeedback(f"{text} {_distances(value, measured, expected)}", measured)


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


def _distances(value: float, measured: float, expected: float) -> str:
    """Return a sentence such as "You are 8 % above the run, 5 % below the models"."""
    from_run, from_models = _distance(value, measured), _distance(value, expected)
    if from_run == from_models:
        return f"You are {from_run} the run and the models."
    return f"You are {from_run} the run, {from_models} the models."


def _distance(value: float, truth: float) -> str:
    """Return the relative error such as "6 % above", "78 % below", "level with" or "at 31 times"."""
    ratio = value / truth if truth > 0 else 0.0
    if ratio >= _TIMES:
        return f"at {_short(ratio)} times"
    error = round(100 * (ratio - 1))
    return f"{abs(error)} % {'above' if error > 0 else 'below'}" if error else "level with"


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


@dataclass(frozen=True)
class Mistake:
    """Wrong value of the throughput, and its description."""

    kind: str
    """Short name; several values may share a kind."""
    value: float
    """Aggregate throughput, bit/s."""
    description: str
    """Description to follow "that is"."""
    hint: str = ""
    """Clause with advice; may be empty."""

    @property
    def sentence(self) -> str:
        """Clause such as "that is the link's rate"."""
        return f"that is {self.description}"


@dataclass(frozen=True)
class _Law:
    """Throughput of a flow under a single limit."""

    limit: LimitedBy
    throughput: Callable[[float, float], float]
    """Function from losses per segment and RTT in s to bit/s."""
    name: str
    """Name in a sentence, e.g. "loss" or "its window"."""


def known_mistakes(experiment: Experiment) -> tuple[Mistake, ...]:
    """Return the values of known mistakes for `experiment`, except those near the expected value.

    If flows differ, start late, or the path changes, only mistakes about the link and units are included, and with two
    bottlenecks those about units. Takes a few milliseconds.
    """
    case, expectation = case_of(experiment), expect(experiment)
    expected, cause = expectation.binding.throughput_bps, expectation.binding.limited_by
    found = list(_of_link(case, cause)) if experiment.link_count == 1 else []
    is_uniform = len(case.kinds) == 1 and not experiment.path.all_changes and not experiment.flows.starts
    is_uniform &= experiment.link_count == 1
    if is_uniform and not experiment.flows.directions:
        laws = list(_laws(case))
        found += [mistake for law in laws for mistake in _of_law(case, law, cause)]
        if cause == "random-loss":
            found += _of_reno(case)
    found += _of_units(expected)
    return tuple(
        one for one in found if math.isfinite(one.value) and log_distance(one.value, expected) > _SAME
    )


def log_distance(value: float, other: float) -> float:
    """Return the distance of two rates as absolute log ratio; infinite if either is not positive."""
    return abs(math.log(value / other)) if value > 0 and other > 0 else math.inf


def _of_link(case: Case, cause: LimitedBy) -> Iterator[Mistake]:
    """Yield the link's rate, its payload capacity, and a single flow's share of it."""
    if case.rate is None or case.capacity is None or case.tcp_capacity is None:
        return
    if cause != "bottleneck":
        as_bdp = ", which takes a window of a BDP" if cause == "receive-window" else ""
        yield Mistake("link's rate", case.rate, f"the link's rate{as_bdp}")
        yield Mistake("link's goodput", case.capacity, "what the link carries without headers")
    else:
        data = f"{case.share_text} of it are data"
        yield Mistake("frames for goodput", case.rate, "the link's rate, headers included", data)
        if case.udp_rate:
            yield Mistake("UDP forgotten", case.capacity, "what the link carries without the UDP flows")
        if (case.buffer_ratio or 1.0) < 1:
            short = "its queue is too short for that"
            yield Mistake("short queue", case.tcp_capacity, "the link when it is never idle", short)
        elif case.flow_count == 1 and case.algorithm == "reno":
            busy = "here the queue keeps the link busy"
            sawtooth = "three quarters of the link, a sawtooth without a queue"
            yield Mistake("queue forgotten", _SAWTOOTH_UTILIZATION * case.tcp_capacity, sawtooth, busy)
    if case.flow_count > 1:
        yield Mistake(
            "share of the link", case.tcp_capacity / case.flow_count, "one flow's share of the link"
        )


def _laws(case: Case) -> Iterator[_Law]:
    """Yield the limits of a single flow; for losses also formulas that are not the best model."""
    for of in _loss_laws(case) if case.loss_rate > 0 else ():
        yield _Law("random-loss", of, "loss")
    if (window := case.max_in_flight) is not None:
        size = window
        limit: LimitedBy = "send-buffer" if size == case.send_buffer_limit else "receive-window"
        name = "the send buffer" if limit == "send-buffer" else "its window"
        yield _Law(limit, lambda _loss, rtt: theory.window_limited(size, rtt), name)
    if (paced := case.paced_rate) is not None:
        rate = paced
        yield _Law("pacing", lambda _loss, _rtt: rate, "pacing")


def _loss_laws(case: Case) -> tuple[Callable[[float, float], float], ...]:
    """Return the throughput of a flow under random loss, by the literature and by random spacing."""
    mss = case.mss

    def windowed(window: Callable[[float, float], float]) -> Callable[[float, float], float]:
        return lambda loss, rtt: theory.window_limited(window(loss, rtt) * mss, rtt)

    match case.algorithm:
        case "bbr":
            return ()
        case "cubic":
            return windowed(theory.cubic_window), windowed(theory.cubic_random_window)
        case "htcp":
            return (windowed(theory.htcp_random_window),)
        case "highspeed":
            return (windowed(lambda loss, _rtt: theory.highspeed_window(loss)),)
        case _:
            constants = theory.MATHIS_PERIODIC, theory.MATHIS_RANDOM
            return tuple(lambda loss, rtt, c=c: theory.mathis(mss, rtt, loss, c) for c in constants)


def _of_law(case: Case, law: _Law, cause: LimitedBy) -> Iterator[Mistake]:
    """Yield the mistakes about a limit: wrong limit, single flow, above the link, wrong RTT or loss."""
    number, rtt, loss = case.flow_count, case.rtt, case.loss_rate
    one = law.throughput(loss, rtt)
    together = number * one
    if number > 1:
        yield Mistake("one flow's", one, f"what one of the {number} flows gets by {law.name}")
    if cause == "bottleneck":
        more = f"{number} × {units.rate(one)}" if number > 1 else f"what {law.name} allows"
        yield Mistake("link forgotten", together, more, "the link carries less")
    elif law.limit != cause:
        yield Mistake(f"{law.limit} where another binds", together, f"what {law.name} allows")
    if law.limit != cause or law.limit == "pacing":
        return
    for kind, factor in (("one way for the round trip", 0.5), ("twice the round trip", 2)):
        other = PATH_RTT + factor * (rtt - PATH_RTT)
        description = f"what an RTT of {case.rtt_text(other)} would give"
        yield Mistake(
            kind, number * law.throughput(loss, other), description, f"here it is {case.rtt_text(rtt)}"
        )
    if law.limit == "random-loss":
        for kind, wrong in (("percent for a fraction", 100 * loss), ("fraction for percent", loss / 100)):
            if wrong < 0.5:
                description, right = (
                    f"the formula with p = {wrong:.2g}",
                    f"{units.percent(loss)} is {loss:.2g}",
                )
                yield Mistake(kind, number * law.throughput(wrong, rtt), description, right)
        if case.loss > loss:
            segments = f"the formula with each lost segment for itself, p = {units.percent(case.loss)}"
            yield Mistake("segments for events", number * law.throughput(case.loss, rtt), segments, _ONE_CUT)
        if number > 1 and number * loss < 0.5:
            shared = f"the formula with {number} times the loss"
            own = f"each flow loses {units.percent(loss)} of its own"
            yield Mistake("loss times flows", number * law.throughput(number * loss, rtt), shared, own)
    elif case.rate and 8 * case.queue / case.rate > _SLOW_QUEUE * rtt:
        waits = "what it would be if every segment waited in a full queue"
        yield Mistake("queue counted", number * law.throughput(loss, rtt + 8 * case.queue / case.rate), waits)


def _of_reno(case: Case) -> Iterator[Mistake]:
    """Yield mistakes with Mathis's formula, C × MSS / (RTT × √p)."""
    if case.algorithm not in ("reno", ""):
        return
    loss, number = case.loss_rate, case.flow_count
    manual = number * theory.mathis(case.mss, case.rtt, loss, theory.MATHIS_MANUAL)
    yield Mistake("C = 1", manual, "Mathis with C = 1, as the manuals write it")
    periodic = theory.MATHIS_PERIODIC * manual
    for value in (periodic, manual):
        yield Mistake("root forgotten", value / math.sqrt(loss), "the formula with p in place of its root")
    yield Mistake("no loss in it", periodic * math.sqrt(loss), "the formula without p")
    yield Mistake("peak for mean", _PEAK * periodic, "the rate at the window's peaks, not its mean")
    yield Mistake("least for mean", _PEAK / 2 * periodic, "the rate right after a loss, not the mean")


def _of_units(expected: float) -> Iterator[Mistake]:
    """Yield unit errors of any answer."""
    answer = f"the models' {units.rate(expected)}"
    for over, times, factor, hint in (
        ("bytes for bits", "bits for bytes", 8, "a byte has 8 bits"),
        ("prefix", "prefix", 1000, "look at the prefix"),
        ("decimal point", "decimal point", 10, "look at the decimal point"),
    ):
        yield Mistake(over, expected / factor, f"{answer} over {factor}", hint)
        yield Mistake(times, expected * factor, f"{answer} times {factor}", hint)
