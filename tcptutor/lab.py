"""Experiments from Python, for notebooks and scripts.

    from tcptutor import lab

    run = lab.run("random-loss", loss="0.1%", streams=4)
    run.throughput_bps, run.predictions, run.verdict
    run.columns()["cwnd"]          # NumPy arrays where NumPy is installed
    run.frame("queue")             # a pandas DataFrame
    run.plot()                     # a matplotlib figure; a notebook shows it

Runs stay in memory only: `run.save("mine.tcprun")` writes a file that `lab.load` and `tcptutor show` read.
"""

from __future__ import annotations

import asyncio
import importlib.util
import threading
from array import array
from collections.abc import Coroutine, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tcptutor import analysis, exchange
from tcptutor.backends.lab import Lab
from tcptutor.base import places
from tcptutor.base.errors import MissingTool, UsageError, unknown
from tcptutor.course import experiments
from tcptutor.exchange.captured import captured_rtts
from tcptutor.exchange.export import NUMBERED
from tcptutor.run import TABLES, Run

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_KINDS = ("course", "distribution")

__all__ = ["ReportedRun", "load", "run", "settings"]


class ReportedRun:
    """A finished run with its report."""

    def __init__(self, record: Run, file: Path | None = None) -> None:
        self.record = record
        """Record of the run as stored in its file: experiment, environment, samples, fidelity."""
        self._file = file

    @cached_property
    def report(self) -> analysis.Report:
        """Figures, predictions of the models, and verdict."""
        return analysis.report(self.record, rtts=self._rtts)

    @cached_property
    def _rtts(self) -> list[analysis.SegmentRtt]:
        return captured_rtts(self.record, self._file)

    @property
    def throughput_bps(self) -> float:
        """Payload of all flows after the warm-up, bit/s."""
        return self.report.throughput_bps

    @property
    def latency(self) -> analysis.Latency:
        """Percentiles of queueing delay, RTT and completion times, s; None with too few samples."""
        return self.report.latency

    @property
    def predictions(self) -> dict[str, float | None]:
        """Throughput that each applicable model predicts, bit/s, the binding model first."""
        return {str(each["model"]): each["throughput_bps"] for each in self.document["predictions"]}

    @property
    def verdict(self) -> str:
        """Sentence about the limit of the run."""
        return str(self.document["verdict"]["sentence"])

    @cached_property
    def document(self) -> dict[str, Any]:
        """All results as plain data, as `tcptutor run --json` prints them."""
        return analysis.document(self.record, None, self._rtts)

    def columns(self, table: str = "samples") -> dict[str, Any]:
        """Return a table's columns by name, in base units: seconds, bytes, bit/s, segments.

        Args:
            table: `samples` (TCP's state over time), `queue`, `senders`, `udp_samples`, `acks` or `retransmissions`.

        Returns:
            NumPy arrays where NumPy is installed, otherwise arrays from the standard library. An unknown value is
            NaN. Flows and pairs are numbered from 1.

        Raises:
            UsageError: There is no such table.
        """
        if table not in TABLES:
            raise UsageError(unknown("table", table, TABLES))
        rows = getattr(self.record, table)
        found = {name: rows.column(name) for name in rows.row.__struct_fields__}
        for name in NUMBERED:
            if name in found:
                found[name] = array("q", (number + 1 for number in found[name]))
        if importlib.util.find_spec("numpy") is None:
            return found
        import numpy as np  # noqa: PLC0415

        return {name: np.array(column) for name, column in found.items()}

    def frame(self, table: str = "samples") -> Any:
        """Return a table as a pandas DataFrame. Raises MissingTool without pandas, UsageError for an unknown table."""
        if importlib.util.find_spec("pandas") is None:
            raise MissingTool(f"pandas is not installed: {places.pip_install('pandas')}")
        import pandas as pd  # noqa: PLC0415

        return pd.DataFrame(self.columns(table))

    def plot(self, what: Sequence[str] = (), kind: str = "course") -> Figure:
        """Return a matplotlib figure of the run.

        Args:
            what: Quantities, as in `tcptutor plot --what`; by default all measured quantities.
            kind: "course" over time, or "distribution" of delays.

        Raises:
            UsageError: A quantity or the kind is unknown.
            TutorError: matplotlib is not installed.
        """
        from tcptutor.exchange import plot  # noqa: PLC0415
        from tcptutor.exchange.delay_chart import delay_chart  # noqa: PLC0415

        if kind not in _KINDS:
            raise UsageError(unknown("kind of plot", kind, _KINDS))
        if kind == "distribution":
            return plot.chart_figure(delay_chart([self.record], [self._file], what))
        return plot.run_figure(self.record, what)

    def save(self, file: str | Path) -> Path:
        """Write the run to a file and return its path. Raises TutorError if it cannot be written."""
        return exchange.save_run(self.record, Path(file))

    def __repr__(self) -> str:
        return f"<{self.record.experiment.name}: {self.verdict}>"


def run(
    experiment: str,
    *,
    seed: int | None = None,
    backend: str = "auto",
    clock: str = "auto",
    course: str | Path | None = None,
    **parameters: object,
) -> ReportedRun:
    """Run an experiment in the best lab of this machine and wait for the result.

    Args:
        experiment: Name as in `tcptutor list`, such as "random-loss" or "parallel-streams/random-loss".
        seed: Random seed; by default the experiment's own.
        backend: "auto", "host", "guest" or "replay".
        clock: "auto", "virtual" or "real".
        course: Folder of a custom course; by default the shipped course.
        parameters: Settings with units, as in `tcptutor run --set`, such as loss="0.1%", streams=4;
            `settings` lists them.

    Raises:
        UsageError: The experiment or a setting does not exist, or settings contradict each other.
        LabUnavailable: No lab can run here.
        LabError: The run failed.
    """
    chosen = {name: str(value) for name, value in parameters.items()}
    built = experiments.build(experiment, chosen, seed, Path(course) if course else None)

    async def conduct() -> Run:
        lab = Lab(backend, clock)
        try:
            await lab.warm(built)
            return await lab.run_whole(built)
        finally:
            await lab.close()

    return ReportedRun(_wait_for(conduct()))


def load(name: str | Path) -> ReportedRun:
    """Open a stored run by file, or by id as `tcptutor show` does. Raises UsageError or TutorError."""
    return ReportedRun(*exchange.open_run(str(name)))


def settings(experiment: str) -> Mapping[str, str]:
    """Return an experiment's settings as written, by name. Raises UsageError for an unknown experiment."""
    from tcptutor import spec  # noqa: PLC0415

    return spec.settings(experiments.build(experiment))


def _wait_for(work: Coroutine[Any, Any, Run]) -> Run:
    """Run `work` to completion, in a new thread if this thread already has an event loop (a notebook)."""
    if not _has_event_loop():
        return asyncio.run(work)
    outcome: list[Run | BaseException] = []

    def conduct() -> None:
        try:
            outcome.append(asyncio.run(work))
        except BaseException as error:  # raised again below
            outcome.append(error)

    thread = threading.Thread(target=conduct, name="tcptutor lab")
    thread.start()
    thread.join()
    if isinstance(result := outcome[0], BaseException):
        raise result
    return result


def _has_event_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
