"""The runner of a page's run: conducts it, keeps its live view current, and records it in the journal."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator

from tcptutor.base.errors import JournalError, TutorError
from tcptutor.base.key_names import key_name
from tcptutor.journal import Journal
from tcptutor.run import Environment
from tcptutor.runs.conduct import ConductedRun
from tcptutor.study import background
from tcptutor.study.live import Live
from tcptutor.study.own_course import enrolled_meanwhile, enrolment_in
from tcptutor.wire.protocol import Event, Phase, Ready, Samples


class RunRunner:
    """Execution of a run. Calls `moved` on progress."""

    def __init__(
        self, live: Live, conducted: ConductedRun, journal: Journal, moved: Callable[[], object]
    ) -> None:
        self._live, self._conducted, self._journal, self._moved = live, conducted, journal, moved
        self._enrolment = enrolment_in(journal)
        """Enrollment for which the seed of the run was chosen."""
        self.ready_handler: Callable[[Environment], object] = lambda _: None
        """Called with the environment that the lab chose for the run."""

    async def run(self, warm: Callable[[], Awaitable[object]]) -> None:
        """Conduct the run to its end and compute its report; `warm` starts the lab. Never raises."""
        live, conducted = self._live, self._conducted
        try:
            async with conducted:
                await self._follow(warm)
        except asyncio.CancelledError:
            pass  # stopped by the student
        except TutorError as error:
            live.problem = str(error)
        live.unsaved = live.unsaved or conducted.unsaved or conducted.packets_unsaved
        await self._finish()

    async def _follow(self, warm: Callable[[], Awaitable[object]]) -> None:
        """Follow the run's events.

        Raises:
            TutorError: for any failure. A bug here must not close the student's page.
        """
        try:
            await warm()
            self._live.expectation = await background.expectation(self._live.run.experiment)
            rates = background.Rates()
            async for event in self._conducted:
                self._take_event(rates, event)
        except TutorError:
            raise
        except Exception as error:
            raise TutorError(
                f"the run failed unexpectedly ({type(error).__name__}: {error}): "
                f"press {key_name('lesson.run')} to try again"
            ) from error

    def _take_event(self, rates: background.Rates, event: Event) -> None:
        live = self._live
        match event:
            case Ready(environment=environment):
                self.ready_handler(environment)
                if live.state == "starting":  # a replay sends Ready twice
                    self._begin()
            case Phase(text=text):
                live.phase = text
            case Samples(rows=rows):
                live.rates = rates.add(rows)
            case _:
                pass
        self._moved()

    def _begin(self) -> None:
        """Record the start of the run.

        Raises:
            TutorError: if the student has enrolled since the seed was chosen.
        """
        live = self._live
        is_of_page = bool(live.step) and live.changed_from is None  # others have no seed of the student's
        if is_of_page and enrolment_in(self._journal) != self._enrolment:
            raise TutorError(enrolled_meanwhile())
        live.state = "running"
        with self._record_journal_failure():
            base = live.changed_from.id if live.changed_from else ""
            self._journal.begin_run(live.run, live.module, live.step, base)

    async def _finish(self) -> None:
        live, conducted = self._live, self._conducted
        began = live.state == "running"
        live.state, live.phase = "ended", ""
        if began and conducted.unsaved:
            # Retry until the app ends; after that the next start recovers the run from its partial file.
            self._journal.finish_run_later(live.run, conducted.unsaved, self._clear_unsaved)
        elif began:
            with self._record_journal_failure():
                self._journal.finish_run(live.run, conducted.file)
        with contextlib.suppress(
            asyncio.CancelledError
        ):  # the app is closing: the report can be computed later
            live.report = await background.report(live.run)

    def _clear_unsaved(self) -> None:
        self._live.unsaved = ""
        self._moved()

    @contextlib.contextmanager
    def _record_journal_failure(self) -> Iterator[None]:
        try:
            yield
        except JournalError as error:
            self._live.unsaved = str(error)
