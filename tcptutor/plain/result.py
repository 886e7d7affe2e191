"""Result of a run in sentences: outcome, measurement, prediction, limit, models and warnings."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.analysis import ModelComparison, Report
from tcptutor.base import ratios, units
from tcptutor.base.algorithm_names import algorithm_name
from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.course.measures import MEASURES
from tcptutor.study import words
from tcptutor.study.live import Live

MOST_FLOWS = 8
"""Most flows to describe."""


def progress(live: Live) -> str:
    """Return the progress of a run."""
    run = live.run
    if not live.has_samples:
        return f"Please wait: {live.phase}."
    warmup = ", warm-up" if run.experiment_s < run.experiment.flows.warmup else ""
    return f"Running: {run.experiment_s:.0f} of {run.experiment.seconds:g} s{warmup}."


def outcome(live: Live) -> Iterator[str]:
    """Yield the outcome of the run and its measurements."""
    run, recorded = live.run, words.recorded(live.run.environment)
    if live.problem:
        saved = f" {run.experiment_s:.1f} s of it are saved." if run.samples else ""
        yield f"The run failed: {live.problem}.{saved}"
    elif live.is_aborted:
        yield f"The run was cut short at {run.experiment_s:.1f} of {run.experiment.seconds:g} s: {run.note}."
    elif recorded:
        yield f"Replayed: {recorded}.{' It earns no marks.' if live.is_enrolled else ''}"
    else:
        yield f"Done: {run.experiment.seconds:g} s of lab time in {run.wall_s:.0f} s."
    if live.unsaved:
        yield f"Not saved: {live.unsaved}."
    if run.fidelity.status not in ("valid", "unchecked"):
        yield f"This run is {run.fidelity.status}: {'; '.join(run.fidelity.reasons) or 'no reason given'}."
    if live.report is not None and run.complete:
        yield from _measurements(live, live.report)


def _measurements(live: Live, report: Report) -> Iterator[str]:
    if report.flows and report.throughput_bps:
        yield f"Measured: {units.rate(report.throughput_bps)}{' in all' if len(report.flows) > 1 else ''}."
    asked = live.said[0] if live.said else "rtt" if live.charted == "rtt" else "throughput"
    if asked != "throughput" and (value := MEASURES[asked].compute(report)) is not None:
        yield f"Measured {MEASURES[asked].label}: {MEASURES[asked].written(value)}."
        if live.said is not None and value:
            said = MEASURES[asked].written(live.said[1])
            yield f"You predicted {said}, which is {ratios.too_high_or_low(live.said[1] / value)}."
    for flow in report.udp:
        yield f"UDP flow {flow.flow + 1}: {_received(flow.received_bps)}{_datagrams(flow.lost, flow.datagrams)}."
    if live.spread:
        yield f"Next to earlier runs: {live.spread}."


def _received(bps: float | None) -> str:
    return "rate unknown" if bps is None else f"{units.rate(bps)} arrived"


def _datagrams(lost: int | None, sent: int | None) -> str:
    return "" if lost is None or not sent else f", {lost} of {sent} datagrams lost"


def explanation(live: Live) -> Iterator[str]:
    """Yield the limit of the run and a comparison per model, withheld until the student's observation."""
    report = live.report
    if report is None or not live.run.complete or live.run.fidelity.status == "invalid":
        return
    if live.awaits_observation:
        yield "First say what your run showed, or skip that. Then the explanation follows."
        return
    if report.verdict.limited_by != "unexplained":
        yield f"It was limited by {CAUSE_NAMES[report.verdict.limited_by]}."
    yield f"Why: {report.verdict.sentence}."
    if report.note and report.note not in live.run.fidelity.reasons:
        yield f"Note: {report.note}."
    yield from models(live, report)


def models(live: Live, report: Report) -> Iterator[str]:
    """Yield a sentence for each model, the page's model first."""
    own_first = sorted(report.comparisons, key=lambda each: each.prediction.model.value != live.formula)
    for each in own_first:
        yield _model(each)


def _model(each: ModelComparison) -> str:
    prediction = each.prediction
    head = f"Model {prediction.label}: {units.rate(prediction.throughput_bps)}"
    deviation = ratios.above_or_below(each.ratio)
    compared = "the measurement is the same" if deviation == "the same" else f"the measurement is {deviation}"
    tolerance = words.tolerance(prediction.tolerance)
    match each.judgement:
        case "explains":
            return f"{head}; {compared}, within its tolerance of {tolerance}."
        case "misses":
            why = f" {each.reason}." if each.reason else ""
            return f"{head}; {compared}, beyond its tolerance of {tolerance}.{why}"
        case "capped":
            formula = units.rate(prediction.uncapped_bps) if prediction.uncapped_bps else "more"
            return f"{head}, which is what the link carries. The formula gives {formula}."
        case "other-algorithm":
            return f"{head}; {compared}. It is for {algorithm_name(prediction.model.algorithm)}."
        case "not-the-limit":
            return f"{head}; {compared}. It is not the limit."
        case _:
            return f"{head}; {compared}. It allows no verdict."


def formulas(report: Report) -> Iterator[str]:
    """Yield the formula of each model with the numbers of the run."""
    for each in report.comparisons:
        yield f"{each.prediction.label}: {each.prediction.formula}."


def flows(report: Report) -> Iterator[str]:
    """Yield a sentence for each flow."""
    for flow in report.flows[:MOST_FLOWS]:
        parts = [f"{units.rate(flow.throughput_bps)}, a share of {units.percent(flow.share)}"]
        if flow.losses is not None:
            parts.append(f"{flow.losses} loss events")
        if flow.retransmits is not None:
            parts.append(f"{flow.retransmits} retransmissions")
        if flow.mean_rtt_s:
            parts.append(f"mean RTT {units.seconds(flow.mean_rtt_s)}")
        if flow.mean_cwnd_segments:
            parts.append(f"mean cwnd {flow.mean_cwnd_segments:.0f} segments")
        yield f"Flow {flow.flow + 1}: {', '.join(parts)}."
    if len(report.flows) > MOST_FLOWS:
        rates = [flow.throughput_bps for flow in report.flows]
        yield f"{len(rates)} flows in all, from {units.rate(min(rates))} to {units.rate(max(rates))}."
    if report.jain_index is not None and len(report.flows) > 1:
        yield f"Jain's index of their shares is {report.jain_index:.3f}."
