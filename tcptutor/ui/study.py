"""What the student has done in one step: kept in the journal, and in memory should the journal fail."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import msgspec

from tcptutor.base.errors import JournalError, UsageError
from tcptutor.course import personal
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.sweep import SweepActivity
from tcptutor.course.activity import Activity, Mark, MarkContext, Question, Stage
from tcptutor.course.curve import MeasuredCurve
from tcptutor.course.model import Module, Step
from tcptutor.course.record import ActivityRecord, Given, PageRecord, Response
from tcptutor.course.sitting import Sitting
from tcptutor.journal import Journal
from tcptutor.run import Run

_T = TypeVar("_T")

MANY_QUESTIONS = 4
"""From so many on they are counted."""


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
    can_redraw: bool = False
    """Whether it may be asked once more, with other numbers."""
    can_withdraw: bool = False
    """Whether it is locked, and may be taken back."""
    read: str = ""
    """Where to read about it, after a wrong answer: "page 4, “Four flows”"; empty for nowhere."""


class Tally(NamedTuple):
    """How far a page of questions is."""

    done: int
    """Of them, those that are right; where marks come at the end, those that are answered."""
    total: int
    counts_right: bool
    """Whether it is the right ones."""


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
        self._unstored: set[str] = set()
        """Activities of which the journal does not have everything."""
        self.run: Run | None = None
        """The latest whole run of this page."""
        self.baseline: Run | None = None
        """Of a challenge: the latest one with none of its knobs turned."""
        self.curve: MeasuredCurve | None = None
        """What this page's sweep measured, once all of it is there."""
        self.reading = False
        """Whether that run is being read from its file."""
        self.ended = False
        """Whether the sitting is over."""
        self.record: PageRecord = self._store(lambda: self._journal.page(*self._key)) or PageRecord()
        earlier = self.record
        if sitting.afresh:
            # What was run is not put aside: it may be asked about.
            swept = {each.id: self.record.activity(each.id) for each in step.of(SweepActivity)}
            self.record = msgspec.structs.replace(self.record, activities=swept)
        self._enrolled = self._store(lambda: self._journal.record.enrolment)
        self._store(lambda: self._journal.visit(*self._key))
        self._draws: dict[str, dict[str, str]] = {}
        """The numbers that activities are asked with, by their ids, of those that draw any."""
        self._levels: dict[str, int] = {}
        """Levels of hints that were shown with these numbers, of the same."""
        for activity in step.activities:
            if activity.drawn(""):
                before = earlier.activity(activity.id)
                self._draws[activity.id] = self._draw(activity, before)
                self._levels[activity.id] = 0 if before.right or sitting.afresh else before.hints

    def record_of(self, activity: Activity) -> ActivityRecord:
        """What was done of it."""
        return self.record.activity(activity.id)

    @property
    def context(self) -> MarkContext:
        """What responses are marked against now."""
        return MarkContext(run=self.run, start=self.baseline, curve=self.curve)

    # Drawn numbers

    def posed(self, activity: Activity) -> Activity:
        """As it is asked now: with the numbers that were drawn for it."""
        return activity.posed(self._draws.get(activity.id, {}))

    def redraw(self, activity: Activity) -> Activity:
        """Ask it with other numbers; as it is asked then."""
        asked = next(each for each in self.step.activities if each.id == activity.id)
        attempts = self.record_of(activity).attempts
        self._draws[activity.id] = self._different_draw(asked, attempts, self._draws[activity.id])
        self._levels[activity.id] = 0
        return self.posed(asked)

    def can_redraw(self, activity: Activity) -> bool:
        """Whether it was answered and can be asked with other numbers."""
        response = self.response(activity) if activity.id in self._draws else None
        return response is not None and response.can_redraw

    def was_right(self, activity: Activity) -> bool:
        """Whether it was answered with other numbers than it is asked with now."""
        right = self.record_of(activity).right
        return activity.id in self._draws and right is not None and self.response(activity) is None

    def _draw(self, activity: Activity, earlier: ActivityRecord) -> dict[str, str]:
        """The numbers of before until it is right, so that a mistake can be found; then others."""
        latest = earlier.latest
        if latest is not None and not latest.correct and not self.sitting.afresh:
            with contextlib.suppress(UsageError):  # of a lesson that has been edited since
                activity.posed(latest.draw)
                return latest.draw
        return self._different_draw(activity, earlier.attempts, latest.draw if latest is not None else {})

    def _different_draw(self, activity: Activity, attempts: int, before: dict[str, str]) -> dict[str, str]:
        """Numbers that differ from those before, where a few draws find any."""
        drawn = before
        for more in range(personal.DRAWS_AGAIN):
            drawn = activity.drawn(self._seed(activity, attempts, more))
            if drawn != before:
                break
        return drawn

    def _seed(self, activity: Activity, attempts: int, more: int = 0) -> str:
        """It stays while nothing is answered, whoever turns pages meanwhile; each student has others."""
        identity = self._store(lambda: self._journal.identity) or ""
        return personal.question_seed(identity, *self._key, activity.id, attempts, more)

    # What is asked

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
        if problem := self._why_impossible(activity, given):
            raise UsageError(problem)
        mark = activity.mark(given, self.context)
        draw = self._draws.get(activity.id, {})
        response = Response(given, mark.correct, value=mark.value, draw=draw)
        record = self.record_of(activity).responded(response)
        self._change(activity, record, lambda: self._journal.respond(*self._key, activity.id, response))

    def _why_impossible(self, activity: Activity, given: Given) -> str:
        """Why nothing that the page measures can have that value; empty where it can."""
        if not isinstance(activity, Predict):
            return ""
        sweep = self.step.sweep
        measure = activity.measure if sweep is None else sweep.measure if activity.of == "at" else None
        return activity.impossible(given, measure, self.step.asked_of(activity))

    def doubt(self, activity: Activity, given: Given) -> str:
        """Why it should be asked about before it is locked; empty for no reason. Raises UsageError."""
        if problem := self._why_impossible(activity, given):
            raise UsageError(problem)
        return activity.doubt(given, self.step.asked_of(activity))

    def skip(self, activity: Activity) -> None:
        """Leave it out, for good."""
        self.respond(activity, activity.reference().empty)

    def can_withdraw(self, activity: Activity) -> bool:
        """Whether it is locked and no run has begun that answers it."""
        if not (activity.locked and self.record_of(activity).attempts and self.sitting.retries) or self.ended:
            return False
        # Runs are begun beside this study, those of a sweep and of another window as well.
        stored = self._store(lambda: self._journal.page(*self._key)) or self.record
        return not (stored.runs or self.record.runs)

    def withdraw(self, activity: Activity) -> bool:
        """Take back what was locked; return whether it was, which a run in another window may have prevented."""
        record = ActivityRecord(hints=self.record_of(activity).hints)
        self._change(activity, record, lambda: self._journal.withdraw(*self._key, activity.id))
        return not self.record_of(activity).attempts

    def response(self, activity: Activity) -> MarkedResponse | None:
        """The response that counts, with what is told of it now."""
        record = self.record_of(activity)
        response = self.sitting.counting(activity, record)
        drawn = self._draws.get(activity.id)
        if drawn is not None:
            response = record.latest if record.latest and record.latest.draw == drawn else None
        if response is None:
            return None
        mark = self._mark_now(activity, response)
        if record.latest and response.correct and not mark.correct:
            # The lesson was edited since it was right: what was given after that may be right now.
            response = record.latest
            mark = self._mark_now(activity, response)
        tells = self.sitting.tells_mark(self.ended)
        explains = self.sitting.explains(mark.correct, self.ended)
        accepts = self.sitting.accepts(activity, record, self.ended)
        return MarkedResponse(
            given=response.given,
            mark=mark if tells else None,
            explanation=activity.explanation if explains else "",
            final=not accepts or bool(tells and self.sitting.retries and mark.correct),
            read="" if mark.correct or not tells else self._page_to_read(activity),
            can_withdraw=self.can_withdraw(activity),
            can_redraw=drawn is not None and self.sitting.retries and bool(mark.correct),
        )

    def record_measured(self, activity: Activity) -> None:
        """The run has been made that what was predicted is measured by: keep what it measured, the first time."""
        record = self.record_of(activity)
        if record.measured is not None or record.first is None or record.first.value is None:
            return
        response = self.response(activity)
        if response and response.mark and (measured := response.mark.measured) is not None:
            after = record.answered(measured)
            self._change(activity, after, lambda: self._journal.answer(*self._key, activity.id, measured))

    def _page_to_read(self, activity: Activity) -> str:
        read = activity.read if isinstance(activity, Question) else ""
        pages = (
            f"page {number}, “{step.title}”"
            for number, step in enumerate(self.module.steps, 1)
            if step.id == read
        )
        return next(pages, "")

    @property
    def tally(self) -> Tally | None:
        """Of a page that only asks; None for any other, and where there is little to count."""
        questions = self.step.of(Question)
        if len(questions) < MANY_QUESTIONS or any(each.stage is Stage.RUN for each in self.step.activities):
            return None
        counts_right = self.sitting.tells_mark(self.ended)
        records = [self.record_of(question) for question in questions]
        done = [record.right if counts_right else record.latest for record in records]
        return Tally(sum(each is not None for each in done), len(questions), counts_right)

    def _mark_now(self, activity: Activity, response: Response) -> Mark:
        """What it is told now: the lesson may have been edited since it was given."""
        try:
            mark = activity.mark(response.given, self.context)
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
        shown = self.hints_shown(activity)
        return self.sitting.hints and self.reveals(activity) and shown < len(activity.hints)

    def hints_shown(self, activity: Activity) -> int:
        """The level that was shown last, from 1; with other numbers they begin again. 0 for none."""
        return self._levels.get(activity.id, self.record_of(activity).hints)

    def hint(self, activity: Activity) -> None:
        """Show one level more."""
        level = self.hints_shown(activity) + 1
        if activity.id in self._levels:
            self._levels[activity.id] = level
        record = self.record_of(activity).hinted(level)
        self._change(activity, record, lambda: self._journal.hint(*self._key, activity.id, level))

    def next_seed(self, own: int) -> int:
        """Return the seed of the page's next draw.

        Seeds count on from `own`, or in a course that grades from the student's first one. A last seed that is none of
        these draws was another student's: the draws then begin anew, as whoever grades would refuse it
        (`grading.evidence.honesty.seed_problem`).
        """
        last = self.record.last_seed
        if last is None or self.draw_number(last, own) is None:
            return self._first_seed(own)
        return (last + 1) % personal.SEEDS

    def draw_number(self, seed: int, own: int) -> int | None:
        """Return which of the page's draws has that seed, from 1; None for a seed of none of them."""
        number = (seed - self._first_seed(own)) % personal.SEEDS + 1
        return number if number <= self.record.whole_runs else None

    def _first_seed(self, own: int) -> int:
        return personal.run_seed(self._enrolled.identity, *self._key) if self._enrolled else own

    def run_files(self, step: str = "") -> Iterator[str]:
        """The files of the runs that are kept, the latest first, whole or cut short. Raises JournalError.

        `step` is another page of the module.
        """
        return self._journal.run_files(self.module.id, step or self.step.id)

    def reload(self) -> None:
        """Something of this page was recorded by another part of the program."""
        self.record = self._store(lambda: self._journal.page(*self._key)) or self.record

    def what_if_files(self) -> Iterator[tuple[str, str]]:
        """Those of the page's what-ifs, the latest first, each with that of the run before. Raises JournalError."""
        return self._journal.what_ifs(*self._key)

    def record_run(self, run: Run) -> None:
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
        self._unstored |= {activity.id} if stored is None else set()
        if stored is not None and activity.id not in self._unstored and not self.sitting.afresh:
            record = stored.activity(activity.id)
        self.record = self.record.put(activity.id, record)

    def _store(self, use: Callable[[], _T]) -> _T | None:
        try:
            result = use()
        except JournalError as error:
            self.trouble = str(error)
            return None
        # What could not be stored before may still wait.
        self.trouble = self._journal.unsaved
        return result
