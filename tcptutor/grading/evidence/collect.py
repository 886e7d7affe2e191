"""Collects the contents of a hand-in from the journal: events, and the runs that marks are based on, no others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tcptutor import __version__
from tcptutor.base.errors import TutorError
from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.run import RunActivity, SweepActivity
from tcptutor.course.activities.shell import ShellActivity
from tcptutor.course.activity import Activity
from tcptutor.course.experiments import same_settings
from tcptutor.course.outline import Course
from tcptutor.course.pack import lesson_hashes
from tcptutor.course.step import Step
from tcptutor.grading.evidence import hand_in
from tcptutor.grading.evidence.hand_in import HandInManifest
from tcptutor.grading.evidence.timeline import PageTimeline, TimedRun, Timeline, timeline
from tcptutor.journal import Journal
from tcptutor.journal.events import StoredEvent
from tcptutor.journal.second_record import RecordDoubts, find_doubts
from tcptutor.run import Run, load
from tcptutor.run.files import text_digest


@dataclass
class HandInContents:
    """The contents of a hand-in."""

    manifest: HandInManifest
    events: list[StoredEvent]
    runs: list[tuple[str, Path]] = field(default_factory=list)
    """Id and file of each run."""


def collect(journal: Journal, course: Course) -> HandInContents:
    """Collect the journal's events and runs for a course. Raises JournalError."""
    events = list(journal.events())
    line = timeline(events)
    collector = _RunCollector(journal.run_folder)
    enrolment = line.enrolment
    identity = enrolment.identity if enrolment else ""
    identities = _identities(line)
    for module in course.modules:
        for step in module.steps:
            if step.is_on(course.marks.path):
                steps = [step.for_student(module.id, each) for each in identities]
                collector.add(module.id, steps, line.page(module.id, step.id))
    manifest = HandInManifest(
        tcptutor=__version__,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        student=enrolment.student if enrolment else "",
        course=enrolment.course if enrolment else "",
        title=course.title,
        lessons_id=course.id,
        version=course.version,
        lessons=lesson_hashes(course),
        events=len(events),
        machine=hand_in.machine(),
        missing=tuple(collector.missing),
        second_record=find_doubts(identity, events) if identity else RecordDoubts(),
    )
    return HandInContents(manifest, events, collector.runs)


def marked_runs(
    events: Iterable[StoredEvent], folder: Path, course: Course, module: str, step: str
) -> frozenset[str]:
    """Return the ids of runs that currently determine a page's marks; reads run files, so call it in a thread.

    Args:
        events: The journal's events.
        folder: The folder of run files.
        course: The course; a page that it does not have is not marked.
        module: Module of the page.
        step: Step of the page.
    """
    line = timeline(events)
    collector = _RunCollector(folder)
    for page in (each for of in course.modules if of.id == module for each in of.steps if each.id == step):
        steps = [page.for_student(module, each) for each in _identities(line)]
        collector.add(module, steps, line.page(module, step))
    return frozenset(id for id, _ in collector.runs)


_MOST_IDENTITIES = 5
"""Enrolments of a student under which sweeps are collected; the latest."""


def _identities(line: Timeline) -> list[str]:
    """Return the student's identities, the present one first; the last is empty, as outside graded courses."""
    enrolled = list(dict.fromkeys(each.identity for _, each in reversed(line.enrolments)))
    return [*enrolled[:_MOST_IDENTITIES], ""]


class _RunCollector:
    """The required run files, and a line about each missing file."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder or Path()
        self.runs: list[tuple[str, Path]] = []
        self.missing: list[str] = []

    def add(self, module: str, steps: Sequence[Step], page: PageTimeline) -> None:
        for run in required_runs(steps, page, self._load):
            file = self._folder / run.file
            digest = text_digest(file)
            if digest and digest == (run.digest or digest):
                self.runs.append((run.id, file))
            else:
                problem = "was changed" if file.exists() else "is missing"
                self.missing.append(
                    f"{module}/{steps[0].id}: the file of the run {run.id} {problem}: run it again"
                )

    def _load(self, run: TimedRun) -> Run | None:
        try:
            return load(self._folder / run.file)
        except TutorError:
            return None


MOST_SWEPT = 60
"""Latest run files of a page that are searched for runs of its sweep, as on the page itself."""

MOST_BY_HAND = 20
"""Latest runs of a session that its goals are judged by."""


def required_runs(
    steps: Sequence[Step], page: PageTimeline, load: Callable[[TimedRun], Run | None]
) -> Iterator[TimedRun]:
    """Yield the runs of a page that its activities are marked by, each once.

    Args:
        steps: The page as the student has it, and as the student had it before: under other ids, and before enrolling.
        page: The student's actions on the page.
        load: Reads a run; returns None where its file is missing.
    """
    yielded: set[str] = set()
    for run in _with_repeats(steps, page, load):
        if run is not None and run.id not in yielded:
            yielded.add(run.id)
            yield run


def _with_repeats(
    steps: Sequence[Step], page: PageTimeline, load: Callable[[TimedRun], Run | None]
) -> Iterator[TimedRun | None]:
    for activity in steps[0].activities:
        match activity:
            case RunActivity():
                yield from page.tried_runs
            case SweepActivity():
                yield from _sweep_runs([step.sweep or activity for step in steps], page, load)
            case ChallengeActivity():
                yield from _challenge_runs(activity, page, load)
            case ShellActivity():
                yield from _session_runs(activity, page)
            case _ if activity.against_run:
                yield from _marked_against(activity, page)


def _marked_against(activity: Activity, page: PageTimeline) -> Iterator[TimedRun | None]:
    responses = page.responses_to(activity.id)
    # The run after a prediction measures it; a value is read off the run before the answer.
    if isinstance(activity, Predict):
        yield from (page.run_after(given.serial) for given in page.firsts(responses))
    else:
        yield from (page.run_before(given.serial) for given in responses)


def _session_runs(shell: ShellActivity, page: PageTimeline) -> Iterator[TimedRun]:
    for reached in page.right_responses(shell.id):
        session = page.session_before(shell.id, reached.serial)
        if session is not None:
            yield from session.runs[-MOST_BY_HAND:]


def _sweep_runs(
    sweeps: Sequence[SweepActivity], page: PageTimeline, load: Callable[[TimedRun], Run | None]
) -> Iterator[TimedRun]:
    """Yield for each value and seed the first valid run, and the latest run."""
    cells = [experiment for sweep in sweeps for _, experiment in sweep.cells()]
    first: dict[int, TimedRun] = {}
    latest: dict[int, TimedRun] = {}
    for run in page.complete_runs[-MOST_SWEPT:]:
        found = load(run)
        if found is None:
            continue
        for number, cell in enumerate(cells):
            if same_settings(cell, found.experiment):
                latest[number] = run
                if found.fidelity.status == "valid":
                    first.setdefault(number, run)
    yield from first.values()
    yield from latest.values()


def _challenge_runs(
    challenge: ChallengeActivity, page: PageTimeline, load: Callable[[TimedRun], Run | None]
) -> Iterator[TimedRun | None]:
    """Yield the runs of the right responses and of the latest response, and their unchanged start runs."""
    for response in (*page.right_responses(challenge.id), *page.responses_to(challenge.id)[-1:]):
        yield page.run_before(response.serial)
        if challenge.needs_start_run:
            earlier = page.runs_before(response.serial)
            yield next((run for run in earlier if _is_start(challenge, load(run))), None)


def _is_start(challenge: ChallengeActivity, run: Run | None) -> bool:
    return run is not None and not challenge.changed_knobs(challenge.values(run.experiment))
