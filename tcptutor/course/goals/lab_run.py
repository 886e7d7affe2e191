"""A run that came of what was typed, as goals ask about it: while it goes on, and when it has ended."""

from __future__ import annotations

import math
from functools import cached_property

from tcptutor.base.errors import UsageError
from tcptutor.course.figures.measured import MEASURED
from tcptutor.course.figures.run_part import MeasuredRun, RunPart
from tcptutor.run import Run
from tcptutor.run.carried import SLACK, full_stretches
from tcptutor.spec import Experiment, Path
from tcptutor.wire.kernel_state import SessionState
from tcptutor.wire.protocol import Samples

_BUSY = "the machine is too busy"
_TICK = 0.004
"""Between two timer interrupts of the lab's kernel (HZ = 250), s."""
_SLOWEST = 0.2
"""Below that share of its rate a link says nothing of the one that was asked for."""
_UNSEEN = 0.5
"""What a session may miss of a flow's time, s: it is found once 16 kB of it have arrived."""


class LabRun:
    """Grows with its run's samples. `state` is what the kernel held when it began."""

    def __init__(self, state: SessionState, experiment: Experiment) -> None:
        self.state = state
        self.experiment = experiment
        """What it turned out to be an experiment of, so far."""
        self.ended = False
        self._unseen = _UNSEEN
        self.run: Run | None = None
        """Once it has ended in order."""
        self._path: Path | None = state.path
        self._changed: set[str] = set()
        self._carried: dict[int, int] = {}
        self.drops = 0
        """Packets that the bottleneck's queue has dropped since it began."""
        self.seconds = 0.0

    @classmethod
    def of(cls, run: Run) -> LabRun:
        """A run that has ended, as if it had been watched."""
        seen = cls(SessionState(run.experiment), run.experiment)
        seen._unseen = 0.0
        columns = run.samples.column("flow"), run.samples.column("bytes_acked")
        for flow, acked in zip(*columns, strict=True):
            seen._carried[flow] = max(seen._carried.get(flow, 0), acked)
        seen.drops = run.queue.column("drops")[-1] if run.queue else 0
        seen.end(run)
        return seen

    def sampled(self, samples: Samples) -> None:
        """Take some samples more."""
        self.seconds = max(self.seconds, samples.t)
        for row in samples.rows:
            self._carried[row.flow] = max(self._carried.get(row.flow, 0), row.bytes_acked)
        if samples.queue:
            self.drops = max(self.drops, samples.queue[-1].drops)

    def end(self, run: Run | None) -> None:
        """It is over; `run` is all of it, None where it could not be summed up."""
        self.ended, self.run = True, run
        if run is not None:
            self.experiment, self.seconds = run.experiment, run.experiment_s

    @property
    def lasted(self) -> float:
        """How long it went on, s: with what a session may have missed of it."""
        return self.seconds + self._unseen if self.seconds else 0.0

    @property
    def carried(self) -> int:
        """Payload of the flow that carried most, bytes."""
        return max(self._carried.values(), default=0)

    @property
    def changed(self) -> frozenset[str]:
        """Quantities of the path that somebody changed while it went on."""
        return frozenset(change.name for change in self.experiment.path.changes) | self._changed

    def path_is(self, path: Path) -> None:
        """Take the path as the kernel holds it while the run goes on."""
        if self._path is None:
            self._path = path
        before = self._path
        self._changed |= {
            name for name in Path.__struct_fields__ if getattr(path, name) != getattr(before, name)
        }

    @property
    def fault(self) -> str:
        """Why nothing is said of it: the lab calls it invalid, or it was cut short; empty for a sound one."""
        if self.run is None:
            return "it was cut short" if self.ended else ""
        if self.run.fidelity.status == "invalid":
            return next(iter(self.run.fidelity.reasons), "the lab calls it invalid")
        return "" if self.run.complete else "it was cut short"

    @cached_property
    def _part(self) -> RunPart | None:
        return RunPart(MeasuredRun(self.run)) if self.run is not None else None

    def measured(self, name: str) -> float | None:
        """A figure of `MEASURED` in base units; None before the end, and where the run does not have it."""
        if not self.ended or self._part is None:
            return None
        try:
            return MEASURED[name].of(self._part)  # type: ignore[index]  # checked when the page was read
        except UsageError:
            return None

    @cached_property
    def clock_share(self) -> float:
        """The share of its rate at which a machine that is too busy ran the full link; 1 for one that kept up.

        Only where the run itself shows both: late or missing samples, and a full link below its rate whose bucket holds
        a tick of the kernel, so that nothing else slows it.
        """
        run = self.run
        if run is None or not any(_BUSY in reason for reason in run.fidelity.reasons):
            return 1.0
        path = run.experiment.path
        if path.rate is None or "rate" in self.changed or (path.burst or math.inf) < path.rate * _TICK / 8:
            return 1.0
        seconds, sent, _ = full_stretches(run.queue)
        if seconds < max(1.0, run.experiment_s / 2):
            return 1.0
        share = 8 * sent / (seconds * path.rate)
        return share if _SLOWEST <= share < 1 - SLACK else 1.0

    def in_time(self, name: str) -> float | None:
        """A figure as `measured`; a throughput as it is in the time of a link that kept its rate."""
        value = self.measured(name)
        return value / self.clock_share if value is not None and name == "throughput" else value

    @property
    def limited_by(self) -> str | None:
        """The cause that the analysis finds; None before the end."""
        if not self.ended or self._part is None:
            return None
        return self._part.whole.report.verdict.limited_by
