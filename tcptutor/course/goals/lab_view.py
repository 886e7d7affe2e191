"""View of the lab at a moment: a detected run, interfaces and their qdiscs, and kernel state."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from tcptutor.base.errors import UsageError
from tcptutor.course.measurements import MEASURED, MeasuredRun, RunPart
from tcptutor.run import Run
from tcptutor.run.capacity import SLACK, busy_periods
from tcptutor.spec import Experiment, Path, bottleneck_interface
from tcptutor.wire.kernel_state import HostState, InterfaceState, QdiscSettings, SessionState
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
        seconds, sent, *_ = busy_periods(run.queue, run.experiment.path)
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


_NAME = re.compile(r"(?P<node>[hs])(?P<number>\d)-eth(?P<port>\d)")
_BY_RATE = ("netem", "tbf", "htb", "hfsc", "cake", "cbs")
"""Qdiscs that enforce a rate, of the qdisc or of a class."""
_BY_NETEM = ("delay", "jitter", "loss", "duplicate", "reorder")
"""Path quantities caused by netem; its settings have the same names."""


def carries_data(name: str, pairs: int) -> bool:
    """Return True if packets leaving the interface travel from a sender (h1, h3 ...) to its receiver."""
    match = _NAME.fullmatch(name)
    if match is None:
        return False  # a bridge's own interface, which flows do not use
    if match["node"] == "h":
        return int(match["number"]) % 2 == 1
    faces_the_other = name in (bottleneck_interface(pairs), "s2-eth1")
    return faces_the_other == (match["number"] == "1")


def is_on_path(name: str) -> bool:
    """Return True unless it is a bridge's own interface, which flows do not use."""
    return _NAME.fullmatch(name) is not None


def chain(state: SessionState, name: str) -> tuple[QdiscSettings, ...]:
    """Return the qdiscs of the interface, from the root down."""
    return next((one.qdiscs for one in state.interfaces if one.name == name), ())


def contributions(qdiscs: tuple[QdiscSettings, ...], quantity: str) -> Iterator[float]:
    """Yield each qdisc's contribution to a path quantity, in base units."""
    for one in qdiscs:
        if quantity in _BY_NETEM and one.kind == "netem" and one.settings.get(quantity):
            yield float(one.settings[quantity])
        elif quantity == "rate" and one.kind in _BY_RATE:
            if rate := one.settings.get("rate", one.settings.get("upper")):
                yield float(rate)
        elif quantity == "queue" and one.kind == "tbf":
            yield float(one.settings["limit"])


def contributors(state: SessionState, quantity: str, data: bool) -> list[tuple[str, float]]:
    """Return the interfaces contributing to a quantity on the data or reverse path, with the amounts.

    An interface with several qdiscs may appear more than once.
    """
    pairs = state_pairs(state)
    return [
        (one.name, value)
        for one in state.interfaces
        if is_on_path(one.name) and carries_data(one.name, pairs) is data
        for value in contributions(one.qdiscs, quantity)
    ]


def state_pairs(state: SessionState) -> int:
    """Return the number of host pairs, counted by the reported interfaces."""
    return max(1, sum(one.name.startswith("h") for one in state.interfaces) // 2)


def changed(before: SessionState, now: SessionState) -> list[InterfaceState]:
    """Return the interfaces with changed qdiscs, in their current state."""
    return [one for one in now.interfaces if one.qdiscs != chain(before, one.name)]


ALGORITHM = "tcp_congestion_control"
"""Sysctl that sets the algorithm of new connections."""


class LabView(NamedTuple):
    """Everything a goal is judged by. `run` is None for goals about the current state of the lab."""

    state: SessionState
    """Kernel state; with a run, the state at its start."""
    start: SessionState
    """Kernel state at the start of the page."""
    before: Mapping[tuple[str, str], str] = {}
    """Original values of changed sysctls, by host and name, as reported by sessions."""
    run: LabRun | None = None
    changed: Mapping[str, HostState] = {}
    """Hosts at the last change of the network, by name: the start of their counters."""

    @property
    def experiment(self) -> Experiment:
        """Experiment of the run, with the flows' actual settings, or of the current state."""
        return self.state.experiment if self.run is None else self.run.experiment

    @property
    def pairs(self) -> int:
        return state_pairs(self.start)

    @property
    def bottleneck(self) -> str:
        """Interface the manuals shape for data."""
        return bottleneck_interface(self.pairs)

    @property
    def hosts(self) -> tuple[str, ...]:
        """End hosts."""
        return tuple(f"h{number}" for number in range(1, 2 * self.pairs + 1))

    @property
    def senders(self) -> tuple[str, ...]:
        """Hosts that send to the host after them."""
        return self.hosts[::2]

    def sysctl(self, host: str, name: str) -> str | None:
        """Return a sysctl's value; None if it is unreported, unchanged and not set by the page."""
        found = {(one.name, key): value for one in self.state.hosts for key, value in one.sysctls.items()}
        found |= {(one.host, one.name): one.now for one in self.state.sysctls}
        asked = self.start.experiment.hosts.sysctls.get(name)
        return found.get((host, name), self.before.get((host, name), asked))


SYSCTL = re.compile(r"sysctl\.(?:(?P<host>[hs]\d)\.)?(?P<name>tcp_[a-z0-9_]{1,60}|ip_forward|[rw]mem_max)")


class GoalQuantity(NamedTuple):
    """Quantity of the lab or of a run."""

    name: str
    kind: str
    """units.Kind, `algorithm`, `sysctl` or `address`."""
    value: Callable[[LabView], Any]
    """Value in base units, or None; a tuple for several hosts."""
    choices: tuple[str, ...] = ()
    about_run: bool = False
    at_end: bool = False
    """True if only a finished run has it."""
    host: str = ""
    """Host of a sysctl; empty for all hosts and for other quantities."""

    @property
    def sysctl(self) -> str:
        """Name of the sysctl behind the quantity, or empty."""
        found = SYSCTL.fullmatch(self.name)
        return found["name"] if found else ALGORITHM if self.name == "hosts.algorithm" else ""
