"""Result rows of the cells of a sweep, and failures."""

from __future__ import annotations

import math
import socket

import msgspec

from tcptutor.analysis import measure, report
from tcptutor.base.errors import LabError, TutorError
from tcptutor.run import FlowResult, Run
from tcptutor.spec import PARAMETERS, Experiment
from tcptutor.spec.parameters import sysctl_name
from tcptutor.sweep.grid import Cell


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
