"""Which of a student's runs a hand-in needs: those that marks are given by, and no others."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from tcptutor.course.activities.explore import ExploreActivity
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
"""Run files of a page that are looked into for runs of its sweep: the latest ones, as the page itself does."""

MOST_BY_HAND = 20
"""Runs of one session that its goals are judged by: the latest ones."""


def wanted_runs(
    step: Step, shared: Step, page: PageTimeline, load: Callable[[TimedRun], Run | None]
) -> Iterator[TimedRun]:
    """The runs of a page that its activities are marked by, each once; `load` reads one, and gives None for one whose
    file is gone.

    step: as the student has it; shared: as everybody has it who is in no course, and the student before enrolling.
    """
    seen: set[str] = set()
    for run in _with_repeats(step, shared, page, load):
        if run is not None and run.id not in seen:
            seen.add(run.id)
            yield run


def _with_repeats(
    step: Step, shared: Step, page: PageTimeline, load: Callable[[TimedRun], Run | None]
) -> Iterator[TimedRun | None]:
    for activity in step.activities:
        match activity:
            case RunActivity():
                yield next(reversed(page.whole_runs), None)
            case SweepActivity():
                yield from _swept(activity, shared.sweep or activity, page, load)
            case ExploreActivity():
                yield from _turned(activity, page, load)
            case ShellActivity():
                yield from _worked(activity, page)
            case _ if activity.against_run:
                yield from _marked_against(activity, page)


def _marked_against(activity: Activity, page: PageTimeline) -> Iterator[TimedRun | None]:
    for given in page.of(activity.id):
        # What is predicted is measured by the run after it, what is read off by the one before.
        yield page.run_after(given.serial) if isinstance(activity, Predict) else page.run_before(given.serial)
        if isinstance(activity, Predict):
            return


def _worked(shell: ShellActivity, page: PageTimeline) -> Iterator[TimedRun]:
    """The runs of the session in which all goals were reached for the first time."""
    first = next((each for each in page.of(shell.id) if each.response.correct), None)
    session = page.session_before(shell.id, first.serial) if first else None
    if session is not None:
        yield from session.runs[-MOST_BY_HAND:]


def _swept(
    sweep: SweepActivity,
    shared: SweepActivity,
    page: PageTimeline,
    load: Callable[[TimedRun], Run | None],
) -> Iterator[TimedRun]:
    """For each value and seed the latest run."""
    missing = [(own, of_all) for (_, own), (_, of_all) in zip(sweep.cells(), shared.cells(), strict=True)]
    for run in page.whole_runs[: -MOST_SWEPT - 1 : -1]:
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


def _turned(
    challenge: ExploreActivity, page: PageTimeline, load: Callable[[TimedRun], Run | None]
) -> Iterator[TimedRun | None]:
    """The run of the best response that was right, and of the latest one; and those with nothing changed before."""
    given = page.of(challenge.id)
    right = [each for each in given if each.response.correct]
    best = min(right, key=lambda each: each.response.value or 0.0, default=None)
    for response in (best, given[-1] if given else None):
        if response is None:
            continue
        yield page.run_before(response.serial)
        for run in reversed(page.whole_runs):
            if challenge.needs_start_run and run.ended < response.serial and _is_start(challenge, load(run)):
                yield run
                break


def _is_start(challenge: ExploreActivity, run: Run | None) -> bool:
    return run is not None and not challenge.changed_knobs(challenge.values(run.experiment))
