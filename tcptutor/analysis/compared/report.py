"""Report of a run: figures, every model's prediction, and reasons for the differences."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec

from tcptutor.analysis.case import ENOUGH_LOSSES, Case, case_of
from tcptutor.analysis.compared.difference import Difference, Judgement, outcome
from tcptutor.analysis.compared.reasons import cause_text, not_modelled, reason
from tcptutor.analysis.compared.verdict import Verdict, judge
from tcptutor.analysis.expected.expect import expect
from tcptutor.analysis.expected.prediction import Expectation, Prediction
from tcptutor.analysis.observed.facts import observe
from tcptutor.analysis.observed.figures import (
    DirectionFigures,
    FlowFigures,
    cov_between,
    direction_figures,
    figures,
)
from tcptutor.analysis.observed.measured import Measured, is_parameter_known, measure
from tcptutor.analysis.observed.path import SATURATED
from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.run import Run, UdpResult
from tcptutor.theory import jain_index
from tcptutor.theory.models import ThroughputModel

_FORECASTS = (
    "expect a little less",
    "expect less",
    "too short to keep the link full",
    "leave less than either",
)
"""Phrases of notes that predict less than the link's capacity."""


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


def report(run: Run, measured: Measured | None = None) -> Report:
    """Return the report of `run`. Never raises.

    Args:
        run: The run.
        measured: Its measurement, if the caller has it.
    """
    measured = measured or measure(run)
    observed = observe(measured)
    flows, directions, between_flows = figures(measured), direction_figures(measured), cov_between(measured)
    expectation, case = _expect(measured)
    verdict = judge(observed)
    differences = [
        Difference(prediction, expectation, measured, case, verdict)
        for prediction in expectation.predictions
        if _is_comparable(measured, prediction)
    ]
    comparisons = [
        ModelComparison(
            prediction=one.prediction, ratio=one.ratio, judgement=outcome(one), reason=reason(one)
        )
        for one in differences
    ]
    return Report(
        throughput_bps=measured.throughput,
        jain_index=None if directions else _jain_index(measured),
        loss_rate=measured.loss_rate,
        retransmits=measured.retransmits,
        loss_events=measured.losses,
        spurious_events=_spurious_events(measured),
        mark_cuts=measured.mark_cuts,
        comparisons=tuple(comparisons),
        verdict=verdict,
        flows=flows,
        cov_between=between_flows,
        directions=directions,
        udp=measured.udp,
        note=_note(expectation, measured, verdict, differences, comparisons),
    )


def _expect(measured: Measured) -> tuple[Expectation, Case]:
    """Return the expectation of a run, and its case, with the segment size and timeout that were measured."""
    run = measured.run
    mss = max((flow.mss for flow in measured.flows), default=0) or None
    timeouts = [each.mean("rto") for each in measured.intervals]
    rto = math.fsum(timeouts) / len(timeouts) if timeouts and min(timeouts) > 0 else None
    on_virtual_clock = (run.environment.backend, run.environment.clock) == ("guest", "virtual")
    inputs = (run.experiment, mss, rto, on_virtual_clock)
    return expect(*inputs), case_of(*inputs)


def _is_comparable(measured: Measured, prediction: Prediction) -> bool:
    """Return whether a model applies to the run: it has figures, is not invalid, and its path is known.

    An import needs its delay for RTT-based models.
    """
    run = measured.run
    if not (measured.flows or measured.udp) or run.fidelity.status == "invalid" or measured.path_doubt:
        return False
    by_round_trip = prediction.model.is_by_round_trip or prediction.model is ThroughputModel.WAY_BACK
    return not by_round_trip or is_parameter_known(run, "delay")


def _spurious_events(measured: Measured) -> int:
    if measured.run.experiment.path.duplicate:
        return 0
    return sum(each.spurious_events for each in measured.intervals)


def _jain_index(measured: Measured) -> float:
    flows = measured.flows
    return jain_index(flow.throughput_bps for flow in flows) if flows and measured.throughput > 0 else 1.0


def _note(
    expectation: Expectation,
    measured: Measured,
    verdict: Verdict,
    differences: Sequence[Difference],
    comparisons: Sequence[ModelComparison],
) -> str:
    """Return a sentence: doubts about the measurement first, then reasons for the difference."""
    run, fidelity = measured.run, measured.run.fidelity
    if not (measured.flows or measured.udp):
        return verdict.sentence
    if fidelity.status in ("suspect", "invalid"):
        return fidelity.reasons[0] if fidelity.reasons else f"the lab calls this run {fidelity.status}"
    if not run.complete:
        return "cut short: the figures are for the part that ran"
    return _note_on_binding(expectation, verdict, differences[0], comparisons[0]) if differences else ""


def _note_on_binding(
    expectation: Expectation, verdict: Verdict, first: Difference, binding: ModelComparison
) -> str:
    """Return the note on the expected binding model after the run."""
    forecast = "" if _has_failed(expectation.note, verdict) else expectation.note
    unclaimed = first.prediction.tolerance >= 1 and bool(forecast)
    if binding.within or unclaimed:
        return forecast
    lossy = first.prediction.limited_by == "random-loss"
    if lossy and (unlike := not_modelled(first)):
        return unlike
    if verdict.limited_by != "unexplained" and not first.covers(verdict.limited_by):
        expected = CAUSE_NAMES["random-loss"] if lossy else first.prediction.label
        return f"{expected} was expected to be the limit, but {cause_text(verdict.limited_by)}"
    if lossy and expectation.loss_events < ENOUGH_LOSSES:
        return forecast
    return binding.reason or forecast


def _has_failed(note: str, verdict: Verdict) -> bool:
    """Return whether the note predicted less than the link's capacity, and the run reached it."""
    used = verdict.evidence.link_used if verdict.evidence else None
    return used is not None and used >= SATURATED and any(words in note for words in _FORECASTS)
