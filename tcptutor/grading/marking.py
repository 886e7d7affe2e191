"""Marks each activity of a hand-in anew: by the page's rules, from what was given and the runs that go with it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from tcptutor.base.errors import UsageError
from tcptutor.course.activities.explore import ExploreActivity
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.run import RunActivity
from tcptutor.course.activities.shape import ShapePrediction
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.activities.sweep import SweepActivity
from tcptutor.course.activity import Activity, MarkContext, Question
from tcptutor.course.marks import MarkScheme
from tcptutor.course.model import Course, Module, Step
from tcptutor.course.overrides import same_settings
from tcptutor.course.page_record import moment
from tcptutor.grading.answers import answers
from tcptutor.grading.evidence import by_hand, honesty
from tcptutor.grading.evidence.hand_in import HandIn
from tcptutor.grading.evidence.honesty import RunChecks
from tcptutor.grading.evidence.timeline import PageTimeline, TimedResponse, TimedRun, Timeline, timeline
from tcptutor.grading.evidence.wanted import MOST_SWEPT
from tcptutor.grading.grade import ActivityMark, Grade, Outcome
from tcptutor.grading.settings import settings_problem
from tcptutor.run import Run


def grade(hand_in: HandIn, course: Course, code: str = "") -> Grade:
    """What it is worth in that course. `code`: that of the course whose students alone are graded; empty for all."""
    line = timeline(hand_in.events)
    enrolment = line.enrolment
    refused = ""
    if code and (enrolment is None or enrolment.course != code):
        where = f"in the course {enrolment.course}" if enrolment else "in no course"
        refused = f"the student is enrolled {where}, not in {code}"
    checks = RunChecks(hand_in)
    marks = [
        mark
        for module in course.modules
        for step in module.steps
        for mark in _PageMarker(module, step, line, checks, course.marks).marks()
    ]
    # Before enrolling a student has the seeds that everybody has, and equal runs are what the lab promises.
    own = {run.id for page in line.pages.values() for run in page.runs if line.enrolled_at(run.begun)}
    return Grade(
        student=enrolment.student if enrolment else "",
        course=enrolment.course if enrolment else "",
        title=course.title,
        made=hand_in.manifest.made,
        marks=tuple(marks),
        remarks=tuple(honesty.remarks(hand_in, line)),
        refused=refused,
        samples={id: digest for id, digest in checks.samples.items() if id in own},
    )


class _Finding(NamedTuple):
    """What came of one activity."""

    outcome: Outcome
    share: float = 0.0
    """Of its marks."""
    reason: str = ""
    events: tuple[int, ...] = ()
    runs: tuple[str, ...] = ()


_MISSING = _Finding("missing", reason="nothing was done")


class _PageMarker:
    """Marks the activities of one page."""

    def __init__(
        self, module: Module, step: Step, line: Timeline, checks: RunChecks, scheme: MarkScheme
    ) -> None:
        enrolment = line.enrolment
        self._shared, self._step = step, step.for_student(module.id, enrolment.identity if enrolment else "")
        self._module, self._line, self._checks, self._scheme = module, line, checks, scheme
        self._page: PageTimeline = line.page(module.id, step.id)

    def marks(self) -> Iterator[ActivityMark]:
        for activity in self._step.activities:
            of = self._scheme.worth(activity.table)
            if of is None:
                continue
            found = self._found(activity)
            given = tuple(answers(activity, self._page, self._checks))
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
                answers=given,
                measured=self._measured(activity) if isinstance(activity, Predict) and given else None,
            )

    def _found(self, activity: Activity) -> _Finding:
        match activity:
            case Question():
                return self._question(activity)
            case Predict() | ShapePrediction():
                return self._prediction(activity)
            case RunActivity():
                return self._run()
            case SweepActivity():
                return self._sweep(activity)
            case ExploreActivity():
                return self._challenge(activity)
        return self._by_hand(activity)

    def _earned(
        self, activity: Activity, given: TimedResponse, found: _Finding, wrong: Sequence[int] = ()
    ) -> _Finding:
        """What is left for a right response after the `wrong` ones, whose events these are, and after hints."""
        hints = self._page.hints_before(activity.id, given.serial)
        taken = max((hint.level for hint in hints), default=0)
        return self._scored(
            found, moment(given.at), tuple(wrong), taken, tuple(hint.serial for hint in hints)
        )

    def _scored(
        self,
        found: _Finding,
        at: datetime | None,
        wrong: tuple[int, ...] = (),
        hints: int = 0,
        shown: tuple[int, ...] = (),
        share: float = 1.0,
    ) -> _Finding:
        """With what is left of `share` of the marks, why it is not all of them, and the events that show it."""
        scheme = self._scheme
        share *= scheme.remaining_share(len(wrong), hints, at)
        if share >= 1:
            return found._replace(outcome="full", share=1.0)
        told = [found.reason] if found.reason else []
        events = found.events
        if wrong and scheme.retry < 1:
            told.append(f"right after {len(wrong)} wrong")
            events += wrong
        if hints and scheme.hint < 1:
            told.append("with a hint" if hints == 1 else f"with {hints} hints")
            events += shown
        if scheme.late < 1 and scheme.is_late(at):
            told.append("late")
        return found._replace(
            outcome="part" if share > 0 else "none",
            share=share,
            reason=", ".join(told),
            events=tuple(sorted(set(events))),
        )

    def _doubted(self, timed: TimedRun, events: tuple[int, ...]) -> _Finding | None:
        """What becomes of an activity whose run is not believed; None for a run that is."""
        checked = self._checks.check(timed)
        wrong = next(iter(checked.problems), "")
        if checked.run is not None and not wrong:
            wrong = self._not_of_page(checked.run, timed)
        if wrong:
            return _Finding("refused", reason=wrong, events=events, runs=(timed.id,))
        if checked.doubt:
            reason = f"{checked.doubt}: run it again"
            return _Finding("inconclusive", reason=reason, events=events, runs=(timed.id,))
        return None

    def _step_at(self, timed: TimedRun) -> Step:
        """The page as the student had it when that run began: before enrolling, as everybody has it."""
        enrolled = self._line.enrolled_at(timed.begun)
        return self._shared.for_student(self._module.id, enrolled.identity if enrolled else "")

    def _not_of_page(self, run: Run, timed: TimedRun) -> str:
        """Why it is none of the page's runs, or not this student's; empty when it is."""
        step = self._step_at(timed)
        if wrong := settings_problem(step, run.experiment):
            return wrong
        # Those of a sweep are compared where its runs are looked for.
        own_seed = step.experiment is not None or step.explore is not None
        return honesty.seed_problem(self._line, self._module.id, step.id, timed) if own_seed else ""

    # Questions and predictions

    def _measured(self, predict: Predict) -> float | None:
        """What was predicted, by the first run after it; None where there is none that is believed."""
        first = self._page.of(predict.id)[0]
        timed = self._page.run_after(first.serial)
        if timed is None or predict.of or self._doubted(timed, ()):
            return None
        try:
            return predict.mark(first.response.given, MarkContext(run=self._checks.check(timed).run)).measured
        except UsageError:
            return None

    def _question(self, question: Question) -> _Finding:
        wrong: list[int] = []
        last = _MISSING
        for given in self._page.of(question.id):
            last, correct = self._answer(question, given)
            if correct is None:
                continue
            if correct:
                return self._earned(question, given, last, wrong)
            wrong.append(given.serial)
        return last

    def _answer(self, question: Question, given: TimedResponse) -> tuple[_Finding, bool | None]:
        """What came of one answer, and whether it is right; None for one that does not count."""
        events = (given.serial,)
        not_own = honesty.draw_problem(
            self._line, self._module.id, self._step.id, question, self._page, given
        )
        if not_own:
            return _Finding("refused", reason=not_own, events=events), None
        timed = self._page.run_before(given.serial)
        if question.about_run and timed is None and not self._swept_before(given):
            return _Finding(
                "refused", reason="it was answered before the run it is about", events=events
            ), None
        context, runs = MarkContext(), tuple[str, ...]()
        if question.against_run:
            if timed is None:
                return _Finding(
                    "refused", reason="no whole run was there to read it off", events=events
                ), None
            runs = (timed.id,)
            if doubted := self._doubted(timed, events):
                return doubted, None
            context = MarkContext(run=self._checks.check(timed).run)
        try:
            correct = question.with_numbers(given.response.draw).mark(given.response.given, context).correct
        except UsageError as error:
            return _Finding("none", reason=f"it cannot be marked: {error}", events=events, runs=runs), None
        found = _Finding(
            "full" if correct else "none",
            reason="" if correct else "the answer is wrong",
            events=events,
            runs=runs,
        )
        return found, bool(correct)

    def _swept_before(self, given: TimedResponse) -> bool:
        sweep = self._step.sweep
        return sweep is not None and any(each.serial < given.serial for each in self._page.of(sweep.id))

    def _prediction(self, activity: Activity) -> _Finding:
        first = next(iter(self._page.of(activity.id)), None)
        if first is None:
            return _MISSING
        events = (first.serial,)
        earlier = next(
            (run for run in self._page.runs if not run.changed_from and run.begun < first.serial), None
        )
        if earlier is not None:
            return _Finding("refused", reason=f"the run {earlier.id} was begun before it", events=events)
        if first.response.given == activity.reference().empty:
            return _Finding("none", reason="it was left out", events=events)
        try:
            activity.mark(first.response.given)
        except UsageError as error:
            return _Finding("none", reason=f"it cannot be marked: {error}", events=events)
        return self._earned(activity, first, _Finding("full", events=events))

    # Runs

    def _run(self) -> _Finding:
        timed = next(reversed(self._page.whole_runs), None)
        if timed is None:
            return _Finding("missing", reason="no run of it went to its end")
        events, runs = (timed.begun, timed.ended), (timed.id,)
        if doubted := self._doubted(timed, events):
            return doubted
        return self._scored(_Finding("full", events=events, runs=runs), moment(timed.ended_at))

    def _sweep(self, sweep: SweepActivity) -> _Finding:
        cells = len(sweep.cells())
        missing = set(range(cells))
        runs: list[str] = []
        doubted: _Finding | None = None
        latest: TimedRun | None = None
        for timed in self._page.whole_runs[: -MOST_SWEPT - 1 : -1]:
            if not missing:
                break
            asked = (self._step_at(timed).sweep or sweep).cells()
            if timed.seed not in {asked[at][1].seed for at in missing} or not self._checks.there(timed):
                continue
            run = self._checks.check(timed).run
            found = next((at for at in missing if run and same_settings(asked[at][1], run.experiment)), None)
            problem = self._doubted(timed, (timed.begun, timed.ended))
            if problem is not None:
                doubted = doubted or problem
            elif found is not None:
                missing.remove(found)
                runs.append(timed.id)
                latest = latest or timed
        if latest is None:
            return doubted or _Finding("missing", reason="none of its runs went to its end")
        share = (cells - len(missing)) / cells
        if doubted is not None and doubted.outcome == "inconclusive" and missing:
            return doubted
        reason = f"{len(missing)} of its {cells} runs are missing" if missing else ""
        there = _Finding("full", reason=reason, runs=tuple(runs))
        return self._scored(there, moment(latest.ended_at), share=share)

    def _challenge(self, challenge: ExploreActivity) -> _Finding:
        given = [each for each in self._page.of(challenge.id) if each.response.correct]
        last = _Finding("none", reason="it is not reached") if self._page.of(challenge.id) else _MISSING
        for response in sorted(given, key=lambda each: each.response.value or 0.0):
            last = self._reached(challenge, response)
            if last.outcome != "refused":
                return last
        return last

    def _reached(self, challenge: ExploreActivity, given: TimedResponse) -> _Finding:
        timed, events = self._page.run_before(given.serial), (given.serial,)
        if timed is None:
            return _Finding("refused", reason="no whole run was there to judge it by", events=events)
        if doubted := self._doubted(timed, events):
            return doubted
        start = self._start(challenge, given) if challenge.needs_start_run else None
        try:
            mark = challenge.mark(
                given.response.given, MarkContext(run=self._checks.check(timed).run, start=start)
            )
        except UsageError as error:
            return _Finding("refused", reason=str(error), events=events, runs=(timed.id,))
        if not mark.correct:
            return _Finding("none", reason=mark.feedback, events=events, runs=(timed.id,))
        return self._earned(challenge, given, _Finding("full", events=events, runs=(timed.id,)))

    def _start(self, challenge: ExploreActivity, given: TimedResponse) -> Run | None:
        for timed in self._page.whole_runs[: -MOST_SWEPT - 1 : -1]:
            if timed.ended < given.serial and self._checks.there(timed):
                checked = self._checks.check(timed)
                run = checked.run
                if (
                    run
                    and not self._doubted(timed, ())
                    and not challenge.changed_knobs(challenge.values(run.experiment))
                ):
                    return run
        return None

    def _by_hand(self, activity: Activity) -> _Finding:
        given = self._page.of(activity.id)
        reached = next((each for each in given if each.response.correct), None)
        if reached is None or not isinstance(activity, ShellActivity):
            return _Finding("none", reason="not all goals were reached") if given else _MISSING
        session = self._page.session_before(activity.id, reached.serial)
        if session is None:
            reason = "nothing tells of the session it was done in"
            return _Finding("refused", reason=reason, events=(reached.serial,))
        events, runs = (session.serial, reached.serial), tuple(each.id for each in session.runs)
        problem = by_hand.problem(activity, session, self._checks)
        if problem:
            return _Finding("refused", reason=problem, events=events, runs=runs)
        if session.record.cut:
            reason = "the session was too long to be kept whole: do it again, in fewer steps"
            return _Finding("inconclusive", reason=reason, events=events, runs=runs)
        return self._earned(activity, reached, _Finding("full", events=events, runs=runs))
