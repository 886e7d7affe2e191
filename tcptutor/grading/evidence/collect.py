"""Collects the contents of a hand-in from the journal and its run files."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from tcptutor import __version__
from tcptutor.base.errors import TutorError
from tcptutor.course.model import Course, Step
from tcptutor.grading.evidence import hand_in
from tcptutor.grading.evidence.hand_in import HandInManifest
from tcptutor.grading.evidence.required import required_runs
from tcptutor.grading.evidence.timeline import PageTimeline, TimedRun, timeline
from tcptutor.journal import Journal
from tcptutor.journal.events import StoredEvent
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
    collector = _RunCollector(journal.runs.folder)
    enrolment = line.enrolment
    identity = enrolment.identity if enrolment else ""
    for module in course.modules:
        for step in module.steps:
            collector.add(
                module.id, step.for_student(module.id, identity), step, line.page(module.id, step.id)
            )
    manifest = HandInManifest(
        tcptutor=__version__,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        student=enrolment.student if enrolment else "",
        course=enrolment.course if enrolment else "",
        title=course.title,
        lessons=hand_in.lesson_hashes(course),
        events=len(events),
        machine=hand_in.machine(),
        missing=tuple(collector.missing),
    )
    return HandInContents(manifest, events, collector.runs)


class _RunCollector:
    """The required run files, and a line about each missing file."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder or Path()
        self.runs: list[tuple[str, Path]] = []
        self.missing: list[str] = []

    def add(self, module: str, step: Step, shared: Step, page: PageTimeline) -> None:
        for run in required_runs(step, shared, page, self._load):
            file = self._folder / run.file
            digest = text_digest(file)
            if digest and digest == (run.digest or digest):
                self.runs.append((run.id, file))
            else:
                problem = "was changed" if file.exists() else "is missing"
                self.missing.append(
                    f"{module}/{step.id}: the file of the run {run.id} {problem}: run it again"
                )

    def _load(self, run: TimedRun) -> Run | None:
        try:
            return load(self._folder / run.file)
        except TutorError:
            return None
