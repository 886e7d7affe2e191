"""The row of results that is kept of a cell of a sweep, or why there is none."""

from __future__ import annotations

import math
import socket

import msgspec

from tcptutor.analysis import measure, report_measured
from tcptutor.base.errors import LabError, TutorError
from tcptutor.run import FlowResult, Run
from tcptutor.spec import PARAMETERS, Experiment
from tcptutor.spec.parameters import sysctl_name
from tcptutor.sweep.grid import Cell


class RowPrediction(msgspec.Struct, frozen=True, kw_only=True):
    """What one model said of a cell."""

    model: str
    label: str
    throughput_bps: float
    ratio: float
    """Measured over predicted."""
    tolerance: float
    within: bool
    difference: float | None = None
    """Measured less predicted, over predicted; None in a file from before this was kept."""
    reason: str = ""
    """Why they differ, where it is known; one short sentence or empty, as in a file from before this was kept."""


class Row(msgspec.Struct, frozen=True, kw_only=True, tag="row"):
    """What came out of one cell, in base units; the names are those of `tcptutor run --json`."""

    cell: int
    point: dict[str, str]
    """The value of each axis but the seed's, as the user wrote it."""
    values: dict[str, float | str | None]
    """The value of each axis but the seed's, in base units where it is a number."""
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
    """When the last flow had sent what it had to; None where flows send until the time is over."""
    predictions: tuple[RowPrediction, ...] = ()
    """The binding one first."""
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
    """A cell that gave no result, and why; it is run again when the sweep goes on."""

    cell: int
    point: dict[str, str]
    seed: int
    reason: str
    exit_code: int = 1


Outcome = Row | CellFailure


def row(cell: Cell, run: Run) -> Row:
    """The results of `run`, which is that of `cell`. Raises LabError when nothing was measured."""
    return placed(results(run), cell)


def placed(made: Row, cell: Cell) -> Row:
    """`made`, the results of the experiment of `cell`, as that cell's row."""
    values = {name: _value(cell.experiment, name) for name in cell.point}
    return msgspec.structs.replace(made, cell=cell.index, point=cell.point, values=values)


def results(run: Run) -> Row:
    """What came out of `run`, in no cell yet. Raises LabError when nothing was measured."""
    measured = measure(run)
    result = report_measured(measured)
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
                model=one.prediction.model.value,
                label=one.prediction.label,
                throughput_bps=one.prediction.throughput_bps,
                ratio=one.ratio,
                tolerance=one.prediction.tolerance,
                within=one.within,
                difference=one.difference,
                reason=one.reason,
            )
            for one in result.comparisons
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


def failed(cell: Cell, error: TutorError) -> CellFailure:
    """`cell` without a result, because of `error`."""
    return CellFailure(
        cell=cell.index,
        point=cell.point,
        seed=cell.experiment.seed,
        reason=str(error),
        exit_code=error.exit_code,
    )


def _mean(flows: tuple[FlowResult, ...], name: str) -> float | None:
    found = (getattr(flow, name) for flow in flows)
    values = [value for value in found if value is not None and math.isfinite(value)]
    return math.fsum(values) / len(values) if values else None


def _value(experiment: Experiment, name: str) -> float | str | None:
    """The value of parameter `name` in base units, or as text where it is not a number."""
    if name not in PARAMETERS:
        text = experiment.hosts.sysctls[str(sysctl_name(name))]
        return float(text) if text.isdigit() else text
    known = PARAMETERS[name]
    value = known.of(experiment)
    if value is None:
        return None
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else known.text(value)
