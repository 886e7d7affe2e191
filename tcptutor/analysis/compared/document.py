"""JSON document of a run, for `--json` and for submissions."""

from __future__ import annotations

import math

import msgspec
from msgspec.structs import asdict

from tcptutor.analysis.compared.episodes import FlowVerdict, Second
from tcptutor.analysis.compared.report import Report, report
from tcptutor.analysis.compared.verdict import FairnessSecond
from tcptutor.analysis.observed.evidence import Evidence
from tcptutor.analysis.observed.flow import is_imported
from tcptutor.analysis.observed.measured import FROM_KERNEL, is_parameter_known
from tcptutor.run import Run, UdpResult

_SECOND = (
    "throughput_bps", "busy", "rwnd_limited", "sndbuf_limited", "app_limited", "stalled", "loss_events", "retransmits",
    "timeouts", "marks", "reordered", "queue_drops",
)  # fmt: skip


def document(run: Run, file: str | None) -> dict[str, object]:
    """Return `run` under the names of the public contract, in base units.

    All values are plain JSON. NaN, infinity and unknown values become None. Flow numbers start at 1.

    Args:
        run: The run.
        file: Path of the saved run; None if unsaved.
    """
    result = report(run)
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
    return flow | {"flow": number + 1}


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
