"""Whether what a hand-in says can be: its runs belong to its journal, its numbers to its student."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta

from tcptutor.base.errors import TutorError
from tcptutor.course import personal
from tcptutor.course.activity import Activity
from tcptutor.course.page_record import moment
from tcptutor.grading.evidence.hand_in import HandIn
from tcptutor.grading.evidence.physics import impossibilities
from tcptutor.grading.evidence.timeline import PageTimeline, TimedResponse, TimedRun, Timeline
from tcptutor.run import Run, Sample

LAB_BACKENDS = frozenset({"host", "guest"})
"""What runs of a student's own come from; all others are recordings and imports."""
_CLOCK_STEP = 120.0
"""Seconds by which a clock may be put back without a word: computers do it by themselves."""
_WINDOWS = 3
_MOST_MISSING, _LONGEST_REMARK = 50, 200
_MOST_NAMED = 5
"""Things of one kind that remarks name."""
_WALL_SLACK = timedelta(seconds=2)


@dataclass(frozen=True)
class CheckedRun:
    """A run of a hand-in, looked at."""

    id: str
    run: Run | None
    """None for one that is not there, or cannot be read."""
    problems: tuple[str, ...] = ()
    """Why it is not believed, a sentence each."""

    @property
    def doubt(self) -> str:
        """Why the lab itself does not stand for it; empty for a valid run."""
        if self.run is None or self.run.fidelity.status == "valid":
            return ""
        return (
            f"the run is {self.run.fidelity.status}: {next(iter(self.run.fidelity.reasons), 'not checked')}"
        )


class RunChecks:
    """Looks at the runs of one hand-in, each once while it is asked for again soon."""

    def __init__(self, hand_in: HandIn) -> None:
        self._hand_in = hand_in
        self._latest: dict[str, CheckedRun] = {}
        self.samples: dict[str, str] = {}
        """Of each run that was looked at and has any, by its id: a digest of them."""

    def there(self, timed: TimedRun) -> bool:
        """Whether the hand-in has its file."""
        return timed.id in self._hand_in.run_ids

    def check(self, timed: TimedRun) -> CheckedRun:
        """The run, and what is wrong with it."""
        found = self._latest.get(timed.id)
        if found is None:
            found = self._checked(timed)
            # A page asks for a few, and memory stays flat.
            self._latest = {**dict(list(self._latest.items())[-3:]), timed.id: found}
        return found

    def of_session(self, timed: TimedRun) -> Run | None:
        """A run that came of what was typed; None where it is not there as it was made."""
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
        if samples := _samples(run):
            self.samples[timed.id] = samples
        return CheckedRun(timed.id, run, tuple(_problems(run, digest, timed)))


def _samples(run: Run) -> str:
    if not run.samples:
        return ""
    found = hashlib.blake2b(digest_size=16)
    for name in Sample.__struct_fields__:
        found.update(run.samples.column(name))
    return found.hexdigest()


def _problems(run: Run, digest: str, timed: TimedRun) -> Iterator[str]:
    if timed.digest and timed.digest != digest:
        yield f"the file of the run {timed.id} is not the one that was kept when it ended"
    if run.id != timed.id:
        yield f"the file of the run {timed.id} is that of another one, {run.id}"
    if (run.started, run.experiment.seed, run.experiment.name) != (
        timed.started,
        timed.seed,
        timed.experiment,
    ):
        yield f"the run {timed.id} is not what the journal says was begun"
    if run.environment.backend not in LAB_BACKENDS:
        yield f"the run {timed.id} was not made in a lab: it is a {run.environment.backend} run"
    if not run.complete:
        yield f"the run {timed.id} was cut short"
    began, ended = moment(timed.started), moment(timed.ended_at)
    if began and ended and ended - began + _WALL_SLACK < timedelta(seconds=0.9 * run.wall_s):
        yield f"the run {timed.id} took {run.wall_s:.0f} s, and the journal has {(ended - began).total_seconds():.0f} s"
    yield from (f"the run {timed.id} cannot be: {said}" for said in impossibilities(run))


def seed_problem(line: Timeline, module: str, step: str, timed: TimedRun) -> str:
    """Why a page's run has a seed that was not this student's to have; empty for one that was.

    Only of students in a course: elsewhere all begin with the experiment's own.
    """
    enrolled = line.enrolled_at(timed.begun)
    if enrolled is None:
        return ""
    first = personal.run_seed(enrolled.identity, module, step)
    before = sum(run.begun < timed.begun for run in line.page(module, step).whole_runs)
    if (timed.seed - first) % personal.SEEDS <= before:
        return ""
    return f"the run {timed.id} has the seed {timed.seed}, which is not this student's"


def draw_problem(
    line: Timeline, module: str, step: str, activity: Activity, page: PageTimeline, given: TimedResponse
) -> str:
    """Why a response is to numbers that were not this student's to be asked; empty for one that is, and for questions
    without any.
    """
    enrolled = line.enrolled_at(given.serial)
    if enrolled is None or not activity.draw_numbers(""):
        return ""
    given_before = page.of(activity.id)
    before = given_before[: bisect_left(given_before, given.serial, key=lambda each: each.serial)]
    if before and not before[-1].response.correct and before[-1].response.draw == given.response.draw:
        return ""  # the same numbers until it is right, whatever these were
    possible = (
        activity.draw_numbers(
            personal.question_seed(enrolled.identity, module, step, activity.id, attempts, again)
        )
        # Numbers are drawn when an answer is due; of two windows, one may have drawn before the other answered.
        for attempts in range(len(before), max(-1, len(before) - _WINDOWS), -1)
        for again in range(personal.DRAWS_AGAIN if attempts else 1)
    )
    if any(draw == given.response.draw for draw in possible):
        return ""
    return "the question's numbers were not drawn for this student"


def remarks(hand_in: HandIn, line: Timeline) -> Iterator[str]:
    """What whoever grades should know of a hand-in as a whole, a sentence each."""
    if hand_in.broken:
        yield f"the journal does not hold together: {hand_in.broken}"
    if hand_in.manifest.events != len(hand_in.events):
        yield f"it says that it has {hand_in.manifest.events} events, and has {len(hand_in.events)}"
    steps = [step for step in line.backward if step.seconds > _CLOCK_STEP]
    for serial, seconds in steps[:_MOST_NAMED]:
        yield f"the clock was put back by {seconds:.0f} s before event {serial}"
    if len(steps) > _MOST_NAMED:
        yield f"and {len(steps) - _MOST_NAMED} times more"
    enrolments = list(dict.fromkeys(f"{each.student} ({each.course})" for _, each in line.enrolments))
    if len(enrolments) > 1:
        more = ", ..." if len(enrolments) > _MOST_NAMED else ""
        yield f"the student was enrolled more than once: {', '.join(enrolments[:_MOST_NAMED])}{more}"
    if line.unread:
        yield f"{line.unread} of its events are of a newer tcptutor, or none of ours"
    yield from (line[:_LONGEST_REMARK] for line in hand_in.manifest.missing[:_MOST_MISSING])
