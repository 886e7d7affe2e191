"""Runs detected in a hands-on session, as goals see them during and after the run."""

from __future__ import annotations

import math
from functools import cached_property

from tcptutor.base.errors import UsageError
from tcptutor.course.measurements import MEASURED, MeasuredRun, RunPart
from tcptutor.run import Run
from tcptutor.run.capacity import SLACK, busy_periods
from tcptutor.spec import Experiment, Path
from tcptutor.wire.kernel_state import SessionState
from tcptutor.wire.protocol import Samples

_BUSY = "the machine is too busy"
_TICK = 0.004
"""Interval between timer interrupts of the lab's kernel (HZ = 250), s."""
_SLOWEST = 0.2
"""Smallest share of its rate at which a link still represents the requested link."""
_UNSEEN = 0.5
"""Most time of a flow a session can miss, s: a flow is detected after its first 16 kB."""


class LabRun:
    """Run that grows with its samples. `state` is the kernel's state at its start."""

    def __init__(self, state: SessionState, experiment: Experiment) -> None:
        self.state = state
        self.experiment = experiment
        """Experiment inferred from the observations so far."""
        self.ended = False
        self._unseen = _UNSEEN
        self.run: Run | None = None
        """Set once the run has ended in order."""
        self._path: Path | None = state.path
        self._changed: set[str] = set()
        self._carried: dict[int, int] = {}
        self.drops = 0
        """Packets the bottleneck queue has dropped since the run began."""
        self.seconds = 0.0

    @classmethod
    def from_run(cls, run: Run) -> LabRun:
        """Build a finished run as if it had been watched."""
        seen = cls(SessionState(run.experiment), run.experiment)
        seen._unseen = 0.0
        columns = run.samples.column("flow"), run.samples.column("bytes_acked")
        for flow, acked in zip(*columns, strict=True):
            seen._carried[flow] = max(seen._carried.get(flow, 0), acked)
        seen.drops = run.queue.column("drops")[-1] if run.queue else 0
        seen.end(run)
        return seen

    def add_samples(self, samples: Samples) -> None:
        """Add new samples."""
        self.seconds = max(self.seconds, samples.t)
        for row in samples.rows:
            self._carried[row.flow] = max(self._carried.get(row.flow, 0), row.bytes_acked)
        if samples.queue:
            self.drops = max(self.drops, samples.queue[-1].drops)

    def end(self, run: Run | None) -> None:
        """Mark the run as ended; `run` is None if it could not be summarized."""
        self.ended, self.run = True, run
        if run is not None:
            self.experiment, self.seconds = run.experiment, run.experiment_s

    @property
    def duration(self) -> float:
        """Duration in s, including the time a session may have missed."""
        return self.seconds + self._unseen if self.seconds else 0.0

    @property
    def largest_payload(self) -> int:
        """Largest payload of any flow, bytes."""
        return max(self._carried.values(), default=0)

    @property
    def changed_quantities(self) -> frozenset[str]:
        """Path quantities changed during the run."""
        return frozenset(change.name for change in self.experiment.path.changes) | self._changed

    def record_path(self, path: Path) -> None:
        """Record the kernel's current path during the run."""
        if self._path is None:
            self._path = path
        before = self._path
        self._changed |= {
            name for name in Path.__struct_fields__ if getattr(path, name) != getattr(before, name)
        }

    @property
    def fault(self) -> str:
        """Reason the run cannot be trusted; empty for none."""
        if self.run is None:
            return "it was cut short" if self.ended else ""
        if self.run.fidelity.status == "invalid":
            return next(iter(self.run.fidelity.reasons), "the lab calls it invalid")
        return "" if self.run.complete else "it was cut short"

    @cached_property
    def _part(self) -> RunPart | None:
        return RunPart(MeasuredRun(self.run)) if self.run is not None else None

    def figure(self, name: str) -> float | None:
        """Return a figure of `MEASURED` in base units; None before the end, or if the run lacks it."""
        if not self.ended or self._part is None:
            return None
        try:
            return MEASURED[name].compute(self._part)  # type: ignore[index]  # checked when the page was read
        except UsageError:
            return None

    @cached_property
    def clock_share(self) -> float:
        """Share of its rate at which an overloaded machine ran the full link; 1 without overload.

        Below 1 only if the run shows both: late or missing samples, and a full link below its rate with a
        bucket that holds a kernel tick, which rules out other causes.
        """
        run = self.run
        if run is None or not any(_BUSY in reason for reason in run.fidelity.reasons):
            return 1.0
        path = run.experiment.path
        if (
            path.rate is None
            or "rate" in self.changed_quantities
            or (path.burst or math.inf) < path.rate * _TICK / 8
        ):
            return 1.0
        seconds, sent, _ = busy_periods(run.queue)
        if seconds < max(1.0, run.experiment_s / 2):
            return 1.0
        share = 8 * sent / (seconds * path.rate)
        return share if _SLOWEST <= share < 1 - SLACK else 1.0

    def clock_corrected(self, name: str) -> float | None:
        """Return a figure like `measured`, with throughput corrected for a link below its rate."""
        value = self.figure(name)
        return value / self.clock_share if value is not None and name == "throughput" else value

    @property
    def limited_by(self) -> str | None:
        """Cause found by the analysis; None before the end."""
        if not self.ended or self._part is None:
            return None
        return self._part.whole.report.verdict.limited_by
