"""A student's work on a page, stored in the journal and mirrored in memory in case the journal fails."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

import msgspec

from tcptutor.base.errors import JournalError, UsageError
from tcptutor.base.key_names import key_name
from tcptutor.course import personal
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.run_question import RunQuestion
from tcptutor.course.activity import Activity, MarkContext, Question, Stage
from tcptutor.course.measures import MeasuredCurve
from tcptutor.course.outline import Module
from tcptutor.course.page_record import ActivityRecord, Given, PageRecord, Response, Sureness
from tcptutor.course.step import Step
from tcptutor.journal import Journal
from tcptutor.run import Run
from tcptutor.study.drawn_numbers import DrawnNumbers
from tcptutor.study.marking import MarkedResponse, is_locked, marked_response
from tcptutor.study.past_answers import PastAnswer, given_answer
from tcptutor.study.run_seeds import RunSeeds

_T = TypeVar("_T")


class Study:
    """State of a page for this student; the page's widgets only draw it."""

    def __init__(self, module: Module, step: Step, journal: Journal) -> None:
        self.module, self.step = module, step
        self._journal = journal
        self._key = module.id, step.id
        self.trouble = ""
        """Reason why the last write failed; empty if everything is saved."""
        self._unstored: set[str] = set()
        """Ids of activities with records missing from the journal."""
        self.run: Run | None = None
        """The latest complete run of this page."""
        self.baseline: Run | None = None
        """The latest run of a challenge with all knobs at their initial values."""
        self.curve: MeasuredCurve | None = None
        """Result of this page's sweep, once every point has been measured."""
        self.reading = False
        stored = self._try_journal(lambda: self._journal.page(*self._key)) or PageRecord()
        self.record: PageRecord = msgspec.structs.replace(stored, visited=True)
        self._enrolled = self._try_journal(lambda: self._journal.record.enrolment)
        self._try_journal(lambda: self._journal.visit(*self._key))
        self._numbers = DrawnNumbers(self._key, lambda: self._identity)
        for activity in step.activities:
            if activity.draw_numbers(""):
                self._numbers.restore(activity, self.record)

    @property
    def is_enrolled(self) -> bool:
        """True if the student was enrolled in a course when the page was opened."""
        return self._enrolled is not None

    def record_of(self, activity: Activity) -> ActivityRecord:
        return self.record.activity(activity.id)

    @property
    def context(self) -> MarkContext:
        """Runs and curve to mark responses against."""
        return MarkContext(run=self.run, start=self.baseline, curve=self.curve)

    @property
    def is_done(self) -> bool:
        """True if every activity of the page is done."""
        return self.step.is_done(self.record)

    @property
    def note(self) -> str:
        """The student's note on the page; empty without a note, or if the journal can't be read."""
        return self._try_journal(lambda: self._journal.page(*self._key).note) or ""

    def past_answers(self) -> tuple[PastAnswer, ...]:
        """Return all answers to the page's questions, the latest first; empty if the journal can't be read."""
        questions = {each.id: each for each in self.step.activities_of(Question)}
        given = self._try_journal(lambda: list(self._journal.responses(*self._key))) or []
        return tuple(
            given_answer(questions[id], response) for id, response in reversed(given) if id in questions
        )

    # Order of choices, and drawn numbers

    def shown_order(self, activity: Activity) -> tuple[int, ...]:
        """Return the lesson-file indexes of the activity's entries in this student's order."""
        return activity.shown_order(personal.order_seed(self._identity, *self._key, activity.id))

    def posed(self, activity: Activity) -> Activity:
        """Return the activity with its drawn numbers filled in."""
        return activity.with_numbers(self._numbers.drawn(activity) or {})

    def redraw(self, activity: Activity) -> Activity:
        """Draw new numbers and return the activity with them."""
        asked = next(each for each in self.step.activities if each.id == activity.id)
        self._numbers.redraw(asked, self.record)
        return self.posed(asked)

    def can_redraw(self, activity: Activity) -> bool:
        """Return True if the activity is answered and can be posed again with new numbers."""
        response = self.response(activity) if activity in self._numbers else None
        return response is not None and response.can_redraw

    def was_right(self, activity: Activity) -> bool:
        """Return True if an answer to other numbers was right before the lesson was edited."""
        right = self.record_of(activity).right
        return activity in self._numbers and right is not None and self.response(activity) is None

    @property
    def _identity(self) -> str:
        return self._try_journal(lambda: self._journal.identity) or ""

    # Due and revealed activities

    def reveals(self, activity: Activity) -> bool:
        """Return True if the activity is shown already."""
        return not self.what_comes_first(activity)

    def what_comes_first(self, activity: Activity) -> str:
        """Return a sentence on the step that unlocks the activity; empty if the activity is shown already.

        Questions about the run follow the run. The choices of a question on a broken network name its fault, so the
        question follows the repair.
        """
        shell = self.step.shell
        if shell and shell.fault and isinstance(activity, Question) and not shell.is_done(self.record):
            return f"Asked when the goals are reached: {key_name('lesson.terminal')} opens the terminal."
        return (
            f"About your run: press {key_name('lesson.run')} first."
            if activity.about_run and not self.step.has_run(self.record)
            else ""
        )

    def is_due(self, activity: Activity) -> bool:
        """Return True if the activity still needs a response."""
        return (
            self.reveals(activity)
            and not self._is_locked(activity)
            and self.record_of(activity).right is None
        )

    def _is_locked(self, activity: Activity) -> bool:
        return is_locked(activity, self.record_of(activity))

    @property
    def due_before_run(self) -> Activity | None:
        """The activity to complete before the page's experiment may run, such as a prediction."""
        before = (activity for activity in self.step.activities if activity.stage is Stage.BEFORE_RUN)
        return next((activity for activity in before if self.is_due(activity)), None)

    @property
    def due_observation(self) -> RunQuestion | None:
        """The observation question about the run, until its first answer: the run's explanation waits for it."""
        if not self.step.has_run(self.record):
            return None
        observations = self.step.activities_of(RunQuestion)
        return next((each for each in observations if not self.record_of(each).attempts), None)

    # Responses

    def respond(self, activity: Activity, given: Given, sureness: Sureness | None = None) -> None:
        """Mark a response and record it.

        Args:
            activity: The activity as posed.
            given: The response.
            sureness: How sure the student is; None if the student did not say.

        Raises:
            UsageError: if the response cannot be marked. It then does not count as an attempt.
        """
        if sentence := self.what_comes_first(activity):
            raise UsageError(sentence)
        if self._is_locked(activity):
            raise UsageError("this response is final")
        if activity.against_run and self.run is None and self.reading:
            raise UsageError("your run is still loading: press Enter again in a moment")
        if problem := self._why_impossible(activity, given):
            raise UsageError(problem)
        mark = activity.mark(given, self.context)
        draw = self._numbers.drawn(activity) or {}
        if mark.correct is False and self.was_given_wrong(activity, given):
            raise UsageError("this answer was wrong before, and does not count again: change it first")
        response = Response(given, mark.correct, value=mark.value, draw=draw, sureness=sureness)
        record = self.record_of(activity).with_response(response)
        self._commit(activity, record, lambda: self._journal.respond(*self._key, activity.id, response))

    def was_given_wrong(self, activity: Activity, given: Given) -> bool:
        """Return True if the response repeats the latest response, which was wrong, with the same numbers.

        The student pressed Enter again or resent the question: no second attempt.
        """
        latest = self.record_of(activity).latest
        return (
            isinstance(activity, Question)
            and latest is not None
            and latest.correct is False
            and (latest.answer, latest.draw) == (given, self._numbers.drawn(activity) or {})
        )

    def _why_impossible(self, activity: Activity, given: Given) -> str:
        """Return why the page's measure cannot take this value; empty if it can."""
        if not isinstance(activity, Predict):
            return ""
        sweep = self.step.sweep
        measure = activity.measure if sweep is None else sweep.measure if activity.at else None
        return activity.impossible(given, measure, self.step.predicted_experiment(activity))

    def doubt(self, activity: Activity, given: Given) -> str:
        """Return why to ask the student for confirmation before locking the response; empty if it is plausible.

        Raises:
            UsageError: if the page's measure cannot take this value.
        """
        if problem := self._why_impossible(activity, given):
            raise UsageError(problem)
        return activity.doubt(given, self.step.predicted_experiment(activity))

    def skip(self, activity: Activity) -> None:
        """Record an empty response, which is final."""
        self.respond(activity, activity.reference().empty)

    def can_withdraw(self, activity: Activity) -> bool:
        """Return True if the response is locked and no run has started since."""
        if not self._is_locked(activity):
            return False
        # Other windows and sweeps start runs that this object has not seen.
        stored = self._try_journal(lambda: self._journal.page(*self._key)) or self.record
        return not (stored.runs or self.record.runs)

    def withdraw(self, activity: Activity) -> bool:
        """Withdraw a locked response; return False if a run from a second window has made it final."""
        record = ActivityRecord(hints=self.record_of(activity).hints)
        self._commit(activity, record, lambda: self._journal.withdraw(*self._key, activity.id))
        return not self.record_of(activity).attempts

    def response(self, activity: Activity) -> MarkedResponse | None:
        """Return the response that counts, with the feedback to show now."""
        record, drawn = self.record_of(activity), self._numbers.drawn(activity)
        marked = marked_response(activity, record, drawn, self.context)
        if marked is None:
            return None
        return replace(
            marked,
            read="" if marked.mark.correct else self._page_to_read(activity),
            can_withdraw=self.can_withdraw(activity),
        )

    def record_measured(self, activity: Activity) -> None:
        """Record the measured value for a prediction, once its run is complete. Later runs do not change it."""
        record = self.record_of(activity)
        if record.measured is not None or record.first is None or record.first.value is None:
            return
        response = self.response(activity)
        if response and (measured := response.mark.measured) is not None:
            after = record.with_measurement(measured)
            self._commit(
                activity, after, lambda: self._journal.record_measurement(*self._key, activity.id, measured)
            )

    def _page_to_read(self, activity: Activity) -> str:
        read = activity.page if isinstance(activity, Question) else ""
        pages = (
            f"page {number}, “{step.title}”"
            for number, step in enumerate(self.module.steps, 1)
            if step.id == read
        )
        return next(pages, "")

    # Hints and runs

    def hints_left(self, activity: Activity) -> bool:
        """Return True if the activity is shown and has further hints."""
        shown = self.hints_shown(activity)
        return self.reveals(activity) and shown < len(activity.hints)

    def hints_shown(self, activity: Activity) -> int:
        """Return the highest hint level shown for the current numbers, from 1; 0 if none."""
        level = self._numbers.hint_level(activity)
        return self.record_of(activity).hints if level is None else level

    def hint(self, activity: Activity) -> None:
        """Record the next hint level as shown."""
        level = self.hints_shown(activity) + 1
        self._numbers.record_hint(activity, level)
        record = self.record_of(activity).with_hints(level)
        self._commit(activity, record, lambda: self._journal.hint(*self._key, activity.id, level))

    def run_seeds(self, own: int) -> RunSeeds:
        """Return the seeds of the page's runs: from `own`, or from the student's first seed in a graded course."""
        first = personal.run_seed(self._enrolled.identity, *self._key) if self._enrolled else own
        return RunSeeds(first, self.record)

    def run_files(self, step: str = "") -> Iterator[str]:
        """Iterate over the files of complete and aborted runs, latest first.

        Args:
            step: another page of the module; by default this page.

        Raises:
            JournalError: if the journal cannot be read.
        """
        return self._journal.run_files(self.module.id, step or self.step.id)

    def reload(self) -> None:
        """Reload the record, after other parts of the program have written to the journal."""
        self.record = self._try_journal(lambda: self._journal.page(*self._key)) or self.record

    def what_if_files(self) -> Iterator[tuple[str, str]]:
        """Iterate over (changed run's file, base run's file) pairs, latest first.

        Raises:
            JournalError: if the journal cannot be read.
        """
        return self._journal.what_ifs(*self._key)

    def record_run(self, run: Run) -> None:
        """Record that a run of this page has ended."""
        begun = msgspec.structs.replace(self.record, runs=self.record.runs + 1)
        self.record = begun.with_run(run.complete, run.experiment.seed)
        if run.complete:
            self.run = run

    def _commit(self, activity: Activity, record: ActivityRecord, store: Callable[[], PageRecord]) -> None:
        """Write to the journal, then use its version: a second window may have locked a response first."""
        stored = self._try_journal(store)
        # Unwritten changes exist only in memory.
        self._unstored |= {activity.id} if stored is None else set()
        if stored is not None and activity.id not in self._unstored:
            record = stored.activity(activity.id)
        self.record = self.record.with_activity(activity.id, record)

    def _try_journal(self, use: Callable[[], _T]) -> _T | None:
        try:
            result = use()
        except JournalError as error:
            self.trouble = str(error)
            return None
        # Earlier failed writes may still be waiting.
        self.trouble = self._journal.unsaved
        return result
