"""A student's record, computed from a chain of events: pages, position and runs. Pure.

A journal and an exported record give the same result. Its size grows with the course's pages, not with the events.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from typing import NamedTuple

import msgspec

from tcptutor.course import personal
from tcptutor.course.outline import Course, Module
from tcptutor.course.page_record import PageRecord, Sureness, TeacherComment
from tcptutor.course.paths import PRETEST, CoursePath
from tcptutor.journal.day import DayRecord
from tcptutor.journal.events import (
    START,
    Bookmarked,
    Commented,
    Enrolled,
    Hinted,
    JournalEvent,
    Noted,
    PathChosen,
    PredictionMeasured,
    Reset,
    Responded,
    Restored,
    Reviewed,
    RunEnded,
    RunStarted,
    Skipped,
    StoredEvent,
    Visited,
    Withdrawn,
    decode,
    link,
)
from tcptutor.journal.order import is_merged, student_events

FEW = 3
"""Fewest predictions or answers for which their accuracy is meaningful."""


class RunRecord(msgspec.Struct, frozen=True):
    """A run, with the fields that may still be needed."""

    module: str
    step: str
    file: str
    """Name of its run file, which exists once the run has ended."""
    ended: bool = False
    seed: int = 1
    changed_from: str = ""
    """Id of the base run that was changed; empty for a run of the page's own experiment."""


class Enrolment(msgspec.Struct, frozen=True):
    """A student's name in a course."""

    student: str
    course: str
    """Code of the course."""

    @property
    def identity(self) -> str:
        """Return the key from which this student's numbers are drawn."""
        return personal.identity(self.course, self.student)


class JournalRecord(msgspec.Struct, frozen=True):
    """All actions of a student."""

    position: tuple[str, str] | None = None
    """Module and step of the latest visit; None for a student who has just begun."""
    path: CoursePath = "essential"
    """Pages that the student follows."""
    enrolment: Enrolment | None = None
    """The latest enrollment; None outside graded courses."""
    pages: dict[str, dict[str, PageRecord]] = {}
    """By module and step."""
    runs: dict[str, RunRecord] = {}
    """By id, in starting order: unfinished runs, and each page's last run with a file.

    Finished what-ifs are left out.
    """
    today: DayRecord = DayRecord()
    """Work of the day of the latest event."""
    seconds: float = 0.0
    """Time spent on all days, without long pauses, s."""

    def page(self, module: str, step: str) -> PageRecord:
        """Return the record of a page; empty for an untouched page."""
        return self.pages.get(module, {}).get(step) or PageRecord()

    def has_visited(self, module: str) -> bool:
        """Return whether any page of the module has been on the screen."""
        return any(page.visited for page in self.pages.get(module, {}).values())

    @property
    def has_work(self) -> bool:
        """True if the student has responded, taken a hint or begun a run on any page."""
        return any(page.activities or page.runs for steps in self.pages.values() for page in steps.values())

    def pages_with_runs(self, but: tuple[str, str]) -> int:
        """Return the number of pages with a complete run, without the page `but`."""
        return sum(
            page.whole_runs > 0
            for module, steps in self.pages.items()
            for step, page in steps.items()
            if (module, step) != but
        )


class JournalFold(msgspec.Struct, frozen=True):
    """The record of the events 1 to `serial`. Without arguments: of no events."""

    record: JournalRecord = msgspec.field(default_factory=JournalRecord)
    serial: int = 0
    hash: bytes = START
    """Hash of the last event of the own chain."""
    broken: int = 0
    """Serial of the first row that does not continue its chain; 0 when all chains are intact."""
    first: bytes = b""
    """Hash of the student's first event on any machine; empty without an event."""
    is_merged: bool = False
    """True if some rows come from imports."""

    def take(self, stored: StoredEvent) -> JournalFold:
        """Return the fold with the next event of the own chain. An unreadable event leaves the record unchanged."""
        event = decode(stored.data)
        fits = stored.serial == self.serial + 1 and stored.hash == link(self.hash, stored.data)
        return JournalFold(
            self.record if event is None else fold(self.record, event),
            stored.serial,
            stored.hash,
            self.broken or (0 if fits else stored.serial),
            self.first or stored.hash,
            self.is_merged,
        )


def fold_events(rows: Iterable[StoredEvent], before: JournalFold | None = None) -> JournalFold:
    """Fold the rows that follow `before`; None for all from the first on, of which some may come from imports."""
    if before is not None:
        return reduce(JournalFold.take, rows, before)
    rows = list(rows)
    return _fold_merged(rows) if is_merged(rows) else reduce(JournalFold.take, rows, JournalFold())


def _fold_merged(rows: Sequence[StoredEvent]) -> JournalFold:
    found = student_events(rows)
    events = (event for event in (decode(stored.data) for stored in found.events) if event is not None)
    return JournalFold(
        reduce(fold, events, JournalRecord()),
        rows[-1].serial,
        found.own_hash,
        found.broken,
        found.first,
        is_merged=True,
    )


def fold(record: JournalRecord, event: JournalEvent) -> JournalRecord:
    """Return the record after `event`."""
    after = _with_event(record, event)
    today = _today(record, after, event)
    before = record.today.seconds if today.day == record.today.day else 0.0
    return msgspec.structs.replace(after, today=today, seconds=record.seconds + today.seconds - before)


def _today(before: JournalRecord, after: JournalRecord, event: JournalEvent) -> DayRecord:
    page = (event.module, event.step) if isinstance(event, Visited | Responded | PredictionMeasured) else None
    today = before.today.with_event(event.at, page)
    if isinstance(event, PredictionMeasured):
        known, found = (
            record.page(event.module, event.step).activity(event.activity).ratio for record in (before, after)
        )
        if known is None and found is not None:
            return today.with_prediction(found)
    return today


def _with_event(record: JournalRecord, event: JournalEvent) -> JournalRecord:
    match event:
        case Enrolled(student=student, course=course):
            return _enrolled(record, Enrolment(student, course))
        case PathChosen(path=path):
            return msgspec.structs.replace(record, path=path)
        case RunStarted():
            return _with_run(record, event)
        case RunEnded():
            return _with_end_of_run(record, event)
        case Visited(module=module, step=step):
            record = msgspec.structs.replace(record, position=(module, step))
        case Reset(module=module, step=step):
            runs = {id: run for id, run in record.runs.items() if (run.module, run.step) != (module, step)}
            record = msgspec.structs.replace(record, runs=runs)
    if isinstance(event, _PageEvent):
        page = record.page(event.module, event.step)
        return _with_page(record, event.module, event.step, _page_after(page, event))
    return record


_PageEvent = (
    Visited
    | Responded
    | Withdrawn
    | Hinted
    | Reviewed
    | PredictionMeasured
    | Noted
    | Commented
    | Bookmarked
    | Skipped
    | Reset
    | Restored
)  # fmt: skip


def _page_after(page: PageRecord, event: _PageEvent) -> PageRecord:
    match event:
        case Visited():
            page = page.opened()
        case Responded(activity=activity, response=response):
            page = page.with_response(activity, msgspec.structs.replace(response, at=event.at))
        case Withdrawn(activity=activity):
            page = page.without_responses(activity)
        case Hinted(activity=activity, level=level):
            page = page.with_hints(activity, level, event.at)
        case Reviewed(activity=activity, response=response, hints=hints):
            response = msgspec.structs.replace(response, at=event.at)
            page = page.with_activity(activity, page.activity(activity).with_review(response, hints))
        case PredictionMeasured(activity=activity, value=measured):
            page = page.with_activity(activity, page.activity(activity).with_measurement(measured))
        case Noted(text=text):
            page = msgspec.structs.replace(page, note=text)
        case Commented(activity=activity, text=text, by=by):
            page = page.with_comment(TeacherComment(text, activity, by))
        case Bookmarked(on=on):
            page = msgspec.structs.replace(page, bookmarked=on)
        case Skipped(on=on):
            page = msgspec.structs.replace(page, skipped=on)
        case Reset():
            page = page.afresh()
        case Restored():
            page = page.restored()
    return page


def _with_run(record: JournalRecord, event: RunStarted) -> JournalRecord:
    page = record.page(event.module, event.step)
    page = msgspec.structs.replace(page, runs=page.runs + (not event.changed_from))
    begun = RunRecord(event.module, event.step, event.file, seed=event.seed, changed_from=event.changed_from)
    record = msgspec.structs.replace(record, runs={**record.runs, event.run: begun})
    return _with_page(record, event.module, event.step, page)


def _with_end_of_run(record: JournalRecord, event: RunEnded) -> JournalRecord:
    begun = record.runs.get(event.run)
    if begun is None or begun.ended:  # two programs that start may both end a run that a third one left
        return record
    if begun.changed_from:
        runs = {id: each for id, each in record.runs.items() if id != event.run}
        return msgspec.structs.replace(record, runs=runs)
    page = record.page(begun.module, begun.step).with_run(event.complete, begun.seed)
    runs = _without_superseded(record.runs, event.run, event.file)
    return _with_page(msgspec.structs.replace(record, runs=runs), begun.module, begun.step, page)


def _with_page(record: JournalRecord, module: str, step: str, page: PageRecord) -> JournalRecord:
    pages = {**record.pages, module: {**record.pages.get(module, {}), step: page}}
    return msgspec.structs.replace(record, pages=pages)


def _enrolled(record: JournalRecord, enrolment: Enrolment) -> JournalRecord:
    if enrolment == record.enrolment:
        return record
    # Seeds of the new enrolment do not continue those of the old one.
    pages = {
        module: {step: msgspec.structs.replace(page, last_seed=None) for step, page in steps.items()}
        for module, steps in record.pages.items()
    }
    return msgspec.structs.replace(record, enrolment=enrolment, pages=pages)


def _without_superseded(runs: dict[str, RunRecord], id: str, file: str) -> dict[str, RunRecord]:
    """Return the runs after run `id` has ended, with only the last finished run of its page."""
    run = msgspec.structs.replace(runs[id], file=file, ended=True)
    runs = {**runs, id: run}
    page = run.module, run.step
    ended = [each for each in runs if runs[each].ended and (runs[each].module, runs[each].step) == page]
    with_file = [each for each in ended if runs[each].file]
    return {each: runs[each] for each in runs if each not in ended or each in with_file[-1:]}


class Calibration(NamedTuple):
    """The accuracy of a student's predictions."""

    predictions: int
    """Number of predictions that a run has answered."""
    factor: float
    """Median ratio by which predictions are too high or too low; 1 or above."""


def calibration(record: JournalRecord) -> Calibration | None:
    """Return the accuracy of all predictions; None for fewer than FEW."""
    from statistics import median  # noqa: PLC0415  # not for the app's first frame

    factors = [
        activity.factor
        for module in record.pages.values()
        for page in module.values()
        for activity in page.activities.values()
        if activity.factor is not None
    ]
    return Calibration(len(factors), median(factors)) if len(factors) >= FEW else None


CLOSE_FACTOR = 1.25
"""Ratio of prediction and measurement up to which a prediction counts as right."""


class SurenessCount(NamedTuple):
    """First responses of a sureness that a mark or a run has answered."""

    right: int
    total: int


def sureness_counts(record: JournalRecord) -> dict[Sureness, SurenessCount]:
    """Return how many first responses were right, by how sure the student was; empty for fewer than FEW."""
    marks: dict[Sureness, list[bool]] = {}
    for module in record.pages.values():
        for page in module.values():
            for activity in page.activities.values():
                first, factor = activity.first, activity.factor
                if first is None or first.sureness is None:
                    continue
                is_right = first.correct if factor is None else factor <= CLOSE_FACTOR
                if is_right is not None:
                    marks.setdefault(first.sureness, []).append(is_right)
    if sum(map(len, marks.values())) < FEW:
        return {}
    return {sureness: SurenessCount(sum(found), len(found)) for sureness, found in marks.items()}


class Progress(msgspec.Struct, frozen=True):
    """The finished steps of a module."""

    pages: tuple[bool, ...]
    """True for each finished step, in the order of the module."""
    known: tuple[bool, ...] = ()
    """True for each step that the pre-test proposes to skip, or the student skips; empty for none."""

    @property
    def done(self) -> int:
        return sum(self.pages)

    @property
    def total(self) -> int:
        return len(self.pages)


def progress(record: JournalRecord, course: Course) -> dict[str, Progress]:
    """Return the progress of each module, by the module's id."""
    return {module.id: _progress(record, module) for module in course.modules}


def _progress(record: JournalRecord, module: Module) -> Progress:
    if not record.pages.get(module.id):
        # Skip reading the pages: an untouched module has no finished step.
        return Progress((False,) * len(module.step_ids))
    passed = passed_steps(record, module)
    return Progress(
        tuple(step.is_done(record.page(module.id, step.id)) for step in module.steps),
        tuple(step.id in passed for step in module.steps) if passed else (),
    )


def passed_steps(record: JournalRecord, module: Module) -> frozenset[str]:
    """Return the ids of the steps that the pre-test proposes to skip, or the student skips."""
    skipped = (step for step, page in record.pages.get(module.id, {}).items() if page.skipped)
    return known_steps(record, module).union(skipped)


def known_steps(record: JournalRecord, module: Module) -> frozenset[str]:
    """Return the ids of the steps that the module's pre-test proposes to skip."""
    answers = record.page(module.id, PRETEST)
    if not answers.activities or module.pretest is None:
        return frozenset()
    from tcptutor.course.pretest import known_pages  # noqa: PLC0415  # not for the first frame

    return known_pages(module.pretest, answers)
