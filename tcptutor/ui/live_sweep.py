"""A page's sweep as the screen sees it, while it goes on and after. The bench changes it; widgets read it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import msgspec

from tcptutor.course.activities.sweep import SweepActivity
from tcptutor.course.personal import SEEDS
from tcptutor.run import Environment, Run
from tcptutor.spec import Experiment

if TYPE_CHECKING:
    from tcptutor.sweep.page import CurveLine, PageCell


@dataclass
class LiveSweep:
    """The runs of a page's sweep."""

    module: str
    step: str
    activity: SweepActivity
    predicted_at: str = ""
    """The value that a prediction is about, whose runs stay at hand; empty for none."""
    cells: list[PageCell] = field(default_factory=list)
    """The runs that are there, in the order in which they ended."""
    rounds: int = 1
    """How often the whole sweep is wanted: more than once, each time with other random numbers."""
    models: tuple[CurveLine, ...] = ()
    """What is expected, the line that leads first; known once it has begun."""
    working: set[int] = field(default_factory=set)
    """The indexes of the values at which a run goes on."""
    state: Literal["idle", "starting", "running", "ended"] = "idle"
    problem: str = ""
    """Why it ended before its time, one line; empty where it did not, or where the student stopped it."""
    unsaved: str = ""
    """Why the journal could not keep a run, one line; empty when all are kept."""
    wall_s: float = 0.0
    """How long it took, where it ran in this session."""
    environment: Environment | None = None
    """Where the latest run took place."""
    files: dict[str, str] = field(default_factory=dict)
    """Of each run, by its id, its file."""
    runs: dict[str, Run] = field(default_factory=dict)
    """By their ids, runs that have no file; and one at the value that a prediction is about."""

    @property
    def in_progress(self) -> bool:
        return self.state in ("starting", "running")

    @property
    def replayed(self) -> bool:
        return self.environment is not None and self.environment.backend == "replay"

    @property
    def total(self) -> int:
        """Runs that are wanted in all."""
        return self.rounds * self.activity.seeds * len(self.activity.values)

    @property
    def done(self) -> int:
        """Runs of these that are there."""
        wanted = self.rounds * self.activity.seeds
        return sum(min(wanted, self.count(at)) for at in range(len(self.activity.values)))

    @property
    def complete(self) -> bool:
        """Whether every value was measured as often as the page asks for."""
        return all(len(self.at(at)) >= self.activity.seeds for at in range(len(self.activity.values)))

    @property
    def measured(self) -> list[list[float]]:
        """At each value, one figure of each run that counts."""
        return [
            [cell.figure for cell in self.counting(at) if cell.figure is not None]
            for at in range(len(self.activity.values))
        ]

    @property
    def suspect(self) -> list[int]:
        """The indexes of the values at which there are runs, and the lab believes none."""
        return [
            at
            for at in range(len(self.activity.values))
            if (cells := self.at(at)) and not any(cell.is_sound for cell in cells)
        ]

    def counting(self, value: int) -> list[PageCell]:
        """The runs that count at the value of that index: the sound ones, or all where every one is suspect."""
        here = self.at(value)
        return [cell for cell in here if cell.is_sound] or here

    def count(self, value: int) -> int:
        """How many of the runs that are wanted at a value are there: one that replaces a suspect one is no more."""
        here = self.at(value)
        return max(sum(cell.is_sound for cell in here), min(self.activity.seeds, len(here)))

    def add(self, cell: PageCell) -> None:
        """Take the run of a cell, in place of an earlier one with the same seed."""
        self.cells = [one for one in self.cells if (one.at, one.seed) != (cell.at, cell.seed)]
        self.cells.append(cell)

    def at(self, value: int) -> list[PageCell]:
        """The runs at the value of that index."""
        return [cell for cell in self.cells if cell.at == value]

    def missing(self) -> Iterator[tuple[int, Experiment]]:
        """What is still to be run, with the index of its value: all values once before any comes again."""
        there = [{cell.seed for cell in self.at(at)} for at in range(len(self.activity.values))]
        counts = [self.count(at) for at in range(len(self.activity.values))]
        for number in range(self.rounds * self.activity.seeds):
            for at, experiment in enumerate(self.activity.experiments):
                if counts[at] > number:
                    continue
                counts[at] += 1
                seed = next(
                    seed
                    for more in range(SEEDS)
                    if (seed := (experiment.seed + more) % SEEDS) not in there[at]
                )
                there[at].add(seed)
                yield at, msgspec.structs.replace(experiment, seed=seed)

    def again(self) -> Iterator[tuple[int, Experiment]]:
        """The runs that r repeats where all is there: those at suspect values.

        On the virtual clock the same seed would give the same run, so each gets the next one.
        """
        exact = self.environment is not None and self.environment.clock == "virtual"
        for at in self.suspect:
            seeds = {cell.seed for cell in self.at(at)}
            experiment = self.activity.experiments[at]
            for old in sorted(seeds)[: self.activity.seeds]:
                free = (experiment.seed + more for more in range(SEEDS))
                seed = next(one % SEEDS for one in free if one % SEEDS not in seeds) if exact else old
                seeds.add(seed)
                yield at, msgspec.structs.replace(experiment, seed=seed)

    def is_of(self, module: str, step: str) -> bool:
        return (self.module, self.step) == (module, step)
