"""The journal: the student's actions as events, and the state derived from the events."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from tcptutor.base.errors import JournalError
from tcptutor.course.outline import Course
from tcptutor.course.page_record import PageRecord, Response, Sureness, TeacherComment
from tcptutor.course.paths import CoursePath
from tcptutor.journal import fold, merging, page_runs, store
from tcptutor.journal.event_log import EventLog
from tcptutor.journal.events import (
    Bookmarked,
    Commented,
    Enrolled,
    Hinted,
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
    decode,
)
from tcptutor.journal.fold import (
    Calibration,
    JournalRecord,
    Progress,
    SurenessCount,
)
from tcptutor.journal.order import student_events
from tcptutor.journal.texts import check_comment, check_note, check_report

if TYPE_CHECKING:
    from tcptutor.course.goals.session_record import SessionRecord
    from tcptutor.run import Run


class Journal(EventLog):
    """Record of a student's actions, and the queries about it."""

    _merged_runs: tuple[int, Sequence[bytes]] = (0, ())
    """Merged journal: number of rows, and their events about runs, the latest first."""

    def read(self) -> None:
        """Read the events, and end the runs of killed programs. Raises JournalError."""
        super().read()
        if self.run_folder is None or not self.run_folder.exists():
            return
        with contextlib.suppress(JournalError):  # the next start tries again
            self._recover_runs()

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
        """Reset the page; earlier work still counts for marks."""
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
            changed_from: Id of the base run of a what-if; empty for a run of the page's own experiment.
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
        from tcptutor.runs.parts import ENDED  # noqa: PLC0415  # not for the app's first frame
        from tcptutor.runs.store import first_readable  # noqa: PLC0415

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
        return str((self.run_folder or Path()) / name)

    # Merging

    def merge(self, others: Sequence[StoredEvent]) -> int:
        """Add missing events from the student's journal on a different machine, and return their number.

        Args:
            others: All rows of the imported journal, checked.

        Raises:
            UsageError: The imported journal belongs to a different student or course.
            JournalError: The events cannot be written; the journal is unchanged.
        """
        with store.errors(self._path), store.transaction(self._connection):
            self._catch_up()
            rows = list(store.events_after(self._connection, 0))
            added = merging.rows_to_add(rows, others, self._fold, _now())
            store.add_events(self._connection, added)
        self._catch_up()
        return max(0, len(added) - 1)


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
    from tcptutor.run.files import text_digest  # noqa: PLC0415  # not for the app's first frame

    name, digest = (file.name, text_digest(file)) if file else ("", "")
    return RunEnded(_now(), run.id, run.complete, run.note, name, digest)


def _now() -> str:
    return datetime.now(UTC).astimezone().isoformat(timespec="milliseconds")
