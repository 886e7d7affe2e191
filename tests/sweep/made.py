"""Rows and tables without a lab, and words for the command line."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from tcptutor.base import places
from tcptutor.course.experiments import Catalogue
from tcptutor.sweep import grid
from tcptutor.sweep.grid import Cell
from tcptutor.sweep.results import Row, RowPrediction
from tcptutor.sweep.results_file import Definition, SweepTable, define

NAME = "parallel-streams/random-loss"
SHORT = ["--set", "duration=1s", "--set", "warmup=0s", "--set", "rate=5Mbit/s"]
VIRTUAL = ["--backend", "guest", "--clock", "virtual"]


def cells_of(*texts: str, **settings: str) -> list[Cell]:
    build = partial(Catalogue(places.lessons()).build, NAME)
    return grid.cells(build, settings, grid.read_axes(texts), None)


def definition_of(*texts: str) -> Definition:
    return define(NAME, "bench", {}, grid.read_axes(texts), None, ("guest", "virtual"), cells_of(*texts))


def row_of(cell: Cell, throughput: float, model: float = 5e6) -> Row:
    predicted = RowPrediction(
        model="mathis",
        label="Mathis",
        throughput_bps=model,
        ratio=throughput / model,
        tolerance=0.1,
        within=True,
        difference=throughput / model - 1,
        reason="the RTT was 80 ms, not the path's 50 ms: queues formed",
    )
    values = {name: getattr(cell.experiment.path, name, value) for name, value in cell.point.items()}
    return Row(
        cell=cell.index, point=cell.point, values=values, seed=cell.experiment.seed, throughput_bps=throughput,
        retransmits=3, losses=2, loss_rate=0.001, jain_index=1.0, mean_rtt_s=0.05, mean_cwnd_segments=20.0,
        predictions=(predicted,), limited_by="random-loss", fidelity="valid", backend="guest", clock="virtual",
        kernel="6.1", machine="here", wall_s=1.0, experiment_s=1.0,
    )  # fmt: skip


def table_of(texts: Sequence[str], throughput: float = 4e6) -> SweepTable:
    """A whole table whose throughput grows a little from cell to cell."""
    table = SweepTable(definition_of(*texts))
    for cell in cells_of(*texts):
        table.add(row_of(cell, throughput * (1 + 0.01 * cell.index)))
    return table
