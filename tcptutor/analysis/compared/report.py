"""Report of a run: figures, every model's prediction, and reasons for the differences; and its JSON document."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import msgspec
from msgspec.structs import asdict

from tcptutor.analysis.case import ENOUGH_LOSSES, case_of
from tcptutor.analysis.compared.difference import Difference, ModelComparison, is_comparable, outcome
from tcptutor.analysis.compared.episodes import FlowVerdict, Second
from tcptutor.analysis.compared.latency import Latency, latency, latency_document
from tcptutor.analysis.compared.reasons import cause_text, not_modelled, reason
from tcptutor.analysis.compared.verdict import FairnessSecond, Verdict, judge
from tcptutor.analysis.expected.expect import expect
from tcptutor.analysis.expected.prediction import Expectation
from tcptutor.analysis.expected.queue_limit import queue_limit
from tcptutor.analysis.observed.evidence import Evidence
from tcptutor.analysis.observed.facts import observe
from tcptutor.analysis.observed.figures import (
    DirectionFigures,
    FlowFigures,
    compared_flows,
    cov_between,
    direction_figures,
    figures,
    shared_time,
)
from tcptutor.analysis.observed.measured import (
    FROM_KERNEL,
    Measured,
    is_imported,
    is_parameter_known,
    measure,
)
from tcptutor.analysis.observed.path import FULL, SATURATED
from tcptutor.analysis.observed.path_doubt import is_path_known
from tcptutor.analysis.observed.segment_rtt import SegmentRtt
from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.run import Run, UdpResult
from tcptutor.theory import jain_index

_FORECASTS = (
    "expect a little less",
    "expect less",
    "too short to keep the link full",
    "leave less than either",
)
"""Phrases of notes that predict less than the link's capacity."""

_SECOND = (
    "throughput_bps", "busy", "rwnd_limited", "sndbuf_limited", "app_limited", "stalled", "loss_events", "retransmits",
    "timeouts", "marks", "reordered", "queue_drops",
)  # fmt: skip
"""Evidence in the document of a second."""


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
    shared_s: tuple[float, float] | None = None
    """Time over which `jain_index` and `cov_between` compare flows, s; None unless the number of flows changes."""
    directions: tuple[DirectionFigures, ...] = ()
    """Figures of each direction; empty if all TCP flows go one way."""
    udp: tuple[UdpResult, ...] = ()
    latency: Latency = Latency()
    """Percentiles of delays."""
    note: str = ""
    """Sentence on why prediction and measurement differ; may be empty."""

    @property
    def is_empty(self) -> bool:
        """True if no TCP or UDP flow was measured, so that no figures exist."""
        return not self.flows and not self.udp


class RunFigures(NamedTuple):
    """Figures of a run without verdict and models, as in `Report`."""

    throughput_bps: float
    jain_index: float | None
    loss_rate: float | None
    flows: tuple[FlowFigures, ...]
    udp: tuple[UdpResult, ...]


def run_figures(run: Run) -> RunFigures:
    """Return the figures of `run`, as its report has them, in a tenth of the time."""
    measured = measure(run)
    jain = None if direction_figures(measured) else _jain_index(measured)
    return RunFigures(measured.throughput, jain, measured.loss_rate, figures(measured), measured.udp)


def report(run: Run, measured: Measured | None = None, rtts: Sequence[SegmentRtt] = ()) -> Report:
    """Return the report of `run`. Never raises.

    Args:
        run: The run.
        measured: Its measurement, if the caller has it.
        rtts: RTTs of its captured segments.
    """
    measured = measured or measure(run)
    observed = observe(measured)
    flows, directions, between_flows = figures(measured), direction_figures(measured), cov_between(measured)
    # The models get the segment size and the timeout that were measured.
    environment = run.environment
    on_virtual_clock = (environment.backend, environment.clock) == ("guest", "virtual")
    inputs = (run.experiment, measured.mss, measured.rto, on_virtual_clock)
    expectation, case = expect(*inputs), case_of(*inputs)
    verdict = judge(observed)
    differences = [
        Difference(prediction, expectation, measured, case, verdict)
        for prediction in expectation.predictions
        if is_comparable(observed, prediction)
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
        spurious_events=measured.spurious_events,
        mark_cuts=measured.mark_cuts,
        comparisons=tuple(comparisons),
        verdict=verdict,
        flows=flows,
        cov_between=between_flows,
        shared_s=shared_time(measured),
        directions=directions,
        udp=measured.udp,
        latency=latency(
            measured,
            rtts,
            queue_limit(case) if is_path_known(run) and run.experiment.link_count == 1 else None,
            expectation.completion_s if is_path_known(run) else None,
            is_loaded=verdict.evidence is not None and (verdict.evidence.link_used or 0.0) >= FULL,
        ),
        note=_note(expectation, measured, verdict, differences, comparisons),
    )


def _jain_index(measured: Measured) -> float:
    rates = [flow.throughput_bps for flow in compared_flows(measured)]
    return jain_index(rates) if any(rates) else 1.0


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


def document(run: Run, file: str | None, rtts: Sequence[SegmentRtt] = ()) -> dict[str, object]:
    """Return `run` under the names of the public contract, in base units.

    All values are plain JSON. NaN, infinity and unknown values become None. Numbers of flows and pairs start at 1.

    Args:
        run: The run.
        file: Path of the saved run; None if unsaved.
        rtts: RTTs of its captured segments.
    """
    result = report(run, rtts=rtts)
    fidelity = run.fidelity
    fields: dict[str, object] = {
        "experiment": run.experiment.name,
        "parameters": {
            name: value if is_parameter_known(run, name) else None
            for name, value in run.experiment.parameters.items()
        },
        "pairs": run.experiment.pairs,
        "seed": None if is_imported(run) else run.experiment.seed,
        "environment": _named(run.environment, "backend", "clock", "kernel", "reason"),
        "flows": [_numbered(_known(run, asdict(flow))) for flow in result.flows],
        "udp": [_numbered(_udp(flow)) for flow in result.udp],
        "aggregate": _known(run, _aggregate(result)),
        "latency": latency_document(result.latency),
        "predictions": [
            _named(comparison.prediction, "model", "label", "throughput_bps")
            | {"binding": place == 0, "ratio": comparison.ratio, "tolerance": comparison.prediction.tolerance}
            | _named(comparison, "within", "difference", "reason")
            for place, comparison in enumerate(result.comparisons)
        ],
        "verdict": {
            "limited_by": result.verdict.limited_by,
            "sentence": result.verdict.sentence,
            "evidence": _known(run, _numbers(result.verdict.evidence)),
            "flows": _brief([_numbered(_flow(run, flow)) for flow in result.verdict.flows]),
            "fairness": _brief([_fairness(each) for each in result.verdict.fairness]),
            "converged_s": result.verdict.converged_s,
        },
        "fidelity": {"status": fidelity.status, "reasons": list(fidelity.reasons)},
        "note": result.note or run.note,
        "complete": run.complete,
        "wall_s": run.wall_s,
        "experiment_s": run.experiment_s,
        "file": file,
    }
    return {key: _plain(value) for key, value in fields.items()}


def _aggregate(result: Report) -> dict[str, object]:
    """Return the aggregate figures; all None if nothing was measured."""
    figures = _named(result, "throughput_bps", "jain_index", "loss_rate", "retransmits", "mark_cuts")
    figures |= {"losses": result.loss_events, "cov": result.cov_between}
    if result.shared_s is not None:
        figures["shared_s"] = result.shared_s
    if result.directions:
        figures["directions"] = [asdict(each) for each in result.directions]
    return dict.fromkeys(figures) if result.is_empty else figures


def _udp(flow: UdpResult) -> dict[str, object]:
    known = flow.lost is not None and flow.datagrams is not None
    lost, datagrams = flow.lost or 0, flow.datagrams or 0
    return asdict(flow) | {"loss_rate": (lost / datagrams if datagrams else 0.0) if known else None}


def _known(run: Run, figures: dict[str, object]) -> dict[str, object]:
    if not is_imported(run):
        return figures
    return {name: None if name in FROM_KERNEL else value for name, value in figures.items()}


def _numbered(flow: dict[str, object]) -> dict[str, object]:
    number = flow["flow"]
    assert isinstance(number, int)
    pair = flow.get("pair")
    return flow | {"flow": number + 1} | ({"pair": pair + 1} if isinstance(pair, int) else {})


def _fairness(each: FairnessSecond) -> dict[str, object]:
    shares = {str(flow + 1): share for flow, share in each.shares.items()}
    return _named(each, "t", "jain_index") | {"shares": shares}


def _flow(run: Run, verdict: FlowVerdict) -> dict[str, object]:
    return _named(verdict, "flow", "limited_by", "sentence", "shares") | {
        "seconds": [_known(run, _second(each)) for each in verdict.seconds],
        "phases": verdict.phases,
    }


def _second(each: Second) -> dict[str, object]:
    return (
        _named(each, "start", "end", "limited_by")
        | _named(each.evidence, *_SECOND)
        | {"rtt_s": each.evidence.mean_rtt_s, "min_rtt_s": each.evidence.min_rtt_s}
        | {"cwnd_segments": each.cwnd_segments}
        | _named(each.evidence, "link_share", "link_used")
    )


def _named(of: object, *names: str) -> dict[str, object]:
    return {name: getattr(of, name) for name in names}


def _numbers(evidence: Evidence | None) -> dict[str, object]:
    if evidence is None:
        return {}
    values = asdict(evidence) | {"queueing_s": evidence.queueing_s}
    return {name: value for name, value in values.items() if value is not None}


def _brief(value: object) -> object:
    """Return plain data rounded to six decimals, because many flows have many seconds."""
    plain = msgspec.to_builtins(value, str_keys=True)

    def rounded(inner: object) -> object:
        if isinstance(inner, float):
            return round(inner, 6) if math.isfinite(inner) else None
        if isinstance(inner, dict):
            return {key: rounded(each) for key, each in inner.items()}
        return [rounded(each) for each in inner] if isinstance(inner, (list, tuple)) else inner

    return rounded(plain)


def _plain(value: object) -> object:
    """Return `value` with NaN and infinity replaced by None."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value
