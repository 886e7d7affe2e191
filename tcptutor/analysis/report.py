"""A run in numbers, beside every model, with the reason when they differ."""

from __future__ import annotations

import math

from tcptutor.analysis import reasons
from tcptutor.analysis.case import case_of, path_known
from tcptutor.analysis.expect import ENOUGH_LOSSES, expect
from tcptutor.analysis.explain import verdict
from tcptutor.analysis.measure import Measured, measure
from tcptutor.analysis.model import Compared, Expectation, Report, Verdict
from tcptutor.analysis.together import flow_spans
from tcptutor.analysis.together import throughput as together
from tcptutor.run import FlowResult, Run
from tcptutor.theory import jain_index


def report(run: Run) -> Report:
    """Throughput, fairness and losses of `run`, each model's ratio to it, and why. Never raises."""
    return report_of(run, measure(run))


def report_of(run: Run, measured: Measured) -> Report:
    """The same, when it has been measured already."""
    flows = measured.flows
    throughput = together(run, measured)
    segments, losses = sum(flow.segments for flow in flows), sum(flow.losses for flow in flows)
    expectation = expect(run.experiment, _mss(flows), _rto(measured))
    why = verdict(run, measured)
    loss_rate = losses / segments if segments > 0 else 0.0
    seen = reasons.Seen(
        run=run,
        case=case_of(run.experiment, _mss(flows), _rto(measured)),
        throughput=throughput,
        loss_rate=loss_rate,
        loss_events=losses,
        verdict=why,
        spans=flow_spans(run, measured),
        binding=expectation.binding.model,
    )
    compared = tuple(
        Compared(
            prediction=prediction,
            ratio=(ratio := throughput / prediction.throughput_bps),
            within=bool(flows) and abs(ratio - 1) <= prediction.tolerance,
            reason=reasons.reason(prediction, seen),
        )
        for prediction in (expectation.predictions if path_known(run) else ())
    )
    return Report(
        throughput_bps=throughput,
        # Flows that got nothing at all are all equal.
        jain_index=jain_index(flow.throughput_bps for flow in flows) if throughput > 0 else 1.0,
        loss_rate=loss_rate,
        retransmits=sum(flow.retransmits for flow in flows),
        loss_events=losses,
        compared=compared,
        verdict=why,
        note=_note(run, expectation, compared, why) if flows else why.sentence,
    )


def _mss(flows: tuple[FlowResult, ...]) -> int | None:
    return max((flow.mss for flow in flows), default=0) or None


def _rto(measured: Measured) -> float | None:
    """Mean of the kernel's retransmission timeout, s; None without samples."""
    means = [window.mean("rto") for window in measured.windows]
    return math.fsum(means) / len(means) if means and min(means) > 0 else None


def _note(run: Run, expectation: Expectation, compared: tuple[Compared, ...], why: Verdict) -> str:
    """One sentence: first what makes the measurement doubtful, then what the model did not know."""
    fidelity = run.fidelity
    if fidelity.status != "valid":
        return fidelity.reasons[0] if fidelity.reasons else f"the lab calls this run {fidelity.status}"
    if not run.complete:
        return "cut short: the figures are for the part that ran"
    if not compared:
        return ""
    binding, prediction = compared[0], compared[0].prediction
    if binding.within or (prediction.limited_by == "random-loss" and expectation.loss_events < ENOUGH_LOSSES):
        return expectation.note
    if why.limited_by != prediction.limited_by:
        return f"{prediction.label} was expected to be the limit, but it was {reasons.NAMES[why.limited_by]}"
    return binding.reason or expectation.note
