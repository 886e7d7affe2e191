"""What a chain of events comes to: the pages' records, where the student is, the runs. Pure.

The same from a journal and from an exported record. Its size grows with the pages of the course, not with the events.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import reduce
from statistics import median
from typing import NamedTuple

import msgspec

from tcptutor.course import personal
from tcptutor.course.model import Course, Module
from tcptutor.course.record import PageRecord
from tcptutor.journal.events import (
    START,
    Answered,
    Enrolled,
    Hinted,
    JournalEvent,
    Responded,
    RunBegun,
    RunEnded,
    StoredEvent,
    Visited,
    Withdrawn,
    decode,
    link,
)

VERSION = 6
"""To be raised when the same events come to something else: what was folded before is then folded again."""


FEW = 3
"""Predictions from which on a median says something."""


class RunRecord(msgspec.Struct, frozen=True):
    """One run, as far as it may still be wanted."""

    module: str
    step: str
    file: str
    """Name of its run file, which is there once the run has ended."""
    ended: bool = False
    seed: int = 1
    changed_from: str = ""
    """The id of the run of which it is a what-if: no run of the page's own experiment."""


class Enrolment(msgspec.Struct, frozen=True):
    """As whom a student takes part in which course."""

    student: str
    course: str
    """The course's code."""

    @property
    def identity(self) -> str:
        """What this student's numbers are drawn by."""
        return personal.identity(self.course, self.student)


class JournalRecord(msgspec.Struct, frozen=True):
    """All that one student did."""

    position: tuple[str, str] | None = None
    """Module and step of the latest visit; None for a student who has just begun."""
    enrolment: Enrolment | None = None
    """The latest; None for who learns without a course that grades."""
    pages: dict[str, dict[str, PageRecord]] = {}
    """By module and step."""
    runs: dict[str, RunRecord] = {}
    """By id, in the order they began: those that have not ended, and of each page the last that left a file; without
    what-ifs that have ended."""

    def page(self, module: str, step: str) -> PageRecord:
        """What was done on that page; an empty record where nothing was."""
        return self.pages.get(module, {}).get(step) or PageRecord()

    def has_visited(self, module: str) -> bool:
        """Whether any page of that module has been on the screen."""
        return any(page.visited for page in self.pages.get(module, {}).values())


class Folded(msgspec.Struct, frozen=True):
    """The record of the events 1 to `serial`. Without arguments: of none."""

    record: JournalRecord = msgspec.field(default_factory=JournalRecord)
    serial: int = 0
    hash: bytes = START
    """Of the last event."""
    broken: int = 0
    """The first event that does not continue the chain; 0 for none."""

    def take(self, stored: StoredEvent) -> Folded:
        """With the event that follows. One that cannot be read changes nothing in the record."""
        event = decode(stored.data)
        fits = stored.serial == self.serial + 1 and stored.hash == link(self.hash, stored.data)
        return Folded(
            self.record if event is None else fold(self.record, event),
            stored.serial,
            stored.hash,
            self.broken or (0 if fits else stored.serial),
        )


def folded(events: Iterable[StoredEvent]) -> Folded:
    """What these come to, from the first on."""
    return reduce(Folded.take, events, Folded())


def fold(record: JournalRecord, event: JournalEvent) -> JournalRecord:
    """The record after `event`."""
    match event:
        case Enrolled(student=student, course=course):
            enrolment = Enrolment(student, course)
            if enrolment == record.enrolment:
                return record
            # The seeds of another student's runs are none that this one's go on from.
            pages = {
                module: {step: msgspec.structs.replace(page, last_seed=None) for step, page in steps.items()}
                for module, steps in record.pages.items()
            }
            return msgspec.structs.replace(record, enrolment=enrolment, pages=pages)
        case Visited(module=module, step=step):
            page = msgspec.structs.replace(record.page(module, step), visited=True)
            record = msgspec.structs.replace(record, position=(module, step))
        case Responded(module=module, step=step, activity=activity, response=response):
            response = msgspec.structs.replace(response, at=event.at)
            page = record.page(module, step).responded(activity, response)
        case Withdrawn(module=module, step=step, activity=activity):
            page = record.page(module, step).withdrew(activity)
        case Hinted(module=module, step=step, activity=activity, level=level):
            page = record.page(module, step).hinted(activity, level)
        case Answered(module=module, step=step, activity=activity, measured=measured):
            page = record.page(module, step)
            page = page.put(activity, page.activity(activity).answered(measured))
        case RunBegun(module=module, step=step, run=run, file=file, seed=seed, changed_from=changed_from):
            page = record.page(module, step)
            page = msgspec.structs.replace(page, runs=page.runs + (not changed_from))
            runs = {**record.runs, run: RunRecord(module, step, file, seed=seed, changed_from=changed_from)}
            record = msgspec.structs.replace(record, runs=runs)
        case RunEnded(run=run, complete=complete):
            begun = record.runs.get(run)
            if begun is None or begun.ended:  # two programs that start may both end what a third one left
                return record
            module, step = begun.module, begun.step
            page = record.page(module, step)
            if begun.changed_from:
                runs = {id: each for id, each in record.runs.items() if id != run}
                return msgspec.structs.replace(record, runs=runs)
            page = page.ran(complete, begun.seed)
            record = msgspec.structs.replace(record, runs=_ended(record.runs, run, event.file))
        case _:
            return record
    pages = {**record.pages, module: {**record.pages.get(module, {}), step: page}}
    return msgspec.structs.replace(record, pages=pages)


def _ended(runs: dict[str, RunRecord], id: str, file: str) -> dict[str, RunRecord]:
    """The runs after that one has ended: of its page's runs that have, the last is enough."""
    run = msgspec.structs.replace(runs[id], file=file, ended=True)
    runs = {**runs, id: run}
    page = run.module, run.step
    ended = [each for each in runs if runs[each].ended and (runs[each].module, runs[each].step) == page]
    with_file = [each for each in ended if runs[each].file]
    return {each: runs[each] for each in runs if each not in ended or each in with_file[-1:]}


class Calibration(NamedTuple):
    """How near a student's predictions are to what is measured."""

    predictions: int
    """That a run has answered."""
    factor: float
    """How many times too high or too low, in the median; 1 or above."""


def calibration(record: JournalRecord) -> Calibration | None:
    """Of all predictions; None while there are too few to speak of."""
    factors = [
        activity.factor
        for module in record.pages.values()
        for page in module.values()
        for activity in page.activities.values()
        if activity.factor is not None
    ]
    return Calibration(len(factors), median(factors)) if len(factors) >= FEW else None


class Progress(msgspec.Struct, frozen=True):
    """How far a module is."""

    pages: tuple[bool, ...]
    """Whether each of its steps is done, in their order."""

    @property
    def done(self) -> int:
        return sum(self.pages)

    @property
    def total(self) -> int:
        return len(self.pages)


def progress(record: JournalRecord, course: Course) -> dict[str, Progress]:
    """Steps done of each module, by the module's id."""
    return {module.id: _progress(record, module) for module in course.modules}


def _progress(record: JournalRecord, module: Module) -> Progress:
    if not record.has_visited(module.id):
        # Nothing is done, and no page has to be read to know that.
        return Progress((False,) * len(module.step_ids))
    return Progress(tuple(step.is_done(record.page(module.id, step.id)) for step in module.steps))
