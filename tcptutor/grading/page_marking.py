"""Marks each activity of a page by its rules, from the responses and the runs behind them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from itertools import islice

from tcptutor.analysis import total_throughput
from tcptutor.base.errors import UsageError
from tcptutor.course import personal
from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.activities.predict import Predict, ShapePrediction
from tcptutor.course.activities.run import RunActivity, SweepActivity
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.activity import Activity, Mark, MarkContext, Question
from tcptutor.course.experiments import same_settings
from tcptutor.course.marks import MarkScheme
from tcptutor.course.measures import MeasuredCurve, measured
from tcptutor.course.outline import Module
from tcptutor.course.page_record import moment
from tcptutor.course.page_sweep import curve_of
from tcptutor.course.step import Step
from tcptutor.grading.evidence import honesty
from tcptutor.grading.evidence.collect import MOST_SWEPT
from tcptutor.grading.evidence.honesty import RunChecks
from tcptutor.grading.evidence.ownership import Ownership
from tcptutor.grading.evidence.pace import answer_seconds
from tcptutor.grading.evidence.timeline import PageTimeline, TimedResponse, TimedRun, Timeline
from tcptutor.grading.grade import ActivityMark, given_answers
from tcptutor.grading.scoring import MISSING, NOT_TRUSTED, Score, Scorer, best_of, unmarkable
from tcptutor.run import Run


class PageMarker:
    """Marks the activities of a page."""

    def __init__(
        self,
        module: Module,
        step: Step,
        line: Timeline,
        checks: RunChecks,
        scheme: MarkScheme,
        ownership: Ownership,
        foreign_share: float,
    ) -> None:
        """Mark a page.

        Args:
            module: The module of the page.
            step: The page outside graded courses.
            line: All actions of the student.
            checks: Checks the runs.
            scheme: The course's marks.
            ownership: Attributes work to enrollments.
            foreign_share: Factor for all other personal work.
        """
        enrolment = line.enrolment
        self._shared, self._step = step, step.for_student(module.id, enrolment.identity if enrolment else "")
        self._module, self._line, self._checks, self._scheme = module, line, checks, scheme
        self._page: PageTimeline = line.page(module.id, step.id)
        self._ownership = ownership
        self._scorer = Scorer(scheme, self._page, ownership, foreign_share)
        self._marked: dict[int, Mark] = {}
        """Marks of responses, by their serials."""
        self._curves: dict[tuple[str, ...], MeasuredCurve | None] = {}
        """Results of the sweep, by the ids of its runs."""

    def marks(self) -> Iterator[ActivityMark]:
        for activity in self._step.activities:
            of = self._scheme.worth(activity.table)
            if of is None:
                continue
            found = self._mark(activity)
            order_at = partial(self._order_at, activity)
            given = tuple(given_answers(activity, self._page, self._mark_response, order_at))
            yield ActivityMark(
                module=self._module.id,
                page=self._step.id,
                title=self._step.title,
                activity=activity.id,
                kind=activity.table,
                marks=of * found.share,
                of=of,
                outcome=found.outcome,
                reason=found.reason,
                events=found.events,
                runs=found.runs,
                distrusted=found.distrusted,
                at=found.at,
                answers=given,
                measured=self._measured_value(activity) if isinstance(activity, Predict) and given else None,
                hints=max(
                    (each.level for each in self._page.hints if each.activity == activity.id), default=0
                ),
                seconds=answer_seconds(self._page, activity.id),
            )

    def _order_at(self, activity: Activity, serial: int) -> tuple[int, ...]:
        identity = self._line.identity_at(serial)
        return activity.shown_order(
            personal.order_seed(identity, self._module.id, self._step.id, activity.id)
        )

    def _mark(self, activity: Activity) -> Score:
        match activity:
            case Question():
                return self._mark_question(activity)
            case Predict() | ShapePrediction():
                return self._mark_prediction(activity)
            case RunActivity():
                return self._mark_run()
            case SweepActivity():
                return self._mark_sweep(activity)
            case ChallengeActivity():
                return self._mark_challenge(activity)
        return self._mark_session(activity)

    def _distrust(self, timed: TimedRun, events: tuple[int, ...]) -> Score | None:
        """Return the score of a run that is not trusted; None for a trusted run."""
        checked = self._checks.check(timed)
        wrong = next(iter(checked.problems), "")
        if checked.run is not None and not wrong:
            wrong = self._ownership_problem(checked.run, timed)
        if wrong:
            return Score("refused", reason=wrong, events=events, runs=(timed.id,), at=timed.ended_at)
        if checked.doubt:
            reason = f"{checked.doubt}: run it again"
            return Score("inconclusive", reason=reason, events=events, runs=(timed.id,), at=timed.ended_at)
        return None

    def _step_at(self, timed: TimedRun) -> Step:
        """Return the page as the student had it when the run began; shared before enrolling."""
        enrolled = self._line.enrolled_at(timed.begun)
        return self._shared.for_student(self._module.id, enrolled.identity if enrolled else "")

    def _ownership_problem(self, run: Run, timed: TimedRun) -> str:
        """Return why the run is not of this page or student; empty when it is."""
        step = self._step_at(timed)
        if wrong := honesty.settings_problem(step, run.experiment):
            return wrong
        # _mark_sweep compares the seeds of a sweep.
        own_seed = step.experiment is not None or step.challenge is not None
        return honesty.seed_problem(self._line, self._module.id, step.id, timed) if own_seed else ""

    # Questions and predictions

    def _measured_value(self, predict: Predict) -> float | None:
        """Return the predicted quantity as the first trusted run after the prediction measured it."""
        first = self._page.responses_to(predict.id)[0]
        if self._step.sweep is not None:
            return self._swept_value(self._step.sweep, predict)
        timed = self._page.run_after(first.serial)
        if timed is None or predict.about_curve or self._distrust(timed, ()):
            return None
        with suppress(UsageError):
            run = self._checks.check(timed).run
            if run is None or predict.mark(first.response.answer).value is None:
                return None
            # A throughput counts UDP too.
            is_rate = predict.measure == "throughput"
            return (total_throughput(run) if is_rate else measured(predict.measure, run)) or None
        return None

    def _swept_value(self, sweep: SweepActivity, predict: Predict) -> float | None:
        """Return the predicted quantity as the trusted runs of the sweep measured it; None for a knee."""
        runs = (each for each in self._page.runs if self._checks.has_file(each))
        trusted = (self._checks.check(each).run for each in runs if not self._distrust(each, ()))
        curve = curve_of(sweep, filter(None, trusted)) if predict.at else None
        return (curve.mean_at(predict.at) or None) if curve else None

    def _mark_question(self, question: Question) -> Score:
        knew = self._page.order.knew
        wrong: list[int] = []
        right: list[tuple[int, Score]] = []
        last = MISSING
        for given in self._page.responses_to(question.id):
            # After enrolling, a question may be answered again with the student's own numbers.
            if any(knew(given.serial, serial) and self._ownership.is_own(serial) for serial, _ in right):
                continue
            last, correct = self._mark_answer(question, given)
            if correct:
                known = [serial for serial in wrong if knew(given.serial, serial)]
                right.append((given.serial, self._scorer.score_response(question, given, last, known)))
            elif correct is not None:
                wrong.append(given.serial)
        return best_of([found for _, found in right]) if right else last

    def _mark_answer(self, question: Question, given: TimedResponse) -> tuple[Score, bool | None]:
        """Return the score of an answer, and whether it is right; None for an answer that does not count."""
        read_off = question.against_run and self._step.sweep is None
        timed = self._page.run_before(given.serial) if read_off else None
        found = Score("none", events=(given.serial,), runs=(timed.id,) if timed else ())
        problem = self._evidence_problem(question, given)
        # A doubted run may excuse a right answer: a wrong answer does not even fit the doubted run.
        if problem is not None and problem.outcome != "inconclusive":
            return problem, None
        try:
            correct = self._mark_response(question.with_numbers(given.response.draw), given).correct
        except UsageError as error:
            return unmarkable(found, error), None
        if correct is False:
            return found._replace(reason="the answer is wrong"), False
        if correct and problem is None:
            return found._replace(outcome="full"), True
        if not given.response.answer:
            return found._replace(reason="it was skipped"), None
        no_fit = found._replace(outcome="inconclusive", reason="no answer fits the run")
        return problem or no_fit, None

    def _evidence_problem(self, question: Question, given: TimedResponse) -> Score | None:
        """Return the score of an answer with other numbers, or without a trusted run; None if all is well."""
        refused = Score("refused", events=(given.serial,))
        not_own = honesty.draw_problem(
            self._line, self._module.id, self._step.id, question, self._page, given
        )
        if not_own:
            return refused._replace(reason=not_own)
        timed = self._page.run_before(given.serial)
        if question.about_run and timed is None and not self._swept_before(given):
            return refused._replace(reason="it was answered before the run it is about")
        if not question.against_run or self._step.sweep is not None:
            return None
        if timed is None:
            return refused._replace(reason="no whole run was there to read it off")
        return self._distrust(timed, refused.events)

    def _mark_response(self, posed: Activity, given: TimedResponse) -> Mark:
        """Mark a response once. Raises UsageError."""
        found = self._marked.get(given.serial)
        if found is None:
            is_read_off = isinstance(posed, Question) and posed.against_run
            context = self._context(given) if is_read_off else MarkContext()
            found = self._marked[given.serial] = posed.mark(given.response.answer, context)
        return found

    def _context(self, given: TimedResponse) -> MarkContext:
        """Return the run or sweep that the student had when answering, however far it is trusted."""
        sweep = self._step.sweep
        if sweep is not None:
            return MarkContext(curve=self._curve(sweep, given))
        timed = self._page.run_before(given.serial)
        return MarkContext(run=self._checks.check(timed).run if timed else None)

    def _curve(self, sweep: SweepActivity, given: TimedResponse) -> MeasuredCurve | None:
        """Return the sweep as measured by the trusted runs before an answer; None without any."""
        before = [run for run in self._page.runs_before(given.serial) if self._checks.has_file(run)][::-1]
        ids = tuple(timed.id for timed in before)
        if ids not in self._curves:
            trusted = (self._checks.check(timed).run for timed in before if not self._distrust(timed, ()))
            self._curves[ids] = curve_of(sweep, filter(None, trusted))
        return self._curves[ids]

    def _swept_before(self, given: TimedResponse) -> bool:
        sweep = self._step.sweep
        return sweep is not None and any(
            each.serial < given.serial for each in self._page.responses_to(sweep.id)
        )

    def _mark_prediction(self, activity: Activity) -> Score:
        firsts = self._page.firsts(self._page.responses_to(activity.id))
        return best_of(self._mark_first(activity, first) for first in firsts)

    def _mark_first(self, activity: Activity, first: TimedResponse) -> Score:
        events = (first.serial,)
        earlier = next(
            (
                run
                for run in self._page.runs
                if not run.changed_from and self._page.order.knew(first.serial, run.begun)
            ),
            None,
        )
        if earlier is not None:
            return Score("refused", reason=f"the run {earlier.id} was begun before it", events=events)
        if first.response.answer == activity.reference().empty:
            return Score("none", reason="it was left out", events=events)
        try:
            activity.mark(first.response.answer)
        except UsageError as error:
            return unmarkable(Score("none", events=events), error)
        return self._scorer.score_response(activity, first, Score("full", events=events))

    # Runs

    def _mark_run(self) -> Score:
        without = Score("missing", reason="no run of it went to its end")
        return best_of(map(self._mark_complete_run, self._page.tried_runs), without)

    def _mark_complete_run(self, timed: TimedRun) -> Score:
        events, runs = (timed.begun, timed.ended), (timed.id,)
        if distrusted := self._distrust(timed, events):
            return distrusted
        return self._scorer.score(Score("full", events=events, runs=runs), moment(timed.ended_at))

    def _mark_sweep(self, sweep: SweepActivity) -> Score:
        number = len(sweep.cells())
        best: dict[int | None, Score] = {}
        for timed in self._page.complete_runs[-MOST_SWEPT:]:
            expected = (self._step_at(timed).sweep or sweep).cells()
            wanted = [at for at in range(number) if at not in best or best[at].outcome != "full"]
            if not self._checks.has_file(timed) or timed.seed not in {expected[at][1].seed for at in wanted}:
                continue
            run = self._checks.check(timed).run
            cell = next((at for at in wanted if run and same_settings(expected[at][1], run.experiment)), None)
            found = self._mark_complete_run(timed)
            if cell is not None or found.outcome in NOT_TRUSTED:
                best[cell] = best_of([best.get(cell, found), found])
        unplaced = best.pop(None, None)
        good = [found for found in best.values() if found.outcome not in NOT_TRUSTED]
        doubted = [found for found in best.values() if found.outcome in NOT_TRUSTED]
        if not good:
            without = Score("missing", reason="none of its runs went to its end")
            return best_of(doubted, unplaced or without)
        share = sum(found.share for found in good) / number
        reasons = [found.reason for found in good if found.reason]
        if doubted:
            reasons.append(f"{_some(len(doubted), number)} not trusted: {doubted[0].reason}")
        if missing := number - len(best):
            why = f": {unplaced.reason}" if unplaced else ""
            reasons.append(f"{_some(missing, number)} missing{why}")
        return Score(
            "full" if share >= 1 else "part" if share > 0 else "none",
            share=share,
            reason=", ".join(dict.fromkeys(reasons)),
            runs=tuple(id for found in good for id in found.runs),
            distrusted=tuple(id for found in (*doubted, *filter(None, [unplaced])) for id in found.runs),
            at=max(found.at for found in good),
        )

    def _mark_challenge(self, challenge: ChallengeActivity) -> Score:
        given = self._page.responses_to(challenge.id)
        right = self._page.right_responses(challenge.id)
        without = Score("none", reason="it is not reached") if given else MISSING
        return best_of((self._judge_challenge(challenge, response) for response in right), without)

    def _judge_challenge(self, challenge: ChallengeActivity, given: TimedResponse) -> Score:
        timed, events = self._page.run_before(given.serial), (given.serial,)
        if timed is None:
            return Score("refused", reason="no whole run was there to judge it by", events=events)
        # The app accepts no solution whose run is doubted, and neither does `challenge.mark`.
        distrusted = self._distrust(timed, events)
        if distrusted is not None and distrusted.outcome != "inconclusive":
            return distrusted
        start = self._start_run(challenge, given) if challenge.needs_start_run else None
        try:
            mark = challenge.mark(
                given.response.answer, MarkContext(run=self._checks.check(timed).run, start=start)
            )
        except UsageError as error:
            return Score("refused", reason=str(error), events=events, runs=(timed.id,))
        if not mark.correct:
            return Score("none", reason=mark.feedback, events=events, runs=(timed.id,))
        return self._scorer.score_response(challenge, given, Score("full", events=events, runs=(timed.id,)))

    def _start_run(self, challenge: ChallengeActivity, given: TimedResponse) -> Run | None:
        for timed in islice(self._page.runs_before(given.serial), MOST_SWEPT):
            if self._checks.has_file(timed):
                checked = self._checks.check(timed)
                run = checked.run
                if (
                    run
                    and not self._distrust(timed, ())
                    and not challenge.changed_knobs(challenge.values(run.experiment))
                ):
                    return run
        return None

    def _mark_session(self, activity: Activity) -> Score:
        given = self._page.responses_to(activity.id)
        reached = self._page.right_responses(activity.id)
        if not reached or not isinstance(activity, ShellActivity):
            return Score("none", reason="not all goals were reached") if given else MISSING
        return best_of(self._mark_reached(activity, each) for each in reached)

    def _mark_reached(self, activity: ShellActivity, reached: TimedResponse) -> Score:
        session = self._page.session_before(activity.id, reached.serial)
        if session is None:
            reason = "nothing tells of the session it was done in"
            return Score("refused", reason=reason, events=(reached.serial,))
        events, runs = (session.serial, reached.serial), tuple(each.id for each in session.runs)
        problem = honesty.session_problem(activity, session, self._checks)
        if problem:
            return Score("refused", reason=problem, events=events, runs=runs)
        if session.record.truncated:
            reason = "the session was too long to be kept whole: do it again, in fewer steps"
            return Score("inconclusive", reason=reason, events=events, runs=runs)
        return self._scorer.score_response(activity, reached, Score("full", events=events, runs=runs))


def _some(number: int, of: int) -> str:
    return f"{number} of its {of} runs {'is' if number == 1 else 'are'}"
