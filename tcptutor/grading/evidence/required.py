"""The runs that a hand-in must contain: the runs that marks are based on, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.run import RunActivity
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.activities.sweep import SweepActivity
from tcptutor.course.activity import Activity
from tcptutor.course.model import Step
from tcptutor.course.overrides import same_settings
from tcptutor.grading.evidence.timeline import PageTimeline, TimedRun
from tcptutor.run import Run

MOST_SWEPT = 60
"""Latest run files of a page that are searched for runs of its sweep, as on the page itself."""

MOST_BY_HAND = 20
"""Latest runs of a session that its goals are judged by."""


def required_runs(
    step: Step, shared: Step, page: PageTimeline, load: Callable[[TimedRun], Run | None]
) -> Iterator[TimedRun]:
    """Yield the runs of a page that its activities are marked by, each once.

    Args:
        step: The student's own page.
        shared: The page outside graded courses, which the student had before enrolling.
        page: The student's actions on the page.
        load: Reads a run; returns None where its file is missing.
    """
    yielded: set[str] = set()
    for run in _with_repeats(step, shared, page, load):
        if run is not None and run.id not in yielded:
            yielded.add(run.id)
            yield run


def _with_repeats(
    step: Step, shared: Step, page: PageTimeline, load: Callable[[TimedRun], Run | None]
) -> Iterator[TimedRun | None]:
    for activity in step.activities:
        match activity:
            case RunActivity():
                yield next(reversed(page.complete_runs), None)
            case SweepActivity():
                yield from _sweep_runs(activity, shared.sweep or activity, page, load)
            case ChallengeActivity():
                yield from _challenge_runs(activity, page, load)
            case ShellActivity():
                yield from _session_runs(activity, page)
            case _ if activity.against_run:
                yield from _marked_against(activity, page)


def _marked_against(activity: Activity, page: PageTimeline) -> Iterator[TimedRun | None]:
    for given in page.responses_to(activity.id):
        # The run after a prediction measures it; a value is read off the run before the answer.
        yield page.run_after(given.serial) if isinstance(activity, Predict) else page.run_before(given.serial)
        if isinstance(activity, Predict):
            return


def _session_runs(shell: ShellActivity, page: PageTimeline) -> Iterator[TimedRun]:
    first = next((each for each in page.responses_to(shell.id) if each.response.correct), None)
    session = page.session_before(shell.id, first.serial) if first else None
    if session is not None:
        yield from session.runs[-MOST_BY_HAND:]


def _sweep_runs(
    sweep: SweepActivity,
    shared: SweepActivity,
    page: PageTimeline,
    load: Callable[[TimedRun], Run | None],
) -> Iterator[TimedRun]:
    """Yield the latest run of each value and seed."""
    missing = [(own, common) for (_, own), (_, common) in zip(sweep.cells(), shared.cells(), strict=True)]
    for run in page.complete_runs[: -MOST_SWEPT - 1 : -1]:
        if not missing:
            return
        found = load(run)
        left = [
            each
            for each in missing
            if found is None or not any(same_settings(one, found.experiment) for one in each)
        ]
        if len(left) < len(missing):
            missing = left
            yield run


def _challenge_runs(
    challenge: ChallengeActivity, page: PageTimeline, load: Callable[[TimedRun], Run | None]
) -> Iterator[TimedRun | None]:
    """Yield the runs of the best right response and of the latest response, and their unchanged start runs."""
    given = page.responses_to(challenge.id)
    right = [each for each in given if each.response.correct]
    best = min(right, key=lambda each: each.response.value or 0.0, default=None)
    for response in (best, given[-1] if given else None):
        if response is None:
            continue
        yield page.run_before(response.serial)
        for run in reversed(page.complete_runs):
            if challenge.needs_start_run and run.ended < response.serial and _is_start(challenge, load(run)):
                yield run
                break


def _is_start(challenge: ChallengeActivity, run: Run | None) -> bool:
    return run is not None and not challenge.changed_knobs(challenge.values(run.experiment))
