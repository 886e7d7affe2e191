"""A page's sweep as screens see it, during and after. The bench updates it, widgets read it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import msgspec

from tcptutor.course.activities.run import SweepActivity
from tcptutor.course.personal import SEEDS
from tcptutor.run import Environment, Run
from tcptutor.spec import Experiment

if TYPE_CHECKING:
    from tcptutor.course.page_sweep import CurveLine, PageCell


@dataclass
class LiveSweep:
    """Runs of a page's sweep, in progress or complete."""

    module: str
    step: str
    activity: SweepActivity
    predicted_at: str = ""
    """The value that a prediction is about; its runs stay in memory. Empty for none."""
    cells: list[PageCell] = field(default_factory=list)
    rounds: int = 1
    """Requested repetitions of the sweep, each with new seeds."""
    models: tuple[CurveLine, ...] = ()
    """Model curves, most relevant first; empty before the start."""
    working: set[int] = field(default_factory=set)
    """Indexes of values with a run in progress."""
    state: Literal["idle", "starting", "running", "ended"] = "idle"
    problem: str = ""
    """Reason for an early end; empty if complete or stopped by the student."""
    unsaved: str = ""
    """Reason why the journal could not store a run; empty if all are stored."""
    wall_s: float = 0.0
    """Duration of the sweep, if it ran in this session."""
    environment: Environment | None = None
    files: dict[str, str] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    """Runs without a file, and a run at `predicted_at`, by run id."""

    @property
    def in_progress(self) -> bool:
        return self.state in ("starting", "running")

    @property
    def replayed(self) -> bool:
        return self.environment is not None and self.environment.backend == "replay"

    @property
    def total(self) -> int:
        """Number of requested runs."""
        return self.rounds * self.activity.seeds * len(self.activity.values)

    @property
    def done(self) -> int:
        """Number of requested runs that are complete."""
        requested = self.rounds * self.activity.seeds
        return sum(min(requested, self.count(at)) for at in range(len(self.activity.values)))

    @property
    def complete(self) -> bool:
        """True if every value has the number of runs that the page requires."""
        return all(len(self.cells_at(at)) >= self.activity.seeds for at in range(len(self.activity.values)))

    @property
    def measured(self) -> list[list[float]]:
        """The figures that count at each value."""
        return [
            [cell.figure for cell in self.counted_cells(at) if cell.figure is not None]
            for at in range(len(self.activity.values))
        ]

    @property
    def suspect(self) -> list[int]:
        """Indexes of values at which every run failed its fidelity check."""
        return [
            at
            for at in range(len(self.activity.values))
            if (cells := self.cells_at(at)) and not any(cell.is_sound for cell in cells)
        ]

    def counted_cells(self, value: int) -> list[PageCell]:
        """Return the runs that count at a value: the valid runs, or all of them if none is valid."""
        here = self.cells_at(value)
        return [cell for cell in here if cell.is_sound] or here

    def count(self, value: int) -> int:
        """Return the number of requested runs completed at a value. Replacing a suspect run does not add to it."""
        here = self.cells_at(value)
        return max(sum(cell.is_sound for cell in here), min(self.activity.seeds, len(here)))

    def add(self, cell: PageCell) -> None:
        """Add a completed run, replacing any earlier run with the same seed."""
        self.cells = [one for one in self.cells if (one.at, one.seed) != (cell.at, cell.seed)]
        self.cells.append(cell)

    def cells_at(self, value: int) -> list[PageCell]:
        """Return the runs at a value."""
        return [cell for cell in self.cells if cell.at == value]

    def remaining(self) -> Iterator[tuple[int, Experiment]]:
        """Yield the remaining runs with the index of their value, round by round."""
        seeds_at = [{cell.seed for cell in self.cells_at(at)} for at in range(len(self.activity.values))]
        counts = [self.count(at) for at in range(len(self.activity.values))]
        for number in range(self.rounds * self.activity.seeds):
            for at, experiment in enumerate(self.activity.experiments):
                if counts[at] > number:
                    continue
                counts[at] += 1
                seed = next(
                    seed
                    for more in range(SEEDS)
                    if (seed := (experiment.seed + more) % SEEDS) not in seeds_at[at]
                )
                seeds_at[at].add(seed)
                yield at, msgspec.structs.replace(experiment, seed=seed)

    def reruns(self) -> Iterator[tuple[int, Experiment]]:
        """Yield repetitions of the runs at suspect values.

        Each gets the next free seed on the virtual clock, where the same seed would give the same run.
        """
        exact = self.environment is not None and self.environment.clock == "virtual"
        for at in self.suspect:
            seeds = {cell.seed for cell in self.cells_at(at)}
            experiment = self.activity.experiments[at]
            for old in sorted(seeds)[: self.activity.seeds]:
                free = (experiment.seed + more for more in range(SEEDS))
                seed = next(seed % SEEDS for seed in free if seed % SEEDS not in seeds) if exact else old
                seeds.add(seed)
                yield at, msgspec.structs.replace(experiment, seed=seed)

    def is_of(self, module: str, step: str) -> bool:
        return (self.module, self.step) == (module, step)
