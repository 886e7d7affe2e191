"""What was done on each page, in the order of the journal. Pure: the same from a journal and from a hand-in."""

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
    Responded,
    RunBegun,
    RunEnded,
    StoredEvent,
    Withdrawn,
    Worked,
    decode,
)
from tcptutor.journal.fold import Enrolment

MOST_TRIES = 50
"""Responses to one activity that are looked at: what is right after so many is worth nothing."""


class TimedResponse(NamedTuple):
    """A response to an activity."""

    serial: int
    """Of its event."""
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
    """A run of a page, from its begin to its end."""

    id: str
    begun: int
    """Serial of the event of its begin."""
    started: str
    experiment: str
    seed: int
    changed_from: str
    """The run of which it is a what-if; empty for a run of the page's own."""
    ended: int = 0
    """Serial of the event of its end; 0 while there is none."""
    ended_at: str = ""
    complete: bool = False
    file: str = ""
    digest: str = ""
    """SHA-256 of its file; empty where it was not noted."""

    @property
    def counts(self) -> bool:
        """Whether it went to its end, as a run of the page's own, and left a file."""
        return self.complete and bool(self.file) and not self.changed_from


class TimedSession(NamedTuple):
    """A session in which all goals of a page were reached by hand."""

    serial: int
    """Of its event."""
    activity: str
    record: SessionRecord

    @property
    def runs(self) -> list[TimedRun]:
        """Those that came of it and left a file."""
        digests = self.record.digests
        return [
            TimedRun(id, self.serial, "", "", 0, "", file=f"{id}.tcprun", digest=digests[id])
            for id in dict.fromkeys(self.record.runs)
            if digests.get(id)
        ]


@dataclass
class PageTimeline:
    """What was done on one page: to be asked once all of it is there."""

    responses: list[TimedResponse] = field(default_factory=list)
    hints: list[TimedHint] = field(default_factory=list)
    runs: list[TimedRun] = field(default_factory=list)
    sessions: list[TimedSession] = field(default_factory=list)

    def of(self, activity: str) -> list[TimedResponse]:
        """The first responses to it, MOST_TRIES of them at most."""
        return self._by_activity.get(activity, [])

    @cached_property
    def _by_activity(self) -> dict[str, list[TimedResponse]]:
        found: dict[str, list[TimedResponse]] = {}
        for each in self.responses:
            of_it = found.setdefault(each.activity, [])
            if len(of_it) < MOST_TRIES:
                of_it.append(each)
        return found

    def hints_before(self, activity: str, serial: int) -> list[TimedHint]:
        """Hints of it that were shown before that event."""
        return [each for each in self.hints if each.activity == activity and each.serial < serial]

    @cached_property
    def whole_runs(self) -> list[TimedRun]:
        """Those that count, by their ends."""
        return sorted((run for run in self.runs if run.counts), key=lambda run: run.ended)

    def run_before(self, serial: int) -> TimedRun | None:
        """The latest whole run that had ended before that event."""
        at = bisect_left(self.whole_runs, serial, key=lambda run: run.ended)
        return self.whole_runs[at - 1] if at else None

    def session_before(self, activity: str, serial: int) -> TimedSession | None:
        """The latest session that had reached its goals before that event."""
        found = (
            each for each in reversed(self.sessions) if each.activity == activity and each.serial < serial
        )
        return next(found, None)

    def run_after(self, serial: int) -> TimedRun | None:
        """The first whole run that was begun after that event."""
        return next((run for run in self.whole_runs if run.begun > serial), None)


class BackwardStep(NamedTuple):
    """A place where the clock was earlier than before."""

    serial: int
    seconds: float


@dataclass
class Timeline:
    """All that was done."""

    pages: dict[tuple[str, str], PageTimeline] = field(default_factory=dict)
    enrolments: list[tuple[int, Enrolment]] = field(default_factory=list)
    """With the serial of the event of each."""
    backward: list[BackwardStep] = field(default_factory=list)
    unread: int = 0
    """Events of kinds that this version does not know."""

    def page(self, module: str, step: str) -> PageTimeline:
        """That of a page; an empty one where nothing was done."""
        return self.pages.get((module, step)) or PageTimeline()

    @property
    def enrolment(self) -> Enrolment | None:
        """The latest."""
        return self.enrolments[-1][1] if self.enrolments else None

    def enrolled_at(self, serial: int) -> Enrolment | None:
        """The enrolment that held at that event."""
        at = bisect_right(self.enrolments, serial, key=lambda each: each[0])
        return self.enrolments[at - 1][1] if at else None


def timeline(events: Iterable[StoredEvent]) -> Timeline:
    """From the first event on."""
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
        event = decode(stored.data)
        if event is None:
            self.found.unread += 1
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
            case RunBegun(module=module, step=step):
                run = TimedRun(event.run, serial, event.at, event.experiment, event.seed, event.changed_from)
                self._runs[run.id] = run
                self._page(module, step).runs.append(run)
            case RunEnded() if (begun := self._runs.get(event.run)) and not begun.ended:
                begun.ended, begun.ended_at, begun.complete = serial, event.at, event.complete
                begun.file, begun.digest = event.file, event.digest
            case Worked(module=module, step=step, activity=activity, session=record):
                self._page(module, step).sessions.append(TimedSession(serial, activity, record))
            case _:
                pass  # whether a prediction was answered is worked out anew

    def _page(self, module: str, step: str) -> PageTimeline:
        return self.found.pages.setdefault((module, step), PageTimeline())

    def _clock(self, serial: int, event: JournalEvent) -> None:
        # A run's begin has the time that stands in the run, a little before.
        if isinstance(event, RunBegun):
            return
        at = moment(event.at)
        if at is None:
            return
        if self._latest is not None and at < self._latest:
            self.found.backward.append(BackwardStep(serial, (self._latest - at).total_seconds()))
        self._latest = at
