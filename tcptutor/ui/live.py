"""One run as the screen sees it, while it goes on and after. The bench changes it; widgets read it."""

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
    """An earlier whole run of the same page with the same settings: what chance made of it."""

    id: str
    seed: int
    throughput_bps: float
    """Payload of all flows together in the measured time."""
    points: tuple[tuple[float, float], ...]
    """Throughput of all flows together: time in s, bit/s; one point a second at most."""
    mean_rtt_s: float = 0.0
    """Over all flows; 0 where none was measured."""
    retransmits: int | None = 0
    """Segments sent again, of all flows; None where they are unknown."""
    jain_index: float | None = None
    """Of the flows' shares; None for one flow, which has nothing to share."""
    cov: float | None = None
    """Of a flow's own seconds, the mean over several flows; None for one flow, and for too few seconds."""


@dataclass(frozen=True)
class ComparisonRun:
    """An earlier run of any settings, chosen to be drawn beside another one: in few numbers, without its samples."""

    id: str
    started: str
    """ISO 8601, with its zone."""
    experiment: Experiment
    window: tuple[tuple[float, float], ...]
    """Time in s, cwnd in segments: the mean over its flows; empty where no windows are known."""
    points: tuple[tuple[float, float], ...]
    """Throughput of all flows together: time in s, bit/s."""
    throughput_bps: float | None
    """Payload of all flows together in the measured time; None where nothing was measured."""
    limited_by: str
    """The cause in words; empty where nothing was measured."""


@dataclass
class Live:
    """A run of a step's experiment."""

    module: str
    step: str
    run: Run
    expectation: Expectation | None = None
    """What the models say; None until it has been computed."""
    report: Report | None = None
    """After the run; None when too little arrived to compare."""
    rates: list[tuple[float, float]] = field(default_factory=list)
    """Throughput of all flows together: time in s, bit/s."""
    state: State = "starting"
    phase: str = "starting"
    """What the lab does now."""
    problem: str = ""
    """Why it ended before its time, one line; empty for a whole run and for one that the student stopped."""

    formula: str = ""
    """The model that the page is about, which leads the others; empty for none."""

    earlier: tuple[EarlierRun, ...] = ()
    """The page's runs before this one, the oldest first; of a what-if the one that it was changed from."""

    changed_from: Run | None = None
    """The run of which this is a what-if; None for a run of the page's own experiment."""

    from_shell: bool = False
    """Whether it came of what was typed into a shell: nothing that a page asks is about it."""

    hides_fault: bool = False
    """Whether its network has a fault that the student is to find: only what was measured is told."""

    comparisons: tuple[ComparisonRun, ...] = ()
    """Runs of other settings that are drawn with it."""

    unsaved: str = ""
    """Why the journal could not keep it, one line; empty when it is kept."""

    @property
    def repeatable(self) -> bool:
        """Whether a page is there to run it again from; a file's run has none."""
        return bool(self.step) and not self.from_shell and self.changed_from is None

    @property
    def measuring(self) -> bool:
        """Whether anything has arrived that can be drawn."""
        return bool(self.run.samples or self.run.udp_samples)

    @property
    def in_progress(self) -> bool:
        return self.state != "ended"

    @property
    def cut_short(self) -> bool:
        return self.state == "ended" and not self.run.complete

    @property
    def spread(self) -> str:
        """What chance made of the page's runs: "5 runs: 8.6 to 9.9 Mbit/s, this one 9.1"; empty without any before."""
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
        """Whether it is a run that the page itself made, of its own experiment."""
        mine = not self.from_shell and self.changed_from is None
        return mine and (self.module, self.step) == (module, step)

    def is_what_if_of(self, module: str, step: str) -> bool:
        """Whether it is a what-if of a run of that page."""
        return (self.module, self.step) == (module, step) and self.changed_from is not None


def _rate_like(rate: str, other: str) -> str:
    """A rate next to another one, without the unit where that has the same."""
    number, unit = rate.split(" ")
    return number if unit == other.split(" ")[1] else rate
