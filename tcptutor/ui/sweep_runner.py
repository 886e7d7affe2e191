"""Runs the missing points of a page's sweep and loads stored points."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import aclosing, contextmanager
from typing import TYPE_CHECKING

from tcptutor.base.errors import JournalError, TutorError
from tcptutor.journal import Journal
from tcptutor.run import Run
from tcptutor.runs.conduct import ConductedRun
from tcptutor.ui import background
from tcptutor.ui.live_sweep import LiveSweep
from tcptutor.wire.protocol import Ready

if TYPE_CHECKING:
    from tcptutor.backends.lab import Lab
    from tcptutor.course.activities.run import SweepActivity
    from tcptutor.course.page_sweep import CurveLine, PageCell
    from tcptutor.spec import Experiment

MAX_FILES = 60
"""Latest run files of a page searched for points of its sweep."""


class SweepRunner:
    """Execution of a sweep. Calls `moved` on progress."""

    def __init__(self, live: LiveSweep, journal: Journal, moved: Callable[[], object]) -> None:
        self._live, self._journal, self._moved = live, journal, moved
        self._experiments = list(live.remaining()) or list(live.reruns())
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
                f"the sweep failed unexpectedly ({type(error).__name__}: {error}): press r to continue"
            )
        finally:
            if other:
                await other.close()
        live.working.clear()
        live.state, live.wall_s = "ended", time.monotonic() - began

    async def _conduct(self, lab: Lab, number: int) -> Run:
        live, (at, experiment) = self._live, self._experiments[number]
        if number:
            # The second lab benefits from what the first prepares, such as a larger guest.
            await self._first.wait()
        conducted = ConductedRun(lab, experiment, self._journal.runs, self.stopped)
        live.working.add(at)
        began = False
        try:
            async with conducted:
                async for event in conducted:
                    if isinstance(event, Ready) and not began:
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


async def recall(live: LiveSweep, files: Iterable[str]) -> AsyncIterator[None]:
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
