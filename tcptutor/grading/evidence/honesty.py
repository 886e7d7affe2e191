"""Checks that a hand-in's runs belong to its journal, its numbers to its student, and its goals to its sessions."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from tcptutor import spec
from tcptutor.base.errors import ParameterError, TutorError, UsageError
from tcptutor.course import personal
from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.activity import Activity
from tcptutor.course.experiments import same_but_for_seed
from tcptutor.course.goals.replay import judged
from tcptutor.course.goals.session_record import SessionRecord, SessionRunStarted, StateEntry
from tcptutor.course.page_record import moment
from tcptutor.course.step import Step
from tcptutor.grading.evidence.collect import MOST_BY_HAND
from tcptutor.grading.evidence.hand_in import HandIn
from tcptutor.grading.evidence.seen_runs import SeenRuns
from tcptutor.grading.evidence.timeline import PageTimeline, TimedResponse, TimedRun, TimedSession, Timeline
from tcptutor.run import Run, Sample
from tcptutor.spec import Experiment

_MOST_KEPT = 12
"""Checked runs in memory."""
LAB_BACKENDS = frozenset({"host", "guest"})
"""Backends of a student's own runs; all others are recordings and imports."""
_WINDOWS = 3
_WALL_SLACK = timedelta(seconds=2)


@dataclass(frozen=True)
class CheckedRun:
    """A run of a hand-in with its problems."""

    id: str
    run: Run | None
    """None where it is missing or unreadable."""
    problems: tuple[str, ...] = ()
    """Why it is not trusted, a sentence each."""

    @property
    def doubt(self) -> str:
        """Return why the lab itself doubts the run; empty for a valid run."""
        if self.run is None or self.run.fidelity.status == "valid":
            return ""
        return (
            f"the run is {self.run.fidelity.status}: {next(iter(self.run.fidelity.reasons), 'not checked')}"
        )


class RunChecks:
    """Checks the runs of a hand-in, and remembers the latest results."""

    def __init__(self, hand_in: HandIn) -> None:
        self._hand_in = hand_in
        self._latest: dict[str, CheckedRun] = {}
        self.samples: dict[str, str] = {}
        """Digest of the samples of each checked lab run, by run id, without recordings, which students share."""

    def has_file(self, timed: TimedRun) -> bool:
        """Return whether the hand-in has the run's file."""
        return timed.id in self._hand_in.run_ids

    def check(self, timed: TimedRun) -> CheckedRun:
        """Return the run with its problems."""
        found = self._latest.get(timed.id)
        if found is None:
            found = self._checked(timed)
            # A page needs its runs several times, up to those of a sweep; memory stays bounded.
            self._latest = {**dict(list(self._latest.items())[1 - _MOST_KEPT :]), timed.id: found}
        return found

    def session_run(self, timed: TimedRun) -> Run | None:
        """Return a run that a terminal session made; None where it is missing or was changed."""
        try:
            run, digest = self._hand_in.run(timed.id)
        except TutorError:
            return None
        return run if timed.digest == digest else None

    def _checked(self, timed: TimedRun) -> CheckedRun:
        if timed.id not in self._hand_in.run_ids:
            return CheckedRun(timed.id, None, (f"the run {timed.id} is not in the hand-in",))
        try:
            run, digest = self._hand_in.run(timed.id)
        except TutorError as error:
            return CheckedRun(timed.id, None, (f"the run {timed.id} cannot be read: {error}",))
        if run.environment.backend in LAB_BACKENDS and (samples := _samples(run)):
            self.samples[timed.id] = samples
        return CheckedRun(timed.id, run, tuple(_problems(run, digest, timed, self._hand_in.seen)))


def _samples(run: Run) -> str:
    if not run.samples:
        return ""
    found = hashlib.sha256()
    for name in Sample.__struct_fields__:
        found.update(run.samples.column(name))
    return found.hexdigest()[:32]


def _problems(run: Run, digest: str, timed: TimedRun, seen: SeenRuns) -> Iterator[str]:
    if timed.digest and timed.digest != digest:
        yield f"the file of the run {timed.id} was changed after the run"
    if run.id != timed.id:
        yield f"the file of the run {timed.id} is that of another one, {run.id}"
    if (run.started, run.experiment.seed, run.experiment.name) != (
        timed.started,
        timed.seed,
        timed.experiment,
    ):
        yield f"the run {timed.id} is not what the journal says was begun"
    if run.environment.backend == "replay":
        yield f"the run {timed.id} is a replayed recording, which earns no marks: set up the lab with `tcptutor setup`"
    elif run.environment.backend not in LAB_BACKENDS:
        yield f"the run {timed.id} was not made in a lab: it is a {run.environment.backend} run"
    if not run.complete:
        yield f"the run {timed.id} was cut short"
    began, ended = moment(timed.started), moment(timed.ended_at)
    if began and ended and ended - began + _WALL_SLACK < timedelta(seconds=0.9 * run.wall_s):
        yield f"the run {timed.id} took {run.wall_s:.0f} s, and the journal has {(ended - began).total_seconds():.0f} s"
    yield from (f"the run {timed.id} cannot be: {said}" for said in seen.impossibilities(run))


def seed_problem(line: Timeline, module: str, step: str, timed: TimedRun) -> str:
    """Return why a page's run has a seed that is not this student's; empty for a right seed.

    Only enrolled students have their own seeds: other runs begin with the experiment's seed.
    """
    enrolled = line.enrolled_at(timed.begun)
    if enrolled is None:
        return ""
    first = personal.run_seed(enrolled.identity, module, step)
    before = sum(run.begun < timed.begun for run in line.page(module, step).complete_runs)
    if (timed.seed - first) % personal.SEEDS <= before:
        return ""
    return f"the run {timed.id} has the seed {timed.seed}, which is not this student's"


def draw_problem(
    line: Timeline, module: str, step: str, activity: Activity, page: PageTimeline, response: TimedResponse
) -> str:
    """Return why a response answers numbers that are not this student's; empty for its own numbers."""
    enrolled = line.enrolled_at(response.serial)
    if enrolled is None or not activity.draw_numbers(""):
        return ""
    given_before = page.responses_to(activity.id)
    before = [each for each in given_before if page.order.knew(response.serial, each.serial)]
    # The same numbers stay until the answer is right: judge the response that first answered them.
    earlier = next((each for each in before if each.response.draw == response.response.draw), None)
    if earlier is not None:
        return draw_problem(line, module, step, activity, page, earlier)
    possible = (
        activity.draw_numbers(
            personal.question_seed(enrolled.identity, module, step, activity.id, attempts, again)
        )
        # Numbers are drawn when the question is shown; a second window may have drawn before the first answered.
        for attempts in range(len(before), max(-1, len(before) - _WINDOWS), -1)
        for again in range(personal.DRAWS_AGAIN if attempts else 1)
    )
    if any(draw == response.response.draw for draw in possible):
        return ""
    return "the question's numbers were not drawn for this student"


def settings_problem(step: Step, experiment: Experiment) -> str:
    """Return why no activity of the page gives these settings; empty if an activity does.

    Seeds are ignored. A page without its own experiment has no settings to compare with.
    """
    if step.experiment is not None:
        known = same_but_for_seed(experiment, step.experiment.experiment)
    elif step.sweep is not None:
        known = any(same_but_for_seed(experiment, each) for each in step.sweep.experiments)
    elif step.challenge is not None:
        return _knobs_problem(step.challenge, experiment)
    else:
        return ""
    return "" if known else "the run has other settings than the page's"


def _knobs_problem(challenge: ChallengeActivity, experiment: Experiment) -> str:
    try:
        allowed = challenge.experiment_with(challenge.values(experiment))
    except UsageError as error:
        return f"the run has settings that no knobs give: {error}"
    return "" if same_but_for_seed(experiment, allowed) else "the run has other settings than its knobs give"


def session_problem(shell: ShellActivity, session: TimedSession, checks: RunChecks) -> str:
    """Return why the session does not show the goals; empty if it does, or was truncated.

    The goals are judged again from the recorded kernel state.
    """
    record = session.record
    try:
        _check_settings(record)
    except ParameterError as error:
        return f"the recorded session is impossible: {error}"
    runs = {run.id: run for run in session.runs[-MOST_BY_HAND:]}
    missing: list[str] = []

    def find(id: str) -> Run | None:
        timed = runs.get(id)
        run = checks.session_run(timed) if timed is not None else None
        if run is None:
            missing.append(id)
        return run

    try:
        board = judged(shell.parsed_goals, shell.in_order, record, find)
    except _HOSTILE:
        return "the recorded session is impossible"
    if board.done or record.truncated:
        return ""
    without = f", without the run {missing[0]}, which is missing or was changed" if missing else ""
    left = [goal.text for goal in board.goals if not goal.ticked]
    return f"the recorded kernel state does not show this goal{without}: {left[0]}"


_HOSTILE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, RecursionError)
"""Exceptions that forged numbers and names may cause."""


def _check_settings(record: SessionRecord) -> None:
    for entry in record.entries:
        match entry:
            case StateEntry(state=state):
                spec.check_plausible(state.experiment)
            case SessionRunStarted(experiment=experiment):
                spec.check_plausible(experiment)
