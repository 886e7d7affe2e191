"""The results in the repository: a table of each study in the sweep room's format, with what a report needs."""

from __future__ import annotations

import hashlib
import json
import math
import subprocess
from pathlib import Path

import msgspec

from tcptutor.run import Run
from tcptutor.spec import Experiment
from tcptutor.sweep import results_file
from tcptutor.sweep.grid import Cell
from tcptutor.sweep.results import Row, cell_row
from tcptutor.sweep.results_file import Definition, Store
from tests.validation.plan import Study, studies

RESULTS = Path(__file__).parent / "results"
ROOT = Path(__file__).parents[2]


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One cell that was run: what was asked for and what came out, in base units."""

    study: str
    experiment: Experiment
    row: Row

    @property
    def throughput(self) -> float:
        """Payload of all flows, bit/s."""
        return self.row.throughput_bps

    @property
    def events(self) -> int:
        """Loss events of all flows."""
        return self.row.losses

    @property
    def mss(self) -> int:
        """As the kernel told it, bytes."""
        return int(float(self.row.values["mss"] or 0))

    @property
    def rto(self) -> float:
        """The kernel's retransmission timeout without backoff, s; what is usual where it was not seen."""
        return float(self.row.values["rto"] or 0) or self.experiment.path.delay + 0.2

    @property
    def commit(self) -> str:
        return str(self.row.values["commit"])


def path_of(study: Study) -> Path:
    return RESULTS / f"{study.name}{results_file.SUFFIX}"


def open_store(study: Study, path: Path) -> Store:
    """The file of `study`, to add to, without cells that are no longer in its plan. Raises TutorError."""
    plan = json.dumps([[cell.point, cell.experiment.seed] for cell in study.cells()])
    definition = Definition(
        experiment=f"validation/{study.name}",
        scale="bench",
        settings={},
        axes=(),
        seed=None,
        backend="guest",
        clock="virtual",
        cells=len(study.points),
        digest=hashlib.sha256(plan.encode()).hexdigest()[:16],
    )
    if path.exists() and results_file.load(path).definition != definition:
        found = _rows(study, path)
        path.unlink()
        store = Store(path, definition)
        for index, kept in found.items():
            store.add(msgspec.structs.replace(kept, cell=index))
        return store
    return Store(path, definition)


def _rows(study: Study, path: Path) -> dict[int, Row]:
    """What is kept of the plan as it is now, by a cell's place in it."""
    kept = {(str(one.point), one.seed): one for one in results_file.load(path).rows.values()}
    cells = ((cell.index, kept.get((str(cell.point), cell.experiment.seed))) for cell in study.cells())
    return {index: row for index, row in cells if row is not None}


def keep(cell: Cell, run: Run, commit: str) -> Row:
    """The row of `run`, without the models' own lines, which the report computes, and without the machine's name."""
    made = cell_row(cell, run)
    values = {
        "commit": commit,
        "mss": max((flow.mss for flow in run.flows), default=0),
        "rto": _least_rto(run),
    }
    return msgspec.structs.replace(
        made,
        values=values,
        predictions=(),
        machine="",
        throughput_bps=round(made.throughput_bps, 1),
        loss_rate=float(f"{made.loss_rate:.5g}"),
        jain_index=round(made.jain_index, 5),
        mean_rtt_s=_short(made.mean_rtt_s),
        mean_cwnd_segments=_short(made.mean_cwnd_segments),
        wall_s=round(made.wall_s, 2),
        experiment_s=round(made.experiment_s, 2),
    )


def results() -> list[Result]:
    """All that is kept and belongs to the plan as it is, in its order."""
    found = []
    for study in studies().values():
        if not path_of(study).exists():
            continue
        cells = study.cells()
        for index, kept in _rows(study, path_of(study)).items():
            found.append(Result(study=study.name, experiment=cells[index].experiment, row=kept))
    return found


def commit() -> str:
    """The commit that runs, marked with + when files of the lab or the plan differ from it."""
    git = ["git", "-C", str(ROOT)]
    try:
        name = subprocess.run(
            [*git, "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True
        )
        changed = subprocess.run(
            [*git, "status", "--porcelain", "--", "tcptutor", "tests/validation/*.py"],
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return name.stdout.strip() + ("+" if changed.stdout.strip() else "")


def _least_rto(run: Run) -> float | None:
    """Median of the samples' timeout: backoff doubles it for a short while only."""
    timeouts = sorted(sample.rto for sample in run.samples if sample.rto > 0)
    return round(timeouts[len(timeouts) // 2], 4) if timeouts else None


def _short(value: float | None) -> float | None:
    return value if value is None or not math.isfinite(value) else float(f"{value:.6g}")
