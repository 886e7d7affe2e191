"""A run as screens see it, during and after. The bench updates it, widgets read it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from tcptutor.base import units
from tcptutor.run import Run
from tcptutor.spec import Experiment
from tcptutor.ui.words import drawn_by_chance

if TYPE_CHECKING:
    from tcptutor.analysis import Expectation, Report

State = Literal["starting", "running", "ended"]


@dataclass(frozen=True)
class EarlierRun:
    """Figures of an earlier complete run of the same page with the same settings; only chance differs."""

    id: str
    seed: int
    throughput_bps: float
    """Payload of all flows in the measured period."""
    points: tuple[tuple[float, float], ...]
    """Throughput of all flows over time, (s, bit/s), at most a point per second."""
    mean_rtt_s: float = 0.0
    """Mean over all flows; 0 if unmeasured."""
    retransmits: int | None = 0
    """Retransmissions of all flows; None if unknown."""
    jain_index: float | None = None
    """Fairness of the flows' shares; None for a single flow."""
    cov: float | None = None
    """Coefficient of variation of per-second throughput, averaged over flows; None for a single flow or a short run."""


@dataclass(frozen=True)
class ComparisonRun:
    """Figures of an earlier run with any settings, drawn for comparison. Holds no samples."""

    id: str
    started: str
    """ISO 8601 with time zone."""
    experiment: Experiment
    window: tuple[tuple[float, float], ...]
    """Mean cwnd over all flows, (s, segments); empty if unknown."""
    points: tuple[tuple[float, float], ...]
    """Throughput of all flows over time, (s, bit/s)."""
    throughput_bps: float | None
    """Payload of all flows in the measured period; None if unmeasured."""
    limited_by: str
    """Verdict in words; empty if unmeasured."""


@dataclass
class Live:
    """A run in progress or completed, with its expectation and report."""

    module: str
    step: str
    run: Run
    expectation: Expectation | None = None
    """Model predictions; None until computed."""
    report: Report | None = None
    """Comparison with the models, after the run; None if the run is too short."""
    rates: list[tuple[float, float]] = field(default_factory=list)
    """Throughput of all flows over time, (s, bit/s)."""
    state: State = "starting"
    phase: str = "starting"
    problem: str = ""
    """Reason for an early end; empty for a complete run or if the student stopped it."""

    formula: str = ""
    """The model the page is about, listed first; empty for no preference."""

    earlier: tuple[EarlierRun, ...] = ()
    """Earlier runs of the page, oldest first; for a what-if, only its base run."""

    changed_from: Run | None = None
    """Base run of a what-if; None for a run of the page's own experiment."""

    from_shell: bool = False
    """True for a run detected in a shell session; activities ignore it."""

    hides_fault: bool = False
    """True while the student is searching for a fault in this network: the report is withheld."""

    comparisons: tuple[ComparisonRun, ...] = ()
    """Runs with other settings, drawn in the same chart."""

    unsaved: str = ""
    """Reason why the journal could not store the run; empty if stored."""

    @property
    def is_repeatable(self) -> bool:
        """True if a page can run the experiment again; a run loaded from a file has no page."""
        return bool(self.step) and not self.from_shell and self.changed_from is None

    @property
    def has_samples(self) -> bool:
        """True if samples have arrived."""
        return bool(self.run.samples or self.run.udp_samples)

    @property
    def in_progress(self) -> bool:
        return self.state != "ended"

    @property
    def is_aborted(self) -> bool:
        return self.state == "ended" and not self.run.complete

    @property
    def spread(self) -> str:
        """Variation among the page's runs, e.g. "5 runs: 8.6 to 9.9 Mbit/s, this one 9.1"; empty for the first run."""
        if self.report is None or not self.earlier or self.changed_from is not None:
            return ""
        this, seed = self.report.throughput_bps, self.run.experiment.seed
        others = [run.throughput_bps for run in self.earlier if run.seed != seed]
        if not others:
            return f"the same run again: {units.rate(self.earlier[-1].throughput_bps)} the time before"
        low, high = units.rate(min(this, *others)), units.rate(max(this, *others))
        number = f"{len(others) + 1} runs"
        if low == high:
            chance = drawn_by_chance(self.run.experiment)
            return f"{number}, each {low}" + ("" if chance else ": no chance on this path")
        return f"{number}: {_rate_like(low, high)} to {high}, this one {_rate_like(units.rate(this), high)}"

    def is_of(self, module: str, step: str) -> bool:
        """Return True if that page started this run with its own experiment."""
        mine = not self.from_shell and self.changed_from is None
        return mine and (self.module, self.step) == (module, step)

    def is_what_if_of(self, module: str, step: str) -> bool:
        """Return True if this is a what-if on a run of that page."""
        return (self.module, self.step) == (module, step) and self.changed_from is not None


def _rate_like(rate: str, other: str) -> str:
    """Drop the unit of `rate` if `other` has the same unit."""
    number, unit = rate.split(" ")
    return number if unit == other.split(" ")[1] else rate
