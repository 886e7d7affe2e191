"""A run as screens see it, during and after, and the figures of earlier runs. The bench updates it, widgets read it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from tcptutor.base import units
from tcptutor.course.activities.run import ChartName
from tcptutor.course.measures import MEASURES, MeasureName
from tcptutor.run import Run
from tcptutor.spec import Experiment
from tcptutor.study.words import drawn_by_chance

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

    charted: ChartName = "cwnd"
    """Quantity that the page asks about."""

    said: tuple[MeasureName, float] | None = None
    """The student's prediction of a measure other than throughput, in its base unit; None for none."""

    earlier: tuple[EarlierRun, ...] = ()
    """Earlier runs of the page, oldest first; for a what-if, only its base run."""

    changed_from: Run | None = None
    """Base run of a what-if; None for a run of the page's own experiment."""

    from_shell: bool = False
    """True for a run detected in a shell session; activities ignore it."""

    hides_fault: bool = False
    """True while the student is searching for a fault in this network: the report is withheld."""

    awaits_observation: bool = False
    """True while the page asks for an observation about this run: the explanation is withheld."""

    is_enrolled: bool = False
    """True while the student is enrolled: the result of a replayed run warns that it earns no marks."""

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
            return f"the same seed again: {units.rate(self.earlier[-1].throughput_bps)} last time"
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


MAX_EARLIER = 7
"""Earlier runs shown next to the current run."""


class PageRun(NamedTuple):
    """Figures of a complete run. Samples are left out, since the history lives as long as the app."""

    started: str
    experiment: Experiment
    figures: EarlierRun


class RunHistory:
    """Complete runs by page, owned by the bench. Pages add runs from the journal."""

    def __init__(self) -> None:
        self._pages: dict[tuple[str, str], dict[str, PageRun]] = {}

    def add(self, live: Live) -> None:
        """Add a run that has ended; ignore what-ifs, aborted runs and runs without a report."""
        figures = figures_of(live)
        if figures is not None and live.changed_from is None:
            page = self._pages.setdefault((live.module, live.step), {})
            page[live.run.id] = PageRun(live.run.started, live.run.experiment, figures)

    def before(self, live: Live) -> tuple[EarlierRun, ...]:
        """Return the page's earlier runs with the same settings, oldest first, the latest run of each seed."""
        run = live.run
        by_seed: dict[int, EarlierRun] = {}
        for earlier in self._in_order(live.module, live.step):
            if earlier.figures.id == run.id or earlier.started > run.started:
                continue
            if _without_seed(earlier.experiment) == _without_seed(run.experiment):
                by_seed.pop(earlier.figures.seed, None)
                by_seed[earlier.figures.seed] = earlier.figures
        return tuple(by_seed.values())[-MAX_EARLIER:]

    def of(self, live: Live) -> PageRun | None:
        """Return the figures of the run; None for an aborted run."""
        return self._pages.get((live.module, live.step), {}).get(live.run.id)

    def latest(self, module: str, step: str) -> PageRun | None:
        """Return the page's latest complete run; None if none is known."""
        runs = self._in_order(module, step)
        return runs[-1] if runs else None

    def _in_order(self, module: str, step: str) -> list[PageRun]:
        return sorted(
            self._pages.get((module, step), {}).values(), key=lambda run: (run.started, run.figures.seed)
        )


def figures_of(live: Live) -> EarlierRun | None:
    """Summarize a run; None if it was aborted or has no report."""
    run = live.run
    if not run.complete or live.report is None:
        return None
    several = len(live.report.flows) > 1
    return EarlierRun(
        id=run.id,
        seed=run.experiment.seed,
        throughput_bps=live.report.throughput_bps,
        points=tuple(_average_by_second(live.rates)),
        mean_rtt_s=MEASURES["rtt"].compute(live.report) or 0.0,
        retransmits=live.report.retransmits,
        jain_index=live.report.jain_index if several else None,
        cov=MEASURES["cov"].compute(live.report) if several else None,
    )


def _without_seed(experiment: Experiment) -> Experiment:
    return msgspec.structs.replace(experiment, seed=0, title="", sources=())


def _average_by_second(points: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float]]:
    """Average the points of each second. A point's time is the end of its interval."""
    for _, group in groupby(points, key=lambda point: int(point[0] - 1e-6)):
        second = list(group)
        yield second[-1][0], sum(rate for _, rate in second) / len(second)
