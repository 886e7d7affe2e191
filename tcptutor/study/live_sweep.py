"""A page's sweep: its state as screens see it, and the runner that conducts it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

import msgspec

from tcptutor.base.errors import JournalError, TutorError
from tcptutor.base.key_names import key_name
from tcptutor.course.personal import SEEDS
from tcptutor.journal import Journal
from tcptutor.run import Environment, Run
from tcptutor.runs.conduct import ConductedRun
from tcptutor.spec import Experiment
from tcptutor.study import background
from tcptutor.study.own_course import enrolled_meanwhile, enrolment_in
from tcptutor.wire.protocol import Ready

if TYPE_CHECKING:
    from tcptutor.backends.lab import Lab
    from tcptutor.course.activities.run import SweepActivity
    from tcptutor.course.measures import MeasuredCurve
    from tcptutor.course.page_sweep import CurveLine, PageCell
    from tcptutor.spec import Experiment


@dataclass
class LiveSweep:
    """Runs of a page's sweep, in progress or complete."""

    module: str
    step: str
    activity: SweepActivity
    predicted_at: str = ""
    """Value of the axis that the student predicts, whose runs stay in memory; empty without a prediction."""
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

    @property
    def curve(self) -> MeasuredCurve | None:
        """Result of the sweep; None until every value is measured."""
        if self.in_progress or not self.complete or not all(self.measured):
            return None
        lead = next(iter(self.models), None)
        expected = lead.values if lead is not None and lead.kind == "formula" else ()
        sound = [at for at in range(len(self.activity.values)) if at not in self.suspect]
        return self.activity.curve(self.measured, expected, sound, runs=self._runs_of_prediction)

    @property
    def _runs_of_prediction(self) -> dict[str, Run]:
        if self.predicted_at not in self.activity.values:
            return {}
        first = self.counted_cells(self.activity.values.index(self.predicted_at))[0]
        return {self.predicted_at: self.runs[first.run]} if first.run in self.runs else {}

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


MAX_FILES = 60
"""Latest run files of a page searched for points of its sweep."""


class SweepRunner:
    """Execution of a sweep. Calls `moved` on progress."""

    def __init__(self, live: LiveSweep, journal: Journal, moved: Callable[[], object]) -> None:
        self._live, self._journal, self._moved = live, journal, moved
        self._experiments = list(live.remaining()) or list(live.reruns())
        self._enrolment = enrolment_in(journal)
        self._first = asyncio.Event()
        self.stopped = ""
        """Reason recorded for aborted runs if the sweep is canceled."""

    async def run(self, lab: Lab) -> None:
        """Run all missing points in `lab` and, if possible, in a second lab at the same time. Never raises."""
        from tcptutor.fleet.pool import side_by_side  # noqa: PLC0415  # with the analysis, which no first frame needs

        live, began = self._live, time.monotonic()
        live.state, live.problem, live.unsaved = "starting", "", ""
        live.models = await models(live.activity)
        self._experiments = await background.in_thread(_soonest_first, self._experiments)
        self._moved()
        other = lab.second_lab() if len(self._experiments) > 1 else None
        labs = [lab, other] if other else [lab]
        try:
            async with aclosing(side_by_side(labs, len(self._experiments), self._conduct)) as results:
                async for number, result in results:
                    await self._take_result(number, result)
        except asyncio.CancelledError:
            pass  # stopped by the student
        except TutorError as error:
            live.problem = str(error)
        except Exception as error:  # a bug of ours must not close the student's page
            live.problem = (
                f"the sweep failed unexpectedly ({type(error).__name__}: {error}): "
                f"press {key_name('lesson.run')} to continue"
            )
        finally:
            if other:
                await other.close()
        live.working.clear()
        live.state, live.wall_s = "ended", time.monotonic() - began

    async def _conduct(self, lab: Lab, number: int) -> Run:
        live, (at, experiment) = self._live, self._experiments[number]
        if number:
            # The second lab benefits from the first lab's preparations, such as a larger guest.
            await self._first.wait()
        self._check_enrolment()
        conducted = ConductedRun(lab, experiment, self._journal.runs, self.stopped)
        live.working.add(at)
        began = False
        try:
            async with conducted:
                async for event in conducted:
                    if isinstance(event, Ready) and not began:
                        self._check_enrolment()
                        began = True
                        live.state, live.environment = "running", event.environment
                        with self._record_journal_failure():
                            self._journal.begin_run(conducted.run, live.module, live.step)
                        self._first.set()
                        self._moved()
        finally:
            self._first.set()
            live.working.discard(at)
            live.unsaved = live.unsaved or conducted.unsaved
            if began and conducted.unsaved:
                self._journal.finish_run_later(conducted.run, conducted.unsaved, self._clear_unsaved)
            elif began:
                with self._record_journal_failure():
                    self._journal.finish_run(conducted.run, conducted.file)
        live.environment = conducted.run.environment
        if conducted.file:
            live.files[conducted.run.id] = str(conducted.file)
        return conducted.run

    def _check_enrolment(self) -> None:
        """Raise TutorError if the student has enrolled since the seeds were chosen."""
        if enrolment_in(self._journal) != self._enrolment:
            raise TutorError(enrolled_meanwhile())

    async def _take_result(self, number: int, result: Run | TutorError) -> None:
        live, (at, experiment) = self._live, self._experiments[number]
        if isinstance(result, TutorError):
            value = live.activity.values[at]
            live.problem = live.problem or f"at {value} (seed {experiment.seed}): {result}"
        elif result.complete:
            await take(live, at, result)
        self._moved()

    def _clear_unsaved(self) -> None:
        self._live.unsaved = ""
        self._moved()

    @contextmanager
    def _record_journal_failure(self) -> Iterator[None]:
        try:
            yield
        except JournalError as error:
            self._live.unsaved = str(error)


async def take(live: LiveSweep, at: int, run: Run) -> None:
    """Add a complete run to the sweep."""
    cell = await background.in_thread(_cell, live.activity, at, run)
    if run.id not in live.files or live.activity.values[at] == live.predicted_at:
        live.runs[run.id] = run
    live.add(cell)


async def models(activity: SweepActivity) -> tuple[CurveLine, ...]:
    """Return the model curves for the sweep."""
    return await background.in_thread(_models, activity)


async def recall_sweep(live: LiveSweep, files: Iterable[str]) -> AsyncIterator[None]:
    """Add the page's stored runs to the sweep, latest first, yielding after each.

    Sets `rounds` to the number of rounds begun, so that the missing points can be run.
    """
    for _, file in zip(range(MAX_FILES), files, strict=False):
        run = await background.first_readable([file])
        if run is None or not run.complete:
            continue
        at = await background.in_thread(_value_index, live.activity, run)
        if at is None or run.experiment.seed in {cell.seed for cell in live.cells_at(at)}:
            continue
        live.files[run.id] = file
        live.environment = live.environment or run.environment
        await take(live, at, run)
        most = max(live.count(value) for value in range(len(live.activity.values)))
        live.rounds = -(-most // live.activity.seeds)
        yield
    if live.cells:
        live.models = await models(live.activity)
        live.state = "ended"
        yield


def _cell(activity: SweepActivity, at: int, run: Run) -> PageCell:
    from tcptutor.course.page_sweep import page_cell  # noqa: PLC0415

    return page_cell(activity, at, run)


def _models(activity: SweepActivity) -> tuple[CurveLine, ...]:
    from tcptutor.course import page_sweep  # noqa: PLC0415

    return page_sweep.models(activity)


def _soonest_first(todo: list[tuple[int, Experiment]]) -> list[tuple[int, Experiment]]:
    from tcptutor.course.page_sweep import order_by_first_point  # noqa: PLC0415

    return order_by_first_point(todo)


def _value_index(activity: SweepActivity, run: Run) -> int | None:
    from tcptutor.course.page_sweep import axis_index  # noqa: PLC0415

    return axis_index(activity, run.experiment)
