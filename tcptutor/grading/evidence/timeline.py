"""A student's actions on each page, in the order of the journal. Pure: the same from a journal and from a hand-in."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import NamedTuple

from tcptutor.course.goals.session_record import SessionRecord
from tcptutor.course.page_record import Response, moment
from tcptutor.journal.events import (
    Enrolled,
    Hinted,
    JournalEvent,
    PageGoalsReached,
    Reported,
    Responded,
    RunEnded,
    RunStarted,
    StoredEvent,
    Withdrawn,
    decode,
)
from tcptutor.journal.fold import Enrolment

MOST_TRIES = 50
"""Marked responses to an activity; a right response after as many attempts earns no marks."""


class TimedResponse(NamedTuple):
    """A response to an activity."""

    serial: int
    """Serial of its event."""
    at: str
    activity: str
    response: Response


class TimedHint(NamedTuple):
    """A hint that was shown."""

    serial: int
    activity: str
    level: int


@dataclass
class TimedRun:
    """A run of a page, from its start to its end."""

    id: str
    begun: int
    """Serial of the event of its start."""
    started: str
    experiment: str
    seed: int
    changed_from: str
    """Id of the run this what-if was derived from; empty for a run of the page's own experiment."""
    ended: int = 0
    """Serial of the event of its end; 0 before that."""
    ended_at: str = ""
    complete: bool = False
    file: str = ""
    digest: str = ""
    """SHA-256 of its file; empty in old events."""

    @property
    def is_counted(self) -> bool:
        """Return whether it is a complete run of the page's own experiment, with a file."""
        return self.complete and bool(self.file) and not self.changed_from


class TimedSession(NamedTuple):
    """A session in which the student reached all goals of a page by hand."""

    serial: int
    """Serial of its event."""
    activity: str
    record: SessionRecord

    @property
    def runs(self) -> list[TimedRun]:
        """Return the session's runs that left a file."""
        digests = self.record.digests
        return [
            TimedRun(id, self.serial, "", "", 0, "", file=f"{id}.tcprun", digest=digests[id])
            for id in dict.fromkeys(self.record.runs)
            if digests.get(id)
        ]


class TimedReport(NamedTuple):
    """A student's line on what is wrong on a page."""

    at: str
    text: str


@dataclass
class PageTimeline:
    """The actions on a page. Read it only when all events are added."""

    responses: list[TimedResponse] = field(default_factory=list)
    hints: list[TimedHint] = field(default_factory=list)
    runs: list[TimedRun] = field(default_factory=list)
    sessions: list[TimedSession] = field(default_factory=list)
    reports: list[TimedReport] = field(default_factory=list)

    def responses_to(self, activity: str) -> list[TimedResponse]:
        """Return the first responses to an activity, at most MOST_TRIES."""
        return self._by_activity.get(activity, [])

    @cached_property
    def _by_activity(self) -> dict[str, list[TimedResponse]]:
        found: dict[str, list[TimedResponse]] = {}
        for each in self.responses:
            responses = found.setdefault(each.activity, [])
            if len(responses) < MOST_TRIES:
                responses.append(each)
        return found

    def hints_before(self, activity: str, serial: int) -> list[TimedHint]:
        """Return the hints of an activity that were shown before an event."""
        return [each for each in self.hints if each.activity == activity and each.serial < serial]

    @cached_property
    def complete_runs(self) -> list[TimedRun]:
        """Return the runs that count, in the order of their ends."""
        return sorted((run for run in self.runs if run.is_counted), key=lambda run: run.ended)

    def run_before(self, serial: int) -> TimedRun | None:
        """Return the latest complete run that had ended before an event."""
        at = bisect_left(self.complete_runs, serial, key=lambda run: run.ended)
        return self.complete_runs[at - 1] if at else None

    def session_before(self, activity: str, serial: int) -> TimedSession | None:
        """Return the latest session that had reached its goals before an event."""
        found = (
            each for each in reversed(self.sessions) if each.activity == activity and each.serial < serial
        )
        return next(found, None)

    def run_after(self, serial: int) -> TimedRun | None:
        """Return the first complete run that began after an event."""
        return next((run for run in self.complete_runs if run.begun > serial), None)


class BackwardStep(NamedTuple):
    """An event at which the clock was earlier than before."""

    serial: int
    seconds: float


@dataclass
class Timeline:
    """All actions of a student."""

    pages: dict[tuple[str, str], PageTimeline] = field(default_factory=dict)
    enrolments: list[tuple[int, Enrolment]] = field(default_factory=list)
    """Each with the serial of its event."""
    backward: list[BackwardStep] = field(default_factory=list)
    unknown_events: int = 0
    """Events of kinds that this version does not know."""
    first_hash: str = ""
    """Hash of the first event, in hexadecimal; empty without an event."""

    def page(self, module: str, step: str) -> PageTimeline:
        """Return a page's timeline; empty for an untouched page."""
        return self.pages.get((module, step)) or PageTimeline()

    @property
    def enrolment(self) -> Enrolment | None:
        """Return the latest enrolment."""
        return self.enrolments[-1][1] if self.enrolments else None

    def enrolled_at(self, serial: int) -> Enrolment | None:
        """Return the enrolment in effect at an event."""
        at = bisect_right(self.enrolments, serial, key=lambda each: each[0])
        return self.enrolments[at - 1][1] if at else None

    def identity_at(self, serial: int) -> str:
        """Return the key from which the student's numbers and orders were drawn at an event."""
        enrolled = self.enrolled_at(serial)
        return enrolled.identity if enrolled else self.first_hash


def timeline(events: Iterable[StoredEvent]) -> Timeline:
    """Build the timeline from all events."""
    reader = _Reader()
    for stored in events:
        reader.take(stored)
    return reader.found


class _Reader:
    def __init__(self) -> None:
        self.found = Timeline()
        self._runs: dict[str, TimedRun] = {}
        self._latest: datetime | None = None

    def take(self, stored: StoredEvent) -> None:
        self.found.first_hash = self.found.first_hash or stored.hash.hex()
        event = decode(stored.data)
        if event is None:
            self.found.unknown_events += 1
            return
        self._take(stored.serial, event)

    def _take(self, serial: int, event: JournalEvent) -> None:
        self._clock(serial, event)
        match event:
            case Enrolled(student=student, course=course):
                self.found.enrolments.append((serial, Enrolment(student, course)))
            case Responded(module=module, step=step, activity=activity, response=response):
                self._page(module, step).responses.append(TimedResponse(serial, event.at, activity, response))
            case Withdrawn(module=module, step=step, activity=activity):
                page = self._page(module, step)
                if not any(not run.changed_from for run in page.runs):
                    page.responses = [each for each in page.responses if each.activity != activity]
            case Hinted(module=module, step=step, activity=activity, level=level):
                self._page(module, step).hints.append(TimedHint(serial, activity, level))
            case RunStarted(module=module, step=step):
                run = TimedRun(event.run, serial, event.at, event.experiment, event.seed, event.changed_from)
                self._runs[run.id] = run
                self._page(module, step).runs.append(run)
            case RunEnded() if (begun := self._runs.get(event.run)) and not begun.ended:
                begun.ended, begun.ended_at, begun.complete = serial, event.at, event.complete
                begun.file, begun.digest = event.file, event.digest
            case PageGoalsReached(module=module, step=step, activity=activity, session=record):
                self._page(module, step).sessions.append(TimedSession(serial, activity, record))
            case Reported(module=module, step=step, text=text):
                self._page(module, step).reports.append(TimedReport(event.at, text))
            case _:
                pass  # marking computes the answers to predictions again, and reviews cost nothing

    def _page(self, module: str, step: str) -> PageTimeline:
        return self.found.pages.setdefault((module, step), PageTimeline())

    def _clock(self, serial: int, event: JournalEvent) -> None:
        # The event of a run's start has the run's own time, slightly earlier.
        if isinstance(event, RunStarted):
            return
        at = moment(event.at)
        if at is None:
            return
        if self._latest is not None and at < self._latest:
            self.found.backward.append(BackwardStep(serial, (self._latest - at).total_seconds()))
        self._latest = at
