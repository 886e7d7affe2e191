"""Results of a sweep's cells, failures, and the statistics over seeds for each combination of settings."""

from __future__ import annotations

import math
import re
import socket
from collections import Counter
from collections.abc import Sequence

import msgspec

from tcptutor.analysis import measure, report
from tcptutor.base.confidence import Summary, summarize
from tcptutor.base.errors import LabError, TutorError
from tcptutor.run import FlowResult, Run, mean_of_known
from tcptutor.spec import PARAMETERS, Experiment
from tcptutor.spec.parameters import sysctl_name
from tcptutor.sweep.grid import Cell

_NUMBER = re.compile(r"\d[\d.]*")

QUANTITIES = {
    "throughput": "throughput_bps",
    "utilization": "link_used",
    "share": "share",
    "loss_rate": "loss_rate",
    "losses": "losses",
    "retransmits": "retransmits",
    "rtt": "mean_rtt_s",
    "rtt_p95": "rtt_p95_s",
    "queueing": "queueing_s",
    "queueing_p95": "queueing_p95_s",
    "cwnd": "mean_cwnd_segments",
    "jain": "jain_index",
    "completion": "completion_s",
}
"""Quantities that can be drawn, with the field of a row for each."""


class RowPrediction(msgspec.Struct, frozen=True, kw_only=True):
    """Prediction of a model for a cell."""

    model: str
    label: str
    throughput_bps: float
    ratio: float
    """Measured over predicted."""
    tolerance: float
    within: bool
    difference: float | None = None
    """Relative difference, (measured - predicted) / predicted; None in older files."""
    reason: str = ""
    """Known reason of the difference, a short sentence; empty if unknown, and in older files."""


class Row(msgspec.Struct, frozen=True, kw_only=True, tag="row"):
    """Results of a cell in base units, named as in `tcptutor run --json`."""

    cell: int
    point: dict[str, str]
    """Value of each axis except the seed, as the user wrote it."""
    values: dict[str, float | str | None]
    """Value of each axis except the seed, in base units where numeric."""
    seed: int
    throughput_bps: float
    retransmits: int | None
    losses: int | None
    """Loss events of all flows."""
    loss_rate: float | None
    jain_index: float | None
    mean_rtt_s: float | None
    """Mean over the flows."""
    mean_cwnd_segments: float | None
    """Mean over the flows."""
    completion_s: float | None = None
    """Time at which the last flow completed its transfer; None where flows send until the time is over."""
    link_used: float | None = None
    """Use of the link, 0 to 1; None if unknown, as for the next five in older files."""
    share: float | None = None
    """Share of flow 1 in the throughput of all flows, 0 to 1."""
    rtt_p95_s: float | None = None
    """95th percentile of the smoothed RTT over time."""
    queueing_s: float | None = None
    """Mean queueing delay at the bottleneck."""
    queueing_p95_s: float | None = None
    """95th percentile of the queueing delay over time."""
    queue_limit_s: float | None = None
    """Queueing delay of a full queue, or CoDel's target."""
    predictions: tuple[RowPrediction, ...] = ()
    """Predictions, the binding model first."""
    limited_by: str
    fidelity: str
    reasons: tuple[str, ...] = ()
    backend: str
    clock: str
    kernel: str
    machine: str
    wall_s: float
    experiment_s: float


class CellFailure(msgspec.Struct, frozen=True, kw_only=True, tag="failed"):
    """A cell without a result, and the reason; it runs again when the sweep resumes."""

    cell: int
    point: dict[str, str]
    seed: int
    reason: str
    exit_code: int = 1


Outcome = Row | CellFailure


def cell_row(cell: Cell, run: Run) -> Row:
    """Return the results of `run` as the row of `cell`. Raises LabError for a run without measurements."""
    return assign_cell(run_row(run), cell)


def assign_cell(row: Row, cell: Cell) -> Row:
    """Assign results of the experiment of `cell` to that cell."""
    values = {name: _base_unit_value(cell.experiment, name) for name in cell.point}
    return msgspec.structs.replace(row, cell=cell.index, point=cell.point, values=values)


def run_row(run: Run) -> Row:
    """Return the results of `run` without a cell. Raises LabError for a run without measurements."""
    measured = measure(run)
    result = report(run, measured)
    if result.is_empty:
        raise LabError(f"nothing was measured: {run.unmeasured_reason}")
    flows = measured.flows
    evidence, latency = result.verdict.evidence, result.latency
    completions = [flow.completion_s for flow in flows if flow.completion_s is not None]
    return Row(
        cell=0,
        point={},
        values={},
        seed=run.experiment.seed,
        throughput_bps=result.throughput_bps,
        retransmits=result.retransmits,
        losses=result.loss_events,
        loss_rate=result.loss_rate,
        jain_index=result.jain_index,
        mean_rtt_s=_mean(flows, "mean_rtt_s"),
        mean_cwnd_segments=_mean(flows, "mean_cwnd_segments"),
        completion_s=max(completions, default=None),
        link_used=evidence.link_used if evidence else None,
        share=next((flow.share for flow in result.flows if flow.flow == 0), None),
        rtt_p95_s=latency.rtt.p95_s if latency.rtt else None,
        queueing_s=evidence.queue_s if evidence else None,
        queueing_p95_s=latency.queueing.p95_s if latency.queueing else None,
        queue_limit_s=latency.queue_limit.delay_s if latency.queue_limit else None,
        predictions=tuple(
            RowPrediction(
                model=each.prediction.model.value,
                label=each.prediction.label,
                throughput_bps=each.prediction.throughput_bps,
                ratio=each.ratio,
                tolerance=each.prediction.tolerance,
                within=each.within,
                difference=each.difference,
                reason=each.reason,
            )
            for each in result.comparisons
        ),
        limited_by=result.verdict.limited_by,
        fidelity=run.fidelity.status,
        reasons=run.fidelity.reasons,
        backend=run.environment.backend,
        clock=run.environment.clock,
        kernel=run.environment.kernel,
        machine=socket.gethostname(),
        wall_s=run.wall_s,
        experiment_s=run.experiment_s,
    )


def cell_failure(cell: Cell, error: TutorError) -> CellFailure:
    """Return the failure of `cell` with `error`."""
    return CellFailure(
        cell=cell.index,
        point=cell.point,
        seed=cell.experiment.seed,
        reason=str(error),
        exit_code=error.exit_code,
    )


def _mean(flows: tuple[FlowResult, ...], name: str) -> float | None:
    values = [getattr(flow, name) for flow in flows]
    values = [value for value in values if value is not None and math.isfinite(value)]
    return math.fsum(values) / len(values) if values else None


def _base_unit_value(experiment: Experiment, name: str) -> float | str | None:
    if name not in PARAMETERS:
        text = experiment.hosts.sysctls[str(sysctl_name(name))]
        return float(text) if text.isdigit() else text
    known = PARAMETERS[name]
    value = known.of(experiment)
    if value is None:
        return None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else known.text(value)


class PointModel(msgspec.Struct, frozen=True, kw_only=True):
    """Prediction of a model for a point, compared with the runs."""

    label: str
    throughput_bps: float
    """Mean over the runs, as a model may use the measured segment size."""
    ratio: Summary


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """All runs with the same settings."""

    point: dict[str, str]
    values: dict[str, float | str | None]
    seeds: tuple[int, ...]
    measured: dict[str, Summary]
    """Statistics by field of a row, without fields that no run has."""
    queue_limit_s: float | None = None
    """Mean over the runs of the expected queueing delay under load; None if unknown."""
    models: dict[str, PointModel]
    """Predictions by model, starting with the binding model of the first run."""
    limited_by: dict[str, int]
    """Number of runs with each verdict, the most frequent first."""
    doubtful: int
    """Number of runs without valid fidelity."""
    doubt: str = ""
    """Most common first reason of these runs, compared without numbers and quoted from a run; empty if none."""


def points(rows: Sequence[Row]) -> list[Point]:
    """Group rows into points, in the order of their first rows."""
    groups: dict[tuple[tuple[str, str], ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.point.items()), []).append(row)
    return [point(group) for group in groups.values()]


def point(rows: Sequence[Row]) -> Point:
    """Combine rows with the same settings."""
    measured = {}
    for field in QUANTITIES.values():
        values = [value for row in rows if (value := getattr(row, field)) is not None]
        if values:
            measured[field] = summarize(values)
    doubtful = [row for row in rows if row.fidelity != "valid"]
    doubts: dict[str, list[str]] = {}
    for row in doubtful:
        for reason in row.reasons[:1]:
            doubts.setdefault(_NUMBER.sub("", reason), []).append(reason)
    return Point(
        point=rows[0].point,
        values=rows[0].values,
        seeds=tuple(row.seed for row in rows),
        measured=measured,
        queue_limit_s=mean_of_known(row.queue_limit_s for row in rows),
        models={name: _model(name, rows) for name in _predicted_models(rows)},
        limited_by=dict(Counter(row.limited_by for row in rows).most_common()),
        doubtful=len(doubtful),
        doubt=max(doubts.values(), key=len, default=[""])[0],
    )


def _predicted_models(rows: Sequence[Row]) -> list[str]:
    first = next((row.predictions for row in rows if row.predictions), ())
    return list(dict.fromkeys(prediction.model for prediction in first))


def _model(name: str, rows: Sequence[Row]) -> PointModel:
    predictions = [each for row in rows for each in row.predictions if each.model == name]
    return PointModel(
        label=predictions[0].label,
        throughput_bps=summarize([each.throughput_bps for each in predictions]).mean,
        ratio=summarize([each.ratio for each in predictions]),
    )
