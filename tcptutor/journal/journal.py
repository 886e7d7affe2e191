"""The journal: owner of the database connection and of the run files next to it."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from tcptutor.base import places
from tcptutor.base.errors import JournalError
from tcptutor.course.goals.session_record import SessionRecord
from tcptutor.course.outline import Course
from tcptutor.course.page_record import PageRecord, Response, Sureness, TeacherComment
from tcptutor.course.paths import CoursePath
from tcptutor.journal import fold, merging, page_runs, store
from tcptutor.journal.events import (
    Bookmarked,
    Commented,
    Enrolled,
    Hinted,
    JournalEvent,
    Noted,
    PageGoalsReached,
    PathChosen,
    PredictionMeasured,
    Reported,
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
    chain,
    decode,
)
from tcptutor.journal.fold import (
    Calibration,
    JournalFold,
    JournalRecord,
    Progress,
    SurenessCount,
    fold_events,
)
from tcptutor.journal.order import is_merged, student_events
from tcptutor.journal.texts import check_comment, check_note, check_report
from tcptutor.journal.waiting import DeferredFile, WaitingSaves
from tcptutor.run import Run
from tcptutor.run.files import text_digest
from tcptutor.runs.parts import ENDED
from tcptutor.runs.store import RunStore, first_readable


class Journal:
    """Records a student's actions. When a call returns, the event is on the disk; otherwise it raises JournalError.

    An event that raised it waits: the journal retries before the next event, in `save_waiting`, and in `close`.
    """

    def __init__(
        self, connection: sqlite3.Connection, path: Path, folder: Path | None, notice: str = ""
    ) -> None:
        self._connection = connection
        self._path = path
        self.runs = RunStore(folder)
        self._fold = JournalFold()
        self._merged_runs: tuple[int, list[bytes]] = (0, [])
        """Merged journal: number of rows, and their events about runs, the latest first."""
        self._waiting = WaitingSaves()
        self._deferred: DeferredFile | None = None
        self.notice = notice
        """Message for the start: a damaged journal was set aside, or events are not stored."""

    @classmethod
    def open(cls, path: Path | None = None, *, patience: float = store.PATIENCE) -> Journal:
        """Open the journal at `path`, by default the user's own, with the run files in `runs/` next to it.

        Args:
            path: The database file. A damaged file is set aside, which `notice` reports.
            patience: Seconds to wait for other writers.

        Raises:
            JournalError: The journal cannot be opened.
        """
        path = path or places.state() / "journal.db"
        connection, notice = store.open_store(path, patience)
        journal = cls(connection, path, path.parent / "runs", notice)
        journal._catch_up()
        if broken := journal._fold.broken:
            journal.notice = notice or (
                f"event {broken} of the journal is not as it was written, or one before it is missing: "
                "what can be read is used"
            )
        with contextlib.suppress(JournalError):  # the next start tries again
            journal._recover_runs()
        return journal

    @classmethod
    def in_memory(cls, notice: str = "") -> Journal:
        """Create a journal that disappears with the program, for when no file can be written."""
        return cls(store.open_memory(), Path(":memory:"), None, notice)

    @classmethod
    def in_memory_until(cls, path: Path, problem: str, *, patience: float = store.PATIENCE) -> Journal:
        """Create a journal in memory that moves to `path` when possible; run files go to the disk at once.

        Args:
            path: The database file.
            problem: Reason why it cannot be opened now.
            patience: Seconds to wait for other writers.
        """
        journal = cls(store.open_memory(), Path(":memory:"), path.parent / "runs", problem)
        journal._deferred = DeferredFile(path, patience, problem)
        return journal

    @property
    def is_persistent(self) -> bool:
        """Return whether recorded events outlive the program."""
        return self.runs.folder is not None and self._deferred is None

    @property
    def event_count(self) -> int:
        """Return the number of events so far."""
        return self._fold.serial

    @property
    def unsaved(self) -> str:
        """Return why an event is not on the disk yet; empty when all are."""
        return self._deferred.problem if self._deferred else self._waiting.problem

    def save_waiting(self, *, at_once: bool = False) -> bool:
        """Retry the waiting saves, and return whether everything is saved now. Never raises.

        Args:
            at_once: Retry even when the last attempt was recent and slow.
        """
        return self._move_to_file() and self._waiting.retry(at_once=at_once)

    def save_later(self, save: Callable[[], object], problem: str) -> None:
        """Call `save` once saving works again; until then it raises JournalError for `problem`."""
        self._waiting.add(save, problem)

    def close(self) -> None:
        """Try to save the waiting events, and close the connection. Never raises."""
        self.save_waiting(at_once=True)
        if self._deferred and not self._fold.serial:
            self._deferred = None  # no event could be lost
        self._connection.close()

    # Recording

    def enrol(self, student: str, course: str) -> None:
        """Record that the student enrolled in the course with that code."""
        self._append(Enrolled(_now(), student, course))

    def visit(self, module: str, step: str) -> None:
        """Record that the page is on the screen."""
        self._append(Visited(_now(), module, step))

    def choose_path(self, path: CoursePath) -> None:
        """Record the pages that the student follows from here on."""
        self._append(PathChosen(_now(), path))

    def respond(self, module: str, step: str, activity: str, response: Response) -> PageRecord:
        """Record a response with the present time, and return the page's record; a locked response stays."""
        response = msgspec.structs.replace(response, at="")
        self._append(Responded(_now(), module, step, activity, response))
        return self._fold.record.page(module, step)

    def withdraw(self, module: str, step: str, activity: str) -> PageRecord:
        """Withdraw a locked prediction, and return the page's record; after a run has begun it stays."""
        self._append(Withdrawn(_now(), module, step, activity))
        return self._fold.record.page(module, step)

    def record_goals(self, module: str, step: str, activity: str, session: SessionRecord) -> None:
        """Record the session in which the student reached all goals of the page by hand."""
        self._append(PageGoalsReached(_now(), module, step, activity, session))

    def note(self, module: str, step: str, text: str) -> PageRecord:
        """Replace the page's note by `text`, and return the page's record. Raises UsageError for a long text."""
        check_note(text)
        self._append(Noted(_now(), module, step, text))
        return self._fold.record.page(module, step)

    def report(self, module: str, step: str, text: str) -> None:
        """Record the student's line on a fault of the page. Raises UsageError for a long or empty line."""
        check_report(text)
        self._append(Reported(_now(), module, step, text.strip()))

    def comment(self, module: str, step: str, comment: TeacherComment) -> bool:
        """Record a teacher's comment once, and return whether it is new. Raises UsageError for a bad text."""
        check_comment(comment.text)
        before = self.page(module, step)
        if before.with_comment(comment) == before:
            return False
        self._append(Commented(_now(), module, step, comment.activity, comment.text, comment.by))
        return True

    def hint(self, module: str, step: str, activity: str, level: int) -> PageRecord:
        """Record that hint `level` (from 1) of the activity was shown."""
        self._append(Hinted(_now(), module, step, activity, level))
        return self._fold.record.page(module, step)

    def review(self, module: str, step: str, activity: str, response: Response, hints: int) -> None:
        """Record an answer in a review, and the number of hints shown before it, with the present time."""
        response = msgspec.structs.replace(response, at="")
        self._append(Reviewed(_now(), module, step, activity, response, hints))

    def record_measurement(self, module: str, step: str, activity: str, measured: float) -> PageRecord:
        """Record the measured value of a predicted quantity."""
        self._append(PredictionMeasured(_now(), module, step, activity, measured))
        return self._fold.record.page(module, step)

    def bookmark(self, module: str, step: str, *, on: bool = True) -> None:
        """Set a bookmark on the page, or remove it."""
        self._append(Bookmarked(_now(), module, step, on))

    def skip(self, module: str, step: str, *, on: bool = True) -> None:
        """Mark the page to skip, or take the mark back."""
        self._append(Skipped(_now(), module, step, on))

    def reset(self, module: str, step: str) -> None:
        """Begin the page anew; marks still count all that was done on it."""
        self._append(Reset(_now(), module, step))

    def restore(self, module: str, step: str) -> None:
        """Take back the latest reset of the page, unless it has new work."""
        self._append(Restored(_now(), module, step))

    # Queries

    @property
    def record(self) -> JournalRecord:
        """Return the folded record, including other processes' events."""
        self._catch_up()
        return self._fold.record

    def page(self, module: str, step: str) -> PageRecord:
        """Return the record of a page."""
        return self.record.page(module, step)

    @property
    def identity(self) -> str:
        """Return the key from which this student's numbers are drawn, in hexadecimal.

        It comes from course and student in a graded course, otherwise from the first event on any machine; empty before
        that.
        """
        if enrolment := self.record.enrolment:
            return enrolment.identity
        return self._fold.first.hex()

    def position(self) -> tuple[str, str] | None:
        """Return module and step of the latest visit; None for a student who has just begun."""
        return self.record.position

    def progress(self, course: Course) -> dict[str, Progress]:
        """Return the progress of each module, by the module's id."""
        return fold.progress(self.record, course)

    def calibration(self) -> Calibration | None:
        """Return the accuracy of the predictions; None for few predictions."""
        return fold.calibration(self.record)

    def sureness_counts(self) -> dict[Sureness, SurenessCount]:
        """Return how many first responses were right, by how sure the student was."""
        return fold.sureness_counts(self.record)

    def events(self) -> Iterator[StoredEvent]:
        """Return all rows so far, from the first on; `order.student_events` finds the order of a merged journal."""
        with store.errors(self._path):
            return iter(list(store.events_after(self._connection, 0)))

    def responses(self, module: str, step: str) -> Iterator[tuple[str, Response]]:
        """Yield all responses on a page with their activities, in the order given."""
        for stored in student_events(self.events()).events:
            event = decode(stored.data)
            if isinstance(event, Responded) and (event.module, event.step) == (module, step):
                yield event.activity, msgspec.structs.replace(event.response, at=event.at)

    # Runs

    def begin_run(self, run: Run, module: str, step: str, changed_from: str = "") -> None:
        """Record the start of a run that is in `runs`, before it has data: a killed program leaves it unfinished.

        Args:
            run: The run.
            module: Module of its page.
            step: Step of its page.
            changed_from: Id of the run this what-if was derived from; empty for a run of the page's own experiment.
        """
        file = self.runs.file(run.id)
        name = file.name if file else ""
        seed = run.experiment.seed
        experiment = run.experiment.name
        self._append(RunStarted(run.started, module, step, run.id, experiment, name, seed, changed_from))

    def finish_run(self, run: Run, file: Path | None) -> None:
        """Record the end of a run, complete or cut short; `file` is None when no data had arrived."""
        self._append(_end_event(run, file))

    def finish_run_later(self, run: Run, problem: str, saved: Callable[[], object]) -> None:
        """Write the file of an ended run once that works, record the end, and call `saved`.

        Args:
            run: The ended run.
            problem: Reason why its file cannot be written now.
            saved: Called when file and event are on the disk.
        """

        def save() -> None:
            name = self.runs.finish(run)
            self._write(_end_event(run, Path(name) if name else None))
            saved()

        self.save_later(save, problem)

    def _recover_runs(self) -> None:
        """End the runs of killed programs, with the data that had arrived."""
        messages: list[str] = []
        self.runs.recover(messages.append)
        if messages:
            more = f"; and {len(messages) - 1} more" if len(messages) > 1 else ""
            self.notice = "; ".join(filter(None, [self.notice, messages[0] + more]))
        unfinished = {id: run for id, run in self._fold.record.runs.items() if not run.ended}
        if self._fold.is_merged and unfinished:
            with store.errors(self._path):
                own = map(decode, store.run_events(self._connection))
            begun_here = {event.run for event in own if isinstance(event, RunStarted)}
            unfinished = {id: run for id, run in unfinished.items() if id in begun_here}
        for id, begun in unfinished.items():
            # `tcptutor run` may have recovered the file before us, and another app's run may still be going on.
            file = Path(self._file(begun.file))
            if not self.runs.is_running(file):
                run = first_readable([str(file)])
                self._append(_end_event(run, file) if run else RunEnded(_now(), id, False, ENDED, ""))

    def run_files(self, module: str, step: str) -> Iterator[str]:
        """Yield the files of the page's runs, the latest first; older runs need a search, and files may be missing."""
        record, page = self.record, (module, step)
        recent = [
            run for run in record.runs.values() if (run.module, run.step) == page and not run.changed_from
        ]
        files = [run.file for run in reversed(recent) if run.file]
        yield from map(self._file, files)
        number = record.page(*page).runs
        if len(recent) < number:
            older = page_runs.files(self._run_events(), page, number)
            yield from (self._file(file) for file in older if file not in files)

    def what_ifs(self, module: str, step: str) -> Iterator[tuple[str, str]]:
        """Yield the files of each of the page's what-ifs and of its base run, the latest first.

        Either file may be missing on the disk.
        """
        number = self.page(module, step).runs
        for file, base in page_runs.what_ifs(self._run_events(), (module, step), number):
            yield self._file(file), self._file(base)

    def pages_of_runs(self) -> dict[str, tuple[str, str]]:
        """Return module and step of every run begun on a page, by the run's id."""
        return page_runs.pages(self._run_events())

    def _run_events(self) -> Iterator[RunStarted | RunEnded]:
        """Decode all events about runs on all machines, the latest first."""
        self._catch_up()
        if not self._fold.is_merged:
            with store.errors(self._path):
                return page_runs.decoded(store.run_events(self._connection))
        if self._merged_runs[0] != self._fold.serial:
            ordered = student_events(self.events()).events
            runs = [stored.data for stored in reversed(ordered) if stored.data.startswith(store.RUN_EVENT)]
            self._merged_runs = self._fold.serial, runs
        return page_runs.decoded(self._merged_runs[1])

    def _file(self, name: str) -> str:
        return str((self.runs.folder or Path()) / name)

    # Merging

    def merge(self, others: Sequence[StoredEvent]) -> int:
        """Add the events of the student's journal on another machine that this one lacks, and return their number.

        Args:
            others: All rows of that journal, checked.

        Raises:
            UsageError: It is the journal of another student, or of another course.
            JournalError: The events cannot be written; then none is.
        """
        with store.errors(self._path), store.transaction(self._connection):
            self._catch_up()
            rows = list(store.events_after(self._connection, 0))
            added = merging.rows_to_add(rows, others, self._fold, _now())
            store.add_events(self._connection, added)
        self._catch_up()
        return max(0, len(added) - 1)

    # Events and their fold

    def _catch_up(self) -> None:
        with store.errors(self._path):
            rows = list(store.events_after(self._connection, self._fold.serial))
            if self._fold.serial and is_merged(rows):
                rows, self._fold = list(store.events_after(self._connection, 0)), JournalFold()
            self._fold = fold_events(rows, self._fold if self._fold.serial else None)

    def _move_to_file(self) -> bool:
        """Move from memory to the file if it can be opened now, and return whether we are in it. Never raises."""
        if self._deferred is None:
            return True
        events = [decode(stored.data) for stored in self.events()]
        try:
            target = Journal.open(self._deferred.path, patience=self._deferred.patience)
            try:
                target._record([event for event in events if event is not None])
            except JournalError:
                target.close()
                raise
        except JournalError as error:
            self._deferred = self._deferred._replace(problem=str(error))
            return False
        self._connection.close()
        self._connection, self._path, self._deferred = target._connection, target._path, None
        self._fold, self.notice = target._fold, target.notice
        return True

    def _append(self, event: JournalEvent) -> None:
        """Record the event after the waiting events, or queue it and raise JournalError."""
        if not self._waiting.retry():
            self._waiting.add(lambda: self._write(event), self._waiting.problem)
            raise JournalError(self._waiting.problem)
        try:
            self._write(event)
        except JournalError as error:
            self._waiting.add(lambda: self._write(event), str(error))
            raise

    def _write(self, event: JournalEvent) -> None:
        self._record([event])

    def _record(self, events: Sequence[JournalEvent]) -> None:
        with store.errors(self._path):
            with store.transaction(self._connection):
                self._catch_up()
                added = list(chain(events, self._fold.serial, self._fold.hash))
                store.add_events(self._connection, added)
            self._fold = fold_events(added, self._fold)


@contextlib.contextmanager
def opened_journal(warn: Callable[[str], None]) -> Iterator[Journal]:
    """Open the student's journal for the length of the block, and `warn` of repairs. Raises JournalError."""
    journal = Journal.open()
    try:
        if journal.notice:
            warn(journal.notice)
        yield journal
    finally:
        journal.close()


def _end_event(run: Run, file: Path | None) -> RunEnded:
    name, digest = (file.name, text_digest(file)) if file else ("", "")
    return RunEnded(_now(), run.id, run.complete, run.note, name, digest)


def _now() -> str:
    return datetime.now(UTC).astimezone().isoformat(timespec="milliseconds")
