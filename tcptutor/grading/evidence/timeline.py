"""A student's actions on each page, in the order of the journal. Pure: the same from a journal and from a hand-in.

A merged journal is ordered by `journal.order`. A response is graded with the runs and hints that its machine had at
the time, so work earns the same marks as on its own machine.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from functools import cached_property
from typing import NamedTuple, TypeVar

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
    Visited,
    Withdrawn,
    decode,
)
from tcptutor.journal.fold import Enrolment
from tcptutor.journal.order import OWN, EventOrder, StudentEvents, student_events

MOST_TRIES = 50
"""Marked responses to an activity; a right response after as many attempts earns no marks."""
MOST_REPEATED = 20
"""Repetitions of a run, challenge or session by hand among which the best counts."""


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
    """Id of the base run of a what-if; empty for a run of the page's own experiment."""
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
    """A student's report of a mistake on a page."""

    at: str
    text: str


@dataclass
class PageTimeline:
    """The actions on a page. Read it only when all events are added."""

    responses: list[TimedResponse] = field(default_factory=list)
    hints: list[TimedHint] = field(default_factory=list)
    runs: list[TimedRun] = field(default_factory=list)
    sessions: list[TimedSession] = field(default_factory=list)
    order: EventOrder = field(default_factory=EventOrder)
    reports: list[TimedReport] = field(default_factory=list)
    visits: list[tuple[int, str]] = field(default_factory=list)
    """Serial and time of each time the page was opened."""

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
        knew = self.order.knew
        return [each for each in self.hints if each.activity == activity and knew(serial, each.serial)]

    @cached_property
    def complete_runs(self) -> list[TimedRun]:
        """Return the runs that count, in the order of their ends."""
        return sorted((run for run in self.runs if run.is_counted), key=lambda run: run.ended)

    def run_before(self, serial: int) -> TimedRun | None:
        """Return the latest complete run that had ended before an event."""
        return next(self.runs_before(serial), None)

    def runs_before(self, serial: int) -> Iterator[TimedRun]:
        """Yield the complete runs that had ended before an event, the latest first."""
        at = bisect_left(self.complete_runs, serial, key=lambda run: run.ended)
        earlier = (self.complete_runs[index] for index in range(at - 1, -1, -1))
        return (run for run in earlier if self.order.knew(serial, run.ended))

    @property
    def tried_runs(self) -> list[TimedRun]:
        """Return candidates for the page's run; a long list is cut to its first and last runs."""
        return _first_and_last(self.complete_runs)

    def right_responses(self, activity: str) -> list[TimedResponse]:
        """Return responses stored as right that may count; a long list is cut to its first and last entries."""
        return _first_and_last([each for each in self.responses_to(activity) if each.response.correct])

    def firsts(self, responses: Iterable[TimedResponse]) -> list[TimedResponse]:
        """Return each machine's first response: several in a merged journal, otherwise at most a single response."""
        found: list[TimedResponse] = []
        for each in responses:
            if not any(self.order.knew(each.serial, earlier.serial) for earlier in found):
                found.append(each)
        return found

    def session_before(self, activity: str, serial: int) -> TimedSession | None:
        """Return the latest session that had reached its goals before an event."""
        found = (each for each in reversed(self.sessions) if each.activity == activity)
        return next((each for each in found if self.order.knew(serial, each.serial)), None)

    def run_after(self, serial: int) -> TimedRun | None:
        """Return the first complete run that began after an event."""
        return next((run for run in self.complete_runs if self.order.knew(run.begun, serial)), None)


_Each = TypeVar("_Each")


def _first_and_last(found: list[_Each]) -> list[_Each]:
    """Leave out the middle of a long list: the first is the least late, the last the most practiced."""
    return (
        found if len(found) <= MOST_REPEATED else found[: MOST_REPEATED // 2] + found[-MOST_REPEATED // 2 :]
    )


class BackwardStep(NamedTuple):
    """An event at which the clock was earlier than before."""

    serial: int
    seconds: float


@dataclass
class Timeline:
    """All actions of a student. Read it only when all events are added."""

    pages: dict[tuple[str, str], PageTimeline] = field(default_factory=dict)
    enrolments: list[tuple[int, Enrolment]] = field(default_factory=list)
    """Each with the serial of its event."""
    left_out: int = 0
    """Number of events that another machine recorded under a different enrollment; they never count."""
    backward: list[BackwardStep] = field(default_factory=list)
    times: list[datetime] = field(default_factory=list)
    """Times of the events, without starts of runs."""
    unknown_events: int = 0
    """Events of kinds that this version does not know."""
    starts: list[tuple[int, str]] = field(default_factory=list)
    """The first event of each machine, with its hash in hexadecimal."""
    order: EventOrder = field(default_factory=EventOrder)

    def page(self, module: str, step: str) -> PageTimeline:
        """Return a page's timeline; empty for an untouched page."""
        return self.pages.get((module, step)) or PageTimeline()

    @property
    def enrolment(self) -> Enrolment | None:
        """Return the latest enrollment."""
        return self.enrolments[-1][1] if self.enrolments else None

    def enrolled_at(self, serial: int) -> Enrolment | None:
        """Return the enrollment in effect at an event."""
        latest: tuple[int, Enrolment | None] = (0, None)
        for enrolments in self._enrolments_by_chain.values():
            # A machine has the first events of a chain, up to one.
            known = bisect_left(enrolments, True, key=lambda each: not self._holds(serial, each[0]))
            latest = max([latest, *enrolments[known - 1 : known]], key=lambda each: each[0])
        return latest[1]

    @cached_property
    def _enrolments_by_chain(self) -> dict[int, list[tuple[int, Enrolment]]]:
        found: dict[int, list[tuple[int, Enrolment]]] = {}
        for each in self.enrolments:
            found.setdefault(self.order.chain(each[0]), []).append(each)
        return found

    def identity_at(self, serial: int) -> str:
        """Return the key from which the student's numbers and orders were drawn at an event."""
        enrolled = self.enrolled_at(serial)
        if enrolled:
            return enrolled.identity
        return next((hash for event, hash in self.starts if self._holds(serial, event)), "")

    def _holds(self, serial: int, event: int) -> bool:
        """Return whether the machine had the event once the event at `serial` was written."""
        return event == serial or self.order.knew(serial, event)


def timeline(rows: Iterable[StoredEvent]) -> Timeline:
    """Build the timeline from all rows of a journal."""
    found = student_events(rows)
    reader = _Reader(found.order)
    others = _chains_of_others(found)
    for stored in found.events:
        if found.order.chain(stored.serial) in others:
            reader.found.left_out += 1
        else:
            reader.take(stored)
    return reader.found


def _chains_of_others(found: StudentEvents) -> set[int]:
    """Return the chains of a merged journal whose enrollment differs from the journal's own chain."""
    if not found.order.is_merged:
        return set()
    enrolled: list[tuple[int, Enrolment]] = []
    last_event: dict[int, int] = {}
    for stored in found.events:
        last_event[found.order.chain(stored.serial)] = stored.serial
        if isinstance(event := decode(stored.data), Enrolled):
            enrolled.append((stored.serial, Enrolment(event.student, event.course)))

    def enrolment(chain: int) -> Enrolment | None:
        own = [each for serial, each in enrolled if found.order.chain(serial) == chain]
        known = [each for serial, each in enrolled if found.order.knew(last_event.get(chain, 0), serial)]
        return next(reversed(own or known), None)

    of_student = enrolment(OWN) or (enrolled[-1][1] if enrolled else None)
    return {chain for chain in last_event if (each := enrolment(chain)) and each != of_student}


class _Reader:
    def __init__(self, order: EventOrder) -> None:
        self.found = Timeline(order=order)
        self._runs: dict[str, TimedRun] = {}
        self._chains: set[int] = set()
        self._latest: dict[int, datetime] = {}
        """Time of the latest event, by chain."""

    def take(self, stored: StoredEvent) -> None:
        chain = self.found.order.chain(stored.serial)
        if chain not in self._chains:
            self._chains.add(chain)
            self.found.starts.append((stored.serial, stored.hash.hex()))
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
            case Visited(module=module, step=step):
                self._page(module, step).visits.append((serial, event.at))
            case Reported(module=module, step=step, text=text):
                self._page(module, step).reports.append(TimedReport(event.at, text))
            case _:
                pass  # marking computes the answers to predictions again, and reviews cost nothing

    def _page(self, module: str, step: str) -> PageTimeline:
        return self.found.pages.setdefault((module, step), PageTimeline(order=self.found.order))

    def _clock(self, serial: int, event: JournalEvent) -> None:
        # The event of a run's start has the run's own time, slightly earlier.
        if isinstance(event, RunStarted):
            return
        at = moment(event.at)
        if at is None:
            return
        self.found.times.append(at)
        chain = self.found.order.chain(serial)
        latest = self._latest.get(chain)
        if latest is not None and at < latest:
            self.found.backward.append(BackwardStep(serial, (latest - at).total_seconds()))
        self._latest[chain] = at
