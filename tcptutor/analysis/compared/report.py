"""Report of a run: figures, every model's prediction, and reasons for the differences."""

from __future__ import annotations

import math
from typing import Literal

import msgspec

from tcptutor.analysis.case import ENOUGH_LOSSES, SATURATED, case_of
from tcptutor.analysis.compared.difference import Difference
from tcptutor.analysis.compared.explain import Verdict, verdict
from tcptutor.analysis.compared.reasons import cause_text, not_modelled, reason
from tcptutor.analysis.expected.expect import expect
from tcptutor.analysis.expected.prediction import Expectation, Prediction
from tcptutor.analysis.observed.figures import (
    DirectionFigures,
    FlowFigures,
    cov_between,
    direction_figures,
    figures,
)
from tcptutor.analysis.observed.imported import is_parameter_known
from tcptutor.analysis.observed.measured import Measured, is_path_known, measure
from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.run import Run, UdpResult
from tcptutor.theory import jain_index
from tcptutor.theory.models import ThroughputModel

MAX_TOLERANCE = 0.4
"""Largest tolerance at which a model can explain a run; a wider tolerance spans rates of 1 to 2.3 and more."""

_FORECASTS = (
    "expect a little less",
    "expect less",
    "too short to keep the link full",
    "leave less than either",
)
"""Phrases of notes that predict less than the link's capacity."""

Judgement = Literal["explains", "misses", "undecided", "not-the-limit", "capped", "other-algorithm"]
"""Outcome of a comparison with one model.

- `explains`, `misses`: inside or outside the tolerance.
- `undecided`: chance or a wide tolerance leaves it open.
- `not-the-limit`: the model allows more, and a different cause was the limit.
- `capped`: the link's rate replaces the formula's value.
- `other-algorithm`: a model of an algorithm that these flows do not use.
"""


class ModelComparison(msgspec.Struct, frozen=True, kw_only=True):
    """Prediction with its measurement."""

    prediction: Prediction
    ratio: float
    """Measured over predicted."""
    judgement: Judgement
    reason: str = ""
    """Short reason for the difference; empty if unknown."""

    @property
    def within(self) -> bool:
        """True if the model explains the run, shown as a tick."""
        return self.judgement == "explains"

    @property
    def difference(self) -> float:
        """Relative error of the measurement against the prediction."""
        return self.ratio - 1


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of a run, with every applicable model."""

    throughput_bps: float
    """Aggregate payload after the warm-up, bit/s."""
    jain_index: float | None
    """Index of flows that share a link; None for flows both ways, see `directions`."""
    loss_rate: float | None
    """Loss events per segment sent; None if unknown, as for the next two."""
    retransmits: int | None
    loss_events: int | None
    spurious_events: int
    """Loss events without a loss, by DSACK; 0 on a path that duplicates."""
    mark_cuts: int
    """Cuts of the window by ECN marks without a loss."""
    comparisons: tuple[ModelComparison, ...]
    """Binding prediction first; empty for an invalid run, an unknown path, or without measurements."""
    verdict: Verdict
    flows: tuple[FlowFigures, ...] = ()
    cov_between: float | None = None
    """Coefficient of variation of the flows' means; None for a single flow."""
    directions: tuple[DirectionFigures, ...] = ()
    """Figures of each direction; empty if all TCP flows go one way."""
    udp: tuple[UdpResult, ...] = ()
    note: str = ""
    """Sentence on why prediction and measurement differ; may be empty."""

    @property
    def is_empty(self) -> bool:
        """True if no TCP or UDP flow was measured, so that no figures exist."""
        return not self.flows and not self.udp


def report(run: Run) -> Report:
    """Return the report of `run`. Never raises."""
    return report_measured(measure(run))


def report_measured(measured: Measured) -> Report:
    """Return the report of a measured run."""
    run, flows, throughput = measured.run, measured.flows, measured.throughput
    mss = max((flow.mss for flow in flows), default=0) or None
    timeouts = [each.mean("rto") for each in measured.intervals]
    rto = math.fsum(timeouts) / len(timeouts) if timeouts and min(timeouts) > 0 else None
    measured_inputs = (mss, rto, (run.environment.backend, run.environment.clock) == ("guest", "virtual"))
    expectation, case = expect(run.experiment, *measured_inputs), case_of(run.experiment, *measured_inputs)
    run_verdict = verdict(measured)
    differences = [
        Difference(prediction, expectation, measured, case, run_verdict)
        for prediction in (expectation.predictions if _comparable(measured) else ())
        if _can_be_asked(run, prediction)
    ]
    first = next(iter(differences), None)
    comparisons = [
        ModelComparison(
            prediction=diff.prediction, ratio=diff.ratio, judgement=judge(diff), reason=reason(diff)
        )
        for diff in differences
    ]
    return Report(
        throughput_bps=throughput,
        jain_index=_jain_index(measured) if not (by_direction := direction_figures(measured)) else None,
        loss_rate=measured.loss_rate,
        retransmits=measured.retransmits,
        loss_events=measured.losses,
        spurious_events=0
        if run.experiment.path.duplicate
        else sum(each.spurious_events for each in measured.intervals),
        mark_cuts=measured.mark_cuts,
        comparisons=tuple(comparisons),
        verdict=run_verdict,
        flows=figures(measured),
        cov_between=cov_between(measured),
        directions=by_direction,
        udp=measured.udp,
        note=_note(measured, expectation, comparisons, first, run_verdict)
        if flows or measured.udp
        else run_verdict.sentence,
    )


def _jain_index(measured: Measured) -> float:
    flows = measured.flows
    return jain_index(flow.throughput_bps for flow in flows) if flows and measured.throughput > 0 else 1.0


def judge(diff: Difference) -> Judgement:
    """Return the outcome of a comparison; the only place that awards a tick."""
    prediction = diff.prediction
    if diff.is_capped:
        return "capped"
    if diff.is_other_algorithm:
        return "other-algorithm"
    limit = diff.verdict.limited_by
    other = limit != "unexplained" and not diff.covers(limit)
    if diff.ratio < 1 and other and not (diff.is_within_tolerance or diff.binds):
        return "not-the-limit"
    if prediction.tolerance > MAX_TOLERANCE or (diff.is_within_tolerance and not _speaks_for(diff)):
        return "undecided"
    return "explains" if diff.is_within_tolerance else "misses"


def _speaks_for(diff: Difference) -> bool:
    """Return whether a run within the tolerance confirms this prediction.

    A run that the lab did not find valid never confirms a loss model. Chance affects all models of one limit alike,
    so it cannot confirm a model that clearly differs from the binding one.
    """
    prediction, binding = diff.prediction, diff.expectation.binding
    if prediction.limited_by == "random-loss" and diff.measured.run.fidelity.status != "valid":
        return False
    distance = abs(prediction.throughput_bps / binding.throughput_bps - 1)
    return prediction.limited_by != binding.limited_by or distance <= _sure(binding)


def _sure(prediction: Prediction) -> float:
    """Return the tolerance without the part due to chance."""
    return math.hypot(*(value for name, value in prediction.tolerance_from.items() if name != "losses"))


def _comparable(measured: Measured) -> bool:
    """Return whether models apply to the run: it has figures, is not invalid, and has a known path."""
    run = measured.run
    return bool(measured.flows or measured.udp) and run.fidelity.status != "invalid" and is_path_known(run)


def _can_be_asked(run: Run, prediction: Prediction) -> bool:
    """Return whether the model's inputs are known; an import needs its delay for RTT-based models."""
    by_round_trip = prediction.model.is_by_round_trip or prediction.model is ThroughputModel.WAY_BACK
    return is_parameter_known(run, "delay") or not by_round_trip


def _note(
    measured: Measured,
    expectation: Expectation,
    compared: list[ModelComparison],
    first: Difference | None,
    why: Verdict,
) -> str:
    """Return a sentence: doubts about the measurement first, then reasons for the difference."""
    run, fidelity = measured.run, measured.run.fidelity
    if fidelity.status in ("suspect", "invalid"):
        return fidelity.reasons[0] if fidelity.reasons else f"the lab calls this run {fidelity.status}"
    if not run.complete:
        return "cut short: the figures are for the part that ran"
    return _of_binding(expectation, compared[0], first, why) if first is not None else ""


def _of_binding(expectation: Expectation, binding: ModelComparison, first: Difference, why: Verdict) -> str:
    """Return the note on the expected binding model after the run."""
    forecast = "" if _has_failed(expectation.note, why) else expectation.note
    unclaimed = first.prediction.tolerance >= 1 and bool(forecast)
    if binding.within or unclaimed:
        return forecast
    lossy = first.prediction.limited_by == "random-loss"
    if lossy and (unlike := not_modelled(first)):
        return unlike
    if why.limited_by != "unexplained" and not first.covers(why.limited_by):
        expected = CAUSE_NAMES["random-loss"] if lossy else first.prediction.label
        return f"{expected} was expected to be the limit, but {cause_text(why.limited_by)}"
    if lossy and expectation.loss_events < ENOUGH_LOSSES:
        return forecast
    return binding.reason or forecast


def _has_failed(note: str, why: Verdict) -> bool:
    """Return whether the note predicted less than the link's capacity, and the run reached it."""
    used = why.evidence.link_used if why.evidence else None
    return used is not None and used >= SATURATED and any(words in note for words in _FORECASTS)
