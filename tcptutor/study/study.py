"""A student's work on a page, stored in the journal and mirrored in memory in case the journal fails."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import msgspec

from tcptutor.base.errors import JournalError, UsageError
from tcptutor.base.key_names import key_name
from tcptutor.course import personal
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.run_question import RunQuestion
from tcptutor.course.activity import Activity, Mark, MarkContext, Question, Stage
from tcptutor.course.measures import MeasuredCurve
from tcptutor.course.outline import Module
from tcptutor.course.page_record import ActivityRecord, Given, PageRecord, Response, Sureness
from tcptutor.course.page_references import without_links
from tcptutor.course.step import Step
from tcptutor.journal import Journal
from tcptutor.run import Run

_T = TypeVar("_T")

MIN_TALLY_QUESTIONS = 4
"""A page with at least this many questions shows a tally."""


@dataclass(frozen=True)
class MarkedResponse:
    """A response as the page shows it."""

    answer: Given
    mark: Mark
    explanation: str
    """Explanation of a right response, or of a wrong response given as sure; otherwise empty."""
    final: bool
    """True if the response can no longer change."""
    can_redraw: bool = False
    """True if the question can be posed again with new numbers."""
    can_withdraw: bool = False
    """True if the response is locked and can still be withdrawn."""
    sureness: Sureness | None = None
    """Sureness of the answer; None if not stated."""
    sure_error: str = ""
    """Explanation of an earlier wrong response given as sure, once the response is right."""
    read: str = ""
    """Where to read up after a wrong answer, e.g. "page 4, “Four flows”"; empty if no page explains it."""


class PastAnswer(NamedTuple):
    """An answer to a question, with the numbers that were asked for."""

    prompt: str
    answer: str
    is_right: bool | None
    at: str
    """ISO 8601."""


def given_answer(question: Question, response: Response) -> PastAnswer:
    """Return a response to a question in words."""
    posed: Activity = question
    with contextlib.suppress(UsageError):  # the lesson was edited since
        posed = question.with_numbers(response.draw)
    prompt = posed.prompt if isinstance(posed, Question) else question.prompt
    answer = posed.in_words(response.answer) or "skipped"
    return PastAnswer(without_links(prompt), answer, response.correct, response.at)


class QuestionProgress(NamedTuple):
    """Progress through a page of questions."""

    done: int
    """Questions answered correctly."""
    total: int


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
        self._draws: dict[str, dict[str, str]] = {}
        """The numbers drawn for each question that uses random numbers, by activity id."""
        self._hint_levels: dict[str, int] = {}
        """The highest hint level shown with the current numbers, by activity id."""
        for activity in step.activities:
            if activity.draw_numbers(""):
                before = self.record_of(activity)
                self._draws[activity.id] = self._initial_draw(activity, before)
                self._hint_levels[activity.id] = 0 if before.right else before.hints

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
        return activity.with_numbers(self._draws.get(activity.id, {}))

    def redraw(self, activity: Activity) -> Activity:
        """Draw new numbers and return the activity with them."""
        asked = next(each for each in self.step.activities if each.id == activity.id)
        attempts = self.record.all_attempts(activity.id)
        self._draws[activity.id] = self._different_draw(asked, attempts, self._draws[activity.id])
        self._hint_levels[activity.id] = 0
        return self.posed(asked)

    def can_redraw(self, activity: Activity) -> bool:
        """Return True if the activity is answered and can be posed again with new numbers."""
        response = self.response(activity) if activity.id in self._draws else None
        return response is not None and response.can_redraw

    def was_right(self, activity: Activity) -> bool:
        """Return True if an answer to other numbers was right before the lesson was edited."""
        right = self.record_of(activity).right
        return activity.id in self._draws and right is not None and self.response(activity) is None

    def _initial_draw(self, activity: Activity, earlier: ActivityRecord) -> dict[str, str]:
        """Keep the numbers of the latest answer, so that it stays readable; draw the first numbers otherwise."""
        latest = earlier.latest
        if latest is not None:
            with contextlib.suppress(UsageError):  # the lesson was edited since
                activity.with_numbers(latest.draw)
                return latest.draw
        attempts = self.record.all_attempts(activity.id)
        return self._different_draw(activity, attempts, latest.draw if latest is not None else {})

    def _different_draw(self, activity: Activity, attempts: int, before: dict[str, str]) -> dict[str, str]:
        drawn = before
        for more in range(personal.DRAWS_AGAIN):
            drawn = activity.draw_numbers(self._draw_seed(activity, attempts, more))
            if drawn != before:
                break
        return drawn

    def _draw_seed(self, activity: Activity, attempts: int, more: int = 0) -> str:
        """Return a seed that differs per student and stays the same until the next answer."""
        return personal.question_seed(self._identity, *self._key, activity.id, attempts, more)

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
        return self.reveals(activity) and self._accepts(activity) and self.record_of(activity).right is None

    def _accepts(self, activity: Activity) -> bool:
        """Return True unless the response is locked."""
        return not (activity.locked and self.record_of(activity).attempts)

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
        if not self._accepts(activity):
            raise UsageError("this response is final")
        if activity.against_run and self.run is None and self.reading:
            raise UsageError("your run is still loading: press Enter again in a moment")
        if problem := self._why_impossible(activity, given):
            raise UsageError(problem)
        mark = activity.mark(given, self.context)
        draw = self._draws.get(activity.id, {})
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
            and (latest.answer, latest.draw) == (given, self._draws.get(activity.id, {}))
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
        if self._accepts(activity):
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
        record = self.record_of(activity)
        response = record.first if activity.locked else record.right or record.latest
        drawn = self._draws.get(activity.id)
        if drawn is not None:
            response = record.latest if record.latest and record.latest.draw == drawn else None
        if response is None:
            return None
        mark = self._mark_now(activity, response)
        if record.latest and response.correct and not mark.correct:
            # The lesson was edited since the correct answer: a later response may match its new version.
            response = record.latest
            mark = self._mark_now(activity, response)
        return MarkedResponse(
            answer=response.answer,
            mark=mark,
            explanation=activity.explanation if mark.correct else _detail(response, mark),
            final=bool(mark.correct) or not self._accepts(activity),
            read="" if mark.correct else self._page_to_read(activity),
            sureness=response.sureness,
            sure_error=self._explained_error(activity, record, drawn) if mark.correct else "",
            can_withdraw=self.can_withdraw(activity),
            can_redraw=drawn is not None and bool(mark.correct),
        )

    def _explained_error(
        self, activity: Activity, record: ActivityRecord, drawn: dict[str, str] | None
    ) -> str:
        """Return the full explanation of the student's sure error with the same numbers; empty without a sure error."""
        error = record.sure_error
        if error is None or error.draw != (drawn or {}):
            return ""
        mark = self._mark_now(activity, error)
        return "" if mark.correct else f"{mark.feedback} {mark.detail}".strip()

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

    @property
    def tally(self) -> QuestionProgress | None:
        """Progress on a page without runs and with at least `MIN_TALLY_QUESTIONS` questions; otherwise None."""
        questions = self.step.activities_of(Question)
        if len(questions) < MIN_TALLY_QUESTIONS or any(
            each.stage is Stage.RUN for each in self.step.activities
        ):
            return None
        done = sum(self.record_of(question).right is not None for question in questions)
        return QuestionProgress(done, len(questions))

    def _mark_now(self, activity: Activity, response: Response) -> Mark:
        """Mark the response again, since the lesson may have been edited."""
        try:
            mark = activity.mark(response.answer, self.context)
        except UsageError:
            return Mark(correct=response.correct)
        if mark.correct == response.correct or not activity.against_run:
            return mark
        # A newer run would mark the response differently: keep the original mark.
        before = "" if response.correct else "Marked against an earlier run: answer again."
        return Mark(correct=response.correct, feedback=before)

    # Hints and runs

    def hints_left(self, activity: Activity) -> bool:
        """Return True if the activity is shown and has further hints."""
        shown = self.hints_shown(activity)
        return self.reveals(activity) and shown < len(activity.hints)

    def hints_shown(self, activity: Activity) -> int:
        """Return the highest hint level shown for the current numbers, from 1; 0 if none."""
        return self._hint_levels.get(activity.id, self.record_of(activity).hints)

    def hint(self, activity: Activity) -> None:
        """Record the next hint level as shown."""
        level = self.hints_shown(activity) + 1
        if activity.id in self._hint_levels:
            self._hint_levels[activity.id] = level
        record = self.record_of(activity).with_hints(level)
        self._commit(activity, record, lambda: self._journal.hint(*self._key, activity.id, level))

    def next_seed(self, own: int) -> int:
        """Return the seed of the page's next run.

        Seeds count up from `own`, or from the student's first seed in a graded course. If the last seed is not in
        that sequence, it belongs to an earlier enrollment, and the sequence starts over: grading would refuse any
        other seed (`grading.evidence.honesty.seed_problem`).
        """
        last = self.record.last_seed
        if last is None or self.draw_number(last, own) is None:
            return self._first_seed(own)
        return (last + 1) % personal.SEEDS

    def draw_number(self, seed: int, own: int) -> int | None:
        """Return the position of the seed in the page's sequence, from 1; None if it is not in the sequence."""
        number = (seed - self._first_seed(own)) % personal.SEEDS + 1
        return number if number <= self.record.whole_runs + self.record.earlier_runs else None

    def _first_seed(self, own: int) -> int:
        return personal.run_seed(self._enrolled.identity, *self._key) if self._enrolled else own

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


def _detail(response: Response, mark: Mark) -> str:
    """Return the further explanation of a wrong response of which the student was sure; otherwise empty."""
    return mark.detail if response.sureness == "sure" and mark.correct is False else ""
