"""What the student has done in one step: kept in the journal, and in memory should the journal fail."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

import msgspec

from tcptutor.course.activities.sweep import SweepActivity
from tcptutor.course.activity import Activity, Mark, MarkContext, Stage
from tcptutor.course.curve import MeasuredCurve
from tcptutor.course.model import Module, Step
from tcptutor.course.record import ActivityRecord, Given, PageRecord, Response
from tcptutor.course.sitting import Sitting
from tcptutor.errors import JournalError, UsageError
from tcptutor.journal import Journal
from tcptutor.run import Run

_T = TypeVar("_T")

SEEDS = 2**32
"""Seeds are from 0 to below it."""


@dataclass(frozen=True)
class MarkedResponse:
    """A response as it stands on the page."""

    given: Given
    mark: Mark | None
    """None while the sitting does not tell."""
    explanation: str
    """Empty while there is none to show."""
    final: bool
    """Whether it stays as it is."""


class Study:
    """One step, as this student does it. Owns the state that the page's widgets only draw."""

    def __init__(
        self, module: Module, step: Step, journal: Journal, sitting: Sitting = Sitting.LEARN
    ) -> None:
        self.module, self.step, self.sitting = module, step, sitting
        self._journal = journal
        self._key = module.id, step.id
        self.trouble = ""
        """Why the last thing could not be stored; empty when all is saved."""
        self._alone: set[str] = set()
        """Activities of which the journal does not have everything."""
        self.run: Run | None = None
        """The latest whole run of this page."""
        self.curve: MeasuredCurve | None = None
        """What this page's sweep measured, once all of it is there."""
        self.reading = False
        """Whether that run is being read from its file."""
        self.ended = False
        """Whether the sitting is over."""
        self.record: PageRecord = self._store(lambda: self._journal.page(*self._key)) or PageRecord()
        if sitting.afresh:
            # What was run is not put aside: it may be asked about.
            swept = {each.id: self.record.activity(each.id) for each in step.of(SweepActivity)}
            self.record = msgspec.structs.replace(self.record, activities=swept)
        self._store(lambda: self._journal.visit(*self._key))

    def record_of(self, activity: Activity) -> ActivityRecord:
        """What was done of it."""
        return self.record.activity(activity.id)

    def reveals(self, activity: Activity) -> bool:
        """Whether it is asked yet."""
        return self.sitting.reveals(activity, self.step.has_run(self.record))

    def is_due(self, activity: Activity) -> bool:
        """Whether a response is wanted now."""
        return self.reveals(activity) and self.sitting.is_due(activity, self.record_of(activity), self.ended)

    @property
    def due_before_run(self) -> Activity | None:
        """What is to be done before the page's experiment may be run, such as the prediction."""
        before = (activity for activity in self.step.activities if activity.stage is Stage.BEFORE_RUN)
        return next((activity for activity in before if self.is_due(activity)), None)

    # Responses

    def respond(self, activity: Activity, given: Given) -> None:
        """Mark a response and record it. Raises UsageError for one that cannot be marked: it is no attempt."""
        if not self.reveals(activity):
            raise UsageError("this is about your run: r runs it first")
        if not self.sitting.accepts(activity, self.record_of(activity), self.ended):
            raise UsageError("this stays as it is")
        if activity.against_run and self.run is None and self.reading:
            raise UsageError("your run is still being read: press Enter again in a moment")
        mark = activity.mark(given, MarkContext(run=self.run, curve=self.curve))
        response = Response(given, mark.correct, value=mark.value)
        record = self.record_of(activity).responded(response)
        self._change(activity, record, lambda: self._journal.respond(*self._key, activity.id, response))

    def doubt(self, activity: Activity, given: Given) -> str:
        """Why it should be asked about before it is locked; empty for no reason. Raises UsageError."""
        return activity.doubt(given, next(iter(self.step.experiments), None))

    def skip(self, activity: Activity) -> None:
        """Leave it out, for good."""
        self.respond(activity, activity.reference().empty)

    def response(self, activity: Activity) -> MarkedResponse | None:
        """The response that counts, with what is told of it now."""
        record = self.record_of(activity)
        response = self.sitting.counting(activity, record)
        if response is None:
            return None
        mark = self._marked(activity, response)
        if record.latest and response.correct and not mark.correct:
            # The lesson was edited since it was right: what was given after that may be right now.
            response = record.latest
            mark = self._marked(activity, response)
        tells = self.sitting.tells_mark(self.ended)
        explains = self.sitting.explains(mark.correct, self.ended)
        accepts = self.sitting.accepts(activity, record, self.ended)
        return MarkedResponse(
            given=response.given,
            mark=mark if tells else None,
            explanation=activity.explanation if explains else "",
            final=not accepts or bool(tells and self.sitting.retries and mark.correct),
        )

    def _marked(self, activity: Activity, response: Response) -> Mark:
        """What it is told now: the lesson may have been edited since it was given."""
        try:
            mark = activity.mark(response.given, MarkContext(run=self.run, curve=self.curve))
        except UsageError:
            return Mark(correct=response.correct)
        if mark.correct == response.correct or not activity.against_run:
            return mark
        # Another run has been made since: the mark that was given of the one before stays.
        before = "" if response.correct else "That was marked against an earlier run: answer again."
        return Mark(correct=response.correct, feedback=before)

    # Hints, runs, the end

    def hints_left(self, activity: Activity) -> bool:
        """Whether a level is left to show."""
        shown = self.record_of(activity).hints
        return self.sitting.hints and self.reveals(activity) and shown < len(activity.hints)

    def hint(self, activity: Activity) -> None:
        """Show one level more."""
        level = self.record_of(activity).hints + 1
        record = self.record_of(activity).hinted(level)
        self._change(activity, record, lambda: self._journal.hint(*self._key, activity.id, level))

    def next_seed(self, own: int) -> int:
        """That of the next draw: the experiment's own for the page's first whole run, then the one after the last."""
        last = self.record.last_seed
        return own if last is None else max(own, last + 1) % SEEDS

    def run_files(self, step: str = "") -> Iterator[str]:
        """The files of the runs that are kept, the latest first, whole or cut short. Raises JournalError.

        `step` is another page of the module.
        """
        return self._journal.run_files(self.module.id, step or self.step.id)

    def ran(self, run: Run) -> None:
        """A run of this page has ended."""
        begun = msgspec.structs.replace(self.record, runs=self.record.runs + 1)
        self.record = begun.ran(run.complete, run.experiment.seed)
        if run.complete:
            self.run = run

    def end(self) -> None:
        """The sitting is over: what it had not told is told now."""
        self.ended = True

    def _change(self, activity: Activity, record: ActivityRecord, store: Callable[[], PageRecord]) -> None:
        """Store it, and go on with what the journal has then: another window may have locked something before."""
        stored = self._store(store)
        # What could not be stored is here alone.
        self._alone |= {activity.id} if stored is None else set()
        if stored is not None and activity.id not in self._alone and not self.sitting.afresh:
            record = stored.activity(activity.id)
        self.record = self.record.put(activity.id, record)

    def _store(self, use: Callable[[], _T]) -> _T | None:
        try:
            result = use()
        except JournalError as error:
            self.trouble = str(error)
            return None
        self.trouble = ""
        return result
